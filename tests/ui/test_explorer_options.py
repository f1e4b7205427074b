"""What the explorer shows besides one head: each number on screen against the trace's own."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.hand_made_traces import HOSTILE, attention, hostile_trace, make_trace
from tests.support.ui_pages import open_view, picture, press, settled
from viz_transformer.analysis import output_rollout, rollout
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import explore

PIECES = ("[CLS]", "un", "##believ", "##able", "cats", "[SEP]")
WORDS = (None, 0, 0, 0, 1, None)


def pieces_trace() -> ForwardTrace:
    return ForwardTrace(source_tokens=PIECES, source_words=WORDS, encoder_attention=attention(2, 3, 6, 6))


def table(root: Locator) -> list[list[str]]:
    """The weights of the data table, row by row, as they are shown."""
    press(root, "Table")
    expect(root.locator(".vt-data-table td").first).to_be_visible()
    rows = root.locator(".vt-data-table tbody tr")
    return [row.locator("td").all_inner_texts() for row in rows.all()]


def two_decimals(weights: np.ndarray, signed: bool = False) -> list[list[str]]:
    """Weights as the view shows them."""

    def shown(weight: float) -> str:
        text = f"{abs(weight):.2f}"
        if not signed or float(text) == 0:
            return text
        return f"{'−' if weight < 0 else '+'}{text}"

    return [[shown(weight) for weight in row] for row in weights]


def assert_shown(root: Locator, weights: np.ndarray, signed: bool = False) -> None:
    """Compare the table with weights; a last digit may be rounded either way."""
    shown, wanted = table(root), two_decimals(weights, signed)
    assert [len(row) for row in shown] == [len(row) for row in wanted]
    pairs = list(zip(chain(*shown), chain(*wanted), strict=True))
    for mine, theirs in pairs:
        if mine == "masked":
            assert float(theirs) == 0
            continue
        one, other = (float(text.replace("−", "-")) for text in (mine, theirs))
        assert one == pytest.approx(other, abs=0.011), (mine, theirs)
    assert any(mine == theirs != "0.00" for mine, theirs in pairs)


HEADS = [[0, 1], [1, 0], [1, 3]]


@pytest.mark.parametrize("how", ["mean", "max"])
def test_several_heads_are_shown_as_one(page: Page, tmp_path: Path, how: str) -> None:
    trace = make_trace()
    root = open_view(page, tmp_path, explore(trace, selected=HEADS, aggregate=how, query=1, key=2))
    name = {"mean": "mean", "max": "maximum"}[how]
    expect(root.locator(".vt-title")).to_have_text(f"Cross-attention · {name} of 3 heads: 0·1, 1·0, 1·3")
    heads = np.stack([trace.cross_attention[layer, head] for layer, head in HEADS])
    wanted = heads.mean(0) if how == "mean" else heads.max(0)
    assert_shown(root, wanted)
    place, _, value = root.locator(".vt-detail").inner_text().partition(" = ")
    assert float(value) == pytest.approx(wanted[1, 2], rel=1e-4)
    assert float(eval(place, {"trace": trace})) == pytest.approx(wanted[1, 2], rel=1e-4)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_rollout_is_the_one_of_the_analysis(page: Page, tmp_path: Path, kind: str) -> None:
    trace = make_trace()
    root = open_view(page, tmp_path, explore(trace, kind=kind, layer=1, aggregate="rollout"))
    wanted = output_rollout(trace).source if kind == "cross" else rollout(trace, kind)
    expect(root.locator(".vt-title")).to_contain_text("of layers 0 to 1")
    assert_shown(root, wanted[1])


def test_pieces_are_merged_and_special_tokens_hidden(page: Page, tmp_path: Path) -> None:
    trace = pieces_trace()
    view = explore(trace, layer=1, head=2, merge_words=True, hide_special=True, query=1, key=4)
    root = open_view(page, tmp_path, view)
    head = trace.encoder_attention[1, 2]
    to_words = np.stack([head[:, [1, 2, 3]].sum(1), head[:, 4]], axis=1)
    wanted = np.stack([to_words[[1, 2, 3]].mean(0), to_words[4]])
    assert_shown(root, wanted)
    expect(root.locator(".vt-data-table tbody th")).to_have_text(["unbelievable", "cats"])
    place, _, value = root.locator(".vt-detail").inner_text().partition(" = ")
    assert float(value) == pytest.approx(wanted[0, 1], rel=1e-4)
    assert float(eval(place, {"trace": trace})) == pytest.approx(wanted[0, 1], rel=1e-4)
    expect(root.locator(".vt-notes")).to_contain_text("a row may sum to less than 1")
    expect(root.locator(".vt-notes")).to_contain_text("summed over the pieces of the key")
    expect(root.locator(".vt-sum")).to_contain_text(f"sums to {wanted[0].sum():.2f}")

    press(root, "Options")
    press(root, "Merge pieces into words")
    press(root, "Hide special tokens")
    expect(root.locator(".vt-data-table tbody th")).to_have_text(list(PIECES))


def test_a_difference_has_signs_and_says_which_way(page: Page, tmp_path: Path) -> None:
    trace = make_trace()
    other = ForwardTrace(
        source_tokens=trace.source_tokens,
        target_tokens=trace.target_tokens,
        output_tokens=trace.output_tokens,
        cross_attention=trace.cross_attention[:, ::-1].copy(),
        encoder_attention=trace.encoder_attention,
        decoder_attention=trace.decoder_attention,
    )
    root = open_view(page, tmp_path, explore(trace, compare=other, query=1, key=2))
    change = (trace.cross_attention - other.cross_attention)[0, 0]
    assert_shown(root, change, signed=True)
    word = "more" if change[1, 2] > 0 else "less"
    expect(root.locator(".vt-sentence")).to_contain_text(f"{word} than before")
    farthest = np.abs(trace.cross_attention - other.cross_attention).max()
    shown = root.locator(".vt-scale").inner_text()
    assert float(shown.split("less −")[1].split()[0]) == pytest.approx(farthest, abs=0.02)
    expect(root.locator(".vt-title")).to_contain_text("Difference")


def test_heads_are_added_by_pointer_and_by_keys(page: Page, tmp_path: Path) -> None:
    root = open_view(page, tmp_path, explore(make_trace(), kind="encoder"))
    title, heads = root.locator(".vt-title"), root.locator(".vt-heads canvas")
    heads.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")  # one head is what is shown already
    expect(title).to_have_text("Encoder self-attention · mean of 1 head: 0·1")
    page.keyboard.press("Space")
    expect(title).to_have_text("Encoder self-attention · layer 0 · head 1")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(title).to_have_text("Encoder self-attention · mean of 1 head: 1·1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(title).to_have_text("Encoder self-attention · mean of 2 heads: 1·1, 1·2")
    page.keyboard.press("Escape")
    expect(title).to_have_text("Encoder self-attention · layer 1 · head 2")

    heads.click(position={"x": 40, "y": 50})
    expect(title).to_have_text("Encoder self-attention · layer 0 · head 0")
    heads.click(position={"x": 120, "y": 50}, modifiers=["Control"])
    expect(title).to_contain_text("mean of 2 heads: 0·0, 0·")
    heads.click(position={"x": 40, "y": 50}, modifiers=["Shift"])
    expect(title).to_contain_text("mean of 1 head: 0·")
    heads.click(position={"x": 40, "y": 50})
    expect(title).to_have_text("Encoder self-attention · layer 0 · head 0")
    heads.click(position={"x": 40, "y": 50}, modifiers=["Control"])
    expect(title).to_have_text("Encoder self-attention · mean of 1 head: 0·0")
    heads.click(position={"x": 40, "y": 50}, modifiers=["Control"])
    expect(title).to_have_text("Encoder self-attention · layer 0 · head 0")


@pytest.mark.parametrize("canvas", ["heads", "head", "words"])
def test_escape_leads_out_of_the_mean_of_a_layer(page: Page, tmp_path: Path, canvas: str) -> None:
    view = explore(make_trace(), kind="encoder", layer=1, aggregate="mean", query=1)
    root = open_view(page, tmp_path, view)
    title, pair = root.locator(".vt-title"), root.locator(".vt-pair")
    expect(title).to_have_text("Encoder self-attention · mean of all 4 heads of layer 1")
    root.locator(f".vt-{canvas} canvas").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")  # one of them lets go of the pinned word
    expect(title).to_have_text("Encoder self-attention · layer 1 · head 0")
    expect(pair).to_have_count(0)


def test_what_is_weaker_than_the_threshold_is_not_drawn(page: Page, tmp_path: Path) -> None:
    root = open_view(page, tmp_path, explore(make_trace()))
    matrix, words = root.locator(".vt-head canvas"), root.locator(".vt-words canvas")
    before = picture(matrix), picture(words)
    press(root, "Options")
    slider = root.get_by_role("slider", name="Draw from weight")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    expect(root.locator(".vt-notes")).to_contain_text("are not drawn")
    settled(root)
    assert picture(matrix) != before[0]
    assert picture(words) != before[1]
    page.keyboard.press("Home")
    expect(root.locator(".vt-notes")).to_have_text("<sos>: start of sequence · <eos>: end of sequence.")
    settled(root)
    assert (picture(matrix), picture(words)) == before


def test_a_search_marks_words_and_enter_goes_through_them(page: Page, tmp_path: Path) -> None:
    root = open_view(page, tmp_path, explore(make_trace(), kind="cross"))
    before = picture(root.locator(".vt-head canvas"))
    press(root, "Options")
    search = root.get_by_role("searchbox")
    search.fill("a")  # gato; black, cat
    expect(root.locator(".vt-options output").last).to_have_text("3 found; Enter goes to the next")
    settled(root)
    assert picture(root.locator(".vt-head canvas")) != before
    for begins in ("gato to ", " to black: ", " to cat: ", "gato to "):
        search.press("Enter")
        expect(root.locator(".vt-pair").first).to_contain_text(begins)
    search.fill("zebra")
    expect(root.locator(".vt-options output").last).to_have_text("none found")


def test_all_kinds_are_linked(page: Page, tmp_path: Path) -> None:
    trace = make_trace()
    view = explore(trace, layer=1, head=2, query=2, linked=True)
    root = open_view(page, tmp_path, view)
    expect(root.locator(".vt-title")).to_have_text("Encoder 1·2 → cross 1·2 → decoder 1·2")
    expect(root.locator(".vt-columns span")).to_have_text(
        ["source word", "as the encoder read it", "written word", "word read before"]
    )
    cross, encoder, decoder = (
        getattr(trace, f"{kind}_attention")[1, 2] for kind in ("cross", "encoder", "decoder")
    )
    paths = (cross[2][:, None] * encoder).max(0)  # the strongest path to each source word
    told = root.locator(".vt-sum").inner_text()
    source = int(paths.argmax())
    assert f"source word “\u2068{trace.source_tokens[source]}\u2069” {paths[source]:.2f}" in told
    assert f"“\u2068{trace.source_tokens[cross[2].argmax()]}\u2069” {cross[2].max():.2f}" in told
    assert f"“\u2068{trace.target_tokens[decoder[2].argmax()]}\u2069” {decoder[2].max():.2f}" in told

    words = root.locator(".vt-words canvas")
    pair = root.locator(".vt-pair").first
    width = words.bounding_box()["width"]
    words.click(position={"x": width * 0.05, "y": 10})  # a key of the encoder
    expect(pair).to_contain_text(" to the: ")
    words.click(position={"x": width * 0.95, "y": 50})  # a key of the decoder
    expect(pair).to_contain_text(" to el: ")
    words.focus()
    page.keyboard.press("ArrowLeft")  # the written word beside it
    expect(pair).to_contain_text("gato to ")
    page.keyboard.press("Escape")
    page.mouse.move(0, 0)
    expect(root.locator(".vt-pair")).to_have_count(0)
    press(root, "Linked")
    expect(root.locator(".vt-head canvas")).to_be_visible()


def test_each_kind_keeps_its_head_where_they_are_linked(page: Page, tmp_path: Path) -> None:
    root = open_view(page, tmp_path, explore(make_trace(), layer=1, head=2, linked=True))
    heads = root.locator(".vt-heads canvas")
    heads.focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")  # into the decoder, and further up
    expect(root.locator(".vt-title")).to_have_text("Encoder 0·2 → cross 0·2 → decoder 0·2")
    for _ in range(2):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    expect(root.locator(".vt-title")).to_have_text("Encoder 0·3 → cross 0·2 → decoder 0·2")


def test_hostile_tokens_are_text_in_every_part(page: Page, tmp_path: Path) -> None:
    view = explore(hostile_trace(), query=0, key=1, linked=True, search="<")
    root = open_view(page, tmp_path, view)
    for name in ("Table", "Options", "Linked", "What am I looking at?"):
        press(root, name)
        settled(root)
    expect(root.locator(".vt-data-table thead bdi")).to_have_count(len(HOSTILE) + 1)
    expect(root.locator(".vt-data-table thead bdi").nth(1)).to_have_text(HOSTILE[0])
    search = root.get_by_role("searchbox")
    for _ in HOSTILE:
        search.press("Enter")
    settled(root)
    assert page.evaluate("window.pwned") is None
    assert root.locator("script, img, bdi b").count() == 0
