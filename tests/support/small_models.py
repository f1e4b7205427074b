"""Small models with random weights, and batches of ids for them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import nn

from viz_transformer.config import ModelConfig
from viz_transformer.model import (
    DecoderOnly,
    EncoderOnly,
    TracedDecoderOnly,
    TracedEncoderOnly,
    TracedTransformer,
    Transformer,
)
from viz_transformer.model.masks import causal_mask, to_torch_mask

PAD, VOCAB = 0, 11
SIZES = {"vocab_size": VOCAB, "d_model": 16, "n_heads": 4, "d_ff": 24, "max_length": 12}
TRACED = {
    Transformer: TracedTransformer,
    EncoderOnly: TracedEncoderOnly,
    DecoderOnly: TracedDecoderOnly,
}


#: Changes to a configuration that torch's modules cannot have, each with how it is refused.
NOT_IN_TORCH = [
    ({"scoring": "dot"}, "scores by dot, rotary=False"),
    ({"scoring": "additive"}, "scores by AdditiveScore, rotary=False"),
    ({"positional": "rotary"}, "scores by scaled_dot, rotary=True"),
]


def each_of(variants):
    """Run a test with each of several changes to a configuration, as its `variant`."""
    return pytest.mark.parametrize(
        "variant", variants, ids=lambda variant: "-".join(map(str, variant.values()))
    )


def small_config(**changes):
    layers = {"n_encoder_layers": 2, "n_decoder_layers": 3, "dropout": 0.1}
    return ModelConfig(**(SIZES | layers | changes))


def family_config(family, **changes):
    """A configuration of `EncoderOnly` or `DecoderOnly`."""
    name = "encoder" if family is EncoderOnly else "decoder"
    return ModelConfig(**(SIZES | {"family": name, f"n_{name}_layers": 2} | changes))


def small_model(**changes):
    torch.manual_seed(0)
    return Transformer(small_config(**changes)).eval()


def traced(model):
    """The traced variant of a model of any family, through its checkpoint alone."""
    twin = TRACED[type(model)](model.config).train(model.training)
    twin.load_state_dict(model.state_dict())
    return twin


def randomise(module):
    """Give every parameter a value of its own, so that no two can be mistaken for each other."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=0.1, std=0.3)
    return module


def torch_forward(module, model, source, target):
    """Logits of a torch.nn.Transformer between our embeddings and our output layer."""
    source_ignore = to_torch_mask(model.padding_mask(source))[:, 0, 0]
    target_ignore = to_torch_mask(model.padding_mask(target))[:, 0, 0]
    hidden = module(
        model.embed_source(source),
        model.embed_target(target),
        tgt_mask=to_torch_mask(causal_mask(target.shape[1]))[0, 0],
        src_key_padding_mask=source_ignore,
        tgt_key_padding_mask=target_ignore,
        memory_key_padding_mask=source_ignore,
    )
    return model.logits(hidden)


def words(batch, length):
    return torch.randint(1, VOCAB, (batch, length))


def pad_right(ids, count):
    return F.pad(ids, (0, count), value=PAD)


@st.composite
def batches(draw):
    """Ids of a source and a target batch, padded anywhere: left, right, within, or all of it."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    batch = draw(st.integers(1, 3))
    source, target = (
        torch.randint(1, VOCAB, (batch, draw(st.integers(1, 7))), generator=generator) for _ in range(2)
    )
    share = draw(st.sampled_from([0.0, 0.3, 1.0]))
    for ids in (source, target):
        ids[torch.rand(ids.shape, generator=generator) < share] = PAD
    return source, target
