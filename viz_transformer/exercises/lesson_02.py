"""Exercises of lesson 2: ids, padding, embeddings and their scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.exercises.answer_types import Array, Exercise, Function, Mistake, Number

_SENTENCE = "good morning"
_VOCAB, _WIDTH = 761, 64  # of the bundled translator


def _encoded() -> list[int]:
    return vocabulary_of(SIX_PAIRS).encode(_SENTENCE)


def _with_both_ends() -> list[int]:
    vocabulary = vocabulary_of(SIX_PAIRS)
    return [vocabulary.sos_id, *_encoded(), vocabulary.eos_id]


def _pad_rows(rows: list[list[int]], pad_id: int) -> list[list[int]]:
    longest = max(map(len, rows))
    return [row + [pad_id] * (longest - len(row)) for row in rows]


def _pad_on_the_left(rows: list[list[int]], pad_id: int) -> list[list[int]]:
    longest = max(map(len, rows))
    return [[pad_id] * (longest - len(row)) + row for row in rows]


def _pad_with_zeros(rows: list[list[int]], pad_id: int) -> list[list[int]]:
    return _pad_rows(rows, 0)


def _cut(rows: list[list[int]], pad_id: int) -> list[list[int]]:
    return [row[: min(map(len, rows))] for row in rows]


def _rows_to_pad(rng: np.random.Generator) -> tuple[Any, ...]:
    lengths = rng.integers(1, 7, size=rng.integers(2, 5))
    rows = [rng.integers(3, 35, size=length).tolist() for length in lengths]
    return rows, int(rng.choice([0, 0, 1, 50]))


def _embed(ids: Tensor, table: Tensor) -> Tensor:
    return table[ids] * math.sqrt(table.shape[1])


def _as_it_is(ids: Tensor, table: Tensor) -> Tensor:
    return table[ids]


def _by_the_width(ids: Tensor, table: Tensor) -> Tensor:
    return table[ids] * table.shape[1]


def _divided(ids: Tensor, table: Tensor) -> Tensor:
    return table[ids] / math.sqrt(table.shape[1])


def _by_512(ids: Tensor, table: Tensor) -> Tensor:
    return table[ids] * math.sqrt(512)


def _by_the_tokens(ids: Tensor, table: Tensor) -> Tensor:
    return table[ids] * math.sqrt(table.shape[0])


def _to_embed(rng: np.random.Generator) -> tuple[Any, ...]:
    n_tokens, d_model = int(rng.integers(5, 40)), int(rng.choice([4, 6, 32, 64]))
    table = torch.from_numpy(rng.normal(size=(n_tokens, d_model)).astype(np.float32))
    return torch.from_numpy(rng.integers(0, n_tokens, size=rng.integers(1, 7))), table


EXERCISES = (
    Exercise(
        "2.1",
        "The ids that the encoder reads",
        Array(
            lambda: [*_encoded(), vocabulary_of(SIX_PAIRS).eos_id],
            mistakes=(
                Mistake(
                    _encoded,
                    "These are the words alone. What stands after the last word of every sentence "
                    "that the encoder reads?",
                ),
                Mistake(
                    _with_both_ends,
                    "That is how a translation is stored. The encoder does not read <sos>: it "
                    "writes nothing, so it needs no start.",
                ),
                Mistake(
                    lambda: [2, *_encoded()],
                    "The end of the sequence stands at the end.",
                ),
                Mistake(
                    lambda: [index + 1 for index in [*_encoded(), 2]],
                    "Each is one too large: the first token of the list has the id 0.",
                ),
            ),
            right="Two words and the end: three tokens.",
        ),
        hints=(
            "Print vocabulary.source_ids of another sentence, and compare it with the words.",
            "Find the ids of good and of morning, and remember the special token at the end.",
        ),
    ),
    Exercise(
        "2.2",
        "Padding",
        Function(
            _pad_rows,
            _rows_to_pad,
            mistakes=(
                Mistake(
                    _pad_on_the_left,
                    "The padding stands on the left. Let every sentence start at position 0.",
                ),
                Mistake(
                    _pad_with_zeros,
                    "You fill up with 0. Another vocabulary may have another id for <pad>: use pad_id.",
                ),
                Mistake(
                    _cut,
                    "You cut the long rows down to the shortest, and words are lost. Make the "
                    "short ones longer.",
                ),
            ),
            right="A rectangle, and no word lost.",
        ),
        hints=(
            "First find the length of the longest row: max(len(row) for row in rows).",
            "In Python [7] * 3 is [7, 7, 7], and two lists are joined with +.",
        ),
    ),
    Exercise(
        "2.3",
        "Rows, times √d_model",
        Function(
            _embed,
            _to_embed,
            mistakes=(
                Mistake(_as_it_is, "The rows are right, and as they are. The paper scales them."),
                Mistake(
                    _by_the_width,
                    "You multiply by d_model itself. A row has d_model numbers; its length grows "
                    "with the square root of how many they are.",
                ),
                Mistake(
                    _divided,
                    "You divide. The words are too quiet beside the positions: make them louder.",
                ),
                Mistake(
                    _by_512,
                    "You multiply by √512 whatever the table. Its own width is table.shape[1].",
                ),
                Mistake(
                    _by_the_tokens,
                    "You take the number of tokens, table.shape[0]. The width of a row is the "
                    "other number of the shape.",
                ),
            ),
            right="This is all that the model does with an id before it adds the position.",
        ),
        hints=(
            "table[ids] takes out all the rows at once.",
            "The width is table.shape[1], and x ** 0.5 is the square root of x.",
        ),
    ),
    Exercise(
        "2.4",
        "The loss of an even bet",
        Number(
            math.log(_VOCAB),
            mistakes=(
                Mistake(math.log(35), "That is the even bet over 35 tokens; here there are 761."),
                Mistake(
                    math.log10(_VOCAB),
                    "That is the logarithm to the base 10. ln is the natural one: np.log.",
                ),
                Mistake(
                    math.log2(_VOCAB),
                    "That is the logarithm to the base 2, a number of bits. ln is the natural one: np.log.",
                ),
                Mistake(
                    1 / _VOCAB,
                    "That is the probability that each token gets. The loss is −ln of it.",
                ),
                Mistake(
                    -math.log(_VOCAB),
                    "The logarithm of a probability is negative; the loss is −ln of it.",
                ),
            ),
            right="More tokens to choose from, and a larger loss for knowing nothing: 6.63.",
        ),
        hints=(
            "Each token gets the same probability. Which?",
            "−ln(1/n) is ln n; in Python np.log is ln.",
        ),
    ),
    Exercise(
        "2.5",
        "How small to start",
        Number(
            _WIDTH**-0.5,
            mistakes=(
                Mistake(
                    512**-0.5,
                    "That is the number for a d_model of 512. This model is narrower.",
                ),
                Mistake(
                    float(_WIDTH**0.5),
                    "That is what the rows are multiplied by. What must they be before, to be of "
                    "size 1 after?",
                ),
                Mistake(
                    1 / _WIDTH,
                    "That times √64 is 1/8 and not 1: the rows are multiplied by the square root.",
                ),
                Mistake(1.0, "Numbers of size 1 are of size 8 after the multiplication."),
            ),
            right="1/√64 = 0.125, and 0.125 × 8 = 1.",
        ),
        hints=(
            "√64 is 8. Which number times 8 is 1?",
            "It is 1/√d_model.",
        ),
    ),
)
