"""`EncoderOnly` and `torch.nn.TransformerEncoder`: the same numbers, there and back."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.support.refusals import assert_refused
from tests.support.small_models import NOT_IN_TORCH, PAD, VOCAB, family_config, randomise, traced, words
from viz_transformer.model import EncoderOnly
from viz_transformer.model.conversion import from_torch_encoder, to_torch_encoder
from viz_transformer.model.masks import to_torch_mask


def small_encoder(**changes):
    return randomise(EncoderOnly(family_config(EncoderOnly, **changes))).eval()


def torch_encoder(norm_first=False, n_layers=2, **changes):
    """A torch.nn.TransformerEncoder that can be mapped, with random weights."""
    sizes = {"d_model": 16, "nhead": 4, "dim_feedforward": 24, "norm_first": norm_first}
    layer = nn.TransformerEncoderLayer(**(sizes | {"batch_first": True} | changes))
    norm = nn.LayerNorm(16, eps=changes.get("layer_norm_eps", 1e-5)) if norm_first else None
    module = nn.TransformerEncoder(layer, n_layers, norm, enable_nested_tensor=False)
    return randomise(module).eval()


def padded_ids():
    ids = words(4, 7)
    ids[0, 5:] = PAD  # at the end
    ids[1, :3] = PAD  # in front
    ids[2, 1:] = PAD  # all but one word
    return ids  # and the last without any


def torch_heads(module, x, ignore):
    """Every layer's weights [batch, head, query, key], by walking torch's stack by hand."""
    weights = []
    for layer in module.layers:
        seen = layer.norm1(x) if layer.norm_first else x
        _, heads = layer.self_attn(seen, seen, seen, key_padding_mask=ignore, average_attn_weights=False)
        weights.append(heads)
        x = layer(x, src_key_padding_mask=ignore)
    return tuple(weights)


def assert_equal(model, module):
    """Compare all vectors, and every head's weights, on a batch with padding."""
    ids = padded_ids()
    ignore = ids == PAD  # torch: True says "ignore"
    torch.testing.assert_close(ignore, to_torch_mask(model.padding_mask(ids))[:, 0, 0])
    x = model.embed(ids)
    expected = module(x, src_key_padding_mask=ignore)
    torch.testing.assert_close(model.encode(ids), expected, atol=1e-5, rtol=1e-5)
    output = traced(model)(ids)
    torch.testing.assert_close(output.last_hidden_state, expected, atol=1e-5, rtol=1e-5)
    heads = torch_heads(module, x, ignore)
    assert heads[0].shape == (4, 4, 7, 7)
    torch.testing.assert_close(output.encoder_attention, heads, atol=1e-5, rtol=1e-5)


ACTIVATIONS = [
    ("relu", "relu"),
    ("gelu", "gelu"),
    (nn.ReLU(), "relu"),
    (nn.GELU(), "gelu"),
    (nn.GELU(approximate="tanh"), "gelu_tanh"),
    (F.silu, "silu"),
    (nn.SiLU(), "silu"),
]


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
@pytest.mark.parametrize("bias", [True, False])
def test_encoder_equals_torch(norm, activation, bias):
    model = small_encoder(norm=norm, activation=activation, bias=bias)
    module = to_torch_encoder(model)
    for grad in (True, False):  # without, torch may take a path of its own
        with torch.set_grad_enabled(grad):
            assert_equal(model, module)
    back = from_torch_encoder(module, VOCAB, max_length=model.config.max_length)
    assert back.config == model.config
    ours, theirs = dict(model.encoder.state_dict()), dict(back.encoder.state_dict())
    torch.testing.assert_close(theirs, ours, atol=0, rtol=0)


@pytest.mark.parametrize("norm_first", [False, True])
def test_torch_equals_the_encoder_made_from_it(norm_first):
    for activation, name in ACTIVATIONS:
        for eps in (1e-5, 0.5):
            module = torch_encoder(norm_first, 3, activation=activation, layer_norm_eps=eps, dropout=0.2)
            model = from_torch_encoder(module, VOCAB, max_length=9, pad_id=PAD, positional="learned")
            config = model.config
            assert (config.d_model, config.n_heads, config.d_ff, config.dropout) == (16, 4, 24, 0.2)
            assert (config.n_encoder_layers, config.n_decoder_layers) == (3, 0)
            assert (config.activation, config.positional, config.layer_norm_eps) == (name, "learned", eps)
            assert_equal(model, module)


def test_torch_gives_the_padding_vectors_too():
    """It may skip padding that stands at the end, and would then leave zeros in its place."""
    model = small_encoder()
    ids = words(2, 6)
    ids[0, 3:] = PAD
    with torch.no_grad():
        vectors = to_torch_encoder(model)(model.embed(ids), src_key_padding_mask=ids == PAD)
        torch.testing.assert_close(model.encode(ids), vectors, atol=1e-5, rtol=1e-5)


def test_a_torch_encoder_that_is_not_batch_first_is_mapped_too():
    module = torch_encoder(batch_first=False)
    model = from_torch_encoder(module, VOCAB, pad_id=PAD)
    ids = padded_ids()
    expected = module(model.embed(ids).transpose(0, 1), src_key_padding_mask=ids == PAD)
    torch.testing.assert_close(model.encode(ids), expected.transpose(0, 1), atol=1e-5, rtol=1e-5)


