"""Exercises of lesson 5, Many heads."""

from __future__ import annotations

import copy
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from viz_transformer.exercises.answer_types import Array, CustomCheck, Exercise, Function, Mistake
from viz_transformer.exercises.comparison import UnusableError, describe_type
from viz_transformer.exercises.feedback import Check

_N_LAYERS = 6
_SHARED = (
    "Your list holds one layer several times: what one of them learns, all have. Call "
    "torch.nn.Linear again for each of the six."
)
_COPIED = (
    "These are separate layers, but some are copies and start from the same parameters. Call "
    "torch.nn.Linear again for each, and copy none."
)
_TOO_FEW = "That is one layer. Give a list of six."


def _sizes(rng: np.random.Generator) -> tuple[int, int, int]:
    """Draw a number of words, of heads and of numbers a head, all different."""
    # Among the draws are some with one word or one head, where even `view` can join the heads: so
    # an error in every draw has another reason, and gets another message.
    n_words, n_heads, d_head = (int(size) for size in rng.permutation([1, 2, 3, 4, 5])[:3])
    return n_words, n_heads, d_head


def _vectors(rng: np.random.Generator) -> tuple[Tensor, int]:
    n_words, n_heads, d_head = _sizes(rng)
    return torch.from_numpy(rng.normal(size=(n_words, n_heads * d_head))), n_heads


def _heads(rng: np.random.Generator) -> tuple[Tensor]:
    n_words, n_heads, d_head = _sizes(rng)
    return (torch.from_numpy(rng.normal(size=(n_heads, n_words, d_head))),)


