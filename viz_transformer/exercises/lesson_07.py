"""Exercises of lesson 7, Masks: by hand and for a batch, a leak, two polarities, no NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import Array, Choice, Exercise, Function, Mistake

_PAD = 0
_PADDED = np.array([True, True, True, False])  # <sos> el gato <pad>
_PAST = np.tri(4, dtype=bool)  # [query, key]


def _ids(rng: np.random.Generator) -> tuple[Any, int]:
    """Draw ids [batch, position], padded on the left or on the right, and the padding's id."""
    import torch

    batch, length = int(rng.integers(1, 4)), int(rng.integers(3, 7))
    ids = rng.integers(1, 9, size=(batch, length))
    on_the_left = rng.random() < 0.5
    for row in ids:
        n_padding = int(rng.integers(1, length - 1))
        row[slice(None, n_padding) if on_the_left else slice(-n_padding, None)] = _PAD
    return torch.from_numpy(ids), _PAD


def _look_back(ids: Any) -> Any:
    """Return the look-ahead mask for ids, [query, key]."""
    import torch

    return torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool).tril()


def _decoder_mask(ids: Any, pad_id: int) -> Any:
    return (ids != pad_id)[:, None, None] & _look_back(ids)  # [batch, 1, query, key]


def _two_masks(rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw a look-ahead mask [1, 1, length, length] and a padding mask [batch, 1, 1, length]."""
    ids, pad_id = _ids(rng)
    return _look_back(ids)[None, None], (ids != pad_id)[:, None, None]


def _scores(rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw scores and a mask [query, key]; one row may look at nothing, and one at something."""
    import torch

    shape = int(rng.integers(2, 5)), int(rng.integers(3, 6))
    mask = rng.random(shape) < 0.6
    mask[0], mask[1, :2] = False, (True, False)
    scores = torch.tensor(rng.normal(scale=2, size=shape), dtype=torch.float32)
    return scores, torch.from_numpy(mask)


def _masked_softmax(scores: Any, mask: Any) -> Any:
    return _filled_with(-1e30)(scores, mask) * mask


def _filled_with(value: float) -> Callable[[Any, Any], Any]:
    """Return a softmax that puts `value` where the mask is False."""
    return lambda scores, mask: scores.masked_fill(~mask, value).softmax(-1)


EXERCISES = (
    Exercise(
        "7.1",
        "A mask by hand",
        Array(
            _PAST & _PADDED,
            (
                Mistake(
                    _PAST,
                    "It does not look ahead. But the padding may look at the padding: which column "
                    "is closed for everyone?",
                ),
                Mistake(
                    np.tile(_PADDED, (4, 1)),
                    "The padding is hidden. But “<sos>” may look at “el” and at “gato”, which are "
                    "still to be written.",
                ),
                Mistake(
                    _PAST.T & _PADDED,
                    "Here every word looks at itself and ahead, and the past is closed. Rows look, "
                    "columns are looked at: did you write it the other way round?",
                ),
                Mistake(
                    ~(_PAST & _PADDED),
                    "True and False have changed places. Here True means “may look”.",
                ),
                Mistake(
                    np.tri(4, k=-1, dtype=bool) & _PADDED,
                    "No word may look at itself here, and “<sos>” at nothing at all. A word has "
                    "been read when its row is computed, so it may look at itself.",
                ),
                Mistake(
                    _PAST & _PADDED & _PADDED[:, None],
                    "You closed the row of the padding as well. Nobody reads what padding looks "
                    "at, so it need not be closed; and a row without any key makes trouble, as the "
                    "end of this lesson shows.",
                ),
            ),
            right="The column of the padding is closed, and the upper right corner.",
        ),
        (
            "Row by row: which of the four may “<sos>” look at? Which “el”, which “gato”?",
            "The last column is the padding, and nobody may look at it. The last row looks at what "
            "the row before it looks at.",
        ),
    ),
    Exercise(
        "7.2",
        "The decoder's mask",
        Function(
            _decoder_mask,
            _ids,
            (
                Mistake(
                    lambda ids, pad_id: (ids != pad_id)[:, None, None] | _look_back(ids),
                    "You joined the two with “or”, so what one of them closes the other opens. "
                    "Both must allow it.",
                ),
                Mistake(
                    lambda ids, pad_id: (ids != pad_id)[:, None, :, None] & _look_back(ids),
                    "You closed the rows of the padding and left its columns open. The last axis "
                    "belongs to the keys, and it is the keys that must not be padding.",
                ),
                Mistake(
                    lambda ids, pad_id: (ids != pad_id)[:, None] & _look_back(ids),
                    "The values are right, and the axis of the heads is missing: the shape is "
                    "[batch, 1, query, key].",
                ),
                Mistake(
                    lambda ids, pad_id: ~_decoder_mask(ids, pad_id),
                    "True and False have changed places. Here True means “may look”.",
                ),
                Mistake(
                    lambda ids, pad_id: (ids == pad_id)[:, None, None] & _look_back(ids),
                    "You hide the words and show the padding: compare ids and pad_id the other way round.",
                ),
                Mistake(
                    lambda ids, pad_id: (ids != pad_id)[:, None, None],
                    "That is the padding mask alone, and the future stays open.",
                ),
                Mistake(
                    lambda ids, pad_id: _look_back(ids).expand(len(ids), 1, -1, -1),
                    "That is the look-ahead mask alone, and padding on the left stays open.",
                ),
                Mistake(
                    lambda ids, pad_id: (ids != pad_id)[:, None, None] & _look_back(ids).T,
                    "Every word looks at itself and ahead: the look-ahead mask is turned around. "
                    "True belongs on the diagonal and below it.",
                ),
            ),
            right="Shapes [batch, 1, 1, key] and [1, 1, query, key] are joined to [batch, 1, query, key].",
        ),
        (
            "padding_mask and causal_mask were imported at the top, and make one half each.",
            "causal_mask wants the number of positions: ids.shape[1].",
        ),
    ),
    Exercise(
        "7.3",
        "What the meter says",
        Choice(
            "the target's padding",
            ("no padding mask", "polarity inverted", "the target's padding"),
            (
                Mistake(
                    "no padding mask",
                    "Then both “<pad>” would be open, and each would move outputs. Here one of "
                    "them is closed. Who has just one padding token?",
                ),
                Mistake(
                    "polarity inverted",
                    "Then the words would be closed, and the padding open, all of it. Here one "
                    "“<pad>” is closed, and words are seen.",
                ),
            ),
            "“María ve a la reina” is padded by one token, its source by two: one of the two stays "
            "open. A batch in which both are equally long would not have shown it.",
        ),
        (
            "Set the lab to cross-attention, sentence 2, and try each mistake.",
            "How many padding tokens has the second sentence in English, and how many in Spanish?",
        ),
    ),
    Exercise(
        "7.4",
        "For nn.MultiheadAttention",
        Function(
            lambda causal, padding: (~causal[0, 0], ~padding[:, 0, 0]),
            _two_masks,
            (
                Mistake(
                    lambda causal, padding: (causal[0, 0], padding[:, 0, 0]),
                    "The shapes are right, but not the meaning: there True says “may not attend”.",
                ),
                Mistake(
                    lambda causal, padding: (~padding[:, 0, 0], ~causal[0, 0]),
                    "The two have changed places: attn_mask comes first, then key_padding_mask.",
                ),
                Mistake(
                    lambda causal, padding: (~causal, ~padding),
                    "The meaning is right, but all four axes are still there. Take away those of "
                    "length 1 that are not asked for.",
                ),
                Mistake(
                    lambda causal, padding: (~causal[0, 0], padding[:, 0, 0]),
                    "You turned one of the masks around. The other means “may not attend” as well.",
                ),
                Mistake(
                    lambda causal, padding: (causal[0, 0], ~padding[:, 0, 0]),
                    "The padding mask is right. The look-ahead mask must be turned around too.",
                ),
            ),
            right="to_torch_mask of viz_transformer.model.masks turns them around in the same way.",
        ),
        (
            "~mask turns True and False around.",
            "causal[0, 0] is [query, key]; padding[:, 0, 0] is [batch, key]. Return both, with a "
            "comma between them.",
        ),
    ),
    Exercise(
        "7.5",
        "A softmax without NaN",
        Function(
            _masked_softmax,
            _scores,
            (
                Mistake(
                    _filled_with(-np.inf),
                    "Every row is right but that without a key, which is NaN: its sum is 0, and "
                    "you divide by it.",
                ),
                Mistake(
                    _filled_with(-1e30),
                    "No NaN. But the row without a key looks at everything in equal shares. What "
                    "could set to 0 what the mask closes, after the softmax?",
                ),
                Mistake(
                    lambda scores, mask: scores.softmax(-1) * mask,
                    "The closed cells are 0, but the open ones do not add up to 1: the softmax "
                    "had shared some weight out to closed keys. Close them before it.",
                ),
                Mistake(
                    lambda scores, mask: (scores * mask).softmax(-1),
                    "A score of 0 is a score like any other, and gets its share. A closed cell "
                    "needs a score so low that nothing is left of it.",
                ),
                Mistake(
                    lambda scores, mask: _masked_softmax(scores, ~mask),
                    "You closed what is open: here True means “may attend”.",
                ),
            ),
            right="Zeros as weights give zeros as output: nothing was seen, and nothing is passed "
            "on. attend in viz_transformer does the same.",
        ),
        (
            "Put a very low number, such as -1e9, in place of the scores that are closed, and take "
            "the softmax. No row is NaN now.",
            "Then multiply by the mask: the row without a key becomes 0, and no other row changes.",
        ),
    ),
)