def test_the_parts_of_an_encoder_that_torch_has_not_are_given_on_the_way_back():
    parts = {"n_segments": 2, "pooler": "tanh", "n_classes": 3, "embedding_norm": True}
    parts |= {"max_length": 12, "positional": "learned", "scale_embeddings": False, "pad_id": None}
    model = small_encoder(**parts, layer_norm_eps=1e-12)
    back = from_torch_encoder(to_torch_encoder(model), VOCAB, **parts)
    assert back.config == model.config
    assert {name: value.shape for name, value in back.state_dict().items()} == {
        name: value.shape for name, value in model.state_dict().items()
    }


@pytest.mark.parametrize("training", [False, True])
def test_torch_goes_here_and_back_as_copies(training):
    for norm_first in (False, True):
        module = torch_encoder(norm_first).double().train(training)
        first = copy.deepcopy(dict(module.state_dict()))
        model = from_torch_encoder(module, VOCAB)
        randomise(module)
        assert model.embedding.words.weight.dtype == torch.float64
        back = to_torch_encoder(model)
        assert {part.training for part in [*model.modules(), *back.modules()]} == {training}
        torch.testing.assert_close(dict(back.state_dict()), first, atol=0, rtol=0)
        randomise(back)
        torch.testing.assert_close(dict(to_torch_encoder(model).state_dict()), first, atol=0, rtol=0)


def changed(part=None, new=None, *, layer=None, norm=None, norm_first=False):
    """An encoder with a part of its first layer, its second layer or its last norm replaced."""
    module = torch_encoder(norm_first)
    if part is not None:
        setattr(module.layers[0], part, new)
    elif layer is not None:
        module.layers[1] = layer
    else:
        module.norm = norm
    return module


def another(**changes):
    """A layer made with other arguments."""
    return torch_encoder(n_layers=1, **changes).layers[0]


class OwnLayer(nn.TransformerEncoderLayer):
    """A student's layer, which may do anything."""


def test_models_without_an_equivalent_are_refused(shapes_unchecked):
    last = {"norm_first": True}
    zero_attention = nn.MultiheadAttention(16, 4, 0.1, add_zero_attn=True)
    modules = [
        (changed(layer=nn.Identity()), "layer Identity.*use torch.nn.TransformerEncoderLayer"),
        (changed(layer=OwnLayer(16, 4, 24)), "the layer OwnLayer cannot be mapped"),
        (changed(layer=nn.TransformerDecoderLayer(16, 4, 24)), "the layer TransformerDecoderLayer cannot"),
        (torch_encoder(n_layers=0), "TransformerEncoder has no layers"),
        (changed(layer=another(norm_first=True)), "layers differ.*, norm='post' or norm='pre';"),
        (
            changed(layer=another(activation="gelu", nhead=2)),
            "layers differ.*, n_heads=2 or n_heads=4, activation='gelu' or activation='relu';",
        ),
        (
            changed(norm=nn.LayerNorm(16)),
            r"norm=LayerNorm.*norm_first=False.*layer, num_layers, norm=None\)",
        ),
        (changed(norm=nn.RMSNorm(16)), r"norm=RMSNorm.*norm_first=False.*norm=None\)"),
        (
            changed(norm=None, **last),
            r"norm=None, norm_first=True.*num_layers, norm=torch.nn.LayerNorm\(16\)\)",
        ),
        (
            changed(norm=nn.LayerNorm(16, eps=0.1), **last),
            "layer_norm_eps=1e-05 in the layers of the TransformerEncoder and 0.1",
        ),
        (
            changed(norm=nn.LayerNorm(16, bias=False), **last),
            r"part LayerNorm.* with the weights {'weight': \[16\]} cannot be mapped",
        ),
        (changed("norm1", nn.LayerNorm(16, eps=0.1)), r"layer_norm_eps=\[1e-05, 0.1\]"),
        (changed("norm1", nn.RMSNorm(16)), "part RMSNorm.*make it LayerNorm"),
        (changed("dropout1", nn.Dropout(0.7)), r"has the dropouts \[0.1, 0.7\]"),
        (changed("linear2", nn.Linear(24, 16, bias=False)), "part Linear.*bias=False"),
        (changed("self_attn", zero_attention), "add_zero_attn=True cannot be mapped"),
        (torch_encoder(bias=False), "a layer with bias=False cannot be mapped"),
        (torch_encoder(activation=torch.tanh), "activation.*tanh.*'relu' or 'gelu'"),
        (torch_encoder(activation=nn.Tanh()), r"activation Tanh\(\) cannot be mapped"),
        (nn.Linear(2, 2), r"stack Linear.*use torch.nn.TransformerEncoder"),
    ]
    cases = [(lambda module=module: from_torch_encoder(module, VOCAB), said) for module, said in modules]
    for changes, said in NOT_IN_TORCH:
        cases.append((lambda changes=changes: to_torch_encoder(small_encoder(**changes)), said))
    rotary = {"positional": "rotary"}
    cases.append(
        (lambda: from_torch_encoder(torch_encoder(), VOCAB, **rotary), "positional='rotary'.*'learned'")
    )
    assert_refused(cases)