def _split(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(len(x), n_heads, -1).transpose(0, 1)


def _merge(heads: Tensor) -> Tensor:
    return heads.transpose(0, 1).flatten(1)


def _layers(n: int) -> str:
    return f"{n} layer" if n == 1 else f"{n} layers"


def _own_layers(answer: Any) -> Check:
    """Judge a list of layers: none twice, no two that begin alike."""
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
    return Check(True, "Six layers with six starts: each can learn something different.")


def _copies() -> list[nn.Linear]:
    one = nn.Linear(8, 8)
    return [copy.deepcopy(one) for _ in range(_N_LAYERS)]


EXERCISES = (
    Exercise(
        "5.1",
        "Name the shape after the split",
        Array(
            [2, 4, 7, 16],
            mistakes=(
                Mistake(
                    [2, 7, 4, 16],
                    "The four numbers are right, but the words come before the heads. The second "
                    "step, transpose, is missing.",
                ),
                Mistake(
                    [2, 7, 64], "That is the shape before the split. The heads need an axis of their own."
                ),
                Mistake([2, 4, 7, 64], "No head has all 64 numbers: the four heads share them."),
                Mistake([2, 4, 16, 7], "The last two are swapped. Each head has one row for each word."),
                Mistake([4, 2, 7, 16], "The batch stays in front: each sentence has its own heads."),
                Mistake([2, 16, 7, 4], "That is 16 heads of 4 numbers. It should be 4 heads of 16."),
                Mistake([4, 7, 16], "That is one sentence. Two are read together."),
            ),
            right="2 · 4 · 7 · 16 = 2 · 7 · 64: no number is lost and none is added.",
        ),
        hints=(
            "There are still 2 sentences and 7 words. Which axis is new?",
            "4 heads share 64 numbers: 16 for each.",
        ),
    ),
    Exercise(
        "5.2",
        "Split the vectors into heads",
        Function(
            _split,
            _vectors,
            mistakes=(
                Mistake(
                    lambda x, n_heads: x.reshape(n_heads, len(x), -1),
                    "The shape is right and the numbers are wrong: a head got pieces of a few words "
                    "only. Cut the last axis first, then swap two axes.",
                ),
                Mistake(
                    lambda x, n_heads: x.reshape(len(x), n_heads, -1),
                    "The first step is done: [word, head, d_head]. Now swap the first two axes.",
                ),
                Mistake(
                    lambda x, n_heads: x.reshape(len(x), -1, n_heads).permute(2, 0, 1),
                    "Your first head got every second, third … number of a word. It should get the "
                    "first d_head numbers in a row. Which of the two new axes comes first?",
                ),
                Mistake(
                    lambda x, n_heads: x.reshape(len(x), n_heads, -1).transpose(1, 2),
                    "You swapped the last two axes. Swap the first two.",
                ),
                Mistake(
                    lambda x, n_heads: x.reshape(len(x), n_heads, -1).permute(1, 2, 0),
                    "The heads come first, but each has a column for each word. It should have a row.",
                ),
                Mistake(
                    lambda x, n_heads: x.expand(n_heads, *x.shape),
                    "Every head got all the numbers of each word. The heads should share them.",
                ),
            ),
            right="Each head has a row for each word, with a piece of its vector.",
        ),
        hints=(
            "d_head is x.shape[1] // n_heads. Start with x.reshape(n_words, n_heads, d_head).",
            "Then .transpose(0, 1) swaps the first two axes.",
        ),
    ),
    Exercise(
        "5.3",
        "Concatenate the heads",
        Function(
            _merge,
            _heads,
            mistakes=(
                Mistake(
                    lambda heads: heads.reshape(heads.shape[1], -1),
                    "The shape is right and the numbers are wrong: a row must hold the outputs of all "
                    "heads for one word. Swap the first two axes before you reshape.",
                ),
                Mistake(
                    lambda heads: heads.transpose(0, 1),
                    "The axes are in order: [word, head, d_head]. Now join the last two.",
                ),
                Mistake(
                    lambda heads: heads.transpose(0, 1).view(heads.shape[1], -1),
                    "view never moves numbers in memory, and after transpose they lie in the wrong "
                    "order for it. Use reshape, which moves them if it must.",
                ),
                Mistake(
                    lambda heads: heads,
                    "You returned the heads as they were. They still have to be joined.",
                ),
                Mistake(
                    lambda heads: heads.mean(0),
                    "You took the mean of the heads. Then they can't be told apart. Lay them end to end.",
                ),
                Mistake(
                    lambda heads: heads.sum(0),
                    "You added the heads. Adding comes later, after W_O. Here, lay them end to end.",
                ),
                Mistake(
                    lambda heads: heads.flatten(0, 1),
                    "You put the heads one below the other. Each word should be one row.",
                ),
                Mistake(
                    lambda heads: heads.permute(1, 2, 0).flatten(1),
                    "The heads alternate in your rows, number by number. All numbers of head 0 come "
                    "first, then all of head 1.",
                ),
                Mistake(
                    lambda heads: heads.transpose(1, 2).reshape(heads.shape[1], -1),
                    "The shape is right and the numbers are wrong: you swapped the last two axes. "
                    "Swap the first two before you reshape.",
                ),
                Mistake(
                    lambda heads: heads.transpose(0, 1).flip(1).flatten(1),
                    "The heads are in the wrong order: head 0 comes first.",
                ),
                Mistake(lambda heads: heads[0], "That is head 0 alone. Where are the others?"),
                Mistake(
                    lambda heads: heads.transpose(1, 2).transpose(0, 1).reshape(heads.shape[1], -1),
                    "You swapped two pairs of axes. One swap is enough: the first two.",
                ),
                Mistake(
                    lambda heads: heads.transpose(1, 2),
                    "You swapped the last two axes. Swap the first two, then reshape.",
                ),
                Mistake(
                    lambda heads: heads.reshape(-1),
                    "That is one long row for the whole sentence. Keep a row for each word: "
                    ".reshape(n_words, -1).",
                ),
                Mistake(
                    lambda heads: heads.transpose(0, 1).reshape(heads.shape[0], -1),
                    "You reshape to one row for each head. heads.shape[0] counts heads; which axis "
                    "of heads counts words?",
                ),
            ),
            right="That is exactly the split, backwards.",
        ),
        hints=(
            "First make it [word, head, d_head], then join the last two axes.",
            "heads.transpose(0, 1) is the first step; .reshape(n_words, -1) joins the rest.",
        ),
    ),
    Exercise(
        "5.4",
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
        "5.5",
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
    ),
)
