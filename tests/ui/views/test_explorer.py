"""The explorer on a page: every number shown is the trace's, by keys, pointer and options alike."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.support.hand_made_traces import attention, make_trace, vision_trace
from tests.support.on_screen import number, show
from tests.support.spanish_models import small_language_model
from tests.support.ui_explorer import places
from tests.support.ui_jupyterlab import next_frames
from tests.support.ui_pages import picture, press
from viz_transformer.analysis import output_rollout, rollout
from viz_transformer.attribution import score_parts
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import AttentionExplorer, explore

Opened = Callable[[AttentionExplorer], Locator]


@pytest.fixture
def opened(kept_page: Page, tmp_path: Path) -> Opened:
    """Return a function that opens a page with an explorer."""

    def open_view(view: AttentionExplorer) -> Locator:
        kept_page.mouse.move(0, 0)
        return show(kept_page, view, tmp_path, "explorer")

    return open_view


def matrix_of(root: Locator) -> Locator:
    return root.locator(".vt-head canvas")


def pair_of(root: Locator) -> Locator:
    return root.locator(".vt-pair").first


def press_keys(root: Locator, *keys: str) -> None:
    for key in keys:
        root.page.keyboard.press(key)


def long_trace(n: int) -> ForwardTrace:
    words = tuple(f"w{i}" for i in range(n))
    return ForwardTrace(source_tokens=words, encoder_attention=attention(1, 2, n, n))


def table(root: Locator) -> list[list[str]]:
    """The weights of the data table, row by row, as they are shown."""
    press(root, "Table")
    expect(root.locator(".vt-data-table td").first).to_be_visible()
    rows = root.locator(".vt-data-table tbody tr")
    return [row.locator("td").all_inner_texts() for row in rows.all()]


def assert_shown(root: Locator, weights: np.ndarray, signed: bool = False) -> None:
    """Compare the table with weights; differences have a sign."""
    shown = table(root)
    assert [len(row) for row in shown] == [len(row) for row in weights]
    for text, weight in zip(chain(*shown), chain(*weights), strict=True):
        if text == "masked":
            assert weight < 0.005
            continue
        assert number(text) == pytest.approx(weight, abs=0.0055), text
        assert (text[0] in "+−") == (signed and float(text[-4:]) > 0), text


def assert_detail(root: Locator, trace: ForwardTrace, weight: float) -> None:
    """The line in Python's words and its number are both the weight."""
    place, _, value = root.locator(".vt-detail").inner_text().partition(" = ")
    assert float(value) == pytest.approx(weight, rel=1e-4)
    assert float(eval(place, {"trace": trace})) == pytest.approx(weight, rel=1e-4)


# --- One head -------------------------------------------------------------------------------------


def test_each_weight_under_the_pointer_is_the_traces(opened: Opened) -> None:
    trace = make_trace()
    root = opened(explore(trace, picture="matrix"))
    expect(root.locator(".vt-wall")).to_be_hidden()  # of so few heads one is shown
    matrix = matrix_of(root)
    cells, seen = places(matrix), set()
    for cell in random.Random(1).sample(cells, 14):
        matrix.hover(position=cell)
        expect(root.locator(".vt-detail")).to_contain_text("=")
        place = root.locator(".vt-detail").inner_text().partition(" = ")[0]
        layer, head, query, key = map(int, re.findall(r"\d+", place))
        assert (layer, head) == (0, 0)
        weight = trace.cross_attention[0, 0, query, key]
        assert_detail(root, trace, weight)
        words = f"{trace.output_tokens[query]} to {trace.source_tokens[key]}"
        expect(pair_of(root)).to_contain_text(f"{words}: {weight:.2f}, ")
        seen.add((query, key))
    assert len(seen) >= 6


