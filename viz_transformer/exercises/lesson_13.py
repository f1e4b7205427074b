"""Exercises of lesson 13, From here to GPT: a step with a cache, its size, and a family for a task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import Choice, Exercise, Function, Mistake, Number


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


_GAPS = """\
def cached_step(query, key, value, keys, values):
    keys = torch.cat(___, dim=-2)
    values = torch.cat([values, ___], dim=-2)
    output, _ = attend(query, ___)
    return output, keys, values"""


def _with_two_keys(query: Any, key: Any, value: Any, keys: Any, values: Any) -> tuple[Any, Any, Any]:
    return _stepped(_behind, _behind)(query, key, key, keys, values)


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
                    "The output is right, but the cache is returned unchanged. Return the longer keys and "
                    "values, or the next step lacks this token.",
                ),
                Mistake(
                    _stepped(_before, _before),
                    "The new key and value belong after those of the earlier tokens: torch.cat([keys, "
                    "key], dim=-2).",
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
        part="cached_step",
        lines=_GAPS,
        gaps=(
            Choice(
                "[keys, key]",
                ("[keys, key]", "[key, keys]", "[key]"),
                (
                    Mistake("[key, keys]", "The new key belongs after those of the earlier tokens."),
                    Mistake("[key]", "With its own key alone, the new token attends only to itself."),
                ),
            ),
            Choice(
                "value",
                ("key", "value", "query"),
                (
                    Mistake("key", "The cache of values needs the value of the new token."),
                    Mistake("query", "A query is needed at its own step only, and is not kept."),
                ),
            ),
            Choice(
                "keys, values",
                ("key, value", "keys, values", "keys, keys"),
                (
                    Mistake("key, value", "The new token attends to the earlier tokens too."),
                    Mistake("keys, keys", "The output is a mean of values."),
                ),
            ),
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
        "Choose a family",
        Choice(
            "encoder-only",
            ("encoder-only", "decoder-only", "encoder-decoder"),
            mistakes=(
                Mistake(
                    "decoder-only",
                    "The whole letter is available, and the words after a token help to decide whether it is "
                    "a name. A causal mask hides them.",
                ),
                Mistake(
                    "encoder-decoder",
                    "No new text is needed, only a label for each token of the letter, so no decoder is "
                    "needed.",
                ),
            ),
            right="The text is complete from the start, and each token needs one label. To continue a "
            "program or to summarise a report, new text is needed, and a decoder.",
        ),
        hints=(
            "Is the whole text available from the start? Is new text needed?",
            "Labels need one vector for each token, computed from both sides.",
        ),
    ),
)
