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
    "There is only one layer in your list, several times: what one of them learns, all have. Call "
    "torch.nn.Linear again for each place."
)
_COPIED = (
    "Your layers are copies: different ones, but some begin with the same numbers. Call "
    "torch.nn.Linear again for each, and copy none."
)
_TOO_FEW = "That is one layer; a list of six is asked for."


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


def _own_layers(answer: Any) -> Check:
    """Judge a list of layers: none twice, no two that begin alike."""
    if isinstance(answer, nn.Linear):
        return Check(False, _TOO_FEW)
    if not isinstance(answer, list | tuple | nn.ModuleList):
        raise UnusableError(f"Give a list of layers; this is {describe_type(answer)}.")
    for one in answer:
        if not isinstance(one, nn.Linear) or one.weight.shape != (8, 8):
            return Check(False, f"Each is to be a torch.nn.Linear(8, 8); one is {describe_type(one)}.")
    if len(answer) != _N_LAYERS:
        return Check(False, f"Your list has the length {len(answer)}; six layers are asked for.")
    pairs = list(combinations(answer, 2))
    if any(one is other or one.weight is other.weight for one, other in pairs):
        return Check(False, _SHARED)
    if any(torch.equal(one.weight, other.weight) for one, other in pairs):
        return Check(False, _COPIED)
    return Check(True, "Six layers, six starts: each can learn something else.")


def _copies() -> list[nn.Linear]:
    one = nn.Linear(8, 8)
    return [copy.deepcopy(one) for _ in range(_N_LAYERS)]


