"""The training scrubber: at each moment, both sides show what their traces hold."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support import ui_pages
from tests.support.hand_made_trainings import STEPS, make_training
from tests.support.on_screen import show
from tests.support.ui_jupyterlab import open_exported
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
    return drawn(open_exported(kept_page, exported, ".vt-training-scrubber"))


def drawn(root: Locator) -> Locator:
    return ui_pages.drawn(root, "data-waiting")


def slider(root: Locator) -> Locator:
    return root.get_by_role("slider", name="Moment")


def is_at(root: Locator, step: int) -> None:
    expect(root.locator(".vt-step-now")).to_have_text(f"step {step}")


def go_to(root: Locator, moment: int) -> None:
    slider(root).fill(str(moment))
    drawn(root)


def check_words(side: Locator, run: TrainingTrace, moment: int, sentence: int) -> None:
    """Compare step, losses, translation and verdict with the trace."""
    shown = run.moments[moment]
    facts = side.locator(".vt-facts").inner_text()
    assert facts.startswith(f"Step {shown.step} of {run.moments[-1].step} · training loss ")
    told = [float(number) for number in re.findall(r"\d+\.\d+", facts)]
    record = int(np.abs(run.steps - shown.step).argmin())
    assert told == pytest.approx([run.losses[record], shown.losses[sentence]], abs=0.0051)
    wanted = [shown.translations[sentence], run.references[sentence]]
    expect(side.locator(".vt-line").first).to_have_text(wanted[0])
    expect(side.locator(".vt-line").last).to_have_text(wanted[1])
    right = wanted[0] == wanted[1]
    verdict = "✓ right" if right else re.compile("✗ not yet: . words? differ")
    expect(side.locator(".vt-verdict")).to_have_text(verdict)
    assert (side.locator("mark").count() == 0) == right


def check_head(
    side: Locator, run: TrainingTrace, moment: int, place: tuple[str, int, int], sentence: int = 0
) -> None:
    """Compare the large head, cell by cell along its diagonal, and its entropy with the trace."""
    kind, layer, head = place
    trace = run.moments[moment].traces[sentence]
    weights, keys = trace.attention(kind)[layer, head], trace.key_tokens(kind)
    expect(side.locator(".vt-large .vt-title")).to_have_text(f"Layer {layer} · head {head}")
    canvas, readout = side.locator(".vt-large canvas"), side.locator(".vt-weight")
    canvas.focus()
    for index in range(min(weights.shape)):
        canvas.press("ArrowRight")
        if index:
            canvas.press("ArrowDown")
        words = f"“\u2068{trace.query_tokens(kind)[index]}\u2069” to “\u2068{keys[index]}\u2069”: "
        expect(readout).to_contain_text(words)
        told = readout.inner_text().removeprefix(words).removesuffix(".")
        # Two digits of a float16.
        assert float(told) == pytest.approx(weights[index, index], abs=0.0053)
    canvas.press("Escape")
    expect(readout).to_have_text(re.compile(r"^Strongest weight: .*\.$"))
    told = readout.inner_text().rpartition(" ")[2].removesuffix(".")
    assert float(told) == pytest.approx(weights.max(), abs=0.0053)
    if moment:
        share = entropy_share_over_training(run, sentence, kind)[:, layer, head]
        entropy = f"Entropy {share[0]:.2f} of its maximum at step 0, {share[moment]:.2f} now."
        expect(side.locator(".vt-entropy")).to_contain_text(entropy)


def test_both_sides_show_the_moments_of_the_nearest_steps(root: Locator) -> None:
    sides = root.locator(".vt-run").all()
    expect(root.locator(".vt-run h3")).to_have_text(["seed 0", "large"])
    small = root.locator(".vt-small canvas").first
    pictures = {}
    for moment, nearest in [(0, 0), (4, 1), (LAST, 3)]:
        go_to(root, moment)
        is_at(root, STEPS[moment])
        for side, run, index in zip(sides, (ONE, LARGE), (moment, nearest), strict=True):
            check_words(side, run, index, 0)
        pictures[moment] = ui_pages.picture(small)
    assert len(set(pictures.values())) == 3
    chosen = watch_training(ONE, LARGE)
    check_head(sides[0], ONE, LAST, ("cross", chosen.layer, chosen.head))
    check_head(sides[1], LARGE, 3, ("cross", chosen.other_layer, chosen.other_head))
    go_to(root, 0)
    assert ui_pages.picture(small) == pictures[0]


def test_another_sentence_kind_and_head(root: Locator) -> None:
    go_to(root, 5)
    root.get_by_label("Sentence").select_option("1")
    root.get_by_label("Heads of").select_option("encoder")
    drawn(root)
    one, large = root.locator(".vt-run").all()
    # Keys that come faster than frames all count.
    large.locator(".vt-small canvas").evaluate(
        """canvas => {
            const keys = [...Array(6).fill("ArrowUp"), ...Array(8).fill("ArrowLeft"),
                "ArrowDown", "ArrowRight", "ArrowRight"];
            for (const key of keys)
                canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        }"""
    )
    drawn(root)
    check_words(one, ONE, 5, 1)
    check_head(large, LARGE, 2, ("encoder", 1, 2), sentence=1)
    # A click on the first thumbnail of the other side moves that side alone.
    one.locator(".vt-small canvas").click(position={"x": 40, "y": 60})
    expect(one.locator(".vt-large .vt-title")).to_have_text("Layer 0 · head 0")
    expect(large.locator(".vt-large .vt-title")).to_have_text("Layer 1 · head 2")
    # The kind is changed while the pointer is still on a head: the page tells of no error.
    root.get_by_label("Heads of").select_option("cross")
    drawn(root)


def test_thirty_fast_drags_end_on_the_last(root: Locator) -> None:
    slider(root).evaluate(
        """async input => {
            for (let i = 0; i < 30; i++) {
                input.value = String((i * 5) % 8);
                input.dispatchEvent(new Event("input", { bubbles: true }));
                if (i % 3 === 2) await new Promise(requestAnimationFrame);
            }
        }"""
    )
    drawn(root)
    last = 29 * 5 % 8
    is_at(root, STEPS[last])
    check_words(root.locator(".vt-run").first, ONE, last, 0)
    chosen = watch_training(ONE)
    check_head(root.locator(".vt-run").first, ONE, last, ("cross", chosen.layer, chosen.head))


def test_the_slider_takes_keys_and_the_curve_a_click_and_it_plays(root: Locator) -> None:
    moment, curve = slider(root), root.locator(".vt-curve")
    for key, step in [("End", 300), ("ArrowLeft", 120), ("Home", 0), ("ArrowRight", 1)]:
        moment.press(key)
        is_at(root, step)
    expect(moment).to_have_attribute("aria-valuetext", "step 1, not yet right")
    curve.click(position={"x": curve.bounding_box()["width"] - 17, "y": 60})
    is_at(root, 300)
    expect(curve).to_have_attribute("aria-label", re.compile(r"Loss curve of seed 0: from 3\.1"))

    go_to(root, LAST - 2)
    play = root.get_by_role("button", name="Play")
    expect(play).to_be_hidden()  # motion is reduced in these tests
    root.page.emulate_media(reduced_motion="no-preference")
    play.click()
    is_at(root, 300)
    root.page.emulate_media(reduced_motion="reduce")


def test_a_page_carries_the_sentences_that_a_notebook_would_ask_for(
    kept_page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "WHOLE_BYTES", 0)
    view = watch_training(ONE, moment=6)
    assert list(view.data["sentences"]) == ["0"]
    root = show(kept_page, view, tmp_path, "training-scrubber")
    for sentence in (2, 1, 0):
        root.get_by_label("Sentence").select_option(str(sentence))
        drawn(root)
        check_words(root, ONE, 6, sentence)
        check_head(root, ONE, 6, ("cross", view.layer, view.head), sentence)
