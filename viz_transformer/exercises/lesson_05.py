"""Exercises of lesson 5, Many heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises import lent
from viz_transformer.exercises.answer_types import Array, Exercise, Function, Mistake
from viz_transformer.exercises.module_class import ModuleClass


def _sizes(rng: np.random.Generator) -> tuple[tuple[int, ...], int, int, int]:
    """Draw the axes in front, a number of words, of heads and of numbers a head, the last three different."""
    n_words, n_heads, d_head = (int(size) for size in rng.permutation([1, 2, 3, 4, 5])[:3])
    return ((), (2,))[int(rng.integers(2))], n_words, n_heads, d_head


def _vectors(rng: np.random.Generator) -> tuple[Tensor, int]:
    before, n_words, n_heads, d_head = _sizes(rng)
    return torch.from_numpy(rng.normal(size=(*before, n_words, n_heads * d_head))), n_heads


def _heads(rng: np.random.Generator) -> tuple[Tensor]:
    before, n_words, n_heads, d_head = _sizes(rng)
    return (torch.from_numpy(rng.normal(size=(*before, n_heads, n_words, d_head))),)


def _cut(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1))


def _layer(rng: np.random.Generator) -> tuple[tuple[int, int], tuple[Tensor, Tensor]]:
    """Draw the sizes of a layer, and two batches with different numbers of words."""
    _, n_words, n_heads, d_head = _sizes(rng)
    shapes = [(2, length, n_heads * d_head) for length in (n_words, n_words + 2)]
    x, memory = (torch.from_numpy(rng.normal(size=shape)).float() for shape in shapes)
    return (n_heads * d_head, n_heads), (x, memory)


class _Mistaken(lent.MultiHeadAttention):
    """The layer in parts, of which each mistake leaves one out."""

    def parts(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        made = (self.query(x), self.key(memory), self.value(memory))
        query, key, value = (lent.split_heads(each, self.n_heads) for each in made)
        return query, key, value


class _OutputAlone(_Mistaken):
    def forward(self, x: Tensor, memory: Tensor) -> Any:
        return super().forward(x, memory)[0]


class _NotMixed(_Mistaken):
    def forward(self, x: Tensor, memory: Tensor) -> Any:
        heads, weights = lent.attend(*self.parts(x, memory))
        return lent.join_heads(heads), weights


class _NotJoined(_Mistaken):
    def forward(self, x: Tensor, memory: Tensor) -> Any:
        return lent.attend(*self.parts(x, memory))


class _KeysFromX(_Mistaken):
    def forward(self, x: Tensor, memory: Tensor) -> Any:
        return super().forward(x, x)


class _KeysMixed(_Mistaken):
    def forward(self, x: Tensor, memory: Tensor) -> Any:
        query, key, _ = self.parts(x, memory)
        heads, weights = lent.attend(query, key, key)
        return self.output(lent.join_heads(heads)), weights


class _OneHead(_Mistaken):
    def forward(self, x: Tensor, memory: Tensor) -> Any:
        output, weights = lent.attend(self.query(x), self.key(memory), self.value(memory))
        return self.output(output), weights


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
            lent.split_heads,
            _vectors,
            mistakes=(
                Mistake(
                    lambda x, n_heads: _cut(x, n_heads).transpose(0, 1),
                    "It is right for one sentence. With a batch in front, axis 0 counts sentences. Count "
                    "the two axes from the end.",
                ),
                Mistake(
                    lambda x, n_heads: x.reshape(*x.shape[:-2], n_heads, x.shape[-2], -1),
                    "The shape is right and the numbers are wrong: a head got pieces of a few words "
                    "only. Cut the last axis first, then exchange two axes.",
                ),
                Mistake(
                    _cut,
                    "The first step is done: [..., n, n_heads, d_head]. Now exchange words and heads.",
                ),
                Mistake(
                    lambda x, n_heads: x.unflatten(-1, (-1, n_heads)).movedim(-1, -3),
                    "Your first head got every second, third … number of a word. It should get the "
                    "first d_head numbers in a row. Which of the two new axes comes first?",
                ),
                Mistake(
                    lambda x, n_heads: _cut(x, n_heads).transpose(-2, -1),
                    "You exchanged the last two axes. Exchange the words and the heads, −3 and −2.",
                ),
                Mistake(
                    lambda x, n_heads: _cut(x, n_heads).movedim(-3, -1),
                    "The heads come first, but each has a column for each word. It should have a row.",
                ),
                Mistake(
                    lambda x, n_heads: x.unsqueeze(-3).expand(*x.shape[:-2], n_heads, *x.shape[-2:]),
                    "Every head got all the numbers of each word. The heads should share them.",
                ),
            ),
            right="Each head has a row for each word, with a piece of its vector.",
        ),
        hints=(
            "cut is [..., n, n_heads, d_head]. The result must be [..., n_heads, n, d_head].",
            "Counted from the end, the words are axis −3 and the heads axis −2: transpose these two.",
        ),
        part="split_heads",
    ),
    Exercise(
        "5.3",
        "Join the heads",
        Function(
            lent.join_heads,
            _heads,
            mistakes=(
                Mistake(
                    lambda x: x.transpose(0, 1).flatten(-2),
                    "It is right for one sentence. With a batch in front, axis 0 counts sentences. Count "
                    "the two axes from the end.",
                ),
                Mistake(
                    lambda x: x.reshape(*x.shape[:-3], x.shape[-2], -1),
                    "The shape is right and the numbers are wrong: a row must hold the outputs of all "
                    "heads for one word. Exchange heads and words before you join the last two axes.",
                ),
                Mistake(
                    lambda x: x.transpose(-3, -2),
                    "The axes are in order: [..., n, n_heads, d_head]. Now join the last two.",
                ),
                Mistake(
                    lambda x: x.flatten(-2),
                    "You joined all words of a head: a row for each head. Exchange heads and words first.",
                ),
                Mistake(
                    lambda x: x,
                    "You returned the heads as they were. They still have to be joined.",
                ),
                Mistake(
                    lambda x: x.mean(-3),
                    "You took the mean of the heads. Then they can't be told apart. Lay them end to end.",
                ),
                Mistake(
                    lambda x: x.sum(-3),
                    "You added the heads. Adding comes later, after W_O. Here, lay them end to end.",
                ),
                Mistake(
                    lambda x: x.flatten(-3, -2),
                    "You put the heads one below the other. Each word should be one row.",
                ),
                Mistake(
                    lambda x: x.movedim(-3, -1).flatten(-2),
                    "The heads alternate in your rows, number by number. All numbers of head 0 come "
                    "first, then all of head 1.",
                ),
                Mistake(
                    lambda x: x.transpose(-2, -1).flatten(-2),
                    "You exchanged the last two axes. Exchange heads and words, −3 and −2.",
                ),
                Mistake(
                    lambda x: x.transpose(-3, -2).flatten(-3),
                    "That is one long row for the whole sentence. Keep a row for each word: join only the "
                    "last two axes.",
                ),
                Mistake(
                    lambda x: x.transpose(-3, -2).flip(-2).flatten(-2),
                    "The heads are in the wrong order: head 0 comes first.",
                ),
                Mistake(lambda x: x.select(-3, 0), "That is head 0 alone. Where are the others?"),
            ),
            right="That is exactly the split, backwards.",
        ),
        hints=(
            "First make it [..., n, n_heads, d_head], then join the last two axes.",
            "x.transpose(-3, -2) is the first step; .flatten(-2) is the second.",
        ),
        part="join_heads",
    ),
    Exercise(
        "5.4",
        "Write multi-head attention",
        ModuleClass(
            lent.MultiHeadAttention,
            _layer,
            mistakes=(
                Mistake(_OutputAlone, "The output is right. Return the weights too: output, weights."),
                Mistake(_NotMixed, "The heads are joined, but W_O is missing: apply self.output to them."),
                Mistake(
                    _NotJoined,
                    "You return the heads as attend gives them. Join them and apply self.output.",
                ),
                Mistake(_KeysFromX, "Your keys and values come from x. They must come from memory."),
                Mistake(_KeysMixed, "You mix the keys. The values have a matrix of their own: self.value."),
                Mistake(
                    _OneHead,
                    "That is a single head: nothing is split. Use split_heads on queries, keys and values.",
                ),
            ),
            right="A layer with several heads: queries from x, keys and values from memory.",
        ),
        hints=(
            "The keys are split_heads(self.key(memory), self.n_heads), and the values likewise.",
            "Then attend gives heads and weights. Return self.output(join_heads(heads)) and the weights.",
        ),
        part="MultiHeadAttention",
    ),
)
