"""Exercises of lesson 8, Masks: one by hand, the two masks of any batch, and attention with a mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises import lent
from viz_transformer.exercises.answer_types import Array, Choice, Exercise, Function, Mistake

_PADDED = np.array([True, True, True, False])  # <sos> el gato <pad>
_PAST = np.tri(4, dtype=bool)  # [query, key]


def _ids(rng: np.random.Generator) -> tuple[Tensor, int]:
    """Draw ids [batch, position], padded on the left or on the right, and the padding's id."""
    batch, length = int(rng.integers(2, 4)), int(rng.integers(4, 7))
    pad_id = int(rng.integers(0, 2))
    ids = rng.integers(2, 9, size=(batch, length))
    on_the_left = rng.random() < 0.5
    for row in ids:
        n_padding = int(rng.integers(1, length - 1))
        row[slice(None, n_padding) if on_the_left else slice(-n_padding, None)] = pad_id
    return torch.from_numpy(ids), pad_id


def _vectors_and_mask(rng: np.random.Generator) -> tuple[Any, ...]:
    """Draw queries, keys, values and a mask, which may have fewer axes; every query may attend to a key."""
    n_q, n_k, d_k, d_v = (int(size) for size in rng.permutation([2, 3, 4, 5, 6])[:4])
    before: tuple[int, ...] = ((), (4,), (2, 3))[int(rng.integers(3))]
    query, key, value = (
        torch.from_numpy(rng.normal(size=(*before, *shape))) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v))
    )
    if rng.random() < 0.2:
        return query, key, value
    mask = rng.random((*before[:1], *(1 for _ in before[1:]), n_q, n_k)) < 0.5
    mask[..., 0] |= ~mask.any(-1)
    return query, key, value, torch.from_numpy(mask)


def _scores(query: Tensor, key: Tensor) -> Tensor:
    return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


