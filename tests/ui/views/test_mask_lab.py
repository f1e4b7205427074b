"""The mask lab: presets, painted cells and edited words give the numbers of a direct call."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.on_screen import drag, show
from tests.support.ui_jupyterlab import open_exported
from viz_transformer._numbers import short_number
from viz_transformer.export import export_html
from viz_transformer.widgets.mask_lab.requests import mask_request
from viz_transformer.widgets.mask_lab.view import UNMOVED, MaskLab

PRESETS = {
    "Decoder": {"causal": True},
    "Encoder": {"kind": "encoder"},
    "Cross-attention": {"kind": "cross"},
    "Left padding": {"causal": True, "side": "left"},
    "No look-ahead mask": {},
    "No padding mask": {"kind": "encoder", "padding": False},
    "Polarity inverted": {"causal": True, "mistake": "inverted"},
    "Look-ahead as padding": {"causal": True, "padding": False, "mistake": "causal_as_padding"},
    "Target’s padding": {"kind": "cross", "mistake": "target_padding"},
    "Source as target": {"mistake": "source_as_target"},
}
RIGHT = list(PRESETS)[:4]
USUAL = {"kind": "decoder", "side": "right", "padding": True, "causal": False, "mistake": "none"}


class Shown:
    """The parts of a mask lab on a page."""

    def __init__(self, root: Locator) -> None:
        self.root = root
        self.cells = root.locator(".vt-mask-grid td")
        self.gauge = root.locator(".vt-gauge")
        self.verdict = root.locator(".vt-verdict").first
        self.readout = root.locator(".vt-readout")
        self.words = root.locator(".vt-meter [role='option']")
        self.tables = root.locator(".vt-libraries .vt-numbers")

    def press(self, name: str) -> None:
        self.root.get_by_role("button", name=name, exact=True).click()
        self.settle()

    def settle(self) -> None:
        """Wait for two frames, and until no reply is waited for."""
        self.root.evaluate(
            """(root) => new Promise((done) => {
                const look = () => requestAnimationFrame(() => requestAnimationFrame(
                    () => (root.querySelector('[aria-busy="true"]') ? look() : done())));
                look();
            })"""
        )

    def sentence(self) -> int:
        return int(self.root.get_by_role("combobox", name="Sentence").input_value())

    def mask(self) -> list[list[bool]]:
        return self.root.locator(".vt-mask-grid tbody tr").evaluate_all(
            """(rows) => rows.map((row) => Array.from(row.querySelectorAll("td"),
                (cell) => !cell.classList.contains("vt-masked")))"""
        )

    def changes(self) -> list[str]:
        return self.root.locator(".vt-leaks .vt-number").all_inner_texts()

    def verdicts(self) -> list[str]:
        return self.root.locator(".vt-leaks tbody tr").evaluate_all(
            "(rows) => rows.map((row) => row.dataset.verdict)"
        )

    def table(self, index: int) -> list[list[str]]:
        return self.tables.nth(index).evaluate(
            """(box) => Array.from(box.querySelectorAll("tbody tr"),
                (row) => Array.from(row.querySelectorAll("td"), (cell) => cell.textContent))"""
        )


def written(change: float) -> str:
    """Return a change as the meter writes it."""
    if change < UNMOVED:
        return "0"
    return f"{change:.2f}" if change >= 0.005 else short_number(change, 1)


def check_changes(shown: list[str], changes: np.ndarray) -> None:
    """Compare what the meter shows; a number between two digits may be rounded either way."""
    for text, change in zip(shown, changes, strict=True):
        assert text in (written(change * 0.9999), written(change * 1.0001)), (shown, changes)


def in_table(value: float) -> str:
    """Return a number as a table writes it."""
    if np.isnan(value):
        return "NaN"
    text = f"{abs(value):.2f}"
    return f"−{text}" if value < 0 and float(text) else text


def made(model: object = None) -> MaskLab:
    view = vt.mask_lab(model) if model else vt.mask_lab()
    view.unfolded = ["shapes", "code", "libraries"]
    return view


def twin_of(view: MaskLab, preset: str, shown: Shown) -> MaskLab:
    """A lab in Python, in the state in which a preset leaves the one on the page."""
    twin = MaskLab(**view.words, kinds=view.kinds, answer=view.answer)
    for name, value in {**USUAL, **PRESETS[preset]}.items():
        if getattr(twin, name) != value:
            setattr(twin, name, value)
    twin.sentence = shown.sentence()
    return twin


@pytest.fixture(scope="module")
def view() -> MaskLab:
    return made()


@pytest.fixture(scope="module")
def exported(view: MaskLab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_html(view, tmp_path_factory.mktemp("masks") / "page.html")


@pytest.fixture
def shown(kept_page: Page, exported: Path) -> Shown:
    return Shown(open_exported(kept_page, exported, ".vt-mask-lab"))


def direct_rows(twin: MaskLab, row: int) -> list[list[str]]:
    """A row of the weights, then of the outputs, by each library that can be asked."""
    asked = ["formulas", "libraries", *([] if twin.batch.mask.any(-1).all() else ["eager"])]
    answers = [twin.answer(mask_request(twin.words, twin.state, ask))["libraries"] for ask in asked]
    rows = []
    for index, name in enumerate(("weights", "output")):
        for library in (library for answer in answers for library in answer):
            values = np.frombuffer(library[name], "<f4").reshape(library["shapes"][index])
            rows.append([in_table(value) for value in values[twin.sentence, row]])
    return rows


def test_each_preset_equals_the_model_and_the_libraries(shown: Shown, view: MaskLab) -> None:
    for preset in PRESETS:
        shown.press(preset)
        button = shown.root.get_by_role("button", name=preset, exact=True)
        expect(button).to_have_attribute("aria-pressed", "true")
        twin = twin_of(view, preset, shown)
        chosen = shown.root.locator(".vt-meter [role='option'][aria-selected='true']")
        twin.edited = chosen.evaluate("(word) => Array.from(word.parentNode.children).indexOf(word)")
        batch, changes = twin.batch, twin.measure()["changes"]
        assert shown.mask() == batch.mask[twin.sentence, 0].tolist(), preset
        check_changes(shown.changes(), changes[twin.sentence, twin.edited])
        leaks = (changes.swapaxes(1, 2) >= UNMOVED) & ~batch.allowed & batch.real[:, :, None]
        expect(shown.gauge).to_contain_text(f"Leaks in this batch: {leaks.sum()} of ")
        assert (leaks.sum() == 0) == ("leak" not in shown.verdicts()) == (preset in RIGHT), preset
        row = shown.root.locator(".vt-mask-grid td[aria-selected='true']").get_attribute("data-row")
        assert shown.table(0) + shown.table(1) == direct_rows(twin, int(row)), preset


def test_a_page_measures_any_mask_itself(kept_page: Page, tmp_path: Path) -> None:
    """No reply of the leak meter is carried, and nothing but this file is read."""
    for model, right, n_mistakes in (
        (None, RIGHT, 6),
        (vt.load_language_model(), ["Decoder", "Left padding"], 4),
        (vt.load_masked_model(), ["Encoder"], 1),
    ):
        view = made(model)
        shown, random = Shown(show(kept_page, view, tmp_path, "mask-lab")), Random(0)
        offered, mistakes = shown.root.locator(".vt-presets [role=group]").all()
        assert offered.get_by_role("button").all_inner_texts() == right
        assert mistakes.get_by_role("button").count() == n_mistakes
        presets = [name for name in PRESETS if PRESETS[name].get("kind", "decoder") in view.kinds]
        for preset in random.sample(presets, min(3, len(presets))):
            shown.press(preset)
            for index in random.sample(range(shown.cells.count()), 3):
                shown.cells.nth(index).click()
            shown.settle()
            twin = twin_of(view, preset, shown)
            mask = twin.mask.copy()
            mask[twin.sentence, 0] = shown.mask()
            twin.mask = mask
            twin.edited = random.randrange(shown.words.count())
            shown.words.nth(twin.edited).click()
            shown.settle()
            measured = twin.measure()
            check_changes(shown.changes(), measured["changes"][twin.sentence, twin.edited])
            shown.press("or add two padding tokens")
            if measured["longer"] is None:
                expect(shown.verdict).to_have_text(re.compile("longer sentences are refused"))
            else:
                check_changes(shown.changes(), measured["longer"][twin.sentence])
            assert shown.tables.first.locator("tbody tr").count() >= 3  # ours refuses an inverted mask
            expect(shown.root.locator(".vt-libraries")).not_to_contain_text("needs the running notebook")


def test_a_drag_paints_every_cell_that_it_crosses(shown: Shown) -> None:
    start, to = (shown.cells.nth(column).bounding_box()["x"] for column in (2, 6))
    drag(shown.root.page, shown.cells.nth(2), to - start, 0)
    shown.settle()
    assert shown.mask()[0] == [True, False, True, True, True, True, True]
    assert shown.mask()[1][2:] == [False] * 5


def test_a_resting_pointer_stays_where_the_mask_gets_smaller(shown: Shown) -> None:
    """The last cell is pointed at, and is gone with a shorter batch; the page tells of no error."""
    shown.press("Look-ahead as padding")
    shown.cells.nth(48).hover()
    kept = shown.root.get_by_role("slider", name="tokens kept")
    for name in ("2 of 7: <sos> María ve a la reina", "1 of 7: <sos> el gato negro está muy cansado"):
        shown.root.get_by_role("combobox", name="Sentence").select_option(label=name)
        kept.fill("2")
        shown.settle()
    expect(shown.cells).to_have_count(4)
    shown.press("Decoder")
    assert len(shown.mask()) == 2


def test_each_convention_writes_the_same_mask(shown: Shown) -> None:
    start = shown.mask()
    for value, written_so in (("may", "True False"), ("may_not", "False True"), ("additive", "0 −∞")):
        shown.root.get_by_role("combobox", name="Cells say").select_option(value)
        first, other = written_so.split()
        expect(shown.cells.first).to_have_text(first)
        assert set(shown.cells.all_inner_texts()) == {first, other}
        assert shown.mask() == start
    expect(shown.root.locator(".vt-code pre").last).to_contain_text('float("-inf")')


def test_keys_paint_and_the_grid_announces_it(shown: Shown) -> None:
    page, start = shown.root.page, shown.mask()
    shown.root.locator(".vt-mask-grid td[tabindex='0']").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowDown")
    barred = re.compile(r"el.*\(query\) may not attend to .*cansado.* \(key\): it comes later\.")
    expect(shown.readout).to_have_text(barred)
    page.keyboard.press("Space")
    shown.settle()
    expect(shown.readout).to_have_text(re.compile(r"may attend to .*cansado.*painted by hand"))
    label = page.locator(".vt-mask-grid td:focus").get_attribute("aria-label")
    assert re.search("True. .*painted by hand", label)
    painted = shown.mask()
    assert painted[1][6]
    assert sum(map(sum, painted)) == sum(map(sum, start)) + 1
    expect(shown.gauge).to_have_text(re.compile(r"Leaks in this batch: [1-9]\d* of 42"))
    shown.press("clear paint")
    expect(shown.gauge).to_have_text("Leaks in this batch: 0 of 42")
    assert shown.mask() == start
