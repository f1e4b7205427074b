"""The picture of a vision model in a page: its patches stand where they stand among the tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from playwright.sync_api import Page, expect

import viz_transformer as vt
from viz_transformer.plots.colour import SIGNED
from viz_transformer.widgets.explorer import AttentionExplorer

PLACES = [(row, column) for row in range(2) for column in range(3)]
PATCHES = [f"row {row}, column {column}" for row, column in PLACES]
WHITE = 255.0

#: Keeps what is written on each canvas since it was cleared, and where, as letters of ten twelfths are high.
RECORD_TEXT = """
const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.clearRect = function (...box) {
  this.canvas.written = [];
  clearRect.apply(this, box);
};
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const { width } = this.measureText(text);
  const left = x - { left: 0, center: width / 2, right: width }[this.textAlign];
  const half = (parseFloat(/[\\d.]+px/.exec(this.font)[0]) * 5) / 12;
  this.canvas.written?.push({ text, left, right: left + width, top: y - half, bottom: y + half });
  fillText.call(this, text, x, y);
};
"""


def page_pixels(page: Page, view: AttentionExplorer, folder: Path, *, apart: int) -> np.ndarray:
    """The inner pixels of each of six patches in a light page, [patch, pixel, red green blue].

    Args:
        apart: how many tokens stand apart, in one column.
    """
    page.emulate_media(color_scheme="light")
    page.goto(vt.export_html(view, folder / "patches.html").as_uri())
    page.locator(".vt-caption").get_by_text("From").wait_for()
    shape, values = page.locator(".vt-patches canvas").evaluate(
        """(canvas) => [
          [canvas.height, canvas.width],
          [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data],
        ]"""
    )
    grid = np.reshape(np.array(values, dtype=np.uint8), (*shape, 4))[:, 30 * bool(apart) :, :3]
    tall, wide = grid.shape[0] / 2, grid.shape[1] / 3
    corners = [(int((r + 0.3) * tall), int((c + 0.3) * wide)) for r, c in PLACES]
    return np.stack([grid[y : y + 16, x : x + 16].reshape(-1, 3) for y, x in corners])


def veiled(colour: float, weights: np.ndarray) -> np.ndarray:
    """A grey of a picture under the white veil of its weights: bare at the largest of them."""
    veil = 0.86 * (1 - weights / weights.max())
    return WHITE * veil + colour * (1 - veil)


class Shown(NamedTuple):
    """What is to be seen of a query over its picture."""

    tokens: Sequence[str]
    options: dict[str, Any]
    who: str
    blank: Sequence[int] = ()
    masked: Sequence[int] = ()
    words: Sequence[int | None] | None = None


def test_the_picture_in_a_page_is_that_of_the_patches_between_words(page: Page, tmp_path: Path) -> None:
    patches = [f"row {i // 4}, column {i % 4}" for i in range(16)]
    tokens = ["<s>", *patches, "what", "is", "this"]
    weights = np.eye(20)[None, None]  # [layer, head, query, key]
    weights[0, 0, 19] = 0
    weights[0, 0, 19, tokens.index("row 1, column 1")] = 1  # "this" looks there
    trace = vt.capture(weights, target_tokens=tokens)
    with pytest.raises(vt.UserError, match="grid="):
        vt.explore(trace, kind="decoder", query=19, grid=(4, 4))
    view = vt.explore(trace, kind="decoder", query=19, grid=(4, 4, 1))
    page.goto(vt.export_html(view, tmp_path / "patches.html").as_uri())
    told = page.get_by_text("From this")
    told.first.wait_for(state="attached")
    assert "most 1, patch in row 1, column 1" in told.first.inner_text()


def test_page_and_figure_show_the_same_patches_whatever_is_hidden_merged_masked_or_below_the_threshold(
    page: Page, tmp_path: Path
) -> None:
    of_patches = np.tile([0.13, 0.03, 0.07, 0.02, 0.11, 0.04], (1, 2, 7, 1))
    given = np.full((1, 2, 7, 7), 0.6)  # [layer, head, query, key]: all look mostly at the first token
    given[..., 1:] = np.random.default_rng(0).permuted(of_patches, axis=-1)
    cls, pads = ["[CLS]", *PATCHES], ["start", *["<|image_pad|>"] * 6]
    below = {q: np.flatnonzero(given[0, 0, q, 1:] < 0.05) for q in range(7)}
    hide, from_third = {"hide_special": True}, "patch in row 0, column 2"
    cases = {
        "as it is": Shown(cls, {"query": 3}, from_third),
        "a pinned token that is hidden": Shown(cls, {"query": 0, **hide}, "[CLS]"),
        "a hidden token beside a patch": Shown(cls, {"query": 3, **hide}, from_third),
        "patches spelt as special tokens": Shown(pads, {"query": 3, **hide}, from_third),
        "patches merged into words": Shown(
            cls, {"query": 3, "merge_words": True}, from_third, words=(None, 0, 0, 0, 1, 1, 1)
        ),
        "below the threshold": Shown(cls, {"query": 3, "threshold": 0.05}, from_third, below[3]),
        "the threshold of a hidden token": Shown(
            cls, {"query": 0, "threshold": 0.05, **hide}, "[CLS]", below[0]
        ),
        "closed by a mask": Shown(cls, {"query": 3}, from_third, (1, 4), (1, 4)),
        "no picture": Shown(cls, {"query": 3, "threshold": 0.05, "image": None}, from_third, below[3]),
    }
    for name, (tokens, options, who, blank, masked, words) in cases.items():
        weights = given.copy()
        weights[..., [1 + at for at in masked]] = 0
        weights /= weights.sum(-1, keepdims=True)
        trace = vt.capture(weights, source_tokens=tokens, words=words)
        image = np.full((12, 18), 40, np.uint8)
        view = vt.explore(trace, grid=(2, 3, 1), **{"image": image, **options, "merge_words": False})
        view.merge_words = options.get("merge_words", False)
        row = weights[0, 0, options["query"], 1:]
        most = f"{row.max():.2g}", *PLACES[row.argmax()]

        pixels = page_pixels(page, view, tmp_path, apart=1)
        caption = page.locator(".vt-caption").inner_text()
        assert caption.startswith(f"From {who}"), name
        assert "most {}, patch in row {}, column {}".format(*most) in caption, name
        for at, inner in enumerate(pixels):
            assert (len(np.unique(inner, axis=0)) > 1) == (at in masked), (name, at)
            if at in blank and at not in masked:
                assert (inner == WHITE).all(), (name, at)
        if view.image:
            seen = [at for at in range(6) if at not in blank]
            right = veiled(40, row)[seen, None].repeat(3, axis=1)
            np.testing.assert_allclose(pixels[seen, 0], right, atol=2, err_msg=name)

        ax = view.figure().axes[0]
        drawn = np.ma.asarray(ax.images[-1].get_array())
        np.testing.assert_allclose(drawn.data.ravel(), row, rtol=1e-6, err_msg=name)
        assert ax.images[-1].get_clim() == pytest.approx((0, row.max())), name
        left_out = np.flatnonzero(np.ma.getmaskarray(drawn)).tolist()
        assert left_out == (list(blank) if "threshold" in options else []), name
        hatches = [each.get_path() for each in ax.patches if each.get_gid() == "masked"]
        under = [at for at, (r, c) in enumerate(PLACES) if hatches and hatches[0].contains_point((c, r))]
        assert under == list(masked), name
        assert f"From {who}: " in view.alt_text(), name


def test_each_patch_and_token_apart_is_pinned_by_clicks_and_keys_also_where_it_is_hidden_or_merged(
    page: Page, tmp_path: Path
) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(7), (1, 1, 7))
    cls, pads = ["[CLS]", *PATCHES], ["start", *["<|image_pad|>"] * 6]
    for name, tokens, options in (
        ("as it is", cls, {}),
        ("a hidden token", cls, {"hide_special": True}),
        ("hidden patches", pads, {"hide_special": True}),
        ("merged patches", cls, {"merge_words": True}),
    ):
        trace = vt.capture(weights, source_tokens=tokens, words=(None, 0, 0, 0, 1, 1, 1))
        view = vt.explore(trace, grid=(2, 3, 1), **options)
        page.goto(vt.export_html(view, tmp_path / "patches.html").as_uri())
        canvas, caption = page.locator(".vt-patches canvas"), page.locator(".vt-caption")
        box = canvas.bounding_box()
        assert box is not None
        wide, tall = (box["width"] - 30) / 3, box["height"] / 2
        for act, x, y, who in (
            (canvas.click, 26 + 1.5 * wide, 1.5 * tall, "patch in row 1, column 1"),
            (None, 0, 0, "patch in row 1, column 2"),
            (canvas.hover, 26 + 0.5 * wide, 0.5 * tall, "patch in row 0, column 0"),
            (canvas.click, 9, 9, tokens[0]),
        ):
            if act:
                act(position={"x": x, "y": y})
            else:
                page.keyboard.press("ArrowRight")
            expect(caption).to_contain_text(f"From {who}")
            place = 0 if who == tokens[0] else 1 + PATCHES.index(who.removeprefix("patch in "))
            most = weights[0, 0, place, 1:].max()
            assert f"most {most:.2g}" in caption.inner_text(), (name, who)


def test_the_colour_of_a_weight_with_a_sign_is_that_of_the_scale_on_any_picture(
    page: Page, tmp_path: Path
) -> None:
    stops = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in SIGNED["light"]])
    coloured = np.array([(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0), (128, 128, 128)])
    rows = np.array([[-2, 3, -3, 4, -4, 1], [4, -4, 2, -2, 3, -3], [3, 2, 1, -1, -2, 4]] * 2) / 2.0
    pictures = {"coloured": coloured, "medium grey": np.full((6, 3), 128), "dark": coloured // 2}
    for query, (name, colours) in enumerate(pictures.items()):
        image = np.repeat(np.repeat(colours.reshape(2, 3, 3), 20, 0), 20, 1).astype(np.uint8)
        trace = vt.capture(rows[None, None], source_tokens=PATCHES, normalised=False)
        view = vt.explore(trace, grid=(2, 3), image=image, query=query)
        figure = view.figure()
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        screen = np.asarray(canvas.buffer_rgba())
        centres = figure.axes[0].transData.transform([(c, r) for r, c in PLACES]).round().astype(int)
        in_figure = screen[screen.shape[0] - 1 - centres[:, 1], centres[:, 0], :3]
        in_page = page_pixels(page, view, tmp_path, apart=0)[:, 100]
        place = (rows[query] / 2 + 1) * 4  # of nine stops, from -2 to 2
        scale = np.stack([np.interp(place, range(9), stops[:, channel]) for channel in range(3)], 1)
        light = colours @ [0.299, 0.587, 0.114] / 127.5 - 1
        shade = 0.3 * np.abs(light)[:, None]
        right = scale * (1 - shade) + WHITE * (light > 0)[:, None] * shade
        for where, pixels in (("page", in_page), ("figure", in_figure)):
            message = f"{name}, {where}"
            np.testing.assert_allclose(pixels, right, atol=4, err_msg=message)
            is_blue = pixels[:, 2].astype(int) > pixels[:, 0]
            assert (is_blue == (rows[query] > 0)).all(), message


def test_what_is_said_under_the_picture_is_seen_whole(page: Page, tmp_path: Path) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(8), (1, 1, 8))
    long = "a-token-as-long-as-a-whole-sentence-without-a-space-in-it"
    for width, size, query, who in (
        (1024, 1.0, 3, "patch in row 0, column 2"),
        (1280, 1.0, 0, long),
        (1024, 1.6, 3, "patch in row 0, column 2"),
        (420, 1.0, 0, long),
    ):
        trace = vt.capture(weights, source_tokens=[long, *PATCHES, "end"])
        view = vt.explore(trace, grid=(2, 3, 1), query=query)
        view.text_size = size
        page.set_viewport_size({"width": width, "height": 768})
        page.goto(vt.export_html(view, tmp_path / "patches.html").as_uri())
        caption = page.locator(".vt-caption")
        caption.get_by_text("From").wait_for()
        told = f"From {who} · to tokens apart {weights[0, 0, query, [0, 7]].sum():.2g}"
        assert caption.inner_text().splitlines()[0] == told, (width, size)
        wide, inside, right = caption.evaluate(
            "(node) => [node.scrollWidth, node.clientWidth, node.getBoundingClientRect().right]"
        )
        assert wide <= inside, (width, size)
        assert right <= width, (width, size)


def test_the_keys_of_a_pinned_query_have_their_weights_beside_them_and_touch_none(
    page: Page, tmp_path: Path
) -> None:
    tokens = ["the", "\u00a0", "\u202e12.50", "cat", "sleeps", "\u3000", "international"]
    signed = np.random.default_rng(1).normal(size=(1, 1, 7, 7))
    page.add_init_script(RECORD_TEXT)
    for name, weights, width in (
        ("signed", signed, 1024),
        ("signed", 100 * signed, 1280),
        ("tiny", 1e-6 * signed, 1024),
        ("none below 0", np.abs(signed), 1024),
        ("shares", np.exp(signed) / np.exp(signed).sum(-1, keepdims=True), 1024),
    ):
        trace = vt.capture(weights, source_tokens=tokens, normalised=name == "shares")
        page.set_viewport_size({"width": width, "height": 768})
        page.goto(
            vt.export_html(vt.explore(trace, query=3, picture="lines"), tmp_path / "keys.html").as_uri()
        )
        page.locator(".vt-pair").first.wait_for()
        boxes = page.locator(".vt-words canvas").evaluate("(canvas) => canvas.written")
        assert len(boxes) == 21, name  # queries, keys and weights
        for i, one in enumerate(boxes):
            for other in boxes[:i]:
                across = max(one["left"], other["left"]) - min(one["right"], other["right"])
                down = max(one["top"], other["top"]) - min(one["bottom"], other["bottom"])
                assert across >= 4 or down >= 0, (name, one, other)
        texts = [box["text"] for box in boxes]
        assert "<U+00A0>" in texts[7:], name
        has_plus = any(text.startswith("+") for text in texts)
        assert has_plus == (name in ("signed", "tiny")), name
