"""The machine's parts, held to the model itself; their picture; and the lab that moves them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from viz_transformer.config import ModelConfig, count_parameters
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.errors import UserError
from viz_transformer.labs.model_summary import SIZES, model_summary_lab, summary_of
from viz_transformer.model import TracedTransformer
from viz_transformer.model.model_summary import model_parts
from viz_transformer.plots.model_summary import n_learned, plot_machine, shares
from viz_transformer.translator import load_translator

SMALL = ModelConfig(vocab_size=35, d_model=16, n_heads=2, n_encoder_layers=3, n_decoder_layers=2, d_ff=24)
CONFIGS = {
    "as it is": SMALL,
    "pre": replace(SMALL, norm="pre", bias=False),
    "untied": replace(SMALL, tie_embeddings=False, output_bias=True),
    "own target words": replace(SMALL, target_vocab_size=20),
    "learned positions": replace(SMALL, positional="learned", max_length=12),
    "rotary, additive": replace(SMALL, positional="rotary", scoring="additive"),
    "no positions": replace(SMALL, positional="none"),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_parts_learn_what_the_model_learns(config: ModelConfig) -> None:
    parts = model_parts(config, 6, 4)
    assert n_learned(parts) == count_parameters(config)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_the_shapes_are_those_of_a_real_run(config: ModelConfig) -> None:
    parts = model_parts(config, 6, 4, batch=3)
    output = TracedTransformer(config).eval()(torch.full((3, 6), 5), torch.full((3, 4), 5))
    seen = {f"{part.stack} {part.name}": part.shapes for part in parts}
    assert seen["encoder self-attention"]["weights"] == output.encoder_attention[0].shape
    assert seen["decoder masked self-attention"]["weights"] == output.decoder_attention[0].shape
    assert seen["decoder cross-attention"]["weights"] == output.cross_attention[0].shape
    assert seen["decoder logits"]["output"] == output.logits.shape
    assert seen["decoder feed-forward"] == {"hidden": (3, 4, 24), "output": (3, 4, 16)}
    assert seen["decoder cross-attention"]["query"] == (3, 2, 4, 8)
    assert seen["decoder cross-attention"]["key"] == (3, 2, 6, 8)
    last = "last norm" if config.norm == "pre" else "Add & Norm"
    assert seen[f"encoder {last}"]["output"] == (3, 6, 16)


def test_each_stack_repeats_its_own_layers() -> None:
    times = {(part.stack, part.times) for part in model_parts(SMALL, 6, 4) if part.in_layer}
    assert times == {("encoder", 3), ("decoder", 2)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_source": 0}, "n_source=0"),
        ({"n_target": 9999}, "at most 512"),
        ({"batch": 0}, "batch=0"),
        ({"config": ModelConfig.preset("gpt2")}, "family 'decoder'"),
    ],
)
def test_what_is_no_machine_is_refused(given: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        model_parts(**{"config": SMALL, "n_source": 6, "n_target": 4} | given)


def test_the_picture_holds_every_shape_and_count() -> None:
    parts = model_parts(SMALL, 6, 4)
    figure = plot_machine(parts, title="small")
    drawn = " ".join(text.get_text() for ax in figure.axes for text in ax.texts)
    for part in parts:
        assert part.name in drawn
        assert f"{part.n_parameters:,}" in drawn
        assert all(str(list(shape)) in drawn for shape in part.shapes.values())
    assert "encoder layer, × 3" in drawn
    assert "memory [1, 6, 16]" in drawn
    assert f"small: {count_parameters(SMALL):,} numbers" in figure.texts[0].get_text()
    assert "weights have the shape [1, 2, 4, 6]" in figure.alt_text


def test_the_shares_are_of_the_whole_and_none_is_left_out() -> None:
    found = shares(model_parts(SMALL, 6, 4))
    assert sum(found.values()) == pytest.approx(1)
    layer = 4 * (16 * 16 + 16)
    assert found["attention"] == pytest.approx((3 + 2 * 2) * layer / count_parameters(SMALL))
    assert found["words and places"] == pytest.approx(35 * 16 / count_parameters(SMALL))


def test_a_picture_needs_both_stacks() -> None:
    with pytest.raises(UserError, match="give the parts of both"):
        plot_machine([part for part in model_parts(SMALL, 6, 4) if part.stack == "encoder"])


def test_the_lab_opens_with_the_paper_s_sizes_and_moves() -> None:
    lab = model_summary_lab(n_layers=2)
    assert "numbers: " in lab.alt_text()
    before = lab.alt_text()
    lab.choose(d_model=32, n_heads=4, d_ff=64, n_layers=2)
    assert lab.alt_text() != before
    assert "43,104 numbers" in lab.alt_text()


def test_the_bundled_vocabularies_are_among_the_lab_s() -> None:
    sizes = {len(vocabulary_of(SIX_PAIRS)), load_translator().config.vocab_size}
    assert sizes <= set(SIZES["vocab_size"])


def test_every_choice_of_the_lab_is_a_model() -> None:
    assert all(width % heads == 0 for width in SIZES["d_model"] for heads in SIZES["n_heads"])
    for name, values in SIZES.items():
        sizes = model_summary_lab().values
        for value in (values[0], values[-1]):
            assert n_learned(summary_of(**sizes | {name: value})) > 0
