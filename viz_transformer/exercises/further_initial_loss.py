"""Exercises of Before the first step: the scale of the embeddings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises.answer_types import Choice, Exercise, Function, Mistake, Number
from viz_transformer.model.positional import sinusoidal_encoding

_WIDTH = 64  # d_model of the bundled translator


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


def _with_positions(ids: Tensor, table: Tensor) -> Tensor:
    return _embed(ids, table) + sinusoidal_encoding(len(ids), table.shape[1])


def _columns(ids: Tensor, table: Tensor) -> Tensor:
    return _embed(ids, table).T


def _whole_table(ids: Tensor, table: Tensor) -> Tensor:
    return table * math.sqrt(table.shape[1])


def _to_embed(rng: np.random.Generator) -> tuple[Any, ...]:
    n_tokens, d_model = int(rng.integers(5, 40)), int(rng.choice([4, 6, 32, 64]))
    table = torch.from_numpy(rng.normal(size=(n_tokens, d_model)).astype(np.float32))
    return torch.from_numpy(rng.integers(0, n_tokens, size=rng.integers(1, 7))), table


EXERCISES = (
    Exercise(
        "initial_loss.1",
        "Embed the tokens of a sentence",
        Function(
            _embed,
            _to_embed,
            mistakes=(
                Mistake(
                    _as_it_is,
                    "These are the right rows, but not scaled yet. The paper multiplies them by √d_model.",
                ),
                Mistake(
                    _by_the_width,
                    "You multiplied by d_model itself. A row's length grows only with the square root "
                    "of how many numbers it has, so the factor is √d_model.",
                ),
                Mistake(
                    _divided,
                    "You divided. The rows are already too short compared with the positions: multiply "
                    "instead.",
                ),
                Mistake(
                    _by_512,
                    "You multiplied by √512, whatever the table. Its own width is table.shape[1].",
                ),
                Mistake(
                    _by_the_tokens,
                    "You used the number of tokens, table.shape[0]. The width of a row is the other "
                    "number in the shape, table.shape[1].",
                ),
                Mistake(
                    _with_positions,
                    "The scale is right, but you added the positions as well. They come in the next "
                    "step; this function stops before them.",
                ),
                Mistake(
                    _columns,
                    "The numbers are right, but rows and columns are exchanged. Each row should be one "
                    "token's vector: [position, d_model].",
                ),
                Mistake(
                    _whole_table,
                    "That scales the whole table. Look up the rows of the ids: table[ids].",
                ),
            ),
            right="The model does the same with an id before it adds the position.",
        ),
        hints=(
            "table[ids] looks up all the rows at once.",
            "The width is table.shape[1], and x ** 0.5 is the square root of x.",
        ),
        lines="""def embed(ids, table):
    return table[ids] * ___
""",
        gaps=(
            Choice(
                "table.shape[1] ** 0.5",
                ("table.shape[1]", "table.shape[1] ** 0.5", "table.shape[0] ** 0.5", "512 ** 0.5"),
                (
                    Mistake("table.shape[1]", "That is d_model itself. The factor is its square root."),
                    Mistake("table.shape[0] ** 0.5", "table.shape[0] is the number of tokens."),
                    Mistake("512 ** 0.5", "d_model is the width of the table, which isn't always 512."),
                ),
            ),
        ),
    ),
    Exercise(
        "initial_loss.2",
        "Choose the standard deviation of an embedding table",
        Number(
            _WIDTH**-0.5,
            mistakes=(
                Mistake(
                    512**-0.5,
                    "That is right for a d_model of 512. This model has 64.",
                ),
                Mistake(
                    _WIDTH**-0.25,
                    "You took the root twice. It is 1/√d_model.",
                ),
                Mistake(
                    float(_WIDTH**0.5),
                    "That is the factor of the rows. What size do they need before, so that they are "
                    "about 1 after the multiplication?",
                ),
                Mistake(
                    1 / _WIDTH,
                    "Times √64, which is 8, that is 1/8 and not 1. The factor is the square root of d_model.",
                ),
                Mistake(1.0, "Numbers of size 1 become 8 after the multiplication by √64."),
            ),
            right="1/√64 = 0.125, and 0.125 × 8 = 1.",
        ),
        hints=(
            "√64 is 8. Which number, times 8, makes 1?",
            "It is 1/√d_model.",
        ),
    ),
)