def _mixed(weights: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return weights @ value, weights


def _after_softmax(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
    weights = _scores(query, key).softmax(-1)
    return _mixed(weights if mask is None else weights * mask, value)


def _inverted(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
    scores = _scores(query, key)
    return _mixed((scores if mask is None else scores.masked_fill(mask, -1e9)).softmax(-1), value)


def _zeroed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
    scores = _scores(query, key)
    return _mixed((scores if mask is None else scores * mask).softmax(-1), value)


def _always_a_mask(query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Any:
    return _mixed(_scores(query, key).masked_fill(~mask, -1e9).softmax(-1), value)


def _weights_only(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
    return lent.attend(query, key, value, mask)[1]


_PADDING_MISTAKES = (
    Mistake(
        lambda ids, pad_id: ids != pad_id,
        "The values are right: [batch, n_keys]. Two axes of length 1 are missing, for the heads and the "
        "queries: [:, None, None].",
    ),
    Mistake(
        lambda ids, pad_id: (ids != pad_id)[:, None],
        "One axis is missing. The shape should be [batch, 1, 1, n_keys].",
    ),
    Mistake(
        lambda ids, pad_id: (ids == pad_id)[:, None, None],
        "You hide the words and show the padding. True means “may be attended to”.",
    ),
    Mistake(
        lambda ids, pad_id: (ids != 0)[:, None, None],
        "You compared with 0. The padding's id is pad_id, which is not always 0.",
    ),
    Mistake(
        lambda ids, pad_id: (ids != pad_id)[:, None, :, None],
        "Your mask hides the rows of the padding. The last axis belongs to the keys.",
    ),
    Mistake(
        lambda ids, pad_id: (ids != pad_id)[None, None],
        "The new axes come in front of the batch. They belong between the batch and the keys: "
        "[:, None, None].",
    ),
    Mistake(
        lambda ids, pad_id: ((ids != pad_id)[:, None, None]).float(),
        "Give True and False, not numbers.",
    ),
)
_CAUSAL_MISTAKES = (
    Mistake(
        lambda n: torch.ones(n, n, dtype=torch.bool).triu(),
        "The mask is transposed: every word attends to itself and to later words. True belongs on the "
        "diagonal and below it.",
    ),
    Mistake(
        lambda n: torch.ones(n, n, dtype=torch.bool).tril(-1),
        "The diagonal is masked. When a row is computed, its own word has been read, so it may attend to "
        "itself.",
    ),
    Mistake(
        lambda n: ~torch.ones(n, n, dtype=torch.bool).tril(),
        "True and False are swapped. Here True means “may attend”.",
    ),
    Mistake(
        lambda n: torch.ones(n, n).tril(),
        "Give True and False, not numbers: torch.ones(n, n, dtype=torch.bool).",
    ),
    Mistake(
        lambda n: torch.ones(n, n, dtype=torch.bool),
        "This allows every key, later words too. Which half must be masked?",
    ),
    Mistake(
        lambda n: torch.eye(n, dtype=torch.bool),
        "Now each word attends to itself alone. It may also attend to the words before it.",
    ),
    Mistake(
        lambda n: torch.ones(n, n, dtype=torch.bool).tril()[None, None],
        "The values are right. Return them as [n, n], without further axes.",
    ),
)
_ATTEND_MISTAKES = (
    Mistake(
        lambda query, key, value, mask=None: lent.attend(query, key, value),
        "The mask is not used yet. Fill the scores where it is False: ~mask.",
    ),
    Mistake(
        _after_softmax,
        "You set weights to 0 after the softmax, so the others no longer sum to 1. Fill the scores before "
        "it.",
    ),
    Mistake(
        _inverted,
        "You masked the allowed keys. True means “may attend”, so fill where the mask is False: ~mask.",
    ),
    Mistake(
        _zeroed,
        "A score of 0 is a score like any other and gets some weight. Fill with −∞ instead.",
    ),
    Mistake(
        _always_a_mask,
        "Without a mask it raises an error. Fill the scores only if mask is not None.",
    ),
    Mistake(
        _weights_only,
        "You return the weights alone. Multiply them by the values, and return both: output, weights.",
    ),
)

EXERCISES = (
    Exercise(
        "8.1",
        "Write a mask by hand",
        Array(
            _PAST & _PADDED,
            (
                Mistake(
                    _PAST,
                    "No word attends to a later one. But the padding may still attend to itself. Which "
                    "column must be hidden from every query?",
                ),
                Mistake(
                    np.tile(_PADDED, (4, 1)),
                    "The padding is hidden. But “<sos>” may attend to “el” and “gato”, which come later.",
                ),
                Mistake(
                    _PAST.T & _PADDED,
                    "Every word attends to itself and to later words, but not to earlier ones. Rows are "
                    "queries and columns are keys. Did you swap them?",
                ),
                Mistake(
                    ~(_PAST & _PADDED),
                    "True and False are swapped. Here True means “may attend”.",
                ),
                Mistake(
                    np.tri(4, k=-1, dtype=bool) & _PADDED,
                    "Here no word may attend to itself, and “<sos>” to no word at all. When a row is "
                    "computed, its own word has been read, so it may attend to itself.",
                ),
                Mistake(
                    _PAST & _PADDED & _PADDED[:, None],
                    "You masked the padding's row as well. Its output is never used, so it need not be "
                    "masked, and the weights of a row without any key are NaN.",
                ),
            ),
            right="The padding's column is masked, and so is the triangle above the diagonal.",
        ),
        (
            "Go row by row: which of the four may “<sos>” attend to? And “el”? And “gato”?",
            "The last column is the padding: False in every row. So the last row is the same as the "
            "row before it.",
        ),
    ),
    Exercise(
        "8.2",
        "Write the padding mask",
        Function(
            lent.padding_mask,
            _ids,
            _PADDING_MISTAKES,
            right="[batch, 1, 1, n_keys] fits the scores [batch, head, query, key].",
        ),
        (
            "ids != pad_id is True where there is a word: [batch, n_keys].",
            "Indexing with None adds an axis of length 1: x[:, None] turns [batch, n] into [batch, 1, n].",
        ),
        part="padding_mask",
        lines="""def padding_mask(ids, pad_id):
    is_word = ids != pad_id  # [batch, n_keys]
    return is_word[:, None, None]  # [batch, 1, 1, n_keys]""",
        wrong_lines=(
            Mistake(
                "    is_word = ids == pad_id  # [batch, n_keys]",
                "That is True for the padding. True means that a token may be attended to.",
            ),
            Mistake(
                "    return is_word[:, None]  # [batch, 1, n_keys]",
                "The scores have four axes: [batch, head, query, key]. The mask needs one axis more.",
            ),
        ),
    ),
    Exercise(
        "8.3",
        "Write the look-ahead mask",
        Function(
            lent.causal_mask,
            lambda rng: (int(rng.integers(2, 8)),),
            _CAUSAL_MISTAKES,
            right="Each row has one True more than the row before it.",
        ),
        (
            "torch.ones(n, n, dtype=torch.bool) is True everywhere.",
            ".tril() keeps the lower left triangle with the diagonal, and sets the rest to False.",
        ),
        part="causal_mask",
        lines="""def causal_mask(n):
    everything = torch.ones(n, n, dtype=torch.bool)  # [query, key]
    return everything.tril()""",
        wrong_lines=(
            Mistake(
                "    return everything.triu()",
                "triu keeps the upper triangle: each position would attend to itself and to what follows.",
            ),
            Mistake(
                "    return everything.tril(-1)",
                "tril(-1) leaves out the diagonal, and a position may attend to itself.",
            ),
        ),
    ),
    Exercise(
        "8.4",
        "Attend with a mask",
        Function(
            lent.attend,
            _vectors_and_mask,
            _ATTEND_MISTAKES,
            right="Where the mask is False the weight is 0, and each row still sums to 1.",
        ),
        (
            "scores.masked_fill(~mask, -torch.inf) puts −∞ where the mask is False.",
            "Do that between the division and the softmax, and only if mask is not None.",
        ),
        part="attend",
        lines="""def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = ___
    weights = ___
    return weights @ value, weights
""",
        gaps=(
            Choice(
                "scores.masked_fill(~mask, -torch.inf)",
                (
                    "scores.masked_fill(mask, -torch.inf)",
                    "scores.masked_fill(~mask, -torch.inf)",
                    "scores.masked_fill(~mask, 0)",
                    "scores * mask",
                ),
                (
                    Mistake(
                        "scores.masked_fill(mask, -torch.inf)",
                        "That masks the allowed keys. The mask is True where a query may attend.",
                    ),
                    Mistake(
                        "scores.masked_fill(~mask, 0)",
                        "A score of 0 gets some weight like any other. Its power must be 0.",
                    ),
                    Mistake(
                        "scores * mask", "That makes masked scores 0, and a score of 0 gets some weight."
                    ),
                ),
            ),
            Choice(
                "softmax(scores)",
                ("softmax(scores)", "softmax(scores) * mask", "softmax(mask)"),
                (
                    Mistake(
                        "softmax(scores) * mask",
                        "Without a mask this raises an error, and with one the masked weights are 0 already.",
                    ),
                    Mistake("softmax(mask)", "The weights are computed from the scores."),
                ),
            ),
        ),
    ),
)
