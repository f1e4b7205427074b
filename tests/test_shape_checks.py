"""A check of shapes is made once for calls alike, and again for what differs in any way."""

from __future__ import annotations

from collections.abc import Callable

import beartype
import jaxtyping
import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn

from tests.support.shape_checks import once_for_calls_alike

decorated = once_for_calls_alike(typechecker=beartype.beartype)
Row = Float[Tensor, " width"]
Rows = Float[Tensor, "{self.n} width"]
Ones = Float[Tensor, "{length}"]
refused = pytest.raises(jaxtyping.TypeCheckError)


class Repeats(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.result: Callable[[Tensor], Tensor] = lambda row: row.repeat(self.n, 1)

    @decorated
    def forward(self, row: Row) -> Rows:
        return self.result(row)


def test_arguments_that_passed_pass_again_and_others_are_checked() -> None:
    repeats = Repeats(2)
    for width in (3, 3, 4, 3):
        assert repeats(torch.zeros(width)).shape == (2, width)
    for wrong in (torch.zeros(1, 3), torch.zeros(3, dtype=torch.int64), [0.0, 0.0]):
        with refused:
            repeats(wrong)


def test_another_result_of_the_same_arguments_is_checked() -> None:
    repeats = Repeats(2)
    repeats(torch.zeros(3))
    for wrong in (lambda row: row, lambda row: row.repeat(2, 2), lambda row: row.repeat(2, 1).long()):
        repeats.result = wrong
        with refused:
            repeats(torch.zeros(3))


def test_an_attribute_that_the_annotation_names_is_looked_at() -> None:
    repeats = Repeats(2)
    repeats(torch.zeros(3))
    repeats.result = lambda row: row.repeat(2, 1)
    repeats.n = 5
    with refused:
        repeats(torch.zeros(3))


def test_a_number_that_the_annotation_names_is_looked_at() -> None:
    @decorated
    def ones(length: int) -> Ones:
        return torch.ones(2)

    ones(2)
    with refused:
        ones(3)
