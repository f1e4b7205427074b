"""Exercises of lesson 5, Many heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises import lent
from viz_transformer.exercises.answer_types import Array, Choice, Exercise, Function, Mistake
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


_right = lent.MultiHeadAttention.forward


def _attended(layer: Any, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    """Return what each head gives, and the weights."""
    made = (layer.query(x), layer.key(memory), layer.value(memory))
    return lent.attend(*(lent.split_heads(each, layer.n_heads) for each in made))


def _with(forward: Callable[[Any, Tensor, Tensor], Any]) -> type[lent.MultiHeadAttention]:
    return type("MultiHeadAttention", (lent.MultiHeadAttention,), {"forward": forward})


def _keys_mixed(layer: Any, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    query, key = (lent.split_heads(each, layer.n_heads) for each in (layer.query(x), layer.key(memory)))
    heads, weights = lent.attend(query, key, key)
    return layer.output(lent.join_heads(heads)), weights


def _not_mixed(layer: Any, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    heads, weights = _attended(layer, x, memory)
    return lent.join_heads(heads), weights


def _one_head(layer: Any, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
    output, weights = lent.attend(layer.query(x), layer.key(memory), layer.value(memory))
    return layer.output(output), weights


_AXES = Choice(
    "-3, -2",
    ("-3, -2", "-2, -1", "0, 1"),
    (
        Mistake("-2, -1", "These are the last two axes. Exchange the words and the heads."),
        Mistake("0, 1", "With a batch in front, axis 0 counts sentences. Count the axes from the end."),
    ),
)


def _of(value: str, words: str) -> Choice:
    """Ask which input and which matrix make the keys or the values."""
    other = "value" if value == "key" else "key"
    return Choice(
        f"self.{value}(memory)",
        (f"self.{value}(memory)", f"self.{value}(x)", f"self.{other}(memory)", "memory"),
        (
            Mistake(f"self.{value}(x)", f"The {words} come from memory."),
            Mistake(f"self.{other}(memory)", f"The {words} have a matrix of their own: self.{value}."),
            Mistake("memory", f"memory must be multiplied by the matrix of the {words} first."),
        ),
    )


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
                    "The shape is right, but the numbers are wrong: a head got parts of a few words only. "
                    "Split the last axis first, then exchange two axes.",
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
            right="Each head has a row for each word, with a part of its vector.",
        ),
        hints=(
            "cut is [..., n, n_heads, d_head]. The result must be [..., n_heads, n, d_head].",
            "Counted from the end, the words are axis −3 and the heads axis −2: transpose these two.",
        ),
        part="split_heads",
        lines="""def split_heads(x, n_heads):
    cut = x.unflatten(-1, (n_heads, -1))  # [..., n, n_heads, d_head]
    return cut.transpose(___)
""",
        gaps=(_AXES,),
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
                    "The shape is right, but the numbers are wrong: a row must hold the outputs of all "
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
                    "You returned the heads unchanged. They still have to be joined.",
                ),
                Mistake(
                    lambda x: x.mean(-3),
                    "You took the mean of the heads, which mixes them. Join them one after another.",
                ),
                Mistake(
                    lambda x: x.sum(-3),
                    "You added the heads. Join them one after another instead; W_O mixes them later.",
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
            right="This is the inverse of the split.",
        ),
        hints=(
            "First make it [..., n, n_heads, d_head], then join the last two axes.",
            "x.transpose(-3, -2) is the first step; .flatten(-2) is the second.",
        ),
        part="join_heads",
        lines="""def join_heads(x):
    return x.transpose(___).flatten(___)
""",
        gaps=(
            _AXES,
            Choice(
                "-2",
                ("-2", "-3", "0"),
                (
                    Mistake("-3", "That joins the words too. Join only the last two axes."),
                    Mistake("0", "That joins all axes into one. Join only the last two."),
                ),
            ),
        ),
    ),
    Exercise(
        "5.4",
        "Write multi-head attention",
        ModuleClass(
            lent.MultiHeadAttention,
            _layer,
            mistakes=(
                Mistake(
                    _with(lambda layer, x, memory: _right(layer, x, memory)[0]),
                    "The output is right. Return the weights too: output, weights.",
                ),
                Mistake(
                    _with(_not_mixed), "The heads are joined, but W_O is missing: apply self.output to them."
                ),
                Mistake(
                    _with(_attended),
                    "You return the heads as attend gives them. Join them and apply self.output.",
                ),
                Mistake(
                    _with(lambda layer, x, memory: _right(layer, x, x)),
                    "Your keys and values come from x. They must come from memory.",
                ),
                Mistake(
                    _with(_keys_mixed), "You mix the keys. The values have a matrix of their own: self.value."
                ),
                Mistake(
                    _with(_one_head),
                    "That is a single head. Use split_heads on the queries, the keys and the values.",
                ),
            ),
            right="A layer with several heads: queries from x, keys and values from memory.",
        ),
        hints=(
            "The keys are split_heads(self.key(memory), self.n_heads), and the values likewise.",
            "Then attend gives heads and weights. Return self.output(join_heads(heads)) and the weights.",
        ),
        part="MultiHeadAttention",
        lines="""def forward(self, x, memory, mask=None):
    query = split_heads(self.query(x), self.n_heads)
    key = split_heads(___, self.n_heads)
    value = split_heads(___, self.n_heads)
    heads, weights = attend(query, key, value, mask)
    return ___, weights
""",
        gaps=(
            _of("key", "keys"),
            _of("value", "values"),
            Choice(
                "self.output(join_heads(heads))",
                ("heads", "join_heads(heads)", "self.output(heads)", "self.output(join_heads(heads))"),
                (
                    Mistake("heads", "Join the heads, then apply W_O: self.output."),
                    Mistake("join_heads(heads)", "The heads are joined, but W_O is missing: self.output."),
                    Mistake(
                        "self.output(heads)", "W_O takes vectors of d_model numbers. Join the heads first."
                    ),
                ),
            ),
        ),
    ),
)
