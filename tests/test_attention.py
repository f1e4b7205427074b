import math

import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.errors import UserError
from viz_transformer.model import attend
from viz_transformer.model.attention import MultiHeadAttention, attend_fused
from viz_transformer.model.masks import causal_mask


@st.composite
def inputs(draw):
    """Random Q, K, V and a random mask, some of whose rows may allow nothing."""
    batch, head, query, key, d_k, d_v = (draw(st.integers(1, 5)) for _ in range(6))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    shape = [draw(st.sampled_from([1, size])) for size in (batch, head, query, key)]
    mask = torch.rand(shape, generator=generator) < draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    return (
        normal(batch, head, query, d_k),
        normal(batch, head, key, d_k),
        normal(batch, head, key, d_v),
        mask,
    )


@given(inputs())
def test_attend_equals_torch(qkv_mask):
    query, key, value, mask = qkv_mask
    output, _ = attend(query, key, value, mask)
    torch.testing.assert_close(output, F.scaled_dot_product_attention(query, key, value, mask))


@given(inputs())
def test_attend_equals_attend_fused_in_output_and_gradients(qkv_mask):
    *tensors, mask = qkv_mask
    gradients = []
    outputs = []
    for attention in (attend, attend_fused):
        leaves = [tensor.clone().requires_grad_() for tensor in tensors]
        output, _ = attention(*leaves, mask)
        output.square().sum().backward()
        outputs.append(output)
        gradients.append([leaf.grad for leaf in leaves])
    torch.testing.assert_close(*outputs)
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=1e-4)


@given(inputs())
def test_rows_sum_to_one_or_allow_nothing(qkv_mask):
    query, key, value, mask = qkv_mask
    _, weights = attend(query, key, value, mask)
    allowed = mask.expand_as(weights)
    assert weights.shape == (*query.shape[:-1], key.shape[-2])
    assert (weights >= 0).all()
    assert (weights[~allowed] == 0).all()
    torch.testing.assert_close(weights.sum(-1), allowed.any(-1).float())


@pytest.mark.parametrize("attention", [attend, attend_fused])
def test_a_row_that_may_attend_to_nothing_is_zero_with_finite_gradients(attention):
    tensors = [torch.randn(1, 2, 3, 4, requires_grad=True) for _ in range(3)]
    mask = torch.tensor([[True, True, False], [False, False, False], [True, False, False]])
    output, weights = attention(*tensors, mask[None, None])
    assert (output[:, :, 1] == 0).all()
    assert output[:, :, 0].abs().min() > 0
    if weights is not None:
        assert (weights[:, :, 1] == 0).all()
    output.sum().backward()
    for tensor in tensors:
        assert tensor.grad.isfinite().all()
    assert (tensors[0].grad[:, :, 1] == 0).all()


def test_attend_by_hand():
    # Two queries, keys of width 4: scores [2, 0] / √4 and [0, 2] / √4.
    query = torch.tensor([[2.0, 0, 0, 0], [0, 2.0, 0, 0]])
    key = torch.eye(4)[:2]
    value = torch.tensor([[1.0], [0.0]])
    output, weights = attend(query, key, value)
    high = math.e / (math.e + 1)
    torch.testing.assert_close(weights, torch.tensor([[high, 1 - high], [1 - high, high]]))
    torch.testing.assert_close(output, torch.tensor([[high], [1 - high]]))
    _, weights = attend(torch.ones(1, 1), torch.tensor([[1000.0], [999.0]]), torch.eye(2))
    torch.testing.assert_close(weights, torch.tensor([[high, 1 - high]]))  # large scores do not overflow


def test_weights_are_those_before_dropout():
    query, key, value = (torch.randn(2, 4, 8, 16) for _ in range(3))
    plain_output, plain_weights = attend(query, key, value)
    output, weights = attend(query, key, value, dropout=0.5)
    assert torch.equal(weights, plain_weights)
    assert not torch.allclose(output, plain_output)
    assert not torch.allclose(attend_fused(query, key, value, None, 0.5)[0], plain_output)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6), st.integers(1, 6))
