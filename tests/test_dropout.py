"""Dropout leaves out the share that it should, each number by itself, and keeps the mean."""

import math

import pytest
import torch
import torch.nn.functional as F

from viz_transformer.model.dropout import Dropout

LARGE = (3, 257, 129)  # no multiple of four


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize("p", [0.01, 0.1, 0.2, 0.5, 0.9])
def test_the_share_is_left_out_and_the_rest_makes_up_for_it(p):
    x = torch.rand(LARGE) + 1
    found = Dropout(p)(x)
    left_out = found == 0
    spread = math.sqrt(p * (1 - p) / x.numel())
    assert abs(left_out.float().mean() - p) < 4 * spread
    torch.testing.assert_close(found[~left_out], x[~left_out] / (1 - p), rtol=2e-4, atol=0)


@pytest.mark.parametrize("apart", [1, 2, 3, 4, 129])
def test_neighbours_are_left_out_independently(apart):
    """Four of them are decided by one draw."""
    left_out = (Dropout(0.3)(torch.ones(LARGE)).flatten() == 0).double()
    both = (left_out[apart:] * left_out[:-apart]).mean()
    assert abs(both - 0.09) < 4 * math.sqrt(0.09 * 0.91 / len(left_out))


def test_the_gradient_passes_where_the_number_was_kept():
    x = torch.ones(LARGE, requires_grad=True)
    found = Dropout(0.2)(x)
    found.sum().backward()
    assert torch.equal(x.grad, found.detach())


def test_the_seed_decides():
    drop, x = Dropout(0.5), torch.ones(LARGE)
    one, other = drop(x), drop(x)
    assert not torch.equal(one, other)
    torch.manual_seed(0)
    assert torch.equal(drop(x), one)


def test_few_numbers_are_left_out_as_torch_does():
    x = torch.ones(6, 5, 32)
    found = Dropout(0.1)(x)
    torch.manual_seed(0)
    assert torch.equal(found, F.dropout(x, 0.1))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_type_and_shape_stay_also_of_a_turned_tensor(dtype):
    x = torch.ones(LARGE, dtype=dtype).transpose(0, 2)
    found = Dropout(0.5)(x)
    assert (found.dtype, found.shape) == (dtype, x.shape)
    assert set(found.unique().tolist()) == {0.0, 2.0}


def test_nothing_is_left_out_where_nothing_is_learned():
    x = torch.ones(LARGE)
    assert Dropout(0.5).eval()(x) is x
    assert torch.equal(Dropout(0.0)(x), x)
