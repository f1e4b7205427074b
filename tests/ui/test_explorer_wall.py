"""The wall of heads: what each cell is, what the filters leave, and the way to a head and back."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from playwright.sync_api import Locator, Page, expect

from tests.support.ui_jupyterlab import next_frames
from tests.support.ui_pages import open_view, press
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import explore

N_LAYERS, N_HEADS, N_TOKENS = 8, 6, 16


def large_trace() -> ForwardTrace:
    """8 layers of 6 heads: head 1 of each even layer looks at the token before, head 2 at the first."""
    scores = np.random.default_rng(3).standard_normal((N_LAYERS, N_HEADS, N_TOKENS, N_TOKENS))
    at = np.arange(N_TOKENS)
    scores[::2, 1, at[1:], at[:-1]] += 9
    scores[:, 2, :, 0] += 9
    weights = np.exp(scores)
    return ForwardTrace(
        source_tokens=[f"w{i}" for i in at],
        encoder_attention=weights / weights.sum(axis=-1, keepdims=True),
    )


def point_at(root: Locator, layer: int, head: int) -> None:
    """Move the pointer over the wall until the line under it names the head."""
    canvas, label = root.locator(".vt-heads canvas"), root.locator(".vt-label")
    box = canvas.bounding_box()
    assert box
    for y in range(4, int(box["height"]), 8):
        canvas.hover(position={"x": 60 + head * (box["width"] - 60) / N_HEADS, "y": y})
        if f"Head {layer}·{head} " in label.inner_text():
            return
    raise AssertionError(f"no place on the wall is head {layer}·{head}")


def test_a_large_model_opens_on_the_wall_and_a_head_leads_back_to_it(page: Page, tmp_path: Path) -> None:
    trace = large_trace()
    root = open_view(page, tmp_path, explore(trace, segments=[0] * 6 + [1] * 10))
    heads, label = root.locator(".vt-heads canvas"), root.locator(".vt-label")
    everything = root.get_by_role("button", name="All heads")
    expect(everything).to_have_attribute("aria-pressed", "true")
    expect(root.locator(".vt-head canvas")).to_be_hidden()
    expect(root.locator(".vt-wall [role=status]")).to_have_text("48 heads")

    heads.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    expect(label).to_contain_text("Head 2·1 of encoder self-attention")
    expect(label).to_contain_text("previous token: puts")
    page.keyboard.press("Enter")
    expect(root.locator(".vt-title")).to_have_text("Encoder self-attention · layer 2 · head 1")
    expect(root.locator(".vt-head canvas")).to_be_focused()
    page.keyboard.press("ArrowDown")  # a cell is pinned, and Escape first lets go of it
    expect(root.locator(".vt-pair").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(root.locator(".vt-pair")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(heads).to_be_focused()
    expect(label).to_contain_text("Head 2·1 ")
    page.keyboard.press("ArrowRight")
    expect(label).to_contain_text("Head 2·2 ")
    page.keyboard.press("w")
    expect(root.locator(".vt-title")).to_have_text("Encoder self-attention · layer 2 · head 2")
    everything.click()
    expect(everything).to_be_focused()

    point_at(root, 6, 2)
    expect(label).to_contain_text("first-token sink")
    page.mouse.down()
    page.mouse.up()
    expect(root.locator(".vt-title")).to_have_text("Encoder self-attention · layer 6 · head 2")

    # What sentence B gives to A, in the picture, its table and its lines.
    root.get_by_label("Sentences").select_option("BA")
    press(root, "Table")
    expect(root.locator(".vt-words")).to_be_hidden()  # the table has its place, and nothing moves
    shown = [row.locator("td").all_inner_texts() for row in root.locator(".vt-data-table tbody tr").all()]
    np.testing.assert_allclose(
        np.array(shown, dtype=float), trace.encoder_attention[6, 2, 6:, :6], atol=0.0051
    )
    expect(root.locator(".vt-notes")).to_contain_text("Sentence B → sentence A alone")
    press(root, "Table")
    expect(root.locator(".vt-words canvas")).to_be_visible()


def test_heads_are_filtered_by_label_layer_and_own_score(page: Page, tmp_path: Path) -> None:
    scores = np.arange(48, dtype=float).reshape(8, 6)
    scores[0, 0] = np.nan
    root = open_view(page, tmp_path, explore(large_trace(), scores={"mine": scores}))
    count = root.locator(".vt-wall [role=status]")
    legend = root.get_by_role("group", name="Filter by label")
    previous = legend.get_by_role("button", name=re.compile("previous token"))
    expect(previous).to_contain_text("previous token 4")
    previous.click()
    expect(previous).to_have_attribute("aria-pressed", "true")
    expect(previous).to_be_focused()
    expect(count).to_have_text("4 of 48 heads")
    legend.get_by_role("button", name=re.compile("first-token sink")).click()
    expect(count).to_have_text("12 of 48 heads")
    root.get_by_label("Layers").select_option("6")
    expect(count).to_have_text("3 of 48 heads")
    press(root, "Show all")
    expect(count).to_have_text("48 heads")

    root.get_by_label("Sort by").select_option("mine")
    next_frames(root)  # the keys move in the order that is drawn
    root.locator(".vt-heads canvas").focus()
    page.keyboard.press("ArrowLeft")  # from head 0·0, which has no score and stands last
    page.keyboard.press("ArrowRight")
    expect(root.locator(".vt-label")).to_contain_text("Head 0·0 ")
    expect(root.locator(".vt-label")).not_to_contain_text("mine")
    least = root.get_by_role("slider", name="mine at least")
    least.focus()
    least.press("End")
    expect(count).to_have_text("1 of 48 heads")
    root.locator(".vt-heads canvas").focus()
    page.keyboard.press("ArrowRight")  # the chosen head is filtered out: the first of those left is next
    expect(root.locator(".vt-label")).to_contain_text("Head 7·5 of encoder self-attention")
    expect(root.locator(".vt-label")).to_contain_text("mine\u2069 47")


def test_a_small_model_opens_on_a_head(page: Page, tmp_path: Path) -> None:
    trace = ForwardTrace(source_tokens=list("abc"), encoder_attention=np.full((2, 4, 3, 3), 1 / 3))
    root = open_view(page, tmp_path, explore(trace))
    expect(root.locator(".vt-head canvas")).to_be_visible()
    expect(root.locator(".vt-wall")).to_be_hidden()
    root.get_by_role("button", name="All heads").click()
    expect(root.locator(".vt-wall")).to_be_visible()
    expect(root.locator(".vt-head canvas")).to_be_hidden()
