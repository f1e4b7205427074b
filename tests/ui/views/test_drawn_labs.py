"""Labs that are drawn from their own data: what is dragged, slid or typed gives Python's numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import viz_transformer as vt
from tests.support.hand_made_starts import hand_made_starts
from tests.support.on_screen import drag, show
from tests.support.ui_jupyterlab import next_frames
from tests.support.ui_views import falling
from tests.support.ui_windows import LAPTOP, PHONE
from viz_transformer.analysis.positions import look_alikes
from viz_transformer.experiments.saturation import drawn_scores
from viz_transformer.model.positional import sinusoidal_encoding
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.position_clock.live import position_clock
from viz_transformer.widgets.scaling_lab import scaling_lab
from viz_transformer.widgets.schedule_lab import schedule_lab
from viz_transformer.widgets.softmax_lab import softmax_lab

NAMES = ["the", "cat", "is", "black"]
TABLE = sinusoidal_encoding(64, 64).numpy()
SCORES = {d_k: drawn_scores(d_k, n_queries=200).numpy() for d_k in (1, 4, 16, 64, 256, 1024)}
#: By its class in the page.
MAKE: dict[str, Callable[[], View]] = {
    "softmax-lab": lambda: softmax_lab([-3, 2, -1, 0], NAMES, slopes=True),
    "scaling-lab": lambda: scaling_lab(SCORES),
    "position-clock": lambda: position_clock(TABLE, 3, position=7),
    "schedule-lab": lambda: schedule_lab(falling, [0.01, 0.02], [0, 5, 10], [0, 1], level=("ln 35", 3.56)),
    "initial-loss-lab": lambda: vt.initial_loss_lab(hand_made_starts(), sentence=0, place=1),
    "model-summary-lab": vt.model_summary_lab,
    "embedding-map": vt.embedding_map,
}
Opened = Callable[[str], Locator]


@pytest.fixture
def opened(kept_page: Page, tmp_path: Path) -> Opened:
    """Return a function that opens a page with one of the labs."""
    return lambda name: show(kept_page, MAKE[name](), tmp_path, name)


def handle(root: Locator, name: str) -> Locator:
    return root.get_by_role("slider", name=name)


def drag_handle(knob: Locator, across: float, down: float) -> None:
    drag(knob.page, knob.locator(".vt-knob"), across, down)


def value(knob: Locator) -> float:
    next_frames(knob)
    return float(knob.get_attribute("aria-valuenow") or "nan")


def bars(root: Locator, column: str) -> list[str]:
    """The numbers at the bars of a column."""
    return root.get_by_role("group", name=column, exact=True).locator(".vt-number").all_text_contents()


def test_of_a_thousand_positions_the_waves_of_a_page_are_drawn(kept_page: Page, tmp_path: Path) -> None:
    table = sinusoidal_encoding(1000, 64).numpy()
    root = show(kept_page, position_clock(table, 3, position=7), tmp_path, "position-clock")
    position, surface = handle(root, "position").first, root.locator(".vt-surface")
    box = surface.bounding_box()
    assert box is not None
    surface.click(position={"x": box["width"] - 2, "y": 20})
    last = int(value(position))
    assert 100 < last < 400
    expect(root.get_by_text(f"0 to {last} of 1000")).to_be_visible()
    surface.click(position={"x": box["width"] - 2, "y": box["height"] - 2})  # the table has them all
    assert value(position) >= 990


def test_softmax_scores_are_dragged_and_moved_by_keys(opened: Opened) -> None:
    root = opened("softmax-lab")
    cat, the = handle(root, "score of cat"), handle(root, "score of the")
    assert cat.get_attribute("aria-valuetext") == "2.0, weight 0.839"
    expect(root.locator(".vt-headline")).to_have_text("cat gets 84% of the weight")
    drag_handle(cat, -40, 0)
    low = value(cat)
    assert low < 2
    weights = softmax_lab([-3, low, -1, 0]).weights
    shown = [float(text.strip("%")) / 100 for text in bars(root, "weight")]
    np.testing.assert_allclose(shown, weights, atol=6e-3)
    cat.press("End")
    cat.press("ArrowDown")
    expect(cat).to_be_focused()
    the.press("PageUp")
    assert (value(cat), value(the)) == (4.5, -2)
    handle(root, "all scores ×").fill("6")  # × 8
    expect(root.get_by_role("group", name="weight", exact=True)).to_contain_text("> 99%")
    expect(root.get_by_role("group", name="Scores")).to_contain_text("36.00")
    assert bars(root, "Scores") == ["−16.00", "36.00", "−8.00", "0.00"]
    lab = softmax_lab([-2, 4.5, -1, 0], times=8)
    assert lab.weights[1] > 0.995


def test_the_width_is_dragged_and_the_line_of_variances_levelled(opened: Opened) -> None:
    root = opened("scaling-lab")
    told, along, tilt = root.locator(".vt-line"), handle(root, "d_k, width"), handle(root, "power of d_k")
    expect(told).to_contain_text(f"its variance is {SCORES[64].var():.3g}.")
    drag_handle(along, 400, 0)
    assert value(along) == 1024
    along.press("ArrowLeft")
    for _ in range(5):
        tilt.press("PageUp")
    assert (value(along), value(tilt)) == (256, 0.5)
    scaled = SCORES[256] / 16
    expect(told).to_have_text(f"q·k is divided by √d_k = 16: its variance is {scaled.var():.3g}.")
    parts = np.exp(scaled - scaled.max(-1, keepdims=True))
    share = round(100 * (1 / parts.sum(-1)).mean())
    expect(root.locator(".vt-headline")).to_have_text(
        f"d_k = 256: a query’s largest weight is {share}%, on average"
    )
    drag_handle(tilt, 0, -200)
    assert value(tilt) == 0
    root.get_by_role("button", name="d_k", exact=True).click()
    assert value(tilt) == 1
    root.get_by_role("button", name="16", exact=True).click()
    assert value(along) == 16


def test_hand_waves_table_and_cursor_of_the_clock_are_dragged_and_agree(opened: Opened) -> None:
    root = opened("position-clock")
    pair, position, hand = (
        root.get_by_role("slider", name=name, exact=True)
        for name in ("hand", "position", "position, by its hand")
    )
    headline, line = root.locator(".vt-headline"), root.locator(".vt-line")
    expect(headline).to_have_text("At position 7, hand 3 has turned 169°")
    expect(line).to_have_text("A turn takes 14.9 tokens. It points nearly the same way at 22, 37, 51, 52.")

    # The hand is dragged down from where it points, to the left: it turns on, past its lowest point.
    drag_handle(hand, 80, 90)
    here = int(value(position))
    assert 8 <= here <= 12
    assert value(hand) == here
    drag_handle(position, 200, 0)
    assert value(hand) == value(position) > 20
    drag_handle(pair, 0, -12)
    fast = int(value(pair))
    assert fast < 3
    alike = ", ".join(map(str, look_alikes(TABLE, int(value(position)), fast)[:4]))
    expect(line).to_contain_text(f"at {alike}")

    # A press on the waves chooses the position, on the table the pair too.
    surface = root.locator(".vt-surface")
    box = surface.bounding_box()
    assert box is not None
    surface.click(position={"x": 1, "y": 20})
    assert (value(position), value(pair)) == (0, fast)
    surface.click(position={"x": box["width"] - 2, "y": box["height"] - 2})
    assert (value(position), value(pair)) == (63, 31)
    expect(line).to_contain_text("A turn takes 47,117 tokens")
    pair.press("ArrowUp")
    both = [position.element_handle(), hand.element_handle()]
    left = "new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true})"
    root.page.evaluate(
        f"(knobs) => knobs.forEach((knob) => knob.dispatchEvent({left}))", both
    )  # in one frame
    assert (value(position), value(pair)) == (61, 30)


def test_the_clock_on_a_phone_has_few_hands_and_whole_numbers_on_its_axis(opened: Opened) -> None:
    root = opened("position-clock")
    for size in (PHONE, LAPTOP):
        root.page.set_viewport_size(size)
        next_frames(root)
        next_frames(root)
        ticks = [int(text) for text in root.locator(".vt-tick").all_text_contents()]
        assert set(ticks) <= set(range(64))
        hands = [each.bounding_box() for each in root.locator(".vt-small-hand > .vt-face").all()]
        assert 3 <= len(hands) <= 8
        for one, other in pairwise(hands):
            assert one
            assert other
            assert one["y"] + one["height"] < other["y"]
            assert one["height"] > 24


def test_the_schedules_peak_and_warm_up_are_dragged(opened: Opened) -> None:
    root = opened("schedule-lab")
    peak, warmup = handle(root, "peak of the"), handle(root, "steps of warm-up")
    assert (value(peak), value(warmup)) == (0.01, 0)
    drag_handle(warmup, 100, 0)
    assert value(warmup) in (5, 10)
    drag_handle(peak, 0, -90)
    assert value(peak) == 0.02
    warmup.press("End")
    next_frames(root)
    root.get_by_role("group", name="seed").get_by_role("button", name="1").click()
    losses = falling(0.02, 10, 1)
    expect(root.locator(".vt-headline")).to_have_text(f"The loss ends at {losses[-1]:.3f}")
    expect(root.locator(".vt-legend")).to_contain_text("before: peak 0.02, warm-up 10 steps, seed 0")
    expect(root.get_by_role("alert")).to_have_count(0)


def test_the_spread_of_the_initial_embeddings_is_slid_and_dragged(opened: Opened) -> None:
    root = opened("initial-loss-lab")
    told, name = root.locator(".vt-line"), "standard deviation of the embeddings"
    slider = root.locator(".vt-controls").get_by_role("slider", name=name)
    along = handle(root, f"{name}, along the curve")
    expect(told).to_contain_text("Loss 102.0; a uniform guess gives 1.79")
    slider.press("Home")
    expect(told).to_contain_text("Loss 2.5;")
    expect(along).to_have_attribute("aria-valuetext", "0.005, loss 2.5")
    along.press("End")
    expect(told).to_contain_text("Loss 202.0;")
    expect(slider).to_have_attribute("aria-valuetext", "2")
    drag_handle(along, -1000, 0)
    expect(told).to_contain_text("Loss 2.5;")

    words = root.get_by_role("group", name="the word just read").get_by_role("button")
    words.nth(2).click()
    expect(root.locator(".vt-headline")).to_have_text(re.compile("^After negro the largest logit is that of"))
    legend = root.locator(".vt-chart-key")
    expect(legend).to_have_text(["negro, just read", "<eos>, should be written"])
    root.get_by_label("sentence").select_option("gato")
    expect(words).to_have_text(["<sos>", "gato"])
    expect(legend.first).to_have_text("gato, just read")


def part(root: Locator, name: str, stack: str = "decoder") -> Locator:
    return root.locator(f".vt-{stack} .vt-part", has=root.page.get_by_text(name, exact=True))


def test_a_finger_drags_a_score_and_does_not_scroll(opened: Opened) -> None:
    root = opened("softmax-lab")
    cat, page = handle(root, "score of cat"), root.page
    page.set_viewport_size(PHONE)
    next_frames(root)
    box = cat.locator(".vt-knob").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    for kind, left in (("touchStart", 0), ("touchMove", 20), ("touchMove", 40), ("touchEnd", None)):
        points = [] if left is None else [{"x": x - left, "y": y}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert -3 < value(cat) < 1
    assert page.evaluate("scrollY") == 0
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": False})
    page.set_viewport_size(LAPTOP)


def test_sizes_move_every_shape_and_count_that_follows(opened: Opened) -> None:
    root = opened("model-summary-lab")
    total, cross = root.locator(".vt-headline"), part(root, "cross-attention")
    expect(total).to_have_text("44,119,552 parameters, 57.1% of them in feed-forward")
    handle(root, "source words").press("ArrowRight")
    expect(cross).to_contain_text("key, value [1, 8, 10, 64]")
    expect(cross).to_contain_text("weights [1, 8, 4, 10]")
    expect(cross.locator('[data-marked="true"]')).to_have_text(["10", "10"])
    expect(part(root, "feed-forward").locator('[data-marked="true"]')).to_have_count(0)
    expect(total).to_contain_text("44,119,552 parameters")
    expect(root.get_by_role("status")).to_contain_text("none of the counts")

    box = part(root, "feed-forward", "encoder")
    box.click()
    expect(box.locator(".vt-bill")).to_contain_text("W_1: 512 × 2,048, with 2,048 biases: 1,050,624")
    expect(box).to_have_attribute("aria-pressed", "true")
    box.press("Enter")
    expect(box.locator(".vt-bill")).to_have_count(0)
    handle(root, "layers in each stack").press("Home")
    expect(total).to_contain_text("7,368,192 parameters")
    field = root.get_by_label("d_model, any number")
    field.fill("100")
    field.press("Enter")
    expect(root.get_by_label("heads, any number")).to_have_value("5")
    expect(root.get_by_role("status")).to_contain_text("8 heads do not divide d_model = 100: there are 5.")
    expect(cross.locator(".vt-learned")).to_have_text("40,000")


def test_a_word_is_found_on_the_map_by_its_beginning_its_neighbours_and_keys(opened: Opened) -> None:
    root = opened("embedding-map")
    headline, field = root.locator(".vt-headline"), root.get_by_role("combobox", name="Find a token")
    expect(headline).to_have_text("The nearest to tired is scared: cosine 0.58")
    field.fill("blorp")
    field.press("Enter")
    expect(root.get_by_role("status")).to_have_text("“blorp” is not in this vocabulary.")
    expect(headline).to_contain_text("tired")
    expect(root.get_by_role("button", name="zoom out")).to_be_disabled()
    field.fill("MAEST")
    field.press("Enter")
    expect(headline).to_contain_text("to maestr")
    expect(
        root.get_by_role("button", name="zoom out")
    ).to_be_enabled()  # what is searched is looked at closely
    field.fill("maestra")
    expect(headline).to_have_text("The nearest to maestra is profesora: cosine 0.95")
    expect(root.locator(".vt-analogy").first).to_have_text("maestra → doctora as profesora → médica: 0.95")
    root.get_by_role("button", name="profesora").click()
    expect(headline).to_contain_text("to profesora is maestra")

    canvas = root.locator("canvas")
    box = canvas.bounding_box()
    assert box is not None
    root.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(canvas).to_have_attribute("data-hovered", "profesora")  # the chosen word is in the middle
    canvas.press("ArrowRight")
    expect(headline).not_to_contain_text("to profesora")