def test_keys_choose_a_cell_and_announce_it(opened: Opened) -> None:
    trace = make_trace()
    matrix = matrix_of(opened(explore(trace, picture="matrix")))
    expect(matrix).to_have_attribute("role", "grid")
    expect(matrix).to_have_attribute("aria-rowcount", "5")
    matrix.focus()
    press_keys(matrix, "ArrowDown", "ArrowDown", "ArrowRight")
    cell = matrix.locator("[role=gridcell]")
    expect(cell).to_have_text(f"gato to black: {trace.cross_attention[0, 0, 1, 1]:.2f}")
    expect(cell).to_have_attribute("aria-colindex", "2")
    expect(matrix).to_have_attribute("aria-activedescendant", cell.get_attribute("id"))


def test_help_and_options_open_below_their_buttons(opened: Opened) -> None:
    root = opened(explore(make_trace()))
    for name, part in (("What am I looking at?", ".vt-help:popover-open"), ("Options", ".vt-options")):
        button = root.get_by_role("button", name=name)
        button.click()
        box, of_button = root.locator(part).bounding_box(), button.bounding_box()
        assert box["y"] >= of_button["y"] + of_button["height"] - 1
        assert box["x"] + box["width"] == pytest.approx(root.bounding_box()["width"], abs=60)
        press_keys(root, "Escape")


