"""The position lab: hands, likeness, shift and the shuffled sentence are Python's, whatever is chosen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.on_screen import drag, number, numbers, show
from tests.support.ui_jupyterlab import next_frames
from viz_transformer.analysis.positions import look_alikes, rms, wavelength
from viz_transformer.experiments.shift import shift_experiment
from viz_transformer.widgets.position_lab.live import position_lab
from viz_transformer.widgets.position_lab.view import ENCODINGS, PositionLab

WRITTEN = [0, 1, 2, 3, 4]
SWAPPED = [0, 4, 2, 3, 1]
CHAPTERS = ("pair", "", "offset", "shift", "shuffle")


@pytest.fixture
def made(translator: vt.Translator) -> PositionLab:
    return position_lab(translator)


@pytest.fixture
def root(kept_page: Page, made: PositionLab, tmp_path: Path) -> Locator:
    return show(kept_page, made, tmp_path, "position-lab")


def turn_to(root: Locator, chapter: str) -> None:
    timeline = root.get_by_role("slider", name="Chapters")
    timeline.press("Home")
    for _ in range(CHAPTERS.index(chapter)):
        timeline.press("ArrowRight")
    next_frames(root)


def slider(root: Locator, name: str) -> Locator:
    return root.get_by_role("slider", name=name, exact=True)


def check_order(root: Locator, made: PositionLab, order: list[int], on: bool) -> None:
    """Wait for the answer to this order, and compare places, what moved and the translation with Python's."""
    shown = root.locator("[data-shown]")
    expect(shown).to_have_attribute("data-shown", json.dumps([order, on], separators=(",", ":")))
    reply = made.answer({"order": order, "positions_on": on})
    read = " ".join(made.words[index] for index in order)
    expect(shown).to_have_text(f"{read} → {reply['translation']}")
    expect(root.get_by_role("group", name="The words as they are read")).to_have_text(read.replace(" ", ""))
    moved = root.locator(".vt-amount").all_text_contents()
    assert list(map(number, moved)) == pytest.approx(reply["moved"], abs=0.00501)
    if order != WRITTEN:
        same = reply["translation"] == reply["as_written"]
        told = "is the same" if same else f"was {reply['as_written']}"
        expect(root.locator(".vt-line")).to_contain_text(f"As written, the translation {told}.")


def test_keys_choose_position_pair_and_offset_in_every_chapter(root: Locator, made: PositionLab) -> None:
    headline, line, waves = root.locator(".vt-headline"), root.locator(".vt-line"), made.table
    for _ in range(3):
        slider(root, "hand").press("ArrowDown")
    expect(line).to_contain_text(f"A turn takes {wavelength(6, 64):.1f} tokens")
    alike = look_alikes(waves, 7, 6)
    expect(line).to_contain_text(", ".join(map(str, alike[:4])))
    code = root.locator(".vt-code")
    expect(code).to_have_text("sinusoidal_encoding(64, 64)[7, 12:14]")
    assert numbers(root.locator(".vt-bar-share")) == pytest.approx(waves[7, 12:14], abs=0.00501)

    turn_to(root, "")
    expect(headline).to_contain_text(f"position 7 looks like {len(alike)} others; by all 32, like no other")
    expect(root.locator(".vt-count-text")).to_have_text(str(len(alike)))

    turn_to(root, "offset")
    position, other = slider(root, "position"), slider(root, "the position it is compared with")
    position.press("ArrowRight")
    position.press("ArrowRight")
    for _ in range(4):
        other.press("ArrowLeft")
    expect(headline).to_have_text(f"Position 9 · position 8 = {waves[9] @ waves[8]:.2f}")
    expect(line).to_have_text("At offset −1 it is the same from every position.")
    other.press("End")
    expect(headline).to_contain_text("position 63 =")
    drag(root.page, other.locator(".vt-knob"), -2000, 0)
    expect(headline).to_contain_text("position 0 =")
    position.press("Home")
    expect(headline).to_have_text("The table has no position −9")
    root.get_by_role("button", name="learned").click()
    position.press("End")
    expect(line).to_contain_text("the position counts too")


