"""Dropout leaves out the share that it should, each number by itself, and keeps the mean."""

import math

import pytest
import torch
import torch.nn.functional as F

from viz_transformer.model.layers import Dropout

LARGE = (3, 257, 129)  # no multiple of four


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("p", [0.01, 0.3, 0.9])
def test_a_share_is_left_out_number_by_number_and_the_rest_makes_up_for_it(p: float, dtype) -> None:
    torch.manual_seed(0)
    x = (torch.rand(LARGE, dtype=torch.float64) + 1).to(dtype).mT.requires_grad_()
    found = Dropout(p)(x)
    assert (found.shape, found.dtype) == (x.shape, dtype)
    left_out = found == 0
    spread = math.sqrt(p * (1 - p) / x.numel())
    assert abs(left_out.double().mean() - p) < 4 * spread
    torch.testing.assert_close(found[~left_out], x[~left_out] / (1 - p), rtol=1e-2, atol=0)
    for apart in (1, 2, 3, 4, 129):  # four neighbours are decided by one draw
        flat = left_out.flatten().double()
        assert abs((flat[apart:] * flat[:-apart]).mean() - p**2) < 4 * math.sqrt(p**2 / x.numel())
    found.sum().backward()
    assert ((x.grad == 0) == left_out).all()
    assert torch.equal(Dropout(p).eval()(x), x)
    torch.manual_seed(0)
    torch.rand(LARGE, dtype=torch.float64)
    assert torch.equal(Dropout(p)(x), found)  # the seed decides


def test_few_numbers_are_left_out_as_torch_does() -> None:
    x = torch.ones(6, 5, 32)
    torch.manual_seed(0)
    found = Dropout(0.1)(x)
    torch.manual_seed(0)
    assert torch.equal(found, F.dropout(x, 0.1))
