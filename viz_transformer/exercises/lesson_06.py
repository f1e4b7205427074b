"""Exercises of lesson 6, Order: shuffled words, sinusoids by hand, the batch axis, rotary scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import Array, Choice, Exercise, Function, Mistake, Number

_D_MODEL = 4
_MAX_LENGTH = 9


def _row(position: float, exponents: tuple[float, float] = (0.0, 0.5)) -> list[float]:
    """Return sine and cosine of position / 10000^exponent for each exponent, in turn."""
    angles = [position / 10_000**exponent for exponent in exponents]
    return [wave(angle) for angle in angles for wave in (math.sin, math.cos)]


def _sentences(rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw x [batch, position, d_model], shorter than the table, and the table."""
    import torch

    batch, length = int(rng.integers(1, 5)), int(rng.integers(2, _MAX_LENGTH - 1))
    x = rng.normal(size=(batch, length, _D_MODEL))
    table = rng.normal(size=(_MAX_LENGTH, _D_MODEL))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(table, dtype=torch.float32)


def _pairs(rng: np.random.Generator) -> tuple[Any, Any, int, int]:
    """Draw a query, a key and their positions."""
    query_position, key_position = (int(place) for place in rng.integers(0, 40, size=2))
    return rng.normal(size=2), rng.normal(size=2), query_position, key_position


def _turned(pair: Any, angle: float) -> np.ndarray:
    a, b = pair
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([a * cos - b * sin, a * sin + b * cos])


def _rotary_score(query: Any, key: Any, query_position: float, key_position: float) -> float:
    return float(_turned(query, query_position) @ _turned(key, key_position))


def _waves(position: int) -> np.ndarray:
    return np.array([math.sin(position), math.cos(position)])


