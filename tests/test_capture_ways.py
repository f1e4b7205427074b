"""What `generate` returned, and padded batches, of many kinds of Hugging Face models: exact, or refused."""

from __future__ import annotations

import re

import pytest

from tests.support.capture_ways import N_BEAMS, UNWRITTEN, generated, padded
from tests.support.capture_zoo import CONFIGURATIONS, REASONS, UNCOMPARED, UNLISTED, Comparison

#: Steps and one pass, or two sizes of batch, add the same numbers up in another order.
ROUNDING = 1e-5
#: Text to text, positions that `generate` counts again, layers that do not attend, a window, a sink.
SAMPLE = ("bart", "bamba", "gpt_oss", "mistral", "roberta")


def check(name: str) -> None:
    for n_beams in (1, N_BEAMS):
        result = generated(name, n_beams)
        check_result(name, result, n_beams in UNWRITTEN.get(name, ("", ()))[1])
    check_result(name, padded(name), name in REASONS)


def check_result(name: str, result: Comparison | None, is_refused: bool) -> None:
    if result is None:
        return
    if is_refused:
        assert result.refusal
        assert re.fullmatch("[^\n]+", result.refusal)
        return
    assert result.refusal is None
    assert result.uncompared == UNCOMPARED.get(name, ())
    assert (result.difference or 0) <= ROUNDING


@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample(name) -> None:
    check(name)


@pytest.mark.weekly
@pytest.mark.parametrize("name", sorted((CONFIGURATIONS | UNLISTED).keys() - set(SAMPLE)))
def test_every_other_one(name) -> None:
    check(name)
