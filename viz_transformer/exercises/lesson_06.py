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
        "The mean of shuffled words",
        Choice(
            "invariant",
            ("invariant", "equivariant", "neither"),
            (
                Mistake(
                    "equivariant",
                    "That is what the vectors are: there is one for each word, and they change "
                    "places. How many vectors is their mean, and how many places has it to change?",
                ),
                Mistake(
                    "neither",
                    "Then the mean would change with the shuffle. Which vectors are added up before "
                    "it, and which after it?",
                ),
            ),
            "So to this program “the dog sees the cat” and “the cat sees the dog” are one and the same.",
        ),
        (
            "Shuffled, the encoder gives the same vectors in another order. Now add them up.",
            "Try it with three numbers: the mean of 1, 2, 6 and the mean of 6, 1, 2.",
        ),
    ),
    Exercise(
        "6.2",
        "A hand that never comes round",
        Number(
            9,
            (
                Mistake(
                    8,
                    "Nearly: this hand makes one turn every 62.8 tokens, so it has just come round "
                    "at place 63, which it can hardly tell from place 0.",
                ),
                Mistake(
                    31,
                    "That is the slowest hand of all: one turn in 47,117 tokens. There are faster "
                    "ones that do not come round either; the first of them is asked for.",
                ),
                Mistake(
                    10,
                    "This one does not come round, but it is not the first. What does the title of "
                    "the picture say about its neighbour?",
                ),
                Mistake(
                    0,
                    "Pair 0 is the fastest hand: one turn every 6.3 tokens, ten turns in all.",
                ),
            ),
            tolerance=1e-6,
            right="It takes 83.8 tokens for a turn. All pairs before it see some places twice.",
        ),
        (
            "The title of the picture says after how many tokens a pair has made a whole turn.",
            "The wanted pair is the first whose turn is longer than the 64 places.",
        ),
    ),
    Exercise(
        "6.3",
        "One row by hand",
        Array(
            _row(3),
            (
                Mistake(
                    [_row(3)[at] for at in (0, 2, 1, 3)],
                    "The four numbers are right, and in another order: first the sines, then the "
                    "cosines. In the formula, sine and cosine of one angle stand side by side. "
                    "(Some libraries do it your way; a table must be read as it was trained.)",
                ),
                Mistake(
                    [_row(3)[at] for at in (1, 0, 3, 2)],
                    "The angles are right, and sine and cosine have changed places: the even "
                    "columns hold the sine.",
                ),
                Mistake(
                    _row(math.radians(3)),
                    "You took the angle in degrees. The formula means radians, and so does np.sin: "
                    "give it the angle as it is.",
                ),
                Mistake(
                    _row(3, (0.0, 0.25)),
                    "The first pair is right. You divided the second by 10000^(i / d_model), and "
                    "the exponent has a 2 in it.",
                ),
                Mistake(
                    _row(3, (0.0, 1.0)),
                    "The first pair is right. In the second, i is the number of the pair, 1, and "
                    "not that of the column, 2.",
                ),
                Mistake(
                    [math.sin(3), math.cos(3 / 100), math.sin(3 / 10_000), math.cos(3 / 10**6)],
                    "You gave each column an angle of its own. The two columns of a pair share one "
                    "angle, so there are only two.",
                ),
                Mistake(
                    _row(2),
                    "That is the row of position 2. Positions are counted from 0, and position 3 "
                    "is asked for.",
                ),
                Mistake(_row(4), "That is the row of position 4; position 3 is asked for."),
            ),
            right="The first hand has made nearly half a turn, and the second has hardly moved.",
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
                    "All words of a sentence got one row, that of the sentence's place in the "
                    "batch. Axis 0 of x counts sentences: which one counts the words?",
                ),
                Mistake(
                    lambda x, table: x + table[: x.shape[0]],
                    "You took as many rows as there are sentences, x.shape[0]. It raises an error "
                    "or, worse, runs where a batch is as large as its sentences are long. Which "
                    "axis of x counts the words?",
                ),
                Mistake(
                    lambda x, table: x + table[1 : x.shape[1] + 1],
                    "The first word got row 1. Positions are counted from 0.",
                ),
                Mistake(
                    lambda x, table: x + table[x.shape[1]],
                    "That is one row of the table, the same for every word. The slice "
                    "table[:n] has the rows 0 to n − 1.",
                ),
                Mistake(
                    lambda x, table: x + table[0],
                    "Every word got row 0. Each is to get the row of its own position.",
                ),
                Mistake(
                    lambda x, table: x + table[-x.shape[1] :],
                    "You took the last rows of the table. Positions are counted from 0, so the "
                    "first rows are needed.",
                ),
                Mistake(
                    lambda x, table: x + table,
                    "The table has more rows than a sentence has words, so the shapes do not fit: "
                    "take only the rows that are needed.",
                ),
                Mistake(
                    lambda x, table: table[: x.shape[1]].expand(x.shape),
                    "These are the right rows, but the words are gone: add the two.",
                ),
                Mistake(
                    lambda x, table: table[: x.shape[1]],
                    "These are the right rows of the table; now add them to x.",
                ),
                Mistake(
                    lambda x, table: x - table[: x.shape[1]],
                    "You took the positions away; they are added.",
                ),
                Mistake(
                    lambda x, table: x * table[: x.shape[1]],
                    "You multiplied words and positions; they are added.",
                ),
            ),
            right="The shapes [batch, position, d_model] and [position, d_model] are joined from "
            "the right, so every sentence gets the same rows.",
        ),
        (
            "The words are counted by axis 1 of x, so a sentence has x.shape[1] of them.",
            "Cut that many rows from the top of the table, and add them to x.",
        ),
    ),
    Exercise(
        "6.5",
        "A rotary score",
        Function(
            _rotary_score,
            _pairs,
            (
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        _turned(query, query_position) @ _turned(key, -key_position)
                    ),
                    "Query and key are turned in opposite ways, so the sum of their positions "
                    "counts and not the distance. Turn both in the same way.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        _turned(query, -query_position) @ _turned(key, -key_position)
                    ),
                    "Both are turned, but the wrong way round: compare the signs of your sines "
                    "with the formula.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        _turned(query, query_position) @ key
                    ),
                    "Only the query was turned, so its own place counts. Turn the key by its position too.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        query @ _turned(key, key_position)
                    ),
                    "Only the key was turned, so its own place counts. Turn the query by its position too.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(query @ key),
                    "That is the score without positions: nothing was turned.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        (query + _waves(query_position)) @ (key + _waves(key_position))
                    ),
                    "You added sines and cosines to the words. Rotary positions add nothing: they "
                    "turn the pair by the formula above.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: _rotary_score(
                        query, key, math.radians(query_position), math.radians(key_position)
                    ),
                    "You took the positions as degrees. The angle is the position itself, in "
                    "radians, as np.cos and np.sin take it.",
                ),
            ),
            right="Add 10 to both positions, and your score stays, whatever the words are.",
        ),
        (
            "Write a small function turn(pair, angle) first, with the formula above.",
            "Turn the query by query_position and the key by key_position; then multiply number by "
            "number and add up.",
        ),
    ),
)
