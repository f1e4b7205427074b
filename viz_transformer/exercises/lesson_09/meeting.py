"""Exercises 9.1 and 9.2: the shapes of cross-attention, and who asks whom in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_transformer.exercises.kinds import Array, Exercise, Function, Mistake

_D_MODEL, _D_HEAD = 8, 4


def _two_sentences(rng: np.random.Generator) -> tuple[Any, ...]:
    """Draw the decoder's vectors x, the encoder's memory, and the matrices of one head."""
    import torch

    n_target, n_source = (int(n) for n in rng.integers(2, 6, size=2))
    shapes = [(n_target, _D_MODEL), (n_source, _D_MODEL), *[(_D_MODEL, _D_HEAD)] * 3]
    return tuple(torch.tensor(rng.normal(size=shape), dtype=torch.float32) for shape in shapes)


def _attention(query: Any, key: Any, value: Any, scale: float = _D_HEAD**-0.5, axis: int = -1) -> Any:
    return (query @ key.T * scale).softmax(axis) @ value


def _cross_attention(x: Any, memory: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
    return _attention(x @ w_q, memory @ w_k, memory @ w_v)


def _looking(query: str, key: str, value: str, **rest: Any) -> Callable[..., Any]:
    """An attention whose query, key and value come from ``"x"`` or ``"memory"``."""

    def head(x: Any, memory: Any, w_q: Any, w_k: Any, w_v: Any) -> Any:
        of = {"x": x, "memory": memory}
        return _attention(of[query] @ w_q, of[key] @ w_k, of[value] @ w_v, **rest)

    return head


MEETING = (
    Exercise(
        "9.1",
        "The keys of cross-attention",
        Array(
            [1, 4, 7, 16],
            (
                Mistake(
                    [1, 4, 3, 16],
                    "That is the shape of the queries: they come from the 3 written words. Where "
                    "do the keys come from?",
                ),
                Mistake(
                    [1, 7, 4, 16],
                    "The right numbers, but positions and heads have changed places. The axes are "
                    "[sentence, head, position, width of a head].",
                ),
                Mistake(
                    [1, 4, 7, 64],
                    "Each head would be as wide as the whole vector. The heads share its 64 "
                    "numbers among them.",
                ),
                Mistake(
                    [1, 7, 64],
                    "That is the memory itself, before it is split into heads.",
                ),
                Mistake(
                    [1, 4, 3, 7],
                    "That is the shape of the weights: for each query, one for each key. The keys "
                    "themselves are vectors.",
                ),
                Mistake(
                    [4, 7, 16],
                    "Nearly: the first axis counts the sentences, and it is there even if there is only one.",
                ),
            ),
            right="One key for each word that was read, in each head.",
        ),
        (
            "Set the view to these sizes as nearly as it goes, and read the box of cross-attention.",
            "The keys come from the memory, which has 7 vectors of 64 numbers; 4 heads share these.",
        ),
    ),
    Exercise(
        "9.2",
        "One head of cross-attention",
        Function(
            _cross_attention,
            _two_sentences,
            (
                Mistake(
                    _looking("memory", "x", "x"),
                    "It is the wrong way round: here the source asks and the target answers. Who "
                    "wants to know something, the encoder or the decoder?",
                ),
                Mistake(
                    _looking("x", "x", "x"),
                    "This is self-attention: the memory is not used, so the decoder never hears of "
                    "the English sentence.",
                ),
                Mistake(
                    _looking("memory", "memory", "memory"),
                    "This is the encoder's self-attention: x is not used, so it does not matter "
                    "what was written so far.",
                ),
                Mistake(
                    _looking("x", "memory", "x"),
                    "The keys are right, but the values come from x. A word that is looked at must "
                    "also be the one that answers: values stand beside their keys.",
                ),
                Mistake(
                    _looking("x", "x", "memory"),
                    "The values are right, but the keys come from x: it looks at its own words and "
                    "takes what English words offer.",
                ),
                Mistake(
                    _looking("x", "x", "x", scale=1.0),
                    "This is self-attention: the memory is not used. And the scores are not divided by √d_k.",
                ),
                Mistake(
                    lambda x, memory, w_q, w_k, w_v: _cross_attention(x, memory, w_q, w_v, w_k),
                    "Keys and values have changed places: w_k makes the keys, which are compared "
                    "with the query, and w_v the values, which are mixed.",
                ),
                Mistake(
                    lambda x, memory, w_q, w_k, w_v: _cross_attention(x, memory, w_k, w_q, w_v),
                    "w_q and w_k have changed places: w_q belongs to x, and w_k to the memory.",
                ),
                Mistake(
                    _looking("x", "memory", "memory", scale=1.0),
                    "Everything comes from the right place, but the scores are not divided by √d_k.",
                ),
                Mistake(
                    _looking("x", "memory", "memory", scale=_D_MODEL**-0.5),
                    "Everything comes from the right place, but √d_k is the root of the width of a "
                    "key in this head, not of the whole vector.",
                ),
                Mistake(
                    _looking("x", "memory", "memory", axis=0),
                    "Everything comes from the right place, but the softmax runs along the "
                    "queries. Each query is to share out 1 among its keys.",
                ),
            ),
            right="The query asks for the decoder; key and value answer for the encoder.",
        ),
        (
            "Three products first: x @ w_q, and two with the memory.",
            "Scores are query @ key.T, divided by the root of key.shape[-1]; then softmax(-1).",
        ),
    ),
)
