"""Exercises of Masks in torch: a mask for a batch, a leak, two polarities, no NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import Choice, Exercise, Function, Mistake

_PAD = 0


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
    """Draw scores and a mask [query, key]; one row has no key, and one has some."""
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
        "masks.1",
        "Write the decoder's mask",
        Function(
            _decoder_mask,
            _ids,
            (
                Mistake(
                    lambda ids, pad_id: (ids != pad_id)[:, None, None] | _look_back(ids),
                    "You joined the two with “or”, so a cell is True if either mask allows it. Both must "
                    "allow it.",
                ),
                Mistake(
                    lambda ids, pad_id: (ids != pad_id)[:, None, :, None] & _look_back(ids),
                    "You hid the padding's rows and left its columns visible. The last axis belongs to "
                    "the keys, and the mask must hide keys that are padding.",
                ),
                Mistake(
                    lambda ids, pad_id: (ids != pad_id)[:, None] & _look_back(ids),
                    "The values are right, but the axis of the heads is missing. The shape should be "
                    "[batch, 1, query, key].",
                ),
                Mistake(
                    lambda ids, pad_id: (ids != pad_id) & _look_back(ids),
                    "ids != pad_id has the shape [batch, key]. Give it axes for the heads and the "
                    "queries: [:, None, None].",
                ),
                Mistake(
                    lambda ids, pad_id: ids != pad_id,
                    "That shows which keys are words, [batch, key]. It needs axes for heads and queries, "
                    "and the look-ahead mask.",
                ),
                Mistake(
                    lambda ids, pad_id: ~_decoder_mask(ids, pad_id),
                    "True and False are swapped. Here True means “may attend”.",
                ),
                Mistake(
                    lambda ids, pad_id: (
                        (ids != pad_id)[:, None, None] & _look_back(ids)[: len(ids), : len(ids)]
                    ),
                    "You made the look-ahead mask as long as the batch, ids.shape[0]. Axis 1 of ids "
                    "counts positions.",
                ),
                Mistake(
                    lambda ids, pad_id: (ids == pad_id)[:, None, None] & _look_back(ids),
                    "You hide the words and show the padding. A key may be attended to where ids is "
                    "not pad_id.",
                ),
                Mistake(
                    lambda ids, pad_id: (ids != pad_id)[:, None, None],
                    "That is the padding mask alone. Later words are still visible.",
                ),
                Mistake(
                    lambda ids, pad_id: _look_back(ids).expand(len(ids), 1, -1, -1),
                    "That is the look-ahead mask alone. Padding on the left is still visible.",
                ),
                Mistake(
                    lambda ids, pad_id: (ids != pad_id)[:, None, None] & _look_back(ids).T,
                    "The look-ahead mask is transposed: every word attends to itself and to later words. "
                    "True belongs on the diagonal and below it.",
                ),
            ),
            right="[batch, 1, 1, key] and [1, 1, query, key] together give [batch, 1, query, key].",
        ),
        (
            "padding_mask and causal_mask are imported at the top. Each makes one half.",
            "causal_mask takes the number of positions: ids.shape[1].",
        ),
        lines="""def decoder_mask(ids, pad_id):
    return padding_mask(ids, pad_id) ___ causal_mask(___)
""",
        gaps=(
            Choice(
                "&",
                ("&", "|"),
                (Mistake("|", "With “or”, a cell is True if either mask allows it. Both must allow it."),),
            ),
            Choice(
                "ids.shape[1]",
                ("ids.shape[0]", "ids.shape[1]", "pad_id"),
                (
                    Mistake("ids.shape[0]", "Axis 0 counts sentences. The mask needs the positions."),
                    Mistake("pad_id", "That is the padding's id. The mask needs the number of positions."),
                ),
            ),
        ),
    ),
    Exercise(
        "masks.2",
        "Read the leak meter",
        Choice(
            "the target's padding",
            ("no padding mask", "polarity inverted", "the target's padding"),
            (
                Mistake(
                    "no padding mask",
                    "Then both “<pad>” would be visible, and each would change outputs. Here one of them "
                    "is hidden. Which of the two languages has just one padding token here?",
                ),
                Mistake(
                    "polarity inverted",
                    "Then all the words would be hidden and all the padding visible. Here one “<pad>” is "
                    "hidden.",
                ),
            ),
            "“María ve a la reina” has one padding token, its source has two. So one of the two stays "
            "visible. If both were equally long, there would be no leak.",
        ),
        (
            "Set the lab to cross-attention, sentence 2, and try each mistake.",
            "How many padding tokens has the second sentence in English, and how many in Spanish?",
        ),
    ),
    Exercise(
        "masks.3",
        "Convert masks for nn.MultiheadAttention",
        Function(
            lambda causal, padding: (~causal[0, 0], ~padding[:, 0, 0]),
            _two_masks,
            (
                Mistake(
                    lambda causal, padding: (causal[0, 0], padding[:, 0, 0]),
                    "The shapes are right, but not the meaning: there True means “may not attend”.",
                ),
                Mistake(
                    lambda causal, padding: (~padding[:, 0, 0], ~causal[0, 0]),
                    "The two are swapped: return attn_mask first, then key_padding_mask.",
                ),
                Mistake(
                    lambda causal, padding: (~causal, ~padding),
                    "The meaning is right, but all four axes are still there. attn_mask is [query, key] "
                    "and key_padding_mask is [batch, key].",
                ),
                Mistake(
                    lambda causal, padding: (causal, padding),
                    "These are our masks unchanged. Invert both, and remove the axes of length 1.",
                ),
                Mistake(
                    lambda causal, padding: (~causal[0, 0], ~padding),
                    "The look-ahead mask is right. The padding mask still has four axes.",
                ),
                Mistake(
                    lambda causal, padding: ~causal[0, 0],
                    "That is attn_mask alone. Return both masks, with a comma between them.",
                ),
                Mistake(
                    lambda causal, padding: ~(causal & padding),
                    "You joined the two. nn.MultiheadAttention takes them as two arguments: return "
                    "attn_mask, then key_padding_mask.",
                ),
                Mistake(
                    lambda causal, padding: (~causal.squeeze(), ~padding.squeeze()),
                    "squeeze() removes every axis of length 1, so the batch is lost when it has one "
                    "sentence. Index the axes to remove: causal[0, 0] and padding[:, 0, 0].",
                ),
                Mistake(
                    lambda causal, padding: (~causal[0, 0], padding[:, 0, 0]),
                    "The look-ahead mask is right. The padding mask must be inverted too.",
                ),
                Mistake(
                    lambda causal, padding: (causal[0, 0], ~padding[:, 0, 0]),
                    "The padding mask is right. The look-ahead mask must be inverted too.",
                ),
            ),
            right="to_torch_mask in viz_transformer.model.masks does the same.",
        ),
        (
            "~mask swaps True and False.",
            "causal[0, 0] is [query, key], and padding[:, 0, 0] is [batch, key]. Return both, with a "
            "comma between them.",
        ),
        lines="""def for_torch(causal, padding):
    return ___, ___
