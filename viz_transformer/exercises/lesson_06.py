"""Exercises of lesson 6, Order: shuffled words, sinusoids, rotary scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises import lent
from viz_transformer.exercises.answer_types import Choice, Exercise, Function, Mistake, Number


def _angles(n_positions: int, d_model: int, faster: float = 1.0) -> Tensor:
    """Return the angle of each pair: [position, d_model / 2]."""
    even = torch.arange(0, d_model, 2)
    return torch.arange(n_positions).unsqueeze(1) / 10_000 ** (faster * even / d_model)


def _alternating(even: Tensor, odd: Tensor) -> Tensor:
    return torch.stack([even, odd], dim=-1).flatten(1)


def _table_sizes(rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.integers(2, 30)), 2 * int(rng.integers(2, 9))


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
                    "That is true of the vectors: there is one for each word, and they change position "
                    "with their words. Their mean is a single vector. Does it have a position?",
                ),
                Mistake(
                    "neither",
                    "Then the shuffle would change the mean. Which vectors are added up before the "
                    "shuffle, and which after it?",
                ),
            ),
            "So this program gives the same result for “the dog sees the cat” and “the cat sees the dog”.",
        ),
        (
            "After the shuffle, the encoder gives the same vectors in another order. Add them up.",
            "Try it with three numbers: the mean of 1, 2, 6 and the mean of 6, 1, 2.",
        ),
    ),
    Exercise(
        "6.2",
        "Find a hand that never completes a turn",
        Number(
            9,
            (
                Mistake(
                    8,
                    "Nearly: this hand makes one turn every 62.8 tokens, so at position 63 it has just "
                    "completed a turn and is almost the same as at position 0.",
                ),
                Mistake(
                    31,
                    "That is the slowest hand of all: one turn in 47,117 tokens. Some faster hands don't "
                    "complete a turn either. Find the first of them.",
                ),
                Mistake(
                    10,
                    "This one doesn't complete a turn, but it isn't the first. What does the line above "
                    "the clock show for its neighbour?",
                ),
                Mistake(
                    0,
                    "Pair 0 is the fastest hand: one turn every 6.3 tokens, ten turns in all.",
                ),
            ),
            tolerance=1e-6,
            right="One turn takes 83.8 tokens. Every pair before it completes at least one turn.",
        ),
        (
            "The line above the clock shows how many tokens one turn of a pair takes.",
            "Find the first pair whose turn takes more than 64 tokens.",
        ),
    ),
    Exercise(
        "6.3",
        "Write the table",
        Function(
            lent.positional_encoding,
            _table_sizes,
            (
                Mistake(
                    lambda n, d: torch.cat([_angles(n, d).sin(), _angles(n, d).cos()], dim=-1),
                    "The numbers are right, but all sines come first and then all cosines. In the formula, "
                    "sine and cosine of one angle are side by side. (Some libraries do it your way.)",
                ),
                Mistake(
                    lambda n, d: _alternating(_angles(n, d).cos(), _angles(n, d).sin()),
                    "Sine and cosine are exchanged: the even columns, 0::2, hold the sines.",
                ),
                Mistake(
                    lambda n, d: _alternating(_angles(n, d).sin(), _angles(n, d).sin()),
                    "Both columns of a pair hold the sine. The odd columns, 1::2, hold the cosine.",
                ),
                Mistake(
                    lambda n, d: _alternating(_angles(n, d).sin(), torch.zeros(n, d // 2)),
                    "The even columns are right. The odd columns, 1::2, are still 0.",
                ),
                Mistake(
                    lambda n, d: torch.zeros(n, d),
                    "The table is still all zeros. Assign to encoding[:, 0::2] and encoding[:, 1::2].",
                ),
                Mistake(
                    lambda n, d: _alternating(_angles(n + 1, d)[1:].sin(), _angles(n + 1, d)[1:].cos()),
                    "Your first row is that of position 1. Positions are counted from 0.",
                ),
                Mistake(
                    lambda n, d: _alternating(*(wave(_angles(n, d, 2.0)) for wave in (torch.sin, torch.cos))),
                    "You doubled the exponent. even already holds 2i, so the exponent is even / d_model.",
                ),
                Mistake(
                    lambda n, d: _angles(n, d),
                    "Those are the angles, one for each pair. Take the sine and the cosine of each.",
                ),
                Mistake(
                    lambda n, d: _angles(n, d).sin(),
                    "Those are the sines. The table has a cosine beside each of them.",
                ),
            ),
            right="Each pair of columns is a hand, and each row a position.",
        ),
        (
            "encoding[:, 0::2] and angle have the same shape, [n_positions, d_model / 2].",
            "encoding[:, 0::2] = torch.sin(angle) fills the even columns. Fill the odd ones, 1::2, in the "
            "same way, and return encoding.",
        ),
        part="positional_encoding",
        wrong_lines=(
            Mistake(
                "    encoding[:, 1::2] = torch.sin(angle)",
                "The odd columns hold the cosine of the same angle.",
            ),
            Mistake(
                "    angle = position * 10_000 ** (even / d_model)",
                "Then later pairs would turn faster. The formula divides.",
            ),
        ),
    ),
    Exercise(
        "6.4",
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
                    "That is the score without positions: neither pair is turned.",
                ),
                Mistake(
                    lambda query, key, query_position, key_position: float(
                        (query + _waves(query_position)) @ (key + _waves(key_position))
                    ),
                    "You added sines and cosines to the words. Rotary positions turn each pair instead, "
                    "by the formula above.",
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
        lines="""def turn(pair, angle):
    a, b = pair
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([a * cos - b * sin, ___])


def rotary_score(query, key, query_position, key_position):
    return turn(query, ___) @ turn(key, ___)
""",
        gaps=(
            Choice(
                "a * sin + b * cos",
                ("a * sin + b * cos", "a * sin - b * cos", "a * cos + b * sin"),
                (
                    Mistake("a * sin - b * cos", "The second number of the formula has a plus sign."),
                    Mistake(
                        "a * cos + b * sin",
                        "In the second number, a is multiplied by the sine and b by the cosine.",
                    ),
                ),
            ),
            *(
                Choice(
                    f"{own}_position",
                    ("query_position", "key_position", "query_position - key_position"),
                    (
                        Mistake(f"{other}_position", f"The {own} is turned by its own position."),
                        Mistake(
                            "query_position - key_position",
                            "Each is turned by its own position, and their product then depends on the "
                            "distance.",
                        ),
                    ),
                )
                for own, other in (("query", "key"), ("key", "query"))
            ),
        ),
    ),
)
