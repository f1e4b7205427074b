"""Cells that a mask closed, and tokens that are no words."""

from __future__ import annotations

import numpy as np

from tests.support.hand_made_traces import attention, make_trace
from viz_transformer.analysis.combine import masked_cells
from viz_transformer.analysis.words import special_tokens
from viz_transformer.trace import ForwardTrace


def test_the_future_of_a_decoder_is_masked_and_nothing_else() -> None:
    trace = make_trace()
    np.testing.assert_array_equal(masked_cells(trace, "decoder"), np.triu(np.ones((5, 5), dtype=bool), 1))
    assert not masked_cells(trace, "encoder").any()


def test_a_zero_in_one_head_alone_is_no_mask() -> None:
    weights = attention(2, 3, 4, 4)
    weights[1, 2, 0, 1] = 0
    weights[..., 2, :] = 0  # a query that may look at nothing
    weights[..., :, 3] = 0  # padding
    trace = ForwardTrace(source_tokens=("a", "b", "c", "<pad>"), encoder_attention=weights)
    expected = np.zeros((4, 4), dtype=bool)
    expected[2], expected[:, 3] = True, True
    np.testing.assert_array_equal(masked_cells(trace, "encoder"), expected)


def test_marks_are_known_by_their_spelling_and_words_are_not_taken_for_them() -> None:
    marks = [
        "<sos>",
        "<eos>",
        "<pad>",
        "<s>",
        "</s>",
        "[CLS]",
        "[SEP]",
        "[PAD]",
        "<bos>",
        "<|endoftext|>",
        "<|im_start|>",
    ]
    assert special_tokens(marks) == [True] * len(marks)
    words = ["<b>", "</p>", "[MASK]", "<unk>", "cat", "", "<", "[1]", "<|", "sos", "<|a|b|>"]
    assert special_tokens(words) == [False] * len(words)
