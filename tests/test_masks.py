import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.errors import UserError
from viz_transformer.model import attend
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


def test_padding_mask_follows_the_given_id():
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


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (torch.ones(1, 1, 3, 3), ["torch.float32", "torch.bool"]),
        (torch.ones(1, 1, 3, 7).bool(), ["[1, 1, 3, 7]", "[2, 2, 3, 5]", "padding_mask"]),
        (torch.ones(2, 5, 1, 1).bool(), ["[2, 5, 1, 1]", "[2, 2, 3, 5]"]),
        (torch.ones(1, 1, 1, 3, 5).bool(), ["[1, 1, 1, 3, 5]", "[2, 2, 3, 5]"]),
    ],
)
@pytest.mark.usefixtures("shapes_unchecked")
def test_a_wrong_mask_is_named(mask, words):
    query, key = torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4)
    with pytest.raises(UserError) as error:
        attend(query, key, key, mask)
    for word in words:
        assert word in str(error.value)
