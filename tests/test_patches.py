"""Where the patches of a picture stand among tokens: found, given, or refused, and never a word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.refusals import assert_refused
from viz_transformer.analysis import bias_by_offset, row_of_queries
from viz_transformer.analysis.patches import find_patches
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace

WORDS = ["what", "is", "this"]
PATCHES = [f"row {i // 4}, column {i % 4}" for i in range(16)]
IMAGE = ["<image>"] * 16
OWN = ["sky", "sun", "cloud", "roof"] * 4


def test_patches_are_found_where_the_tokens_tell_and_else_have_to_be_given() -> None:
    found = [
        (PATCHES, (4, 4), 0),
        (["[CLS]", *PATCHES], (4, 4), 1),  # ViT
        (["<s>", *PATCHES, *WORDS], (4, 4, 1), 1),  # LLaVA
        (["<s>", *WORDS, *IMAGE, *WORDS], (4, 4), 4),  # a processor's labels
        ([*IMAGE, "."], (4, 4), 0),
        (["[CLS]", *PATCHES, *["[DET]"] * 5], (4, 4, 1), 1),  # YOLOS
        (["[CLS]", *["[REG]"] * 4, *PATCHES], (4, 4, 5), 5),  # DINOv2 with registers
        ([*IMAGE, "and", *IMAGE], (4, 4, 17), 17),  # the second of two pictures
    ]
    for tokens, grid, start in found:
        assert find_patches(grid, tokens, class_token=True) == (4, 4, start), tokens
    open_grids = [tokens for tokens, grid, _ in found if len(grid) == 3]
    assert_refused(
        [
            *(
                (lambda t=t: find_patches((4, 4), t, class_token=True), "open where among")
                for t in open_grids
            ),
            (lambda: find_patches((4, 4), [*PATCHES, "x"], class_token=False), "open where among the 17"),
            (lambda: find_patches((4, 4, 1), PATCHES, class_token=True), "the first at 1, for 16 tokens"),
            (lambda: find_patches((4, 5), PATCHES, class_token=True), "20 patches for 16 tokens"),
            (lambda: find_patches((4, 4, True), PATCHES, class_token=True), "give the rows and columns"),
            (lambda: find_patches((4, 0), PATCHES, class_token=True), "give the rows and columns"),
        ]
    )


def test_a_grid_in_which_the_labels_show_a_token_that_is_no_patch_is_refused() -> None:
    none = [
        (["[CLS]", *OWN[:15]], (4, 4), r"'\[CLS\]' among the tokens from 0 on is none"),
        ([*OWN, "[SEP]"], (4, 4), r"'\[SEP\]' among the tokens from 1 on is none"),  # the last one is apart
        (["<s>", *OWN, *WORDS], (4, 4, 0), "'<s>' among the tokens from 0 on is none"),
        (["look", *IMAGE, "this"], (4, 4, 2), "first patch at 2, but 16 tokens '<image>' begin at 1"),
        ([*IMAGE, "and", *IMAGE], (4, 4, 16), "but 16 tokens '<image>' begin at 0 and 17; give"),
        (["a", "photo", *IMAGE[:6], "."], (3, 3), "9 patches, and only 6 of these tokens are '<image>'"),
        (["[CLS]", *["[IMG]"] * 14, *"ab"], (4, 4, 1), "only 14 of these tokens"),
    ]
    assert_refused(
        (lambda tokens=tokens, grid=grid: find_patches(grid, tokens, class_token=True), said)
        for tokens, grid, said in none
    )
    spelt = ["<|im_start|>", *["<|image_pad|>"] * 16, "this", "<|im_end|>"]  # as special tokens are
    assert find_patches((4, 4), spelt, class_token=False) == (4, 4, 1)


def test_a_view_keeps_its_patches_only_where_another_trace_has_them_too() -> None:
    def trace(*labels: str) -> ForwardTrace:
        return vt.capture(np.eye(len(labels))[None, None], target_tokens=labels)

    view = vt.explore(trace("<s>", *IMAGE, "what"), grid=(4, 4))
    view.trace = trace("<s>", *IMAGE, *WORDS)
    assert view.grid == [4, 4, 1, 20, 1]
    view.trace = trace("<s>", "why", *IMAGE, "is", "this")  # as many tokens
    assert view.grid == []
    view.grid = [4, 4]
    assert view.grid == [4, 4, 2, 20, 1]
    with pytest.raises(UserError, match="first at 5, for 20 tokens"):
        view.grid = [4, 4, 5]


def test_the_grid_and_the_image_of_a_view_are_set_as_explore_takes_them_or_refused_in_one_line() -> None:
    trace = vt.capture(np.full((1, 1, 7, 7), 1 / 7), source_tokens=["[CLS]", *OWN[:6]])
    picture = np.zeros((4, 6, 3), np.uint8)
    view = vt.explore(trace, grid=(2, 3), query=1)
    accepted: list[tuple[str, Any, Any]] = [
        ("grid", (3, 2), [3, 2, 1, 7, 0]),
        ("grid", np.array([2, 3]), [2, 3, 1, 7, 0]),
        ("grid", [2, 3, 1], [2, 3, 1, 7, 0]),
        ("grid", [3, 2, 1, 7, 0], [3, 2, 1, 7, 0]),  # as it is read
        ("image", picture, {"width": 6, "height": 4, "pixels": bytes(72)}),
        ("image", torch.ones(3, 2, 2), {"width": 2, "height": 2, "pixels": bytes([255] * 12)}),
        ("image", None, {}),
        ("image", {}, {}),
        ("grid", None, []),
        ("grid", [], []),
    ]
    for name, value, right in accepted:
        setattr(view, name, value)
        assert getattr(view, name) == right, (name, value)
        view.figure()
    view.grid = (2, 3)
    refused: list[tuple[str, Any, str]] = [
        ("grid", [1, 2, 3, 4, 5], "give the rows and columns"),
        ("grid", [2, 3, 1, 9, 0], "give the rows and columns"),  # there are 7 keys
        ("grid", [2, 3, 1, 7, 1], "give the rows and columns"),  # of the source
        ("grid", [2, 3, 2, 7, 0], "the first at 2, for 7 tokens"),
        ("grid", (4, 4), "16 patches for 7 tokens"),
        ("grid", "2, 3", "give the rows and columns"),
        ("grid", 6, "give the rows and columns"),
        ("image", "cat.png", "no picture"),
        ("image", {"width": 3, "height": 4}, "no picture"),
        ("image", picture - 2.5, "before it is normalised"),
    ]
    assert_refused(
        (lambda name=name, value=value: setattr(view, name, value), said) for name, value, said in refused
    )
    assert (view.grid, view.image) == ([2, 3, 1, 7, 0], {})
    view.grid = None
    assert_refused([(lambda: setattr(view, "image", picture), "give grid=")])


def test_biases_by_offset_are_those_of_the_patches_alone() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(2, 3, 5)).astype(np.float32)  # [head, down, right] of 2 by 3 patches
    bias = rng.normal(size=(1, 2, 11, 11)).astype(np.float32)
    places = [(i, j) for i in range(2) for j in range(3)]
    for q, (i, j) in enumerate(places):
        for k, (down, right) in enumerate(places):
            bias[0, :, 3 + q, 3 + k] = table[:, down - i + 1, right - j + 2]
    labels = ["[CLS]", "a", "cat", *"uvwxyz", "it", "[SEP]"]
    weights = np.full((1, 2, 11, 11), 1 / 11, dtype=np.float32)
    trace = ForwardTrace(source_tokens=labels, encoder_attention=weights, encoder_position_bias=bias)
    np.testing.assert_array_equal(bias_by_offset(trace, "encoder", (2, 3, 3)), table)
    with pytest.raises(UserError, match="open where among the 11 tokens"):
        bias_by_offset(trace, "encoder", (2, 3))


def test_a_figure_shows_a_query_over_its_picture() -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (8, 16, 3), dtype=np.uint8)
    words = ["two", "words", *IMAGE[:8], "and", "three", "more"]
    own = rng.dirichlet(np.ones(13), (2, 2, 13)).astype(np.float32)
    cross = rng.dirichlet(np.ones(8), (2, 2, 13)).astype(np.float32)
    trace = ForwardTrace(target_tokens=words, decoder_attention=own)
    pictured = ForwardTrace(source_tokens=OWN[:8], target_tokens=words, cross_attention=cross)
    cases = [  # trace, kind, query, its weights of the patches, who attends, how much to other tokens
        (trace, "decoder", 12, own[1, 0, 12, 2:10], "From more", own[1, 0, 12, [0, 1, 10, 11, 12]].sum()),
        (
            trace,
            "decoder",
            5,
            own[1, 0, 5, 2:10],
            "From patch in row 0, column 3",
            1 - own[1, 0, 5, 2:10].sum(),
        ),
        (pictured, "cross", 5, cross[1, 0, 5], "From <image>", None),
    ]
    for of, kind, query, weights, who, apart in cases:
        view = vt.explore(of, kind=kind, layer=1, query=query, grid=(2, 4), image=image, hide_special=True)
        ax = vt.plots.plot_patches(of, kind, 1, 0, query, grid=(2, 4), image=image)
        for axes in (view.figure().axes[0], ax):
            np.testing.assert_array_equal(axes.images[0].get_array(), image)
            np.testing.assert_array_equal(axes.images[1].get_array(), weights.reshape(2, 4))
            assert axes.images[1].get_clim() == pytest.approx((0, weights.max()))
            frames = [patch.get_xy() for patch in axes.patches]
            assert frames == ([(2.5, -0.5)] if "patch" in who else [])
        row, column = divmod(int(weights.argmax()), 4)
        assert f"{who}: " in view.alt_text()
        assert view.alt_text().endswith(f"in row {row}, column {column}.")
        assert ("no patches" in view.alt_text()) == (apart is not None)
        if apart is not None:
            assert f"to tokens that are no patches {apart:.2g}" in view.alt_text()
    plain = vt.explore(trace, grid=(2, 4)).figure()  # nothing is pinned
    assert plain.axes[0].images[0].get_array().shape == (13, 13)
    other = ForwardTrace(source_tokens=OWN[:8], target_tokens=words, cross_attention=cross[::-1].copy())
    changed = vt.explore(pictured, compare=other, query=3, grid=(2, 4)).figure().axes[0].images[0]
    np.testing.assert_allclose(changed.get_array().ravel(), cross[0, 0, 3] - cross[1, 0, 3])
    assert changed.get_clim()[0] == -changed.get_clim()[1]
    assert_refused(
        [
            (lambda: vt.plots.plot_patches(trace, "decoder", 0, 0, 13, grid=(2, 4)), "choose from 0 to 12"),
            (
                lambda: vt.plots.plot_patches(trace, "decoder", 0, 0, 0, grid=(2, 4), image="cat"),
                "no picture",
            ),
        ]
    )


def test_several_queries_are_averaged_or_summed() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(19), size=(1, 2, 19))  # [layer, head, query, key]
    trace = vt.capture(weights, source_tokens=[*PATCHES, *WORDS])
    of_words = trace.encoder_attention[0, 1, [17, 18]]
    cases = (("mean", of_words.mean(0), "averaged"), ("sum", of_words.sum(0), "summed"))
    for how, right, told in cases:
        rows = row_of_queries(trace.encoder_attention, [17, 18], how)
        assert rows.shape == (1, 2, 19)
        np.testing.assert_allclose(rows[0, 1], right, rtol=1e-6)
        ax = vt.plots.plot_patches(trace, "encoder", 0, 1, [17, 18], grid=(4, 4, 0), how=how)
        np.testing.assert_allclose(ax.images[-1].get_array().ravel(), right[:16], rtol=1e-6)
        assert ax.get_xlabel().startswith(f"From 2 queries (is, this), {told}\n")
        one = vt.plots.plot_patches(trace, "encoder", 0, 1, [18], grid=(4, 4, 0), how=how)
        assert one.get_xlabel().startswith("From this\n")
    many = vt.plots.plot_patches(trace, "encoder", 0, 1, range(19), grid=(4, 4, 0)).get_xlabel()
    assert many.startswith("From 19 queries (")
    assert "…), averaged\n" in many
    assert_refused(
        [
            (
                lambda: vt.plots.plot_patches(trace, "encoder", 0, 1, [0, 19], grid=(4, 4, 0)),
                r"^\[0, 19\] is not among the 19 queries; choose from 0 to 18",
            ),
            (lambda: row_of_queries(weights, [19]), "not among the 19 queries; choose from 0 to 18"),
            (lambda: row_of_queries(weights, []), "give positions"),
            (lambda: row_of_queries(weights, 0.5), "give positions"),
            (lambda: row_of_queries(weights, 0, "max"), "choose 'mean' or 'sum'"),
        ]
    )
