"""The training scrubber in a real browser: exported, and in JupyterLab with two-way traits."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support import ui_pages
from tests.support.hand_made_traces import HOSTILE
from tests.support.hand_made_trainings import STEPS, hostile_training, make_training
from tests.support.ui_jupyterlab import LabPage, LabServer, errors_of, open_exported
from tests.support.ui_windows import LAPTOP, LOOKS, SMALL, keep_picture
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
    view = watch_training(ONE, LARGE)
    return export_html(view, tmp_path_factory.mktemp("scrubber") / "page.html")


def drawn(root: Locator) -> Locator:
    return ui_pages.drawn(root, "data-waiting")


def open_page(page: Page, path: Path) -> Locator:
    return drawn(open_exported(page, path, ".vt-training-scrubber"))


def slider(root: Locator) -> Locator:
    return root.get_by_role("slider", name="Moment")


def go_to(root: Locator, moment: int) -> None:
    slider(root).fill(str(moment))
    drawn(root)


def drag(root: Locator) -> int:
    """Drag the slider to and fro thirty times, faster than frames come; return where it ends."""
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
    return 29 * 5 % 8


def check_words(side: Locator, run: TrainingTrace, moment: int, sentence: int) -> None:
    """Compare step, losses, translation and verdict with the trace."""
    shown = run.moments[moment]
    facts = side.locator(".vt-facts").inner_text()
    record = int(np.abs(run.steps - shown.step).argmin())
    assert facts.startswith(f"Step {shown.step} of {run.moments[-1].step} · training loss ")
    told = [float(number) for number in re.findall(r"\d+\.\d+", facts)]
    assert told == pytest.approx([run.losses[record], shown.losses[sentence]], abs=0.0051)
    lines = side.locator(".vt-line")
    expect(lines.first).to_have_text(shown.translations[sentence])
    expect(lines.last).to_have_text(run.references[sentence])
    right = shown.translations[sentence] == run.references[sentence]
    expect(side.locator(".vt-verdict")).to_have_text(
        "✓ right" if right else re.compile("✗ not yet: . words? differ")
    )
    assert (side.locator("mark").count() == 0) == right


def check_head(
    side: Locator, run: TrainingTrace, moment: int, place: tuple[str, int, int], sentence: int = 0
) -> None:
    """Compare the large head, cell by cell along its diagonal, and its entropy with the trace."""
    kind, layer, head = place
    trace = run.moments[moment].traces[sentence]
    weights = trace.attention(kind)[layer, head]
    expect(side.locator(".vt-large .vt-title")).to_have_text(f"Layer {layer} · head {head}")
    canvas, readout = side.locator(".vt-large canvas"), side.locator(".vt-weight")
    keys = trace.key_tokens(kind)
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
    share = entropy_share_over_training(run, sentence, kind)[:, layer, head]
    if moment:
        expect(side.locator(".vt-entropy")).to_contain_text(
            f"Entropy {share[0]:.2f} of its maximum at step 0, {share[moment]:.2f} now."
        )


def test_both_sides_show_their_traces_at_the_moments_of_the_nearest_steps(page: Page, exported: Path) -> None:
    root = open_page(page, exported)
    sides = root.locator(".vt-run")
    expect(sides.locator("h3")).to_have_text(["seed 0", "large"])
    chosen = watch_training(ONE, LARGE)
    places = [
        ("cross", chosen.layer, chosen.head),
        ("cross", chosen.other_layer, chosen.other_head),
    ]
    for moment, nearest in [(0, 0), (4, 1), (LAST, 3)]:
        go_to(root, moment)
        expect(root.locator(".vt-step-now")).to_have_text(f"step {STEPS[moment]}")
        for side, run, index in zip(sides.all(), (ONE, LARGE), (moment, nearest), strict=True):
            check_words(side, run, index, 0)
    for side, run, index, place in zip(sides.all(), (ONE, LARGE), (LAST, 3), places, strict=True):
        check_head(side, run, index, place)


def test_another_sentence_kind_and_head(page: Page, exported: Path) -> None:
    root = open_page(page, exported)
    go_to(root, 5)
    root.get_by_label("Sentence").select_option("1")
    root.get_by_label("Heads of").select_option("encoder")
    drawn(root)
    one, large = root.locator(".vt-run").all()
    small = large.locator(".vt-small canvas")
    small.focus()
    for key in ["ArrowUp"] * 6 + ["ArrowLeft"] * 8 + ["ArrowDown", "ArrowRight", "ArrowRight"]:
        small.press(key)
    drawn(root)
    check_words(one, ONE, 5, 1)
    check_head(large, LARGE, 2, ("encoder", 1, 2), sentence=1)
    # A click on the first thumbnail of the other side moves that side alone.
    one.locator(".vt-small canvas").click(position={"x": 40, "y": 60})
    expect(one.locator(".vt-large .vt-title")).to_have_text("Layer 0 · head 0")
    expect(large.locator(".vt-large .vt-title")).to_have_text("Layer 1 · head 2")
    # By keyboard, with the pointer still on a head of the encoder.
    errors = errors_of(page)
    root.get_by_label("Heads of").select_option("cross")
    drawn(root)
    assert errors == []


def test_keys_faster_than_frames_all_count(page: Page, exported: Path) -> None:
    root = open_page(page, exported)
    root.get_by_label("Heads of").select_option("encoder")
    drawn(root)
    large = root.locator(".vt-run").nth(1)
    large.locator(".vt-small canvas").evaluate(
        """canvas => {
            const keys = ["ArrowUp", "ArrowUp", "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft",
                "ArrowDown", "ArrowRight", "ArrowRight"];
            for (const key of keys)
                canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        }"""
    )
    expect(large.locator(".vt-large .vt-title")).to_have_text("Layer 1 · head 2")


def test_the_slider_takes_the_keyboard_and_the_curve_a_click(page: Page, exported: Path) -> None:
    root = open_page(page, exported)
    moment = slider(root)
    moment.focus()
    for key, step in [("End", 300), ("ArrowLeft", 120), ("Home", 0), ("ArrowRight", 1)]:
        moment.press(key)
        expect(root.locator(".vt-step-now")).to_have_text(f"step {step}")
    expect(moment).to_have_attribute("aria-valuetext", "step 1, translation not yet right")
    curve = root.locator(".vt-curve")
    box = curve.bounding_box()
    curve.click(position={"x": box["width"] - 17, "y": 60})
    expect(root.locator(".vt-step-now")).to_have_text("step 300")
    expect(moment).to_have_value(str(LAST))
    expect(curve).to_have_attribute("aria-label", re.compile(r"Loss curve of seed 0: from 3\.1"))


def test_thirty_fast_drags_end_on_the_last(page: Page, exported: Path) -> None:
    root = open_page(page, exported)
    last = drag(root)
    expect(root.locator(".vt-step-now")).to_have_text(f"step {STEPS[last]}")
    check_words(root.locator(".vt-run").first, ONE, last, 0)
    chosen = watch_training(ONE)
    check_head(root.locator(".vt-run").first, ONE, last, ("cross", chosen.layer, chosen.head))


def test_heads_are_drawn_anew_at_each_moment(page: Page, exported: Path) -> None:
    root = open_page(page, exported)
    small = root.locator(".vt-small canvas").first
    pictures = []
    for moment in (0, 4, 0):
        go_to(root, moment)
        pictures.append(small.evaluate("canvas => canvas.toDataURL()"))
    assert pictures[0] == pictures[2] != pictures[1]


def test_it_plays_to_the_end_unless_motion_is_not_wanted(page: Page, exported: Path) -> None:
    root = open_page(page, exported)
    go_to(root, LAST - 2)
    root.get_by_role("button", name="Play").click()
    expect(root.locator(".vt-step-now")).to_have_text("step 300")
    expect(root.get_by_role("button", name="Play")).to_be_visible()
    page.emulate_media(reduced_motion="reduce")
    expect(root.get_by_role("button", name="Play")).to_be_hidden()


def test_a_page_carries_the_sentences_that_a_notebook_would_ask_for(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "WHOLE_BYTES", 0)
    view = watch_training(ONE, moment=6)
    assert list(view.data["sentences"]) == ["0"]
    root = open_page(page, export_html(view, tmp_path / "page.html"))
    for sentence in (2, 1, 0):
        root.get_by_label("Sentence").select_option(str(sentence))
        drawn(root)
        check_words(root, ONE, 6, sentence)
        check_head(root, ONE, 6, ("cross", view.layer, view.head), sentence)


def test_hostile_texts_are_texts(page: Page, tmp_path: Path) -> None:
    view = watch_training(hostile_training(), hostile_training(), moment=2)
    root = open_page(page, export_html(view, tmp_path / "page.html"))
    assert root.locator("h3").first.inner_text() == HOSTILE[0]
    assert HOSTILE[1] in root.locator(".vt-line").first.inner_text()
    root.get_by_label("Sentence").select_option("1")
    drawn(root)
    assert page.evaluate("window.pwned") is None
    assert root.locator("script, img, b").count() == 0


@pytest.mark.parametrize(("scheme", "window"), [*LOOKS, ("light", {"width": 480, "height": 720})])
def test_it_fits_its_window(new_page: Callable[..., Page], exported: Path, scheme: str, window: dict) -> None:
    page = new_page(viewport=window, scheme=scheme)
    root = open_page(page, exported)
    go_to(root, 5)
    assert page.evaluate("document.documentElement.scrollWidth") <= window["width"]
    sides = [side.bounding_box() for side in root.locator(".vt-run").all()]
    beside = sides[0]["x"] + sides[0]["width"] <= sides[1]["x"]
    assert beside == (window in (LAPTOP, SMALL))
    for side in root.locator(".vt-run").all():
        right = side.bounding_box()["x"] + side.bounding_box()["width"]
        for canvas in side.locator("canvas").all():
            box = canvas.bounding_box()
            assert box["x"] + box["width"] <= right + 1
    keep_picture(page, f"training_scrubber_{window['width']}_{scheme}")


CELL = """
import viz_transformer as vt
from viz_transformer.widgets.training_scrubber import payload

