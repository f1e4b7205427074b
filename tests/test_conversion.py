import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tests.support.small_models import NOT_IN_TORCH, PAD, randomise, small_model, torch_forward, traced, words
from viz_transformer.errors import UserError
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
def test_attention_goes_there_and_back(bias):
    ours = randomise(MultiHeadAttention(8, 2, dropout=0.3, bias=bias)).eval()
    back = from_torch_attention(to_torch_attention(ours))
    assert (back.n_heads, back.dropout, back.training) == (2, 0.3, False)
    torch.testing.assert_close(dict(back.state_dict()), dict(ours.state_dict()))


@pytest.mark.parametrize(("changes", "message"), NOT_IN_TORCH)
def test_attention_that_torch_cannot_be_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        to_torch_transformer(small_model(**changes))


def test_a_transformer_from_torch_cannot_have_rotary_positions():
    with pytest.raises(UserError, match="positional='rotary'"):
        from_torch_transformer(torch_transformer(), vocab_size=11, positional="rotary")


def test_weights_are_copied_and_not_shared():
    ours = MultiHeadAttention(8, 2)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    randomise(to_torch_attention(ours))
    torch.testing.assert_close(dict(ours.state_dict()), before)


@pytest.mark.parametrize(
    "choices", [{"kdim": 4}, {"vdim": 4}, {"add_bias_kv": True}, {"add_zero_attn": True}]
)
def test_attention_that_ours_cannot_be_is_refused(choices):
    (name,) = choices
    with pytest.raises(UserError, match=name):
        from_torch_attention(nn.MultiheadAttention(8, 2, **choices))


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("grad", [True, False])  # without, torch may take a path of its own
def test_transformer_equals_torch(norm, activation, bias, grad):
    model = randomise(small_model(norm=norm, activation=activation, bias=bias))
    source, target = padded_batch()
    with torch.set_grad_enabled(grad):
        expected = torch_forward(to_torch_transformer(model), model, source, target)
        torch.testing.assert_close(model(source, target), expected, atol=1e-4, rtol=1e-4)
        logits = traced(model)(source, target).logits
        torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_torch_equals_the_transformer_made_from_it(norm_first, activation):
    module = torch_transformer(norm_first, activation=activation, dropout=0.2)
    model = from_torch_transformer(module, vocab_size=11, max_length=9, pad_id=PAD)
    assert (model.config.d_ff, model.config.n_decoder_layers, model.config.dropout) == (24, 3, 0.2)
    source, target = padded_batch()
    expected = torch_forward(module, model, source, target)
    torch.testing.assert_close(model(source, target), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("layer_norm_eps", [1e-5, 0.5])
def test_transformer_goes_there_and_back(norm, bias, layer_norm_eps):
    model = randomise(small_model(norm=norm, bias=bias, layer_norm_eps=layer_norm_eps))
    config = model.config
    back = from_torch_transformer(
        to_torch_transformer(model), config.vocab_size, max_length=config.max_length
    )
    assert back.config == config
    for stack in ("encoder", "decoder"):
        ours, theirs = getattr(model, stack).state_dict(), getattr(back, stack).state_dict()
        torch.testing.assert_close(dict(theirs), dict(ours))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: nn.Transformer(16, 4, 1, 1, 24),
            "TransformerEncoder has norm=LayerNorm.*norm=None",
        ),
        (lambda: torch_transformer(bias=False), "bias=False"),
        (
            lambda: torch_transformer(norm_first=True, layer_norm_eps=1e-3),
            "layer_norm_eps=0.001 in the layers of the TransformerEncoder and 1e-05",
        ),
        (lambda: torch_transformer(activation=torch.tanh), "activation.*'relu' or 'gelu'"),
        (lambda: nn.Transformer(16, 4, custom_encoder=nn.Identity()), "stack Identity"),
    ],
)
def test_transformer_that_ours_cannot_be_is_refused(make, message):
    with pytest.raises(UserError, match=message):
        from_torch_transformer(make(), vocab_size=11)


def test_layers_of_different_sizes_are_refused():
    module = torch_transformer()
    module.decoder.layers[0] = nn.TransformerDecoderLayer(16, 4, 32, batch_first=True)
    with pytest.raises(UserError, match=r"layers differ.*, d_ff=24 or d_ff=32;"):
        from_torch_transformer(module, vocab_size=11)
