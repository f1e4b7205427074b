"""The training scrubber: at each moment, both sides show what their traces hold."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support import ui_pages
from tests.support.hand_made_trainings import STEPS, make_training
from tests.support.on_screen import drag, show
from tests.support.ui_jupyterlab import next_frames, open_exported
from viz_transformer.analysis import entropy_share_over_training
from viz_transformer.export import export_html
from viz_transformer.trace import TrainingTrace
from viz_transformer.widgets.training_scrubber import payload
from viz_transformer.widgets.training_scrubber.view import watch_training

ONE = make_training()
LARGE = make_training("large", steps=(0, 10, 60, 200), n_layers=6, n_heads=8, sharpest=0.6)
LAST = len(STEPS) - 1


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_html(watch_training(ONE, LARGE), tmp_path_factory.mktemp("scrubber") / "page.html")


@pytest.fixture
def root(kept_page: Page, exported: Path) -> Locator:
    return open_exported(kept_page, exported, ".vt-training-scrubber")


def knob(root: Locator) -> Locator:
    return root.get_by_role("slider", name="Moment")


def is_at(root: Locator, step: int) -> None:
    expect(root.locator(".vt-headline")).to_have_text(re.compile(rf"^Step {step}: "))


def go_to(root: Locator, moment: int) -> None:
    knob(root).press("Home")
    for _ in range(moment):
        knob(root).press("ArrowRight")
    is_at(root, STEPS[moment])
    next_frames(root)


def check_words(root: Locator, run: TrainingTrace, side: int, moment: int, sentence: int) -> None:
    """Compare losses, text and verdict with the trace."""
    shown, section = run.moments[moment], root.locator(".vt-sides > section").nth(side)
    text, reference = shown.translations[sentence], run.references[sentence]
    expect(section.locator(".vt-words p").first).to_have_text(text)
    right = text == reference
    verdict = re.compile("^✓ right$" if right else r"^✗ (not yet: )?\d words? differ")
    expect(section.locator("b").last).to_have_text(verdict)
    assert (section.locator("mark").count() == 0) == right
    losses = root.locator(".vt-losses").nth(side).inner_text()
    told = [float(number) for number in re.findall(r"\d+\.\d+", losses)]
    record = int(np.abs(run.steps - shown.step).argmin())
    assert told == pytest.approx([run.losses[record], shown.losses[sentence]], abs=0.0051)


def check_head(
    root: Locator,
    run: TrainingTrace,
    side: int,
    moment: int,
    place: tuple[str, int, int],
    sentence: int = 0,
) -> None:
    """Compare the large head along its diagonal, and its entropy, with the trace."""
    kind, layer, head = place
    trace = run.moments[moment].traces[sentence]
    weights, keys = trace.attention(kind)[layer, head], trace.key_tokens(kind)
    canvas = root.locator(".vt-large canvas").nth(side)
    cell, code = canvas.locator("[role=gridcell]"), root.locator(".vt-code").nth(side)
    rows, cols = weights.shape
    for key, times in (("ArrowUp", rows), ("ArrowLeft", cols)):
        for _ in range(times):
            canvas.press(key)
    for index in range(min(rows, cols)):
        for key in ("ArrowRight", "ArrowDown") if index else ():
            canvas.press(key)
        names = [f"\u2068{token}\u2069" for token in (trace.query_tokens(kind)[index], keys[index])]
        told = rf"^{names[0]} gives {names[1]} .*% in head {layer}·{head}$"
        expect(cell).to_have_text(re.compile(told))
        expect(code).to_contain_text(f'("{kind}")[{layer}, {head}, {index}, {index}]')
        # Two digits of a float16.
        weight = float(code.inner_text().rpartition("# ")[2])
        assert weight == pytest.approx(weights[index, index], abs=0.0053)
    if moment:
        share = entropy_share_over_training(run, sentence, kind)[:, layer, head]
        entropy = f"The whole head: entropy {share[0]:.2f} of its maximum at step 0, {share[moment]:.2f} now."
        expect(root.locator(".vt-entropy").nth(side)).to_have_text(entropy)


def test_both_sides_show_the_moments_of_the_nearest_steps(root: Locator) -> None:
    expect(root.locator("h3 bdi")).to_have_text(["seed 0", "large"])
    small = root.locator(".vt-head-button[data-chosen=true] canvas").first
    pictures = {}
    for moment, nearest in [(0, 0), (4, 1), (LAST, 3)]:
        go_to(root, moment)
        for side, (run, index) in enumerate([(ONE, moment), (LARGE, nearest)]):
            check_words(root, run, side, index, 0)
        pictures[moment] = ui_pages.picture(small)
    assert len(set(pictures.values())) == 3
    chosen = watch_training(ONE, LARGE)
    check_head(root, ONE, 0, LAST, ("cross", chosen.layer, chosen.head))
    check_head(root, LARGE, 1, 3, ("cross", chosen.other_layer, chosen.other_head))
    go_to(root, 0)
    assert ui_pages.picture(small) == pictures[0]


def test_another_sentence_kind_and_head(root: Locator) -> None:
    go_to(root, 5)
    root.get_by_label("Sentence").select_option("1")
    root.get_by_label("Heads of").select_option("encoder")
    one, large = root.locator(".vt-head-grid").all()
    # Keys that come faster than frames all count.
    large.evaluate(
        """grid => {
            grid.querySelector("[tabindex='0']").focus();
            const keys = [...Array(6).fill("ArrowUp"), ...Array(8).fill("ArrowLeft"),
                "ArrowDown", "ArrowRight", "ArrowRight"];
            for (const key of keys)
                document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        }"""
    )
    chosen = root.locator(".vt-head-button[data-chosen=true]")
    expect(chosen.last).to_have_attribute("aria-label", "encoder layer 1 head 2")
    check_words(root, ONE, 0, 5, 1)
    check_head(root, LARGE, 1, 2, ("encoder", 1, 2), sentence=1)
    # A click on a head of the other side moves that side alone.
    one.get_by_role("button", name="encoder layer 0 head 0").click()
    expect(root.locator("h3").first).to_contain_text("0·0")
    expect(root.locator("h3").last).to_contain_text("1·2")
    # A followed word is one of its sentence: another may be shorter.
    root.get_by_role("group", name="Word to follow").get_by_role("button").last.click()
    expect(root.get_by_role("button", name="<eos>", pressed=True).first).to_be_visible()
    root.get_by_label("Sentence").select_option("2")
    expect(root.locator(".vt-line")).to_have_text("right translation: un perro")


def test_of_a_run_alone_every_kind_of_head_is_there_and_a_cell_can_be_followed(
    kept_page: Page, tmp_path: Path
) -> None:
    root = show(kept_page, watch_training(ONE), tmp_path, "training-scrubber")
    is_at(root, 300)  # where the text is right
    root.get_by_role("button", name="decoder layer 0 head 1").click()
    check_head(root, ONE, 0, LAST, ("decoder", 0, 1))
    headline, line = root.locator(".vt-headline"), root.locator(".vt-line")
    trace = ONE.moments
    weights = [moment.traces[0].decoder_attention[0, 1, 4, 4] for moment in trace]
    expect(headline).to_have_text(re.compile(r"^Step 300: <eos> gives duerme .* in head 0·1$"))
    told = [float(each) for each in re.findall(r"([\d.]+)%", line.inner_text())]
    assert told == pytest.approx([100 * weights[0], 100 * weights[-1]], abs=0.6)
    # The pointer tells another cell for as long as it is there.
    root.locator(".vt-large canvas").hover(position={"x": 150, "y": 70})
    expect(headline).not_to_contain_text("<eos> gives duerme")
    root.locator(".vt-headline").hover()
    expect(headline).to_contain_text("<eos> gives duerme")


def test_thirty_fast_drags_end_on_the_last(root: Locator) -> None:
    box = root.locator(".vt-scrub").bounding_box()
    assert box is not None
    mouse, (left, y) = root.page.mouse, (box["x"], box["y"] + 20)
    mouse.move(left + box["width"] / 2, y)
    mouse.down()
    for i in range(30):
        mouse.move(left + box["width"] * ((i * 5) % 8) / 8, y)
    mouse.move(left + box["width"] - 1, y)
    mouse.up()
    is_at(root, 300)
    check_words(root, ONE, 0, LAST, 0)
    mouse.move(left + 1, y)  # no longer held
    next_frames(root)
    is_at(root, 300)
    chosen = watch_training(ONE)
    check_head(root, ONE, 0, LAST, ("cross", chosen.layer, chosen.head))


def test_the_knob_takes_keys_and_the_curve_a_click_and_it_plays(root: Locator) -> None:
    moment, curve = knob(root), root.locator(".vt-scrub")
    for key, step in [("End", 300), ("ArrowLeft", 120), ("Home", 0), ("ArrowRight", 1)]:
        moment.press(key)
        is_at(root, step)
    expect(moment).to_have_attribute("aria-valuetext", "step 1, not yet right")
    box = curve.bounding_box()
    assert box is not None
    curve.click(position={"x": box["width"] - 3, "y": 60})
    is_at(root, 300)
    drag(root.page, moment.locator(".vt-knob"), -2000, 0)
    is_at(root, 0)
    told = re.compile(r"^Loss of seed 0: from 3\.1.* Loss of large: ")
    expect(root.locator(".vt-chart")).to_have_attribute("aria-label", told)
    go_to(root, LAST - 2)
    root.get_by_role("button", name="Play").click()
    is_at(root, 300)
    expect(root.get_by_role("button", name="Forward")).to_be_disabled()


def test_a_page_carries_the_sentences_that_a_notebook_would_ask_for(
    kept_page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "WHOLE_BYTES", 0)
    view = watch_training(ONE, moment=6)
    assert list(view.data["sentences"]) == ["0"]
    root = show(kept_page, view, tmp_path, "training-scrubber")
    for sentence in (2, 1, 0):
        root.get_by_label("Sentence").select_option(str(sentence))
        check_words(root, ONE, 0, 6, sentence)
        check_head(root, ONE, 0, 6, ("cross", view.layer, view.head), sentence)