def test_the_words_in_the_header_stand_at_their_positions(root: Locator) -> None:
    root.get_by_role("button", name="sees").click()
    expect(slider(root, "position")).to_have_attribute("aria-valuetext", "2, sees")
    expect(root.locator(".vt-here")).to_have_text("sees 2")
    slider(root, "position").press("End")
    expect(root.locator(".vt-here")).to_have_text("63")


def test_the_claim_is_judged_by_the_measurement(root: Locator, made: PositionLab) -> None:
    turn_to(root, "shift")
    headline, verdict, knob = (
        root.locator(".vt-headline"),
        root.locator(".vt-verdict"),
        slider(root, "move by"),
    )
    for encoding in ENCODINGS:
        root.get_by_role("button", name=encoding, exact=True).click()
        knob.press("Home")
        expect(headline).to_have_text("The sentence begins at position 0")
        expect(verdict).to_have_text("not moved yet")
        drag(root.page, knob.locator(".vt-knob"), 300, 0)
        made.encoding, made.shift = encoding, int(knob.get_attribute("aria-valuenow") or 0)
        assert 10 < made.shift < 40
        here, moved = made.shifted_scores()
        expect(verdict).to_have_text("✓ true here" if encoding in ("rotary", "none") else "✗ false here")
        changed, size = f"{rms(moved - here):.2f}", f"{rms(here):.2f}"
        told = f"Moved by {made.shift}, the scores change by {changed}; their size is {size}"
        expect(headline).to_have_text(told)
        assert root.locator("tbody tr").last.locator("td").all_inner_texts() == [size, changed]
        if encoding == "sinusoidal":
            measured = shift_experiment(shift=made.shift).sinusoidal
            assert float(changed) == pytest.approx(measured.rms_difference, abs=0.00501)


def test_the_page_reads_any_order(root: Locator, made: PositionLab) -> None:
    turn_to(root, "shuffle")
    shown, toggle = root.locator("[data-shown]"), root.get_by_role("switch", name="positions")
    check_order(root, made, SWAPPED, True)
    root.get_by_label("read as").select_option(index=0)
    check_order(root, made, WRITTEN, True)
    slider(root, "place of cat").press("ArrowUp")
    check_order(root, made, [0, 1, 2, 4, 3], True)
    box = root.locator(".vt-lanes").bounding_box()
    assert box is not None
    drag(root.page, slider(root, "place of dog").locator(".vt-knob"), 0, box["height"])
    check_order(root, made, [0, 2, 4, 3, 1], True)
    toggle.click()
    check_order(root, made, [0, 2, 4, 3, 1], False)
    root.get_by_role("button", name="shuffle", exact=True).click()
    expect(shown).to_have_attribute("data-shown", re.compile(r"^\[\[(?!0,2,4,3,1\]).*,false\]$"))
    check_order(root, made, json.loads(shown.get_attribute("data-shown") or "")[0], False)


def test_a_page_without_a_model_carries_the_answers_for_its_orders(
    kept_page: Page, tmp_path: Path, translator: vt.Translator
) -> None:
    made = position_lab(translator, engine="kernel")
    made.unfolded = ["offset", "shuffle"]  # as a saved notebook may have it: the last is shown
    root = show(kept_page, made, tmp_path, "position-lab")
    check_order(root, made, WRITTEN, True)
    expect(root.get_by_role("button", name="shuffle", exact=True)).to_have_count(0)
    expect(slider(root, "place of cat")).to_have_count(0)
    root.get_by_label("read as").select_option(label="the cat sees the dog")
    check_order(root, made, SWAPPED, True)
    root.get_by_role("switch", name="positions", checked=True).click()
    check_order(root, made, SWAPPED, False)
    expect(root.get_by_role("switch", name="positions")).not_to_be_checked()
    expect(root.locator(".vt-line")).to_contain_text("No vector changes")
    expect(root.locator(".vt-inspector")).to_contain_text("permutation equivariant")
    assert set(root.locator(".vt-amount").all_text_contents()) == {"0.00"}