payload.WHOLE_BYTES = 0  # as of a large training: other sentences are fetched
trace = vt.TrainingTrace.load("scrubbed.npz")
view = vt.watch_training(trace)
view
"""


def test_in_jupyterlab_traits_go_both_ways(lab: LabPage, lab_server: LabServer) -> None:
    path = ONE.save(lab_server.root / "scrubbed.npz")
    saved = TrainingTrace.load(path)
    lab.open_cells(CELL)
    lab.run_all()
    root = drawn(lab.output(0).locator(".vt-training-scrubber"))
    moment = slider(root)
    moment.focus()
    moment.press("End")
    lab.wait_for_value("view.moment", LAST)
    moment.press("ArrowLeft")
    lab.wait_for_value("view.moment", LAST - 1)
    last = drag(root)
    lab.wait_for_value("view.moment", last)
    expect(root.locator(".vt-step-now")).to_have_text(f"step {STEPS[last]}")
    root.get_by_label("Sentence").select_option("2")
    lab.wait_for_value("view.sentence", 2)
    drawn(root)
    lab.run("view.moment, view.kind = 3, 'decoder'\nview.layer, view.head = 1, 2")
    drawn(root)
    expect(root.locator(".vt-step-now")).to_have_text(f"step {STEPS[3]}")
    check_words(root, saved, 3, 2)
    check_head(root, saved, 3, ("decoder", 1, 2), sentence=2)
    root.get_by_label("Heads of").select_option("encoder")
    lab.wait_for_value("(view.kind, view.layer, view.head)", ("encoder", 1, 2))
    told = lab.run("try:\n    view.moment = 99\nexcept vt.UserError as error:\n    print(error)\nview.moment")
    assert "moment=99, but here there are 8" in told
    lab.select_cell(0)
    lab.screenshot("training-scrubber-jupyterlab")
    assert lab.errors == []
