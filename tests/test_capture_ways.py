"""What `generate` returned, and padded batches, of many kinds of Hugging Face models: exact, or refused."""

from __future__ import annotations

import re

from tests.support.capture_ways import N_BEAMS, UNWRITTEN, generated, padded
from tests.support.capture_zoo import REASONS, UNCOMPARED, Comparison
from tests.support.zoo_tests import each_configuration

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


@each_configuration(SAMPLE)
def test_each_is_captured_as_exactly_or_refused(name) -> None:
    check(name)
