"""A block's parts and whom they tell; gradients by depth; and the pictures of both."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.support.engine_answers import assert_both_sides_agree
from tests.support.refusals import assert_refused
from viz_transformer.config import ModelConfig
from viz_transformer.experiments.depth import deep_model, gradients_by_depth
from viz_transformer.plots.gradients import HIGHEST, LOWEST, plot_gradients
from viz_transformer.plots.perturbation import UNMOVED, plot_spread
from viz_transformer.training import make_model
from viz_transformer.translator import Translator, load_translator
from viz_transformer.widgets.block_lab.live import block_lab, block_spread

SENTENCE = "the black cat sleeps"


def test_only_attention_moves_information_between_tokens() -> None:
    for changed in range(5):
        spread = block_spread(load_translator(), SENTENCE, changed)
        others = np.arange(5) != changed
        for name, moved in spread.items():
            assert moved[changed] > 0.1, name
            mixes = name in ("self-attention", "norm over words")
            assert (moved[others] > 0.05 if mixes else moved[others] < UNMOVED).all(), name


@torch.no_grad()
def test_a_layer_receives_the_output_of_the_layer_before() -> None:
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
    lab = block_lab(changed=2)
    assert lab.tokens == ("the", "black", "cat", "sleeps", "<eos>")
    assert repr(lab) == "BlockLab('the black cat sleeps', changed=2, layer=1)"
    spread = block_spread(load_translator(), SENTENCE, 2)
    image = lab.figure().axes[0].images[0].get_array()
    np.testing.assert_allclose(image, np.stack(list(spread.values()), axis=1))
    assert "Where" not in lab.alt_text()
    assert "where “cat” is changed. self-attention: 4 of 4 other words moved" in lab.alt_text()
    assert "feed-forward: no other word moved" in lab.alt_text()


def test_a_choice_changes_the_lab() -> None:
    lab = block_lab(changed=4)
    lab.layer = 0
    np.testing.assert_allclose(
        lab.spread()["LayerNorm"], block_spread(load_translator(), SENTENCE, 4, layer=0)["LayerNorm"]
    )
    lab.sentence = "the cat"
    assert (lab.tokens, lab.changed) == (("the", "cat", "<eos>"), 2)
    assert "“<eos>” is changed" in lab.alt_text()
    assert [asked["layer"] for asked in block_lab(engine="kernel").questions()] == [0, 1]


def test_a_lab_or_a_table_that_cannot_be_is_refused() -> None:
    assert_refused(
        [
            (lambda: block_lab(layer=7), "layer=7, but the encoder has 2"),
            (lambda: block_lab(changed=9), "changed=9, but the sentence has 5"),
            (lambda: block_lab(engine="moon"), "engine='moon'"),
            (lambda: plot_spread(("a", "b"), 0, {"part": [0.0]}), "one change for each word"),
            (lambda: plot_spread(("a", "b"), 0, {}), "no part"),
            (lambda: plot_gradients([], []), "no layer"),
            (lambda: plot_gradients([], [-1.0]), "never below 0"),
        ]
    )


def test_the_page_answers_as_the_kernel_does() -> None:
    for translator in (load_translator(), rotary_translator()):
        sentences = (SENTENCE, "the cat", "does the dog see me?", "the dragon")
        asked = [{"sentence": sentence, "layer": layer} for sentence in sentences for layer in (0, 1)]
        assert_both_sides_agree(block_lab(translator, SENTENCE), asked)


def rotary_translator() -> Translator:
    """One with random weights, whose parts stand and turn otherwise than those of the bundled one."""
    vocabulary = load_translator().vocabulary
    config = ModelConfig(
        vocab_size=len(vocabulary), d_model=16, n_heads=2, n_encoder_layers=2, n_decoder_layers=1, d_ff=24,
        norm="pre", positional="rotary", activation="gelu",
    )  # fmt: skip
    return Translator(make_model(config, 1).eval(), vocabulary)


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
    assert {"below 0.000001", "10⁹", "overflow"} <= set(told)
    assert "decoder: below 0.000001 in layer 0, 10⁹ in layer 2" in ax.figure.alt_text.lower()
    assert ax.get_ylim() == plot_gradients([], [1.0, 2.0]).get_ylim()
    assert "odd" in ax.figure.alt_text


def test_layers_count_from_0_and_the_last_has_its_number() -> None:
    for n_layers in (1, 2, 6, 24, 65):
        ticks = list(plot_gradients([1.0] * n_layers, []).get_xticks())
        assert (ticks[0], ticks[-1]) == (0, n_layers - 1)
        assert len(ticks) <= 9
        assert min(np.diff(ticks), default=1) > n_layers / 20, "numbers that run together"
