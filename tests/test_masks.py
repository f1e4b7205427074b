import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.errors import UserError
from viz_transformer.model import attend
from viz_transformer.model.attention import attend_fused
from viz_transformer.model.masks import (
    causal_mask,
    from_torch_mask,
    padding_mask,
    to_torch_mask,
)

PAD = 0


def test_padding_mask_is_true_on_words():
    mask = padding_mask(torch.tensor([[5, 6, PAD], [7, PAD, PAD]]), PAD)
    assert mask.dtype == torch.bool
    assert mask.shape == (2, 1, 1, 3)
    assert mask.tolist() == [[[[True, True, False]]], [[[True, False, False]]]]
    assert padding_mask(torch.tensor([[0, 9]]), pad_id=9).flatten().tolist() == [True, False]


@given(st.integers(1, 12))
def test_causal_mask_reaches_back_and_not_ahead(length):
    mask = causal_mask(length)
    assert mask.dtype == torch.bool
    assert mask.shape == (1, 1, length, length)
    for query in range(length):
        for key in range(length):
            assert mask[0, 0, query, key].item() == (key <= query)


def test_conjunction_allows_what_both_allow():
    mask = padding_mask(torch.tensor([[4, 5, PAD]]), PAD) & causal_mask(3)
    assert mask.tolist() == [[[[True, False, False], [True, True, False], [True, True, False]]]]


def test_torch_masks_mean_the_opposite():
    mask = causal_mask(3)
    torch_mask = torch.nn.Transformer.generate_square_subsequent_mask(3) == float("-inf")
    assert torch.equal(to_torch_mask(mask)[0, 0], torch_mask)
    assert torch.equal(from_torch_mask(torch_mask)[None, None], mask)


@pytest.mark.parametrize("attention", [attend, attend_fused])
@pytest.mark.usefixtures("shapes_unchecked")
def test_a_wrong_mask_is_named(attention):
    query, key = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4)
    for mask, message in (
        (torch.ones(1, 1, 3, 5), r"torch.float32 of shape \[1, 1, 3, 5\].*\[2, 2, 3, 5\].*torch.bool"),
        (torch.ones(1, 1, 3, 5).long(), r"torch.int64 of shape \[1, 1, 3, 5\].*\[2, 2, 3, 5\].*bool"),
        (torch.ones(1, 1, 3, 5).byte(), r"torch.uint8 of shape \[1, 1, 3, 5\].*\[2, 2, 3, 5\].*bool"),
        (torch.ones(1, 1, 3, 7).bool(), r"\[1, 1, 3, 7\].*\[2, 2, 3, 5\].*padding_mask"),
        (torch.ones(2, 5, 1, 1).bool(), r"\[2, 5, 1, 1\].*\[2, 2, 3, 5\]"),
        (torch.ones(1, 1, 1, 3, 5).bool(), r"\[1, 1, 1, 3, 5\].*\[2, 2, 3, 5\]"),
    ):
        with pytest.raises(UserError, match=message):
            attention(query, key, key, mask)


@pytest.mark.parametrize("attention", [attend, attend_fused])
@pytest.mark.usefixtures("shapes_unchecked")
def test_a_mask_without_all_axes_is_refused_though_torch_would_broadcast_it(attention):
    x = torch.randn(3, 3, 3, 4)  # as many sentences as heads and words
    causal, padding = causal_mask(3), torch.ones(3, 3, dtype=torch.bool)
    for mask in (
        causal[0, 0],  # [length, length]
        causal[0],  # [1, length, length]
        padding,  # [batch, key]
        padding[:, None],  # [batch, 1, key]
    ):
        torch.nn.functional.scaled_dot_product_attention(x, x, x, mask)
        with pytest.raises(UserError, match=r"the mask has shape .*\[3, 3, 3, 3\].*missing axes"):
            attention(x, x, x, mask)


@given(st.integers(2, 6))
def test_an_inverted_causal_mask_is_recognised(length):
    x = torch.randn(2, 2, length, 4)
    for mask in (~causal_mask(length), (~causal_mask(length)).expand(2, -1, -1, -1)):
        with pytest.raises(UserError, match=r"last row is all False.*nn\.MultiheadAttention"):
            attend(x, x, x, mask)
    attend(x, x, x, from_torch_mask(~causal_mask(length)))


def test_rows_that_may_attend_to_nothing_are_no_inverted_mask():
    x = torch.randn(1, 1, 2, 4)
    for rows in ([[False, False], [False, False]], [[True, True], [False, False]]):
        output, _ = attend(x, x, x, torch.tensor(rows)[None, None])
        assert (output[0, 0, 1] == 0).all()
    attend(x[..., :1, :], x[..., :1, :], x[..., :1, :], torch.tensor([[[[False]]]]))
