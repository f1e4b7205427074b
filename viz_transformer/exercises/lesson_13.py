"""Exercises of lesson 13, From here to GPT: a step with a cache, its size, and a family for each task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import CustomCheck, Exercise, Function, Mistake, Number
from viz_transformer.exercises.feedback import Check


def _step(rng: np.random.Generator) -> tuple[Any, ...]:
    """Draw the new token's query, key and value, and the keys and values of the tokens before it."""
    import torch

    heads, past, width = (int(rng.integers(low, high)) for low, high in ((1, 4), (0, 5), (2, 6)))
    lengths = (1, 1, 1, past, past)
    return tuple(torch.tensor(rng.normal(size=(heads, length, width))).float() for length in lengths)


def _stepped(
    keys_of: Callable[..., Any], values_of: Callable[..., Any], keep: bool = True
) -> Callable[..., Any]:
    """Return a step that attends to some keys and values, and keeps them or returns the cache as it was."""

    def step(query: Any, key: Any, value: Any, keys: Any, values: Any) -> tuple[Any, Any, Any]:
        longer, wider = keys_of(keys, key), values_of(values, value)
        scores = query @ longer.transpose(-2, -1) / query.shape[-1] ** 0.5  # [..., 1, key]
        output = scores.softmax(-1) @ wider
        return (output, longer, wider) if keep else (output, keys, values)

    return step


def _behind(old: Any, new: Any) -> Any:
    import torch

    return torch.cat([old, new], dim=-2)


def _before(old: Any, new: Any) -> Any:
    return _behind(new, old)


def _new(old: Any, new: Any) -> Any:
    return new


def _with_two_keys(query: Any, key: Any, value: Any, keys: Any, values: Any) -> tuple[Any, Any, Any]:
    return _stepped(_behind, _behind)(query, key, key, keys, values)


_TASKS = ("encoder-only", "decoder-only", "encoder-decoder")
_THREE = 'Give three of "encoder-only", "decoder-only" and "encoder-decoder", as a list.'
#: For each task, the feedback on each family that does not fit it.
_UNFIT = (
    {
        "decoder-only": "Task 1: the whole letter is available, and the words after a token help to decide "
        "whether it is a name. A causal mask hides them.",
        "encoder-decoder": "Task 1: no new text is needed, only a label for each token that is there. The "
        "decoder would have no work.",
    },
    {
        "encoder-only": "Task 2: new tokens have to be generated, one after the other, and an encoder only "
        "returns a vector for each token that it reads.",
        "encoder-decoder": "Task 2: there is one text, and it is continued. A second, separate input for an "
        "encoder does not exist.",
    },
    {"encoder-only": "Task 3: a summary is new text, so the model needs a decoder."},
)


def _chosen(answer: Any) -> Check:
    if not isinstance(answer, list | tuple) or len(answer) != len(_UNFIT):
        return Check(False, _THREE)
    given = [str(one).strip().casefold().replace("–", "-") for one in answer]
    if not set(given) <= set(_TASKS):
        return Check(False, _THREE)
    for one, unfit in zip(given, _UNFIT, strict=True):
        if one in unfit:
            return Check(False, unfit[one])
    other = "encoder-decoder" if given[2] == "decoder-only" else "decoder-only"
    return Check(True, f"For the summary, {other} is right too: both families are used for it.")


EXERCISES = (
    Exercise(
        "13.1",
        "Decode one step with a cache",
        Function(
            _stepped(_behind, _behind),
            _step,
            mistakes=(
                Mistake(
                    _stepped(_new, _new),
                    "The new token attends only to itself. First join its key and value to the cache.",
                ),
                Mistake(
                    _stepped(_behind, _behind, keep=False),
                    "The output is right, but the cache is returned as it was. Return the longer keys and "
                    "values, or the next step lacks this token.",
                ),
                Mistake(
                    _stepped(_before, _before),
                    "The new key and value belong behind those of the tokens before: "
                    "torch.cat([keys, key], dim=-2).",
                ),
                Mistake(
                    _with_two_keys,
                    "The new key was joined to the values. Join the new value there.",
                ),
            ),
            right="One row of scores for each step, and the same output as from the whole text.",
        ),
        hints=(
            "Both lines join along the axis of the positions: torch.cat([old, new], dim=-2).",
            "attend takes the query of the new token alone, and the longer keys and values.",
        ),
    ),
    Exercise(
        "13.2",
        "Count the numbers that a cache keeps",
        Number(
            30 * 2 * 3 * 64,
            mistakes=(
                Mistake(
                    30 * 3 * 64, "That counts the keys or the values. The cache keeps both, for every layer."
                ),
                Mistake(
                    30 * 2 * 9 * 64,
                    "That is the count for nine key/value heads. Here three query heads share one.",
                ),
                Mistake(2 * 3 * 64, "That is one layer. Every layer has a cache of its own."),
                Mistake(30 * 2 * 64, "That is one key/value head in each layer. There are three of them."),
            ),
            tolerance=1e-9,
            unit="numbers",
            right="11,520 numbers for each token, a third of what nine key/value heads would need.",
        ),
        hints=(
            "For each layer and each key/value head, the cache keeps one key and one value of 64 numbers.",
            "Multiply the layers, the key/value heads, the width of a head, and 2.",
        ),
    ),
    Exercise(
        "13.3",
        "Choose a family for each task",
        CustomCheck(
            _chosen,
            right_answer=list(_TASKS),
            mistakes=(
                *(
                    Mistake([*_TASKS[:task], family, *_TASKS[task + 1 :]], message)
                    for task, unfit in enumerate(_UNFIT)
                    for family, message in unfit.items()
                ),
                Mistake(["BERT", "GPT-2", "T5"], _THREE),
            ),
        ),
        hints=(
            "For each task, ask whether the whole text is available from the start, and whether new text is "
            "needed.",
            "Labels need an encoder, and a continuation a decoder; a summary is new text about a given one.",
        ),
    ),
)
