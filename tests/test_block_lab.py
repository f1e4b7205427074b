"""A block's parts and whom they tell; gradients by depth; and the pictures of both."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from viz_transformer.errors import UserError
from viz_transformer.experiments.depth import deep_model, gradients_by_depth
from viz_transformer.labs.block_lab import block_lab, block_spread
from viz_transformer.plots.gradients import HIGHEST, LOWEST, plot_gradients
from viz_transformer.plots.perturbation import plot_spread
from viz_transformer.training import make_model
from viz_transformer.translator import load_translator

SENTENCE = "the black cat sleeps"


@pytest.mark.parametrize("changed", range(5))
def test_attention_alone_tells_the_others(changed: int) -> None:
    spread = block_spread(load_translator(), SENTENCE, changed)
    others = np.arange(5) != changed
    for name, moved in spread.items():
        assert moved[changed] > 0.1
        mixes = name in ("self-attention", "norm over words")
        assert (moved[others] > 0.05).all() if mixes else (moved[others] == 0).all()


@torch.no_grad()
def test_a_layer_is_given_what_the_layer_before_it_made() -> None:
    translator = load_translator()
    ids = torch.tensor([translator.vocabulary.source_ids(SENTENCE)])
    first, second = translator.model.encoder.layers
    x = translator.model.embed_source(ids)
    y, _ = first(x, torch.ones(1, 1, 1, 5, dtype=torch.bool))
    for layer, block, read in ((0, first, x), (1, second, y), (-1, second, y)):
        other = read.clone()
        other[:, 2] = -other[:, 2]
        before, after = (block.feed_forward(each)[0, 2] for each in (read, other))
        moved = block_spread(translator, SENTENCE, 2, layer=layer)["feed-forward"]
        assert moved[2] == pytest.approx(float((after - before).norm() / before.norm()), rel=1e-4)


def test_the_lab_draws_what_was_measured() -> None:
    lab = block_lab()
    lab.choose(changed="3 cat")
    spread = block_spread(load_translator(), SENTENCE, 2)
    image = lab.figure().axes[0].images[0].get_array()
    np.testing.assert_allclose(image, np.stack(list(spread.values()), axis=1))
    assert "Where" not in lab.alt_text()
    assert "where “cat” is changed. self-attention: 4 of 4 other words moved" in lab.alt_text()
    assert "feed-forward: no other word moved" in lab.alt_text()


def test_a_table_of_changes_must_fit_its_words() -> None:
    with pytest.raises(UserError, match="one change for each word"):
        plot_spread(("a", "b"), 0, {"part": [0.0]})
    with pytest.raises(UserError, match="no part"):
        plot_spread(("a", "b"), 0, {})


def test_gradients_are_those_of_the_model_that_the_seed_makes() -> None:
    """The same weights as `make_model`'s, and torch's own seed stays."""
    before = torch.random.get_rng_state()
    found = gradients_by_depth(2, "pre", seed=3)
    assert torch.equal(before, torch.random.get_rng_state())
    assert found == gradients_by_depth(2, "pre", seed=3)
    assert found != gradients_by_depth(2, "pre", seed=4)
    assert len(found.encoder) == len(found.decoder) == 2
    assert deep_model(2, "pre") == make_model(deep_model(2, "pre"), 3).config


def test_leaving_the_norm_out_is_neither_post_nor_pre() -> None:
    losses = {norm: gradients_by_depth(4, norm).loss for norm in ("post", "pre", "none")}
    assert losses["none"] > 5 * max(losses["post"], losses["pre"])


def test_the_picture_of_gradients_keeps_its_axis_and_says_what_is_beyond() -> None:
    ax = plot_gradients([1.0, 0.5, math.inf], [0.0, 0.1, 1e9], title="odd")
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_allclose(lines["decoder"], [LOWEST, 0.1, HIGHEST])
    np.testing.assert_allclose(lines["encoder"], [1.0, 0.5, HIGHEST])
    told = [text.get_text() for text in ax.texts]
    assert {"below 0.000001", "1e+09", "overflow"} <= set(told)
    assert ax.get_ylim() == plot_gradients([], [1.0, 2.0]).get_ylim()
    assert "odd" in ax.figure.alt_text


def test_the_first_numbers_stand_clear_of_the_axis() -> None:
    ax = plot_gradients([1.0] * 6, [0.0] * 5 + [3.1])
    ax.figure.draw_without_rendering()
    below = next(text for text in ax.texts if text.get_text().startswith("below"))
    assert below.get_window_extent().x0 > ax.get_window_extent().x0


@pytest.mark.parametrize(("norms", "message"), [([], "no layer"), ([-1.0], "never below 0")])
def test_what_is_no_norm_is_refused(norms: list[float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plot_gradients([], norms)