def test_what_is_shown_is_saved_as_png_svg_and_csv(opened: Opened, tmp_path: Path) -> None:
    trace = make_trace()
    root = opened(explore(trace, picture="matrix"))
    saved = {}
    for name in ("PNG", "SVG", "CSV"):
        press(root, "Options")
        with root.page.expect_download() as download:
            root.get_by_role("button", name=f"Save as {name}").click()
        press_keys(root, "Escape")
        download.value.save_as(tmp_path / name)
        saved[name] = (tmp_path / name).read_bytes()
    weights = trace.cross_attention[0, 0]
    assert saved["PNG"].startswith(b"\x89PNG")
    texts = [
        each.text for each in ElementTree.fromstring(saved["SVG"]).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert [f"{each:.2f}" for each in weights.flat] == [each for each in texts if each[:2] in ("0.", "1.")]
    assert {*trace.source_tokens} <= {*texts}
    header, *rows = saved["CSV"].decode().splitlines()
    assert header == ",".join(f'"{each}"' for each in ("", *trace.source_tokens))
    assert [float(each) for each in rows[1].split(",")[1:]] == pytest.approx(weights[1], rel=1e-3)


def test_a_presenters_keys_go_from_word_to_word(opened: Opened) -> None:
    root = opened(explore(make_trace(), query=0))
    root.get_by_role("button", name="Present").click()
    expect(root.page.locator(":fullscreen")).to_have_count(1)
    press_keys(root, "ArrowRight")
    expect(root.locator(".vt-headline")).to_contain_text("Writing gato")
    root.get_by_role("button", name="Present").click()
    expect(root.page.locator(":fullscreen")).to_have_count(0)


def test_thirty_fast_keys_end_on_the_last(opened: Opened) -> None:
    trace = long_trace(40)
    root = opened(explore(trace, query=0, key=0))
    matrix_of(root).evaluate(
        """(canvas) => {
            const key = new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true});
            for (let i = 0; i < 30; i++) canvas.dispatchEvent(key);
        }"""
    )
    expect(pair_of(root)).to_contain_text(f"w0 to w30: {trace.encoder_attention[0, 0, 0, 30]:.2f}")


def test_zoom_keeps_what_is_under_the_pointer_and_a_drag_moves_it(opened: Opened) -> None:
    root = opened(explore(long_trace(256)))
    page, matrix, detail = root.page, matrix_of(root), root.locator(".vt-detail")
    box = matrix.bounding_box()
    at = {"x": box["width"] * 0.6, "y": box["height"] * 0.6}

    def cell_there() -> tuple[int, int]:
        page.mouse.move(0, 0)
        matrix.hover(position=at)
        expect(detail).to_contain_text(" = ")
        query, key = detail.inner_text().split("]")[0].split(", ")[-2:]
        return int(query), int(key)

    before, whole = cell_there(), picture(matrix)
    page.keyboard.down("Control")
    for _ in range(4):
        page.mouse.wheel(0, -300)
        next_frames(root)
    page.keyboard.up("Control")
    query, key = cell_there()
    assert max(abs(query - before[0]), abs(key - before[1])) <= 1
    assert picture(matrix) != whole

    page.mouse.down()
    page.mouse.move(box["x"] + at["x"] - 160, box["y"] + at["y"], steps=4)
    page.mouse.up()
    moved = cell_there()
    assert moved[0] == query
    assert moved[1] > key
    expect(root.locator("[role=gridcell]").last).to_have_attribute(
        "aria-colindex", "1"
    )  # a drag pins nothing
    matrix.focus()
    page.keyboard.press("0")
    assert cell_there() == before
    root.get_by_role("button", name="Zoom in").click()
    next_frames(root)
    root.get_by_role("button", name="Show the whole matrix").click()
    assert cell_there() == before


def test_a_long_text_is_scrolled_to_its_last_word(opened: Opened) -> None:
    root = opened(explore(long_trace(100), picture="lines"))
    words = root.locator(".vt-words canvas")
    words.hover()
    root.page.mouse.wheel(0, 10_000)
    # At the end of the scroll, the end of the last word is the end of the canvas.
    root.page.wait_for_function(
        """() => {
            const scroller = document.querySelector('.vt-scroll');
            const [whole, canvas] = [scroller.firstChild, scroller.querySelector('canvas')];
            return Math.abs(scroller.scrollTop + canvas.clientHeight - whole.clientHeight) < 2;
        }"""
    )
    box = words.bounding_box()
    last = [each for each in places(words) if each["x"] > box["width"] - 60][-1]  # right of all arcs
    root.page.mouse.click(box["x"] + last["x"], box["y"] + last["y"])
    expect(pair_of(root)).to_contain_text("to w99: ")


def test_a_page_holds_every_head_of_a_large_trace(opened: Opened) -> None:
    scores = np.random.default_rng(0).standard_normal((12, 12, 64, 64), dtype=np.float32)
    weights = np.exp(2 * scores) * np.tri(64, dtype=np.float32)
    weights /= weights.sum(axis=-1, keepdims=True)
    names = [f"w{i}" for i in range(64)]
    trace = ForwardTrace(target_tokens=names, decoder_attention=weights)
    root = opened(explore(trace, query=40, key=0, wall=False))
    root.locator(".vt-heads canvas").focus()
    detail = root.locator(".vt-detail")
    for layer in range(12):
        expect(root.locator(".vt-title")).to_contain_text(f"layer {layer} · head {layer}")
        expect(detail).to_contain_text(f"[{layer}, {layer}, 40, 0] = ")
        shown = float(detail.text_content().split(" = ")[1])
        assert shown == pytest.approx(float(np.float16(weights[layer, layer, 40, 0])), rel=0.001)
        press_keys(root, "ArrowDown", "ArrowRight")


def test_a_patch_is_chosen_on_the_picture_of_a_vision_model(opened: Opened) -> None:
    root = opened(explore(vision_trace(), grid=(3, 4)))
    patches = root.locator(".vt-patches canvas")
    patches.focus()
    press_keys(root, *["ArrowRight"] * 3)  # the class token, then the first two patches
    expect(pair_of(root)).to_contain_text("patch 1 to patch 1: 0.50")
    press_keys(root, "ArrowDown")
    expect(pair_of(root)).to_contain_text("patch 5 to patch 5: 0.50")
    patches.click(position={"x": patches.bounding_box()["width"] - 5, "y": 5})
    expect(pair_of(root)).to_contain_text("patch 3 to patch 3: 0.50")
    expect(patches.locator("[role=gridcell]")).to_contain_text("From patch in row 0, column 3")


def test_a_word_behind_the_patches_is_no_patch_and_lights_the_one_it_attends_to(opened: Opened) -> None:
    labels = ["<s>", *(f"row {i // 4}, column {i % 4}" for i in range(16)), "what", "is", "this"]
    weights = np.eye(20)[None, None]
    weights[0, 0, 19] = np.eye(20)[labels.index("row 1, column 1")]
    trace = ForwardTrace(target_tokens=labels, decoder_attention=weights)
    root = opened(explore(trace, query=19, grid=(4, 4, 1)))
    patches = root.locator(".vt-patches canvas")
    told = patches.locator("[role=gridcell]")
    expect(told).to_have_text("From this · to tokens apart 0. most 1, patch in row 1, column 1")
    patches.focus()
    press_keys(root, *["ArrowLeft"] * 3)
    expect(told).to_contain_text("From patch in row 3, column 3 · to tokens apart 0. most 1, patch in row 3")


# --- Several heads, words and differences ---------------------------------------------------------


def test_a_page_says_that_a_score_is_divided_in_the_notebook(opened: Opened) -> None:
    model = small_language_model()
    trace = model.trace("el gato duerme")
    parts = partial(score_parts, model.model, "el gato duerme", tokenizer=model.vocabulary)
    told = "What the score is made of needs the running notebook."
    root = opened(explore(trace, picture="matrix", query=2, score_parts=parts))
    expect(root.locator(".vt-inspector")).to_contain_text(told)
    expect(root.get_by_role("button", name="What the score is made of")).to_have_count(0)
    root = opened(explore(trace, picture="matrix", query=2))
    expect(pair_of(root)).to_be_visible()
    expect(root).not_to_contain_text(told)


def test_several_heads_are_shown_as_one(opened: Opened) -> None:
    trace, chosen = make_trace(), [[0, 1], [1, 0], [1, 3]]
    heads = np.stack([trace.cross_attention[layer, head] for layer, head in chosen])
    for how, name, wanted in (("mean", "mean", heads.mean(0)), ("max", "maximum", heads.max(0))):
        root = opened(explore(trace, selected=chosen, aggregate=how, query=1, key=2))
        title = f"Cross-attention · {name} of 3 heads: 0·1, 1·0, 1·3"
        expect(root.locator(".vt-title")).to_have_text(title)
        assert_shown(root, wanted)
        assert_detail(root, trace, wanted[1, 2])


def test_rollout_is_the_one_of_the_analysis(opened: Opened) -> None:
    trace = make_trace()
    for kind, wanted in (("decoder", rollout(trace, "decoder")), ("cross", output_rollout(trace).source)):
        root = opened(explore(trace, kind=kind, layer=1, aggregate="rollout"))
        expect(root.locator(".vt-title")).to_contain_text("of layers 0 to 1")
        assert_shown(root, wanted[1])


def test_pieces_are_merged_and_special_tokens_hidden(opened: Opened) -> None:
    pieces = ("[CLS]", "un", "##believ", "##able", "cats", "[SEP]")
    words = (None, 0, 0, 0, 1, None)
    trace = ForwardTrace(source_tokens=pieces, source_words=words, encoder_attention=attention(2, 3, 6, 6))
    root = opened(explore(trace, layer=1, head=2, merge_words=True, hide_special=True, query=1, key=4))
    head = trace.encoder_attention[1, 2]
    to_words = np.stack([head[:, [1, 2, 3]].sum(1), head[:, 4]], axis=1)
    wanted = np.stack([to_words[[1, 2, 3]].mean(0), to_words[4]])
    assert_shown(root, wanted)
    assert_detail(root, trace, wanted[0, 1])
    expect(root.locator(".vt-data-table tbody th")).to_have_text(["unbelievable", "cats"])
    expect(root.locator(".vt-notes")).to_contain_text("a row may sum to less than 1")
    expect(root.locator(".vt-notes")).to_contain_text("summed over the pieces of the key")
    expect(root.locator(".vt-sum")).to_contain_text(f"sums to {wanted[0].sum():.2f}")
    press(root, "Options")
    for name in ("Merge pieces into words", "Hide special tokens"):
        root.get_by_role("checkbox", name=name).click()
    expect(root.locator(".vt-data-table tbody th")).to_have_text(list(pieces))


def test_a_difference_has_signs_and_a_direction(opened: Opened) -> None:
    trace = make_trace()
    other = replace(trace, cross_attention=trace.cross_attention[:, ::-1].copy())
    root = opened(explore(trace, compare=other, query=1, key=2))
    change = trace.cross_attention - other.cross_attention
    assert_shown(root, change[0, 0], signed=True)
    word = "more" if change[0, 0, 1, 2] > 0 else "less"
    expect(root.locator(".vt-headline")).to_contain_text(f"{word} than before")
    farthest = root.locator(".vt-scale").inner_text().split("less −")[1].split()[0]
    assert float(farthest) == pytest.approx(np.abs(change).max(), abs=0.02)
    expect(root.locator(".vt-title")).to_contain_text("Difference")


def test_heads_are_added_by_pointer_and_by_keys(opened: Opened) -> None:
    root = opened(explore(make_trace(), kind="encoder"))
    title, heads = root.locator(".vt-title"), root.locator(".vt-heads canvas")

    def says(text: str) -> None:
        expect(title).to_have_text(f"Encoder self-attention · {text}")

    heads.focus()
    for keys, told in (
        (("ArrowRight", "Space"), "mean of 1 head: 0·1"),
        (("ArrowDown", "Space"), "mean of 2 heads: 0·1, 1·1"),
        (("Space",), "mean of 1 head: 0·1"),
        (("Escape",), "layer 1 · head 1"),
    ):
        press_keys(root, *keys)
        says(told)
    first, second = {"x": 40, "y": 50}, {"x": 120, "y": 50}
    heads.click(position=first)
    says("layer 0 · head 0")
    heads.click(position=second, modifiers=["Control"])
    expect(title).to_contain_text("mean of 2 heads: 0·0, 0·")
    heads.click(position=first, modifiers=["Shift"])
    expect(title).to_contain_text("mean of 1 head: 0·")
    heads.click(position=first)
    says("layer 0 · head 0")


def test_weights_below_the_threshold_are_not_drawn(opened: Opened) -> None:
    for shown in ("matrix", "lines"):
        root = opened(explore(make_trace(), picture=shown))
        drawn = root.locator(".vt-place canvas")
        before = picture(drawn)
        press(root, "Options")
        root.get_by_role("slider", name="Draw from weight").focus()
        press_keys(root, *["PageUp"] * 3)
        expect(root.locator(".vt-notes")).to_contain_text("are not drawn")
        next_frames(root)
        assert picture(drawn) != before
        press_keys(root, "Home")
        expect(root.locator(".vt-notes")).to_have_text("<sos>: start of sequence · <eos>: end of sequence.")
        next_frames(root)
        assert picture(drawn) == before


def test_a_search_marks_words_and_enter_goes_through_them(opened: Opened) -> None:
    root = opened(explore(make_trace(), kind="cross", picture="matrix"))
    before = picture(matrix_of(root))
    press(root, "Options")
    search, found = root.get_by_role("searchbox"), root.locator(".vt-options .vt-finder output")
    search.fill("a")  # gato; black, cat
    expect(found).to_have_text("3 found; Enter goes to the next")
    next_frames(root)
    assert picture(matrix_of(root)) != before
    for begins in ("gato to ", " to black: ", " to cat: ", "gato to "):
        search.press("Enter")
        expect(pair_of(root)).to_contain_text(begins)
    search.fill("zebra")
    expect(found).to_have_text("none found")


# --- All kinds linked, and the wall of heads ------------------------------------------------------


def test_linked_kinds_show_the_strongest_path_and_keep_a_head_each(opened: Opened) -> None:
    trace = make_trace()
    root = opened(explore(trace, layer=1, head=2, query=2, linked=True))
    title, words = root.locator(".vt-title"), root.locator(".vt-words canvas")
    expect(title).to_have_text("Cross-attention · layer 1 · head 2")
    headings = ["source", "after the encoder", "writing", "written so far"]
    expect(root.locator(".vt-columns span")).to_have_text(headings)
    cross, encoder, decoder = (
        getattr(trace, f"{kind}_attention")[1, 2] for kind in ("cross", "encoder", "decoder")
    )
    paths = (cross[2][:, None] * encoder).max(0)  # the strongest path to each source word
    told = root.locator(".vt-sum").inner_text()
    for before, tokens, weights in (
        ("source ", trace.source_tokens, paths),
        ("", trace.source_tokens, cross[2]),
        ("", trace.target_tokens, decoder[2]),
    ):
        said = f"{before}“\u2068{tokens[weights.argmax()]}\u2069” {weights.max():.2f}"
        assert re.search(re.escape(said) + r"(?!\d)", told), told

    width = words.bounding_box()["width"]
    expect(root.locator(".vt-headline")).to_have_text(
        f"Writing negro, this head looks at {trace.source_tokens[cross[2].argmax()]}: {cross[2].max():.0%}"
    )
    words.click(position={"x": width * 0.05, "y": 30})  # a key of the encoder
    expect(pair_of(root)).to_contain_text(" to the: ")
    words.click(position={"x": width * 0.95, "y": 110})  # a key of the decoder
    expect(pair_of(root)).to_contain_text(" to el: ")
    words.focus()
    press_keys(root, "ArrowLeft")  # the written word beside it
    expect(pair_of(root)).to_contain_text("gato to ")
    press_keys(root, "Escape")
    root.page.mouse.move(0, 0)
    expect(root.locator(".vt-line")).to_have_text(re.compile("^In encoder head 1·2"))
    press(root, "Matrix")
    expect(matrix_of(root)).to_be_visible()

    root = opened(explore(trace, layer=1, head=2, linked=True))
    root.locator(".vt-heads canvas").focus()
    press_keys(root, *["ArrowUp"] * 3)  # into the decoder, and further up
    expect(title).to_have_text("Decoder self-attention · layer 0 · head 2")
    press_keys(root, "ArrowUp", "ArrowUp", "ArrowRight")
    expect(title).to_have_text("Encoder self-attention · layer 0 · head 3")


def test_a_picture_that_is_come_back_to_is_drawn(opened: Opened) -> None:
    root = opened(explore(make_trace(), linked=True))
    for name in ("All heads", "Linked", "All heads", "Lines", "Table", "Lines", "Linked"):
        press(root, name)
        root.page.wait_for_function("() => !document.querySelector('canvas:not([width])')")  # all have a size
        titles = {
            "Linked": ["source", "after the encoder", "writing", "written so far"],
            "Lines": ["query", "key"],
        }
        expect(root.locator(".vt-columns span")).to_have_text(titles.get(name, []))


def large_trace() -> ForwardTrace:
    """8 layers of 6 heads: head 1 of each even layer looks at the token before, head 2 at the first."""
    scores = np.random.default_rng(3).standard_normal((8, 6, 16, 16))
    at = np.arange(16)
    scores[::2, 1, at[1:], at[:-1]] += 9
    scores[:, 2, :, 0] += 9
    weights = np.exp(scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    return ForwardTrace(source_tokens=[f"w{i}" for i in at], encoder_attention=weights)


def point_at(root: Locator, layer: int, head: int) -> None:
    """Move the pointer over the wall until the line under it names the head."""
    canvas, label = root.locator(".vt-all-heads canvas"), root.locator(".vt-label")
    expect(canvas).to_have_attribute("width", re.compile(r"\d"))  # it is drawn
    box = canvas.bounding_box()
    for y in range(4, int(box["height"]), 16):
        canvas.hover(position={"x": 60 + head * (box["width"] - 60) / 6, "y": y})
        next_frames(root)
        if f"Head {layer}·{head} " in label.inner_text():
            return
    raise AssertionError(f"no place on the wall is head {layer}·{head}")


def test_a_large_model_opens_on_the_wall_and_a_head_leads_back_to_it(opened: Opened) -> None:
    trace = large_trace()
    root = opened(explore(trace, segments=[0] * 6 + [1] * 10))
    heads, label, title = (root.locator(part) for part in (".vt-all-heads canvas", ".vt-label", ".vt-title"))
    everything = root.get_by_role("button", name="All heads")
    expect(everything).to_have_attribute("aria-pressed", "true")
    expect(matrix_of(root)).to_be_hidden()
    expect(root.locator(".vt-wall [role=status]")).to_have_text("48 heads")

    heads.focus()
    press_keys(root, "ArrowDown", "ArrowDown", "ArrowRight")
    expect(label).to_contain_text("Head 2·1 of encoder self-attention")
    expect(label).to_contain_text("previous token: puts")
    press_keys(root, "Enter")
    expect(title).to_have_text("Encoder self-attention · layer 2 · head 1")
    expect(matrix_of(root)).to_be_focused()
    press_keys(root, "ArrowDown")  # a cell is pinned, and Escape first lets go of it
    expect(pair_of(root)).to_be_visible()
    press_keys(root, "Escape")
    expect(root.locator("[role=gridcell]").last).to_have_attribute("aria-colindex", "1")
    press_keys(root, "Escape")
    expect(heads).to_be_focused()
    expect(label).to_contain_text("Head 2·1 ")
    press_keys(root, "ArrowRight", "w")
    expect(title).to_have_text("Encoder self-attention · layer 2 · head 2")
    everything.click()
    expect(everything).to_be_focused()
    expect(root.locator(".vt-wall")).to_be_visible()
    point_at(root, 6, 2)
    expect(label).to_contain_text("first-token sink")
    root.page.mouse.down()
    root.page.mouse.up()
    expect(title).to_have_text("Encoder self-attention · layer 6 · head 2")

    # What sentence B gives to A, in the picture, its table and its lines.
    press(root, "Options")
    root.get_by_label("Sentences").select_option("BA")
    press_keys(root, "Escape")  # closes the options, and nothing else
    assert_shown(root, trace.encoder_attention[6, 2, 6:, :6])
    expect(root.locator(".vt-notes")).to_contain_text("Sentence B → sentence A alone")
    press(root, "Lines")
    expect(root.locator(".vt-words canvas")).to_be_visible()


def test_heads_are_filtered_by_label_layer_and_own_score(opened: Opened) -> None:
    scores = np.arange(48, dtype=float).reshape(8, 6)
    scores[0, 0] = np.nan
    root = opened(explore(large_trace(), scores={"mine": scores}))
    count, label = root.locator(".vt-wall [role=status]"), root.locator(".vt-label")
    legend = root.get_by_role("group", name="Filter by label")
    previous = legend.get_by_role("button", name=re.compile("previous token"))
    expect(previous).to_contain_text("previous token 4")
    previous.click()
    expect(previous).to_have_attribute("aria-pressed", "true")
    expect(previous).to_be_focused()
    expect(count).to_have_text("4 of 48 heads")
    legend.get_by_role("button", name=re.compile("first-token sink")).click()
    expect(count).to_have_text("12 of 48 heads")
    root.get_by_label("Layers", exact=True).select_option("6")
    expect(count).to_have_text("3 of 48 heads")
    press(root, "Show all")
    expect(count).to_have_text("48 heads")

    root.get_by_label("Sort by").select_option("mine")
    next_frames(root)  # the keys move in the order that is drawn
    root.locator(".vt-all-heads canvas").focus()
    press_keys(root, "ArrowLeft", "ArrowRight")  # from head 0·0, which has no score and stands last
    expect(label).to_contain_text("Head 0·0 ")
    expect(label).not_to_contain_text("mine")
    root.get_by_role("slider", name="mine at least").press("End")
    expect(count).to_have_text("1 of 48 heads")
    root.locator(".vt-all-heads canvas").focus()
    press_keys(root, "ArrowRight")  # the chosen head is filtered out: the first of those left is next
    expect(label).to_contain_text("Head 7·5 of encoder self-attention")
    expect(label).to_contain_text("mine\u2069 47")
