"""The machine's parts, held to the model itself; their picture; and the lab that moves them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from viz_transformer.config import ModelConfig, count_parameters
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.model import TracedTransformer
from viz_transformer.model.model_summary import model_parts
from viz_transformer.plots.model_summary import n_learned, plot_machine, shares
from viz_transformer.translator import load_translator
from viz_transformer.widgets.model_summary_lab.live import config_of, model_summary_lab, summary_of
from viz_transformer.widgets.model_summary_lab.view import N_PARTS, SIZES

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


def test_the_parts_compute_and_learn_as_the_model() -> None:
    for name, config in CONFIGS.items():
        parts = model_parts(config, 6, 4, batch=3)
        assert n_learned(parts) == count_parameters(config), name
        output = TracedTransformer(config).eval()(torch.full((3, 6), 5), torch.full((3, 4), 5))
        last = "last norm" if config.norm == "pre" else "Add & Norm"
        shapes = {f"{part.stack} {part.name}": part.shapes for part in parts}
        found = {
            "encoder self-attention weights": output.encoder_attention[0].shape,
            "decoder masked self-attention weights": output.decoder_attention[0].shape,
            "decoder cross-attention weights": output.cross_attention[0].shape,
            "decoder logits output": output.logits.shape,
            "decoder feed-forward hidden": (3, 4, 24),
            "decoder feed-forward output": (3, 4, 16),
            "decoder cross-attention query": (3, 2, 4, 8),
            "decoder cross-attention key": (3, 2, 6, 8),
            f"encoder {last} output": (3, 6, 16),
        }
        for place, shape in found.items():
            part, _, kind = place.rpartition(" ")
            assert shapes[part][kind] == shape, (name, place)


def test_wrong_hardware_is_refused() -> None:
    whole = {"config": SMALL, "n_source": 6, "n_target": 4}
    cases = [
        ({"n_source": 0}, "n_source=0"),
        ({"n_target": 9999}, "at most 512"),
        ({"batch": 0}, "batch=0"),
        ({"config": ModelConfig.preset("gpt2")}, "family 'decoder'"),
    ]
    assert_refused((lambda given=given: model_parts(**whole | given), said) for given, said in cases)
    encoder = [part for part in model_parts(**whole) if part.stack == "encoder"]
    lab = model_summary_lab()
    before = lab.values
    assert_refused(
        [
            (lambda: plot_machine(encoder), "give the parts of both"),
            (lambda: lab.choose(d_model=33, n_heads=1), "d_model=33 is odd"),
            (lambda: lab.choose(width=3), "no size 'width'"),
            (lambda: model_summary_lab(d_ff=10**9), "d_ff=1000000000"),
        ]
    )
    assert lab.values == before


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
    assert f"small: {count_parameters(SMALL):,} parameters" in figure.texts[0].get_text()
    assert "weights have the shape [1, 2, 4, 6]" in figure.alt_text


def test_the_shares_are_of_the_whole_and_none_is_left_out() -> None:
    parts = model_parts(SMALL, 6, 4)
    times = {(part.stack, part.times) for part in parts if part.in_layer}
    assert times == {("encoder", 3), ("decoder", 2)}
    found = shares(parts)
    assert sum(found.values()) == pytest.approx(1)
    layer = 4 * (16 * 16 + 16)
    assert found["attention"] == pytest.approx((3 + 2 * 2) * layer / count_parameters(SMALL))
    assert found["words and positions"] == pytest.approx(35 * 16 / count_parameters(SMALL))


# --- the lab -----------------------------------------------------------------------------------


def test_the_lab_opens_with_the_paper_s_sizes_and_moves() -> None:
    lab = model_summary_lab(n_layers=2)
    assert lab.values == {
        "n_source": 6, "n_target": 4, "d_model": 512, "n_heads": 8, "d_ff": 2048, "n_layers": 2,
        "vocab_size": 35,
    }  # fmt: skip
    before = lab.alt_text()
    lab.choose(d_model=32, n_heads=4, d_ff=64)
    assert lab.alt_text() != before
    assert "43,104 parameters" in lab.alt_text()
    lab.n_layers = 3
    assert n_learned(lab.parts()) > 43_104
    drawn = " ".join(text.get_text() for ax in lab.figure().axes for text in ax.texts)
    assert "encoder layer, × 3" in drawn
    assert repr(lab).startswith("ModelSummaryLab(n_source=6, n_target=4, d_model=32")
    lab.choose(d_model=96, n_heads=6)  # which only together suit each other
    assert lab.parts()[1].shapes["query"] == (1, 6, 6, 16)


def test_every_stop_of_the_lab_is_a_model() -> None:
    stops = {name: size.stops for name, size in SIZES.items()}
    bundled = {len(vocabulary_of(SIX_PAIRS)), load_translator().config.vocab_size}
    assert bundled <= set(stops["vocab_size"])
    assert all(width % heads == 0 for width in stops["d_model"] for heads in stops["n_heads"])
    for name, values in stops.items():
        sizes = model_summary_lab().values
        for value in (values[0], values[-1]):
            assert n_learned(summary_of(**sizes | {name: value})) > 0


def random_sizes(draw: Callable[[int, int], int]) -> dict[str, int]:
    n_heads = draw(1, 12)
    highest = {"n_source": 60, "n_target": 60, "d_ff": 3000, "n_layers": 30, "vocab_size": 50_000}
    sizes = {name: draw(1, most) for name, most in highest.items()}
    return {**sizes, "n_heads": n_heads, "d_model": 2 * n_heads * draw(1, 40)}


def test_the_page_counts_parameters_of_models_of_any_size() -> None:
    """Shapes as a real model's walk gives them, and the count as that of the configuration."""
    draw = random.Random(3).randint
    sizes = [model_summary_lab().values, *(random_sizes(draw) for _ in range(10))]
    found = answers_in_node(
        {"modelParts, learnedBy, learnedByAll, sharesOf": "widgets/model_summary_lab/model_parts.ts"},
        """(given) => given.map((sizes) => {
            const parts = modelParts(sizes);
            const lengths = ([name, axes]) => [name, axes.map(({ length }) => length)];
            const told = parts.map((part) => ({
                stack: part.stack, name: part.name, times: part.times, in_layer: part.inLayer,
                n_parameters: learnedBy(part), shapes: Object.entries(part.shapes).map(lengths),
            }));
            return { total: learnedByAll(parts), shares: sharesOf(parts), parts: told };
        })""",
        sizes,
    )
    for chosen, page in zip(sizes, found, strict=True):
        parts = summary_of(**chosen)
        assert page["total"] == n_learned(parts) == count_parameters(config_of(**chosen))
        assert page["shares"] == pytest.approx(list(shares(parts).values()))
        assert len(page["parts"]) == len(parts) == N_PARTS
        for of_page, part in zip(page["parts"], parts, strict=True):
            shapes = {name: tuple(shape) for name, shape in of_page.pop("shapes")}
            assert shapes == part.shapes, (chosen, part.name)
            assert of_page == {name: getattr(part, name) for name in of_page}


def test_the_page_offers_only_models_that_exist() -> None:
    """Whatever is typed or slid to, Python accepts what the page makes of it."""
    generator = random.Random(5)
    controls = [{"name": name, **size._asdict()} for name, size in SIZES.items()]
    values = [0, 1, 2, 3, 7, 33, 100, 511, 512, 999, 10**7, 2.6]
    steps = [[generator.choice(controls), generator.choice(values)] for _ in range(200)]
    found = answers_in_node(
        {"withSize": "widgets/model_summary_lab/sizes.ts"},
        """({ first, steps }) => {
            let sizes = first;
            return steps.map(([control, value]) => (sizes = withSize(sizes, control, value)));
        }""",
        {"first": model_summary_lab().values, "steps": steps},
    )
    lab = model_summary_lab()
    for sizes in found:
        lab.choose(**sizes)
        assert lab.values == sizes