EXERCISES = (
    Exercise(
        "6.1",
        "Shuffle the words, and take the mean",
        Choice(
            "invariant",
            ("invariant", "equivariant", "neither"),
            (
                Mistake(
                    "equivariant",
                    "That is what the vectors are: there is one for each word, and they move with "
                    "their words. Their mean is a single vector. Can it change position?",
                ),
                Mistake(
                    "neither",
                    "Then the shuffle would change the mean. Which vectors are added up before the "
                    "shuffle, and which after it?",
                ),
            ),
            "So to this program “the dog sees the cat” and “the cat sees the dog” are the same.",
        ),
        (
            "After the shuffle, the encoder gives the same vectors in another order. Add them up.",
            "Try it with three numbers: the mean of 1, 2, 6 and the mean of 6, 1, 2.",
        ),
    ),
    Exercise(
        "6.2",
        "Find a hand that never comes round",
        Number(
            9,
            (
                Mistake(
                    8,
                    "Nearly: this hand makes one turn every 62.8 tokens, so at position 63 it has just "
                    "come round, and can hardly tell it from position 0.",
                ),
                Mistake(
                    31,
                    "That is the slowest hand of all: one turn in 47,117 tokens. Some faster hands "
                    "don't come round either. Find the first of them.",
                ),
                Mistake(
                    10,
                    "This one doesn't come round, but it isn't the first. What does the line "
                    "above the clock say about its neighbour?",
                ),
                Mistake(
                    0,
                    "Pair 0 is the fastest hand: one turn every 6.3 tokens, ten turns in all.",
                ),
            ),
            tolerance=1e-6,
            right="A turn takes it 83.8 tokens. Every pair before it comes round at least once.",
        ),
        (
            "The line above the clock says how many tokens one turn of a pair takes.",
            "Find the first pair whose turn takes more than 64 tokens.",
        ),
    ),
    Exercise(
        "6.3",
        "Compute one row by hand",
        Array(
            _row(3),
            (
                Mistake(
                    [_row(3)[at] for at in (0, 2, 1, 3)],
                    "The four numbers are right, but you put the sines first and then the cosines. "
                    "In the formula, sine and cosine of one angle stand side by side. (Some "
                    "libraries do it your way.)",
                ),
                Mistake(
                    [_row(3)[at] for at in (1, 0, 3, 2)],
                    "The angles are right, but sine and cosine are swapped: columns 0 and 2 hold the sine.",
                ),
                Mistake(
                    _row(math.radians(3)),
                    "You took the angle as degrees. Both the formula and np.sin use radians, so give "
                    "np.sin the angle as it is.",
                ),
                Mistake(
                    _row(3, (0.0, 0.25)),
                    "The first pair is right. In the second you divided by 10000^(i / d_model), but "
                    "the exponent is 2i / d_model.",
                ),
                Mistake(
                    _row(3, (0.0, 1.0)),
                    "The first pair is right. In the second, i is the number of the pair, 1, not of "
                    "the column, 2.",
                ),
                Mistake(
                    [math.sin(3), math.cos(3 / 100), math.sin(3 / 10_000), math.cos(3 / 10**6)],
                    "You gave each column its own angle. The two columns of a pair share one angle, "
                    "so there are only two angles.",
                ),
                Mistake(
                    _row(2),
                    "That is the row of position 2. Positions are counted from 0. Compute position 3.",
                ),
                Mistake(_row(4), "That is the row of position 4. Compute position 3."),
            ),
            right="The first hand has made nearly half a turn. The second has hardly moved.",
        ),
        (
            "The two angles are 3 / 10000^(0/4) and 3 / 10000^(2/4).",
            "10000^(2/4) is the square root of 10000. Then take sine, cosine, sine, cosine.",
        ),
    ),
    Exercise(
        "6.4",
        "Add the positions",
        Function(
            lambda x, table: x + table[: x.shape[1]],
            _sentences,
            (
                Mistake(
                    lambda x, table: x + table[: x.shape[0], None],
                    "All words of a sentence got the same row, the one for the sentence's number in "
                    "the batch. Axis 0 of x counts sentences. Which axis counts words?",
                ),
                Mistake(
                    lambda x, table: x + table[: x.shape[0]],
                    "You took x.shape[0] rows, as many as there are sentences. That raises an error "
                    "or, worse, runs when a batch has as many sentences as a sentence has words. "
                    "Which axis of x counts words?",
                ),
                Mistake(
                    lambda x, table: x + table[1 : x.shape[1] + 1],
                    "The first word got row 1. Positions are counted from 0.",
                ),
                Mistake(
                    lambda x, table: x + table[: x.shape[1], None],
                    "The rows are right, but None gives them an axis too many: [position, 1, d_model]. "
                    "torch lines shapes up from the right, so their positions meet the sentences. "
                    "Leave out the None.",
                ),
                Mistake(
                    lambda x, table: x + table[: x.shape[-1]],
                    "x.shape[-1] is d_model, the length of a vector. Which axis of x counts words?",
                ),
                Mistake(
                    lambda x, table: x + table[: x.shape[0] * x.shape[1]],
                    "You took a row for each word of the whole batch. Every sentence starts again at row 0.",
                ),
                Mistake(
                    lambda x, table: x + table[x.shape[1]],
                    "That is a single row of the table, the same for every word. The slice "
                    "table[:n] has the rows 0 to n − 1.",
                ),
                Mistake(
                    lambda x, table: x + table[0],
                    "Every word got row 0. Each word needs the row of its own position.",
                ),
                Mistake(
                    lambda x, table: x + table[-x.shape[1] :],
                    "You took the last rows of the table. Positions are counted from 0, so take the "
                    "first rows.",
                ),
                Mistake(
                    lambda x, table: x + table,
                    "A RuntimeError. If torch says that sizes must match: the table has more rows than a "
                    "sentence has words. Take only as many rows as there are words.",
                ),
                Mistake(lambda x, table: x, "That is x as it was. Add the rows of the table to it."),
                Mistake(
                    lambda x, table: table[: x.shape[1]].expand(x.shape),
                    "These are the right rows, once for each sentence. But where is x? Add the two.",
                ),
                Mistake(
                    lambda x, table: table[: x.shape[1]],
                    "These are the right rows of the table. Now add them to x.",
                ),
                Mistake(
                    lambda x, table: x - table[: x.shape[1]],
                    "You subtracted the positions. Add them.",
                ),
                Mistake(
                    lambda x, table: x * table[: x.shape[1]],
                    "You multiplied words and positions. Add them.",
                ),
            ),
            right="torch lines up [batch, position, d_model] and [position, d_model] from the right, "
            "so every sentence gets the same rows.",
        ),
        (
            "Axis 1 of x counts words, so a sentence has x.shape[1] of them.",
            "Take that many rows from the top of the table, and add them to x.",
        ),
    ),
    Exercise(
        "6.5",
        "Write a rotary score",
        Function(
            _rotary_score,
            _pairs,
            (
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        _turned(query, query_position) @ _turned(key, -key_position)
                    ),
                    "Query and key are turned in opposite directions, so the score depends on the sum "
                    "of their positions, not on their distance. Turn both the same way.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        _turned(query, -query_position) @ _turned(key, -key_position)
                    ),
                    "Both are turned, but in the wrong direction. Compare the signs of your sines "
                    "with the formula. (If they agree, are the two positions swapped?)",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        _turned(query, query_position) @ key
                    ),
                    "Only the query is turned, so its own position counts. Turn the key by its position too.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        query @ _turned(key, key_position)
                    ),
                    "Only the key is turned, so its own position counts. Turn the query by its position too.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(query @ key),
                    "That is the score without positions: nothing is turned.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        (query + _waves(query_position)) @ (key + _waves(key_position))
                    ),
                    "You added sines and cosines to the words. Rotary positions add nothing. They "
                    "turn each pair by the formula above.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: (
                        _turned(query, query_position) * _turned(key, key_position)
                    ),
                    "These are the products of the two pairs, number by number. Their dot product is "
                    "the sum of them.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: _rotary_score(
                        query, key, math.radians(query_position), math.radians(key_position)
                    ),
                    "You took the positions as degrees. The angle is the position itself, in "
                    "radians, as np.cos and np.sin expect.",
                ),
            ),
            right="Add 10 to both positions, and your score stays the same, whatever the words are.",
        ),
        (
            "Write a small function turn(pair, angle) first, with the formula above.",
            "Turn the query by query_position and the key by key_position. Then multiply number by "
            "number and add up.",
        ),
    ),
)
