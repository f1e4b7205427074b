"""Questions to a trace."""

from __future__ import annotations

import numpy as np
import pytest

from viz_transformer.analysis import weights_between, word_index
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace


@pytest.fixture
def trace() -> ForwardTrace:
    weights = np.arange(2 * 2 * 2 * 3).reshape(2, 2, 2, 3) / 24
    return ForwardTrace(
        source_tokens=("the", "cat", "the"),
        target_tokens=("<sos>", "el"),
        output_tokens=("el", "gato"),
        cross_attention=weights,
    )


def test_weights_between_two_words_are_those_of_every_head(trace: ForwardTrace) -> None:
    found = weights_between(trace, "cross", "gato", "cat")
    np.testing.assert_array_equal(found, trace.cross_attention[:, :, 1, 1])
    np.testing.assert_array_equal(weights_between(trace, "cross", 1, 1), found)


def test_a_word_that_is_not_there_is_named(trace: ForwardTrace) -> None:
    with pytest.raises(UserError, match="'dog' is not in 'the cat the'"):
        weights_between(trace, "cross", "gato", "dog")
    with pytest.raises(UserError, match="3 is not in"):
        word_index(("a", "b"), 3)


def test_a_word_that_stands_twice_asks_for_a_position(trace: ForwardTrace) -> None:
    with pytest.raises(UserError, match=r"'the' stands at positions \[0, 2\]"):
        weights_between(trace, "cross", "gato", "the")


def test_a_kind_that_is_missing_is_named(trace: ForwardTrace) -> None:
    with pytest.raises(UserError, match=r"no encoder attention; it holds \['cross'\]"):
        weights_between(trace, "encoder", "gato", "cat")
