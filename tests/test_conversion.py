"""torch's attention and `nn.Transformer`, and ours: the same numbers, there and back."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.support.refusals import assert_refused
from tests.support.small_models import NOT_IN_TORCH, PAD, randomise, small_model, torch_forward, traced, words
from viz_transformer.model.attention import MultiHeadAttention
from viz_transformer.model.conversion import (
    from_torch_attention,
    from_torch_transformer,
    to_torch_attention,
    to_torch_transformer,
)
from viz_transformer.model.masks import to_torch_mask


def padded_batch():
    source, target = words(3, 6), words(3, 5)
    source[0, 4:] = PAD
    source[1, 1:] = PAD
    target[2, 3:] = PAD
    return source, target


def close(found, expected):
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def torch_transformer(norm_first=False, **changes):
    """A torch.nn.Transformer that can be mapped, with random weights."""
    sizes = {"d_model": 16, "nhead": 4, "dim_feedforward": 24, "norm_first": norm_first}
    sizes |= {"batch_first": True} | changes

    def norm():
        return nn.LayerNorm(16) if norm_first else None

    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**sizes), 2, norm(), enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), 3, norm())
    module = nn.Transformer(16, 4, batch_first=True, custom_encoder=encoder, custom_decoder=decoder)
    return randomise(module).eval()


@given(
    n_heads=st.integers(1, 4),
    d_head=st.integers(1, 4),
    queries=st.integers(1, 5),
    keys=st.integers(1, 5),
    bias=st.booleans(),
    back=st.booleans(),
)
def test_attention_equals_torch_in_every_head(n_heads, d_head, queries, keys, bias, back):
    d_model = n_heads * d_head
    if back:
        module = randomise(nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True))
        ours = from_torch_attention(module)
    else:
        ours = randomise(MultiHeadAttention(d_model, n_heads, bias=bias))
        module = to_torch_attention(ours)
    x, memory = torch.randn(2, queries, d_model), torch.randn(2, keys, d_model)
    mask = torch.rand(2, 1, queries, keys) < 0.6
    mask[..., 0] = True  # torch gives NaN where a query may attend to nothing
    output, weights = ours(x, memory, mask)
    expected, expected_weights = module(
        x,
        memory,
        memory,
        attn_mask=to_torch_mask(mask).expand(2, n_heads, queries, keys).flatten(0, 1),
        average_attn_weights=False,
    )
    torch.testing.assert_close(weights, expected_weights)
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_attention_goes_there_and_back_as_a_copy(bias):
    ours = randomise(MultiHeadAttention(8, 2, dropout=0.3, bias=bias)).eval()
    module = to_torch_attention(ours)
    back = from_torch_attention(module)
    assert (back.n_heads, back.dropout, back.training) == (2, 0.3, False)
    randomise(module)
    torch.testing.assert_close(dict(back.state_dict()), dict(ours.state_dict()))


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("bias", [True, False])
def test_transformer_equals_torch(norm, activation, bias):
    eps = 1e-5 if bias else 0.5
    model = randomise(small_model(norm=norm, activation=activation, bias=bias, layer_norm_eps=eps))
    module, config, (source, target) = to_torch_transformer(model), model.config, padded_batch()
    for grad in (True, False):  # without, torch may take a path of its own
        with torch.set_grad_enabled(grad):
            expected = torch_forward(module, model, source, target)
            close(model(source, target), expected)
            close(traced(model)(source, target).logits, expected)
    back = from_torch_transformer(module, config.vocab_size, max_length=config.max_length)
    assert back.config == config
    for stack in ("encoder", "decoder"):
        ours, theirs = getattr(model, stack).state_dict(), getattr(back, stack).state_dict()
        torch.testing.assert_close(dict(theirs), dict(ours), atol=0, rtol=0)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_torch_equals_the_transformer_made_from_it(norm_first, activation):
    module = torch_transformer(norm_first, activation=activation, dropout=0.2)
    model = from_torch_transformer(module, vocab_size=11, max_length=9, pad_id=PAD)
    assert (model.config.d_ff, model.config.n_decoder_layers, model.config.dropout) == (24, 3, 0.2)
    source, target = padded_batch()
    close(model(source, target), torch_forward(module, model, source, target))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_options_that_the_other_library_lacks_are_refused():
    def back(module, **choices):
        return lambda: from_torch_transformer(module, vocab_size=11, **choices)

    uneven = torch_transformer()
    uneven.decoder.layers[0] = nn.TransformerDecoderLayer(16, 4, 32, batch_first=True)
    other_eps = torch_transformer(norm_first=True, layer_norm_eps=1e-3)
    cases = [
        (back(uneven), r"layers differ.*, d_ff=24 or d_ff=32;"),
        (back(torch_transformer(), positional="rotary"), "positional='rotary'"),
        (back(nn.Transformer(16, 4, 1, 1, 24)), "TransformerEncoder has norm=LayerNorm.*norm=None"),
        (back(torch_transformer(bias=False)), "bias=False"),
        (back(other_eps), "layer_norm_eps=0.001 in the layers of the TransformerEncoder and 1e-05"),
        (back(torch_transformer(activation=torch.tanh)), "activation.*'relu' or 'gelu'"),
        (back(nn.Transformer(16, 4, custom_encoder=nn.Identity())), "stack Identity"),
    ]
    for name, value in {"kdim": 4, "vdim": 4, "add_bias_kv": True, "add_zero_attn": True}.items():
        module = nn.MultiheadAttention(8, 2, **{name: value})
        cases.append((lambda module=module: from_torch_attention(module), name))
    for changes, said in NOT_IN_TORCH:
        cases.append((lambda changes=changes: to_torch_transformer(small_model(**changes)), said))
    assert_refused(cases)
