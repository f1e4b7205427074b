"""Exercises of *Going further*, positions: a row by hand, and the axis that they are added along."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import Array, Choice, Exercise, Function, Mistake

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


EXERCISES = (
    Exercise(
        "positions.1",
        "Compute one row by hand",
        Array(
            _row(3),
            (
                Mistake(
                    [_row(3)[at] for at in (0, 2, 1, 3)],
                    "The four numbers are right, but you put the sines first and then the cosines. "
                    "In the formula, sine and cosine of one angle are side by side. (Some "
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
            right="The first angle is 3, nearly half a turn. The second is only 0.03.",
        ),
        (
            "The two angles are 3 / 10000^(0/4) and 3 / 10000^(2/4).",
            "10000^(2/4) is the square root of 10000. Then take sine, cosine, sine, cosine.",
        ),
    ),
    Exercise(
        "positions.2",
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
                    "torch aligns shapes from the right, so positions are paired with sentences. Leave "
                    "out the None.",
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
                    "A RuntimeError. If its message is that sizes must match: the table has more rows "
                    "than a sentence has words. Take only as many rows as there are words.",
                ),
                Mistake(lambda x, table: x, "That is x unchanged. Add the rows of the table to it."),
                Mistake(
                    lambda x, table: table[: x.shape[1]].expand(x.shape),
                    "These are the right rows, once for each sentence. Add x to them.",
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
            right="torch aligns [batch, position, d_model] and [position, d_model] from the right, so "
            "every sentence gets the same rows.",
        ),
        (
            "Axis 1 of x counts words, so a sentence has x.shape[1] of them.",
            "Take that many rows from the top of the table, and add them to x.",
        ),
        lines="""def add_positions(x, table):
    return x + table[___]
""",
        gaps=(
            Choice(
                ": x.shape[1]",
                (": x.shape[1]", ": x.shape[0]", ": x.shape[0], None", "x.shape[1]"),
                (
                    Mistake(": x.shape[0]", "Axis 0 of x counts sentences. Which axis counts words?"),
                    Mistake(": x.shape[0], None", "Then all words of a sentence get the same row."),
                    Mistake("x.shape[1]", "That is a single row, the same for every word."),
                ),
            ),
        ),
    ),
)
