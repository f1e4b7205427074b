"""Exercises of *Going further*, torch's own modules."""

from __future__ import annotations

import copy
from itertools import combinations
from typing import Any

import torch
from torch import nn

from viz_transformer.exercises.answer_types import Array, Choice, CustomCheck, Exercise, Mistake
from viz_transformer.exercises.comparison import UnusableError, describe_type
from viz_transformer.exercises.feedback import Check

_N_LAYERS = 6
_SHARED = (
    "Your list holds one layer several times, so all six share their parameters. Call torch.nn.Linear "
    "again for each of the six."
)
_COPIED = (
    "These are separate layers, but some are copies and start from the same parameters. Call "
    "torch.nn.Linear again for each."
)
_TOO_FEW = "That is one layer. Give a list of six."


def _layers(n: int) -> str:
    return f"{n} layer" if n == 1 else f"{n} layers"


def _own_layers(answer: Any) -> Check:
    """Judge a list of layers: none twice, no two with the same initial parameters."""
    if isinstance(answer, nn.Linear):
        return Check(False, _TOO_FEW)
    if not isinstance(answer, list | tuple | nn.ModuleList):
        raise UnusableError(f"Give a list of layers; this is {describe_type(answer)}.")
    for one in answer:
        if not isinstance(one, nn.Linear) or one.weight.shape != (8, 8):
            return Check(False, f"Each must be a torch.nn.Linear(8, 8); one is {describe_type(one)}.")
    if len(answer) != _N_LAYERS:
        return Check(False, f"Your list has {_layers(len(answer))}; it needs six.")
    pairs = list(combinations(answer, 2))
    if any(one is other or one.weight is other.weight for one, other in pairs):
        return Check(False, _SHARED)
    if any(torch.equal(one.weight, other.weight) for one, other in pairs):
        return Check(False, _COPIED)
    return Check(
        True, "The six layers have different initial parameters, so each can learn something different."
    )


def _copies() -> list[nn.Linear]:
    one = nn.Linear(8, 8)
    return [copy.deepcopy(one) for _ in range(_N_LAYERS)]


EXERCISES = (
    Exercise(
        "torch_modules.1",
        "Find the head",
        Array(
            [64 + 2 * 16, 64 + 3 * 16],
            mistakes=(
                Mistake([32, 48], "These are the queries of head 2. The keys come after all the queries."),
                Mistake([160, 176], "These are the values of head 2. The keys come before them."),
                Mistake([80, 96], "These are the keys of head 1: counting starts at 0."),
                Mistake([112, 128], "These are the keys of head 3."),
                Mistake([96, 111], "The first is right. The second should be the column after the last one."),
                Mistake([96, 160], "The start is right. But a head has 16 columns, not 64."),
            ),
            right="qkv[:, 96:112]. A program that cuts elsewhere also runs, but mixes up the heads.",
        ),
        hints=(
            "The keys begin at column 64. Each head has 16 of them.",
            "Heads 0 and 1 come before head 2: that is 2 · 16 columns.",
        ),
    ),
    Exercise(
        "torch_modules.2",
        "Make six layers that differ",
        CustomCheck(
            _own_layers,
            right_answer=lambda: [nn.Linear(8, 8) for _ in range(_N_LAYERS)],
            mistakes=(
                Mistake(lambda: [nn.Linear(8, 8)] * _N_LAYERS, _SHARED),
                Mistake(_copies, _COPIED),
                Mistake(
                    lambda: [nn.Linear(8, 8)],
                    "Your list has 1 layer; it needs six.",
                ),
                Mistake(lambda: nn.Linear(8, 8), _TOO_FEW),
            ),
        ),
        hints=(
            "Every call of torch.nn.Linear(8, 8) draws new parameters.",
            "[something for _ in range(6)] runs something six times; [something] * 6 runs it once.",
        ),
        lines="layers = ___\n",
        gaps=(
            Choice(
                "[torch.nn.Linear(8, 8) for _ in range(6)]",
                (
                    "[torch.nn.Linear(8, 8)] * 6",
                    "[torch.nn.Linear(8, 8) for _ in range(6)]",
                    "torch.nn.Linear(8, 8)",
                ),
                (
                    Mistake("[torch.nn.Linear(8, 8)] * 6", _SHARED),
                    Mistake("torch.nn.Linear(8, 8)", _TOO_FEW),
                ),
                "The six layers have different initial parameters, so each can learn something different.",
            ),
        ),
    ),
)