""",
        gaps=(
            Choice(
                "~causal[0, 0]",
                ("causal[0, 0]", "~causal[0, 0]", "~causal"),
                (
                    Mistake("causal[0, 0]", "There True means “may not attend”, so it must be inverted."),
                    Mistake("~causal", "attn_mask is [query, key]. Remove the two axes in front."),
                ),
            ),
            Choice(
                "~padding[:, 0, 0]",
                ("~padding", "padding[:, 0, 0]", "~padding[:, 0, 0]"),
                (
                    Mistake("~padding", "key_padding_mask is [batch, key]. Remove the axes of length 1."),
                    Mistake("padding[:, 0, 0]", "There True means “may not attend”, so it must be inverted."),
                ),
            ),
        ),
    ),
    Exercise(
        "masks.4",
        "Write a softmax without NaN",
        Function(
            _masked_softmax,
            _scores,
            (
                Mistake(
                    _filled_with(-np.inf),
                    "Every row is right except the one without a key. It is NaN: its sum is 0, and the "
                    "softmax divides by it.",
                ),
                Mistake(
                    _filled_with(-1e30),
                    "There is no NaN, but the row without a key has equal weights for all keys. After the "
                    "softmax, how could you set the hidden cells to 0?",
                ),
                Mistake(
                    lambda scores, mask: scores.softmax(-1) * mask,
                    "The hidden cells are 0, but the others don't sum to 1: the softmax gave some weight "
                    "to hidden keys. Hide them before it.",
                ),
                Mistake(
                    lambda scores, mask: (scores * mask).softmax(-1),
                    "A score of 0 is a score like any other and gets some weight. A hidden cell needs a "
                    "score so low that its weight is 0.",
                ),
                Mistake(
                    lambda scores, mask: (scores * mask).softmax(-1) * mask,
                    "Before the softmax, a score of 0 still gets some weight, so the other cells don't "
                    "sum to 1. Use a very low number instead.",
                ),
                Mistake(
                    lambda scores, mask: scores.masked_fill(~mask, -1e30).softmax(0) * mask,
                    "Your columns sum to 1. The keys are along the last axis: softmax(-1).",
                ),
                Mistake(
                    lambda scores, mask: _masked_softmax(scores, ~mask),
                    "You hid the allowed cells. Here True means “may attend”.",
                ),
                Mistake(
                    lambda scores, mask: _filled_with(-1e30)(scores, ~mask) * mask,
                    "You put the low number where the mask is True. Here True means “may attend”, so "
                    "fill where it is False: ~mask.",
                ),
                Mistake(
                    lambda scores, mask: _filled_with(-1e30)(scores, ~mask),
                    "You put the low number where the mask is True. Fill where it is False, ~mask, and "
                    "handle the row without a key.",
                ),
            ),
            right="Weights of 0 give an output of 0. attend in viz_transformer does the same.",
        ),
        (
            "Replace the scores of hidden cells by a very low number, such as -1e9, and take the softmax. "
            "Then no row is NaN.",
            "Then multiply by the mask. The row without a key becomes 0, and no other row changes.",
        ),
        lines="""def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, ___).softmax(-1) ___
""",
        gaps=(
            Choice(
                "-1e9",
                ("0", "-torch.inf", "-1e9"),
                (
                    Mistake("0", "A score of 0 gets some weight like any other."),
                    Mistake("-torch.inf", "Then a row without a key is NaN, and NaN times 0 is NaN."),
                ),
            ),
            Choice(
                "* mask",
                ("* mask", "+ mask"),
                (Mistake("+ mask", "That adds 1 to the allowed weights. The hidden ones must become 0."),),
            ),
        ),
    ),
)
