"""The position lab: the table, the shift and the shuffled sentence are Python's, whatever is chosen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.on_screen import numbers, show
from tests.support.ui_jupyterlab import next_frames
from viz_transformer.analysis.positions import look_alikes, rms, wavelength
from viz_transformer.experiments.shift import shift_experiment
from viz_transformer.labs.position_lab import position_lab
from viz_transformer.widgets.position_lab.view import ENCODINGS, PositionLab

WRITTEN = [0, 1, 2, 3, 4]
SWAPPED = [0, 4, 2, 3, 1]


def unfolded(view: PositionLab) -> PositionLab:
    view.unfolded = ["pair", "offset", "shift", "shuffle"]
    return view


@pytest.fixture
def made(translator: vt.Translator) -> PositionLab:
    return unfolded(position_lab(translator))


@pytest.fixture
def root(kept_page: Page, made: PositionLab, tmp_path: Path) -> Locator:
    return show(kept_page, made, tmp_path, "position-lab")


def answered(root: Locator, order: list[int], on: bool) -> None:
    """Wait until the shuffle shows the answer to this order."""
    shown = json.dumps([order, on], separators=(",", ":"))
    expect(root.locator(".vt-shuffle")).to_have_attribute("data-shown", shown)


def check_order(root: Locator, made: PositionLab, order: list[int], on: bool) -> None:
    """Compare the words in this order, what moved and both translations with Python's."""
    answered(root, order, on)
    reply = made.answer({"order": order, "positions_on": on})
    assert root.locator(".vt-row bdi").all_inner_texts() == [made.words[index] for index in order]
    moved = [reply["moved"][word] for word in order]
    assert numbers(root.locator(".vt-amount")) == pytest.approx(moved, abs=0.00501)
    told = f"In Spanish: {reply['translation']} (as written: {reply['as_written']})"
    expect(root.locator(".vt-spanish")).to_have_text(told)


def test_keys_and_clicks_choose_position_pair_and_offset(root: Locator, made: PositionLab) -> None:
    readout, waves = root.locator(".vt-readout"), made.table

    def press(part: str, *keys: str) -> None:
        for key in keys:
            root.locator(f".vt-{part} canvas").press(key)

    press("table", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowUp", "ArrowRight")
    turn = f"one turn every {wavelength(6, 64):.1f} tokens"
    expect(readout).to_have_text(f"position 7, dimension 12: {waves[7, 12]:.2f}, {turn}")
    alike = ", ".join(map(str, look_alikes(waves, 7, 6)))
    expect(root.locator(".vt-pair-says")).to_contain_text(f"position 7 looks like {alike}:")
    press("pair", "ArrowRight", "ArrowRight", "ArrowDown")
    expect(readout).to_contain_text("position 9, dimension 10")
    press("offset", *["ArrowLeft"] * 4)
    says = root.locator(".vt-offset-says")
    expect(says).to_have_text(
        f"Position 9 · position 8 (offset −1) = {waves[9] @ waves[8]:.2f}. It is the same from "
        "every position: all lines fall on one. Only the offset counts."
    )
    press("offset", "Shift+ArrowLeft")
    expect(says).to_contain_text("The table has no position −2")
    root.get_by_role("slider", name="pair").press("End")
    expect(readout).to_contain_text("position 9, dimension 62")

    root.locator(".vt-table canvas").click(position={"x": 200, "y": 200})
    next_frames(root)
    position, dimension = map(int, re.findall(r"\d+", readout.text_content())[:2])
    root.page.mouse.move(5, 5)
    expect(readout).to_contain_text(f"position {position}, dimension {dimension - dimension % 2}:")
    offset = root.locator(".vt-offset canvas")
    offset.click(position={"x": offset.bounding_box()["width"] - 10, "y": 50})
    expect(says).to_contain_text("(offset +63")


def test_the_claim_is_judged_by_the_measurement(root: Locator, made: PositionLab) -> None:
    claim, slider = root.locator(".vt-claim"), root.get_by_role("slider", name="move by")
    for encoding in ENCODINGS:
        root.get_by_role("button", name=encoding, exact=True).click()
        slider.fill("12")
        slider.press("ArrowRight")
        made.encoding, made.shift = encoding, 13
        here, moved = made.shifted_scores()
        verdict = "True here." if encoding in ("rotary", "none") else "False here."
        expect(claim.locator(".vt-verdict")).to_have_text(verdict)
        expect(claim).to_contain_text(
            f"Moved by 13, the scores change by {rms(moved - here):.2f} (rms). "
            f"Their own size is {rms(here):.2f} (rms)."
        )
        last = numbers(root.locator(".vt-shift tbody tr").last.locator("td"))
        assert last == pytest.approx([rms(here), rms(moved - here)], abs=0.00501), encoding
        if encoding == "sinusoidal":
            measured = shift_experiment(shift=13).sinusoidal
            assert last[1] == pytest.approx(measured.rms_difference, abs=0.00501)
        slider.press("Home")
        expect(claim).to_contain_text("Move the sentence")
        expect(claim.locator(".vt-verdict")).to_have_text("")


def test_the_page_reads_any_order(root: Locator, made: PositionLab) -> None:
    section, toggle = root.locator(".vt-shuffle"), root.get_by_role("button", name=re.compile("^positions"))
    for on in (True, False):
        root.get_by_role("button", name="shuffle", exact=True).click()
        if (toggle.get_attribute("aria-pressed") == "true") != on:
            toggle.click()
        root.locator(".vt-strip .vt-token").nth(2).click()
        root.get_by_role("button", name="word to the left").click()
        next_frames(root)
        expect(section).to_have_attribute("data-shown", re.compile(f",{str(on).lower()}]$"))
        order, _ = json.loads(section.get_attribute("data-shown"))
        check_order(root, made, order, on)
    expect(root).not_to_contain_text("needs the running notebook")


def test_a_page_without_a_model_carries_the_answers_for_its_orders(
    kept_page: Page, tmp_path: Path, translator
) -> None:
    made = unfolded(position_lab(translator, engine="kernel"))
    root = show(kept_page, made, tmp_path, "position-lab")
    answered(root, WRITTEN, True)
    expect(root.get_by_role("button", name="shuffle", exact=True)).to_have_count(0)
    root.get_by_label("read as").select_option(label="the cat sees the dog")
    check_order(root, made, SWAPPED, True)
    spanish = "In Spanish: el gato ve el perro (as written: el perro ve el gato)"
    expect(root.locator(".vt-spanish")).to_have_text(spanish)
    root.get_by_role("button", name="positions on").click()
    check_order(root, made, SWAPPED, False)
    expect(root.locator(".vt-shuffle")).to_contain_text("permutation equivariance")
    assert set(root.locator(".vt-amount").all_inner_texts()) == {"0.00"}