EXERCISES = (
    Exercise(
        "5.1",
        "The shape after the split",
        Array(
            [2, 4, 7, 16],
            mistakes=(
                Mistake(
                    [2, 7, 4, 16],
                    "All numbers are right, but the words come before the heads: the second step, "
                    "transpose, is missing.",
                ),
                Mistake([2, 4, 7, 64], "The heads share the 64 numbers; no head has all of them."),
                Mistake([2, 4, 16, 7], "The last two are swapped: each head has a row for each word."),
                Mistake(
                    [4, 2, 7, 16], "The batch stays in front: each of the two sentences has heads of its own."
                ),
                Mistake([2, 16, 7, 4], "You have 16 heads of 4 numbers; it is 4 heads of 16."),
                Mistake([4, 7, 16], "That is one sentence; two are read together."),
            ),
            right="2 · 4 · 7 · 16 = 2 · 7 · 64: no number was lost, and none was added.",
        ),
        hints=(
            "The batch and the words stay as they are: 2 and 7. Which axis is new?",
            "64 numbers shared by 4 heads are 16 for each.",
        ),
    ),
    Exercise(
        "5.2",
        "Split",
        Function(
            _split,
            _vectors,
            mistakes=(
                Mistake(
                    lambda x, n_heads: x.reshape(n_heads, len(x), -1),
                    "The shape is right and the numbers are wrong: a head got pieces of few words "
                    "only. Cut the last axis first, then swap two axes.",
                ),
                Mistake(
                    lambda x, n_heads: x.reshape(len(x), n_heads, -1),
                    "The first step is done: [word, head, d_head]. Now swap the first two axes.",
                ),
                Mistake(
                    lambda x, n_heads: x.reshape(len(x), -1, n_heads).permute(2, 0, 1),
                    "Your first head has every second, third … number of a word. It is to have the "
                    "first d_head numbers, as they stand: which of the two new axes comes first?",
                ),
                Mistake(
                    lambda x, n_heads: x.reshape(len(x), n_heads, -1).transpose(1, 2),
                    "You swapped the last two axes; swap the first two.",
                ),
                Mistake(
                    lambda x, n_heads: x.reshape(len(x), n_heads, -1).permute(1, 2, 0),
                    "The heads come first, but each has a column for each word; it is to have a row.",
                ),
                Mistake(
                    lambda x, n_heads: x.expand(n_heads, *x.shape),
                    "Every head has all the numbers of each word. They are to share them.",
                ),
            ),
            right="Each head has a row for each word: a piece of every one.",
        ),
        hints=(
            "d_head is x.shape[1] // n_heads. Start with x.reshape(n_words, n_heads, d_head).",
            "Then .transpose(0, 1) swaps the first two axes.",
        ),
    ),
    Exercise(
        "5.3",
        "Concatenate",
        Function(
            _merge,
            _heads,
            mistakes=(
                Mistake(
                    lambda heads: heads.reshape(heads.shape[1], -1),
                    "The shape is right and the numbers are wrong: a row must hold what all heads "
                    "say of one word. Swap the first two axes before you reshape.",
                ),
                Mistake(
                    lambda heads: heads.transpose(0, 1),
                    "The axes are in order, [word, head, d_head]. Now lay the last two end to end.",
                ),
                Mistake(
                    lambda heads: heads.transpose(0, 1).view(heads.shape[1], -1),
                    "view moves no numbers, and after transpose they do not lie in the order that "
                    "you want. reshape moves them where it must.",
                ),
                Mistake(
                    lambda heads: heads,
                    "The heads are as they were: they are not joined.",
                ),
                Mistake(
                    lambda heads: heads.mean(0),
                    "You took the mean of the heads. Then nobody can tell them apart; lay them end to end.",
                ),
                Mistake(
                    lambda heads: heads.sum(0),
                    "You added the heads. Adding comes later, when W_O has had its part; lay them "
                    "end to end.",
                ),
                Mistake(
                    lambda heads: heads.flatten(0, 1),
                    "You laid the heads below each other; a word is to be one row.",
                ),
                Mistake(
                    lambda heads: heads.permute(1, 2, 0).flatten(1),
                    "The numbers of the heads alternate in your rows. All numbers of head 0 come "
                    "first, then all of head 1.",
                ),
                Mistake(
                    lambda heads: heads.transpose(1, 2).reshape(heads.shape[1], -1),
                    "The shape is right and the numbers are wrong: you swapped the last two axes "
                    "of heads. The first two must change places before you reshape.",
                ),
                Mistake(
                    lambda heads: heads.transpose(0, 1).flip(1).flatten(1),
                    "The heads stand in the wrong order: head 0 comes first.",
                ),
                Mistake(lambda heads: heads[0], "That is head 0 alone; where are the others?"),
            ),
            right="This is exactly the split backwards.",
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
                Mistake([32, 48], "These are the queries of head 2. The keys come after them all."),
                Mistake([160, 176], "These are the values of head 2; the keys stand before them."),
                Mistake([80, 96], "These are the keys of head 1: counting starts at 0."),
                Mistake([112, 128], "These are the keys of head 3."),
                Mistake([96, 111], "The first is right. The second is the one *after* the last."),
                Mistake([96, 160], "It starts rightly. A head has 16 columns, not 64."),
            ),
            right="qkv[:, 96:112]. A program that cuts elsewhere runs, and mixes the heads up.",
        ),
        hints=(
            "The keys begin at column 64. Each head has 16 of them.",
            "Heads 0 and 1 stand before head 2: that is 2 · 16 columns.",
        ),
    ),
    Exercise(
        "5.5",
        "Layers of their own",
        CustomCheck(
            _own_layers,
            right_answer=lambda: [nn.Linear(8, 8) for _ in range(_N_LAYERS)],
            mistakes=(
                Mistake(lambda: [nn.Linear(8, 8)] * _N_LAYERS, _SHARED),
                Mistake(_copies, _COPIED),
                Mistake(
                    lambda: [nn.Linear(8, 8)],
                    "Your list has the length 1; six layers are asked for.",
                ),
                Mistake(lambda: nn.Linear(8, 8), _TOO_FEW),
            ),
        ),
        hints=(
            "The call torch.nn.Linear(8, 8) draws new numbers each time that it runs.",
            "[something for _ in range(6)] runs something six times; [something] * 6 runs it once.",
        ),
    ),
)
