"""Models, sentences, interventions and masks drawn at random, for which the engine is held to torch."""

from __future__ import annotations

from random import Random
from typing import Any

import torch

from tests.support.small_models import randomise, traced
from viz_transformer.config import ModelConfig
from viz_transformer.model import DecoderOnly, EncoderOnly, HeadChange, Interventions, Transformer

FAMILIES = {"encoder-decoder": Transformer, "encoder": EncoderOnly, "decoder": DecoderOnly}


def random_interventions(
    rng: Random, config: ModelConfig, lengths: dict[str, tuple[int, int]]
) -> Interventions:
    """Draw interventions; `lengths` are the numbers of queries and keys of each kind of attention."""

    def rarely() -> bool:
        return rng.random() < 0.2

    heads = [
        HeadChange(kind, layer, head, rng.choice([0, 0.5, 1, 2, -1]), random_pattern(rng, *lengths[kind]))
        for kind, n_layers in config.attention_layers.items()
        for layer in range(n_layers)
        for head in range(config.n_heads)
        if rarely()
    ]
    return Interventions(
        scale=not rarely(),
        temperature=rng.choice([1, 1, 0.5, 3]),
        causal_mask=not rarely(),
        padding_mask=not rarely(),
        positions=not rarely(),
        residual=not rarely(),
        layer_norm=not rarely(),
        heads=heads,
    )


def random_pattern(rng: Random, n_queries: int, n_keys: int) -> Any:
    """Draw what a head looks at in place of its own weights; None leaves them."""
    kind = rng.choice([None, None, "uniform", "rows"])
    if kind != "rows":
        return kind
    rows = torch.rand(n_queries, n_keys, generator=torch.Generator().manual_seed(rng.randrange(1000)))
    rows = rows / rows.sum(-1, keepdim=True)
    rows[rng.randrange(n_queries)] = 0
    return rows.tolist()


def random_masks(rng: Random, lengths: dict[str, tuple[int, int]]) -> dict[str, list[list[int]]]:
    """Draw masks for some kinds of attention; in some rows nothing may be attended."""
    return {
        kind: [[int(rng.random() < share) for _ in range(n_keys)] for _ in range(n_queries)]
        for kind, (n_queries, n_keys) in lengths.items()
        if rng.random() < 0.4
        for share in [rng.choice([0, 0.3, 0.7, 1])]
    }


def lengths_of(config: ModelConfig, n_source: int, n_target: int) -> dict[str, tuple[int, int]]:
    """Return the numbers of queries and keys of each kind of attention that a model has."""
    lengths = {
        "encoder": (n_source, n_source),
        "decoder": (n_target, n_target),
        "cross": (n_target, n_source),
    }
    return {kind: lengths[kind] for kind in config.attention_layers}


def random_model(rng: Random):
    """Draw a small model, with choices that the bundled ones do not make."""
    family = rng.choice(list(FAMILIES))
    choices = {
        "vocab_size": 11,
        "d_model": 16,
        "n_heads": rng.choice([2, 4]),
        "n_encoder_layers": rng.choice([1, 2]),
        "n_decoder_layers": rng.choice([1, 2]),
        "d_ff": 18,
        "max_length": 12,
        "norm": rng.choice(["post", "pre"]),
        "positional": rng.choice(["sinusoidal", "sinusoidal_halves", "learned", "rotary", "none"]),
        "scoring": rng.choice(["scaled_dot", "dot", "additive"]),
        "activation": rng.choice(["relu", "gelu", "gelu_tanh", "silu"]),
        "bias": rng.random() < 0.5,
        "tie_embeddings": rng.random() < 0.5,
        "scale_embeddings": rng.random() < 0.5,
        "layer_norm_eps": rng.choice([1e-5, 1e-12, 0.1]),
        "family": family,
    }
    if family == "encoder-decoder":
        choices |= {"target_vocab_size": rng.choice([None, 13]), "start_id": rng.choice([None, 0])}
    else:
        choices |= {"embedding_norm": rng.random() < 0.5, "pad_id": rng.choice([0, None])}
    if family == "encoder":
        choices |= {"n_segments": rng.choice([0, 2]), "predicts_words": rng.random() < 0.7}
    else:
        choices["output_bias"] = rng.random() < 0.5
    torch.manual_seed(rng.randrange(1000))
    return traced(randomise(FAMILIES[family](ModelConfig(**choices)).eval()))


def random_ids(rng: Random, config: ModelConfig) -> dict[str, list[int]]:
    """Draw ids of either side that the family has, padding among them."""
    sides = {"encoder": ["source"], "decoder": ["target"]}.get(config.family, ["source", "target"])
    return {side: [rng.randrange(config.vocab_size) for _ in range(rng.randint(1, 9))] for side in sides}
