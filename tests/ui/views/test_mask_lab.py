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
        self.cells = root.get_by_role("gridcell")
        self.headline = root.locator(".vt-headline")
        self.line = root.locator(".vt-line").first
        self.readout = root.locator(".vt-readout")
        self.words = root.get_by_role("group", name="Token to replace").get_by_role("button")
        self.presets = root.get_by_role("combobox", name="Mask", exact=True)

    def choose(self, preset: str) -> None:
        self.presets.select_option(preset)
        self.settle()

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

    def edited(self) -> int:
        return self.words.evaluate_all("(words) => words.findIndex((word) => word.ariaPressed === 'true')")

    def mask(self) -> list[list[bool]]:
        return self.root.get_by_role("row").evaluate_all(
            """(rows) => rows.filter((row) => row.closest(".vt-cells")).map((row) =>
                Array.from(row.children, (cell) => cell.classList.contains("vt-may")))"""
        )

    def changes(self) -> list[str]:
        return self.root.locator(".vt-row .vt-number").all_text_contents()

    def verdicts(self) -> list[str]:
        return self.root.locator(".vt-row").evaluate_all("(rows) => rows.map((row) => row.dataset.verdict)")

    def written(self) -> list[str]:
        """What each query writes, but for padding."""
        return self.root.locator(".vt-written .vt-middle").all_text_contents()

    def table(self) -> list[list[str]]:
        return self.root.locator(".vt-libraries tbody tr").evaluate_all(
            """(rows) => rows.map((row) => Array.from(row.querySelectorAll("td:not(.vt-says)"),
                (cell) => cell.textContent))"""
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
    """A row of the weights and of the outputs, by each library that can be asked."""
    asked = ["formulas", "libraries", *([] if twin.batch.mask.any(-1).all() else ["eager"])]
    answers = [twin.answer(mask_request(twin.words, twin.state, ask))["libraries"] for ask in asked]
    rows = []
    for library in (library for answer in answers for library in answer):
        numbers = []
        for index, name in enumerate(("weights", "output")):
            values = np.frombuffer(library[name], "<f4").reshape(library["shapes"][index])
            numbers += [in_table(value) for value in values[twin.sentence, row]]
        rows.append(numbers)
    return rows


def test_it_opens_on_a_leak_that_changes_what_is_written(shown: Shown, view: MaskLab) -> None:
    """The word that leaks, the word in its place and what is written are named, and Python has the same."""
    measured = view.measure()
    key = view.batch.keys[view.sentence][view.edited]
    other = measured["replacements"][view.sentence][view.edited]
    assert (view.sentence, key, view.query, view.causal) == (0, "cansado", 0, False)
    expect(shown.headline).to_have_text("cansado leaks into 6 outputs: <sos> writes cansado, not el")
    expect(shown.line).to_contain_text(f"when {key} becomes {other}.")
    writes = view.answer(mask_request(view.words, view.state, "leaks"))["writes"]["words"]
    now, right = (words[0] for words in writes)
    assert shown.written() == now
    was = [before for word, before in zip(now, right, strict=True) if word != before]
    assert shown.root.locator(".vt-was").all_text_contents() == was
    assert right == list(view.words["written"][0])
    streams = shown.root.locator(".vt-streams [data-verdict='leak'] path:not(.vt-flow)")
    widths = streams.evaluate_all("(paths) => paths.map((path) => +path.getAttribute('stroke-width'))")
    leaks = measured["changes"][0, 6, :6]
    assert len(widths) == 6
    wide = [at for at, width in enumerate(widths) if width > 1.5]  # a thinner one would not be seen
    np.testing.assert_allclose(np.array(widths)[wide] / widths[0], leaks[wide] / leaks[0], rtol=1e-4)
    expect(shown.root.locator(":is(.vt-ring, .vt-toggle.vt-of-you)")).to_have_count(0)
    shown.root.get_by_role("switch", name="hide the future").click()
    expect(shown.root.locator(".vt-ring")).to_have_count(21)  # closed by the viewer
    expect(shown.headline).to_have_text("No leak: cansado moves only outputs that may depend on it")
    assert shown.written() == right


def test_each_preset_equals_the_model_and_the_libraries(shown: Shown, view: MaskLab) -> None:
    for preset in PRESETS:
        shown.choose(preset)
        twin = twin_of(view, preset, shown)
        twin.edited = shown.edited()
        batch, changes = twin.batch, twin.measure()["changes"]
        assert shown.mask() == batch.mask[twin.sentence, 0].tolist(), preset
        check_changes(shown.changes(), changes[twin.sentence, twin.edited])
        leaks = (changes.swapaxes(1, 2) >= UNMOVED) & ~batch.allowed & batch.real[:, :, None]
        expect(shown.line).to_contain_text(f"Leaks in this batch: {leaks.sum()} of ")
        here = int(leaks[twin.sentence, :, twin.edited].sum())
        assert shown.verdicts().count("leak") == here
        if preset in RIGHT:
            assert here == 0 == leaks.sum(), preset
            expect(shown.headline).to_have_text(re.compile("^No leak: "))
        else:  # the token that leaks most, be it padding
            assert here == leaks.sum(1).max() > 0, preset
            expect(shown.headline).to_have_text(re.compile(f" leaks into {here} outputs?: "))
        row = shown.root.locator(".vt-cell[aria-selected='true']").get_attribute("data-row")
        assert shown.table() == direct_rows(twin, int(row)), preset


def test_a_page_measures_any_mask_itself(kept_page: Page, tmp_path: Path) -> None:
    """No reply about leaks is carried, and nothing but this file is read."""
    for model, right, n_mistakes in (
        (None, RIGHT, 6),
        (vt.load_language_model(), ["Decoder", "Left padding"], 4),
        (vt.load_masked_model(), ["Encoder"], 1),
    ):
        view = made(model)
        shown, random = Shown(show(kept_page, view, tmp_path, "mask-lab")), Random(0)
        groups = shown.presets.locator("optgroup").all()
        offered, mistakes = (group.locator("option").all_text_contents() for group in groups)
        assert (offered, len(mistakes)) == (right, n_mistakes)
        presets = [name for name in PRESETS if PRESETS[name].get("kind", "decoder") in view.kinds]
        for preset in random.sample(presets, min(3, len(presets))):
            shown.choose(preset)
            for index in random.sample(range(shown.cells.count()), 3):
                shown.cells.nth(index).click()
            shown.settle()
            twin = twin_of(view, preset, shown)
            mask = twin.mask.copy()
            mask[twin.sentence, 0] = shown.mask()
            twin.mask = mask
            expect(shown.presets.locator("option:checked")).to_have_text("Your own mask")
            twin.edited = random.randrange(shown.words.count())
            shown.words.nth(twin.edited).click()
            shown.settle()
            measured = twin.measure()
            check_changes(shown.changes(), measured["changes"][twin.sentence, twin.edited])
            shown.press("Add two padding tokens")
            if measured["longer"] is None:
                expect(shown.line).to_have_text(re.compile("longer sentences are refused"))
            else:
                check_changes(shown.changes(), measured["longer"][twin.sentence])
            shown.press("Add two padding tokens")
            assert len(shown.table()) >= 3  # ours refuses an inverted mask
            expect(shown.root.locator(".vt-libraries")).not_to_contain_text("needs the running notebook")


def test_a_drag_paints_every_cell_that_it_crosses(shown: Shown) -> None:
    shown.choose("Decoder")
    start, to = (shown.cells.nth(column).bounding_box()["x"] for column in (2, 6))
    drag(shown.root.page, shown.cells.nth(2), to - start, 0)
    shown.settle()
    assert shown.mask()[0] == [True, False, True, True, True, True, True]
    assert shown.mask()[1][2:] == [False] * 5
    assert shown.root.locator(".vt-changed").count() == shown.root.locator(".vt-ring").count() == 5


def test_a_resting_pointer_stays_where_the_mask_gets_smaller(shown: Shown) -> None:
    """The last cell is pointed at, and is gone with a shorter batch; the page tells of no error."""
    shown.choose("Look-ahead as padding")
    shown.cells.nth(48).hover()
    for name in ("2 of 7: María ve a la reina", "1 of 7: el gato negro está muy cansado"):
        shown.root.get_by_role("combobox", name="Sentence").select_option(label=name)
        shown.press("Options")
        shown.root.get_by_role("slider", name="tokens kept").fill("2")
        shown.root.page.keyboard.press("Escape")
        shown.settle()
    expect(shown.cells).to_have_count(4)
    shown.choose("Decoder")
    assert len(shown.mask()) == 2


def test_each_convention_writes_the_same_mask(shown: Shown) -> None:
    shown.choose("Decoder")
    start = shown.mask()
    for value, may, may_not in (
        ("may", "True", "False"),
        ("may_not", "False", "True"),
        ("additive", "0", "−∞"),
    ):
        shown.press("Options")
        shown.root.get_by_role("combobox", name="In code").select_option(value)
        shown.root.page.keyboard.press("Escape")
        expect(shown.cells.first).to_have_attribute("aria-label", re.compile(f"^{may}\\. "))
        expect(shown.cells.nth(1)).to_have_attribute("aria-label", re.compile(f"^{may_not}\\. "))
        assert shown.mask() == start
    expect(shown.root.locator(".vt-code pre").last).to_contain_text('float("-inf")')


def test_keys_paint_and_the_grid_announces_it(shown: Shown) -> None:
    shown.choose("Decoder")
    page, start = shown.root.page, shown.mask()
    shown.root.locator(".vt-cell[tabindex='0']").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowDown")
    barred = re.compile(r"el.*\(query\) may not attend to .*cansado.* \(key\): it comes later\.")
    expect(shown.readout).to_have_text(barred)
    page.keyboard.press("Space")
    shown.settle()
    expect(shown.readout).to_have_text(re.compile(r"may attend to .*cansado.*painted by hand"))
    label = page.locator(".vt-cell:focus").get_attribute("aria-label")
    assert re.search("True. .*painted by hand", label)
    painted = shown.mask()
    assert painted[1][6]
    assert sum(map(sum, painted)) == sum(map(sum, start)) + 1
    expect(shown.line).to_have_text(re.compile(r"Leaks in this batch: [1-9]\d* of 42"))
    shown.press("clear paint")
    expect(shown.line).to_have_text(re.compile("Leaks in this batch: 0 of 42"))
    assert shown.mask() == start