def test_each_head_is_an_attention_of_its_own(n_heads, d_head, n_queries, n_keys):
    d_model = n_heads * d_head
    attention = MultiHeadAttention(d_model, n_heads)
    x, memory = torch.randn(2, n_queries, d_model), torch.randn(2, n_keys, d_model)
    output, weights = attention(x, memory)
    heads = []
    for head in range(n_heads):
        columns = slice(head * d_head, (head + 1) * d_head)
        query = attention.w_q(x)[..., columns]
        key = attention.w_k(memory)[..., columns]
        value = attention.w_v(memory)[..., columns]
        head_output, head_weights = attend(query, key, value)
        heads.append(head_output)
        torch.testing.assert_close(weights[:, head], head_weights)
    torch.testing.assert_close(output, attention.w_o(torch.cat(heads, dim=-1)))


def test_dropout_acts_while_training_only():
    attention = MultiHeadAttention(8, 2, dropout=0.5)
    x = torch.randn(1, 6, 8)
    assert not torch.equal(attention(x, x)[0], attention(x, x)[0])
    attention.eval()
    assert torch.equal(attention(x, x)[0], attention(x, x)[0])


def test_bias_is_a_choice():
    names = {name for name, _ in MultiHeadAttention(8, 2, bias=False).named_parameters()}
    assert names == {"w_q.weight", "w_k.weight", "w_v.weight", "w_o.weight"}
    assert len(list(MultiHeadAttention(8, 2).parameters())) == 8


def test_heads_must_divide_the_width():
    for n_heads in (0, 3):
        with pytest.raises(UserError, match=rf"n_heads={n_heads} does not divide d_model=8"):
            MultiHeadAttention(8, n_heads)


def test_shapes_are_checked_while_the_tests_run():
    query, key = torch.randn(1, 1, 3, 4), torch.randn(1, 1, 3, 5)
    with pytest.raises(jaxtyping.TypeCheckError):
        attend(query, key, key)


@pytest.mark.parametrize("attention", [attend, attend_fused])
@pytest.mark.usefixtures("shapes_unchecked")
def test_mixed_dtypes_and_devices_are_named(attention):
    x = torch.randn(1, 1, 3, 4)
    for odd_one in ("query", "key", "value"):
        for other, named in (
            (x.double(), "torch.float64 on cpu"),
            (x.to("meta"), "torch.float32 on meta"),
        ):
            tensors = {"query": x, "key": x, "value": x} | {odd_one: other}
            with pytest.raises(UserError, match=rf"{odd_one} is {named}.*must agree"):
                attention(**tensors)
    with pytest.raises(UserError, match="the mask is on meta and the query on cpu"):
        attention(x, x, x, causal_mask(3, "meta"))


@pytest.mark.parametrize("attention", [attend, attend_fused])
def test_half_precision_works_alike(attention):
    x = torch.randn(1, 2, 3, 4, dtype=torch.bfloat16)
    output, _ = attention(x, x, x, causal_mask(3))
    assert output.dtype == torch.bfloat16
    torch.testing.assert_close(
        output.float(), attend(*[x.float()] * 3, causal_mask(3))[0], atol=0.05, rtol=0.05
    )


def test_every_float_takes_a_mask() -> None:
    mask = causal_mask(4)
    mask[..., 2, :] = False
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        query = torch.randn(1, 2, 4, 8).to(dtype)
        _, weights = attend(query, query, query, mask)
        assert weights.dtype == dtype
        assert not weights[:, :, 2].any(), dtype
        rows = weights[:, :, [0, 1, 3]].sum(-1)
        torch.testing.assert_close(rows, torch.ones_like(rows), atol=1e-2, rtol=0)
