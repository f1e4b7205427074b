"""Ward 2: masks. One upside down, and one that leaves nothing to look at."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises.clinic.properties import (
    Property,
    Wrong,
    close,
    mended,
    vectors,
)
from viz_transformer.exercises.functions import Function
from viz_transformer.exercises.kinds import Exercise, Mistake

# -- 4: polarity -----------------------------------------------------------------------------------


def _attention_by(weights_of: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """Return attention that makes its weights from scores and mask in some way."""

    def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return weights_of(scores, mask) @ value

    return attention


def _barred(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, -math.inf).softmax(-1)


def _bars_the_words(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(mask, -math.inf).softmax(-1)


def _filled_with_zero(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, 0.0).softmax(-1)


def _masked_afterwards(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.softmax(-1) * mask


def _heads_and_mask(rng: np.random.Generator) -> tuple[Tensor, ...]:
    length = int(rng.integers(3, 6))
    qkv = torch.from_numpy(rng.normal(size=(3, 2, length, 4))).float()
    mask = torch.from_numpy(rng.random((length, length)) < 0.5) | torch.eye(length).bool()
    return *qkv.unbind(), mask


POLARITY = Function(
    _attention_by(_barred),
    _heads_and_mask,
    (
        Mistake(
            _attention_by(_bars_the_words),
            "Still upside down: masked_fill fills where its mask is True, and here True means "
            "“may attend”. So it hides exactly what should be seen.",
        ),
        Mistake(
            _attention_by(_filled_with_zero),
            "The right places, but 0 (or 1e-9) is a score like any other: e^0 = 1 is a fair share "
            "of the weight. Which score has e^score = 0?",
        ),
        Mistake(
            _attention_by(_masked_afterwards),
            "Masked after the softmax, the hidden words have taken their share already, and the "
            "rows no longer add up to 1. Mask the scores.",
        ),
    ),
    right="Two libraries, two polarities: scaled_dot_product_attention means what this excerpt "
    "means, nn.MultiheadAttention the opposite. Write the meaning beside every mask.",
)

# -- 5: a row of nothing ---------------------------------------------------------------------------


def _safe_weights(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)
    return weights * mask.any(-1, keepdim=True)


def _zero_by_zero(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True)


def _nan_hidden(scores: Tensor, mask: Tensor) -> Tensor:
    return _zero_by_zero(scores, mask).nan_to_num()


def _a_little_added(scores: Tensor, mask: Tensor) -> Tensor:
    weights = scores.softmax(-1) * mask
    return weights / (weights.sum(-1, keepdim=True) + 1e-9)


def _shared_out(scores: Tensor, mask: Tensor) -> Tensor:
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1)


def _words() -> Tensor:
    """Return the mask of three sentences: of four words, of two words, of padding alone."""
    return torch.tensor([[True] * 4, [True] * 2 + [False] * 2, [False] * 4])[:, None]


def _padding_gets_zeros(weights_of: Callable[..., Tensor]) -> bool:
    weights = weights_of(vectors(3, 4, 4), _words())
    return close(weights[2], torch.zeros(4, 4))


def _hidden_get_nothing(weights_of: Callable[..., Tensor]) -> bool:
    weights = weights_of(vectors(3, 4, 4), _words())
    hidden = weights.masked_select(~_words().expand_as(weights))
    return bool((hidden.nan_to_num() == 0).all())


def _rows_sum_to_one(weights_of: Callable[..., Tensor]) -> bool:
    weights = weights_of(vectors(3, 4, 4), _words())
    return close(weights[:2].sum(-1), torch.ones(2, 4))


def _gradients_are_finite(weights_of: Callable[..., Tensor]) -> bool:
    scores = vectors(3, 4, 4).requires_grad_()
    (weights_of(scores, _words()) * vectors(3, 4, 4, seed=1)).sum().backward()
    return scores.grad is not None and bool(scores.grad.isfinite().all())


def _with_loud_padding(weights_of: Callable[..., Tensor]) -> Tensor:
    return weights_of(vectors(3, 4, 4).masked_fill(~_words(), 500.0), _words())


def _loud_padding_changes_nothing(weights_of: Callable[..., Tensor]) -> bool:
    quiet = weights_of(vectors(3, 4, 4), _words())
    return close(_with_loud_padding(weights_of)[:2], quiet[:2])


EMPTY_ROW = mended(
    (
        Property(
            "hidden words get no weight",
            _hidden_get_nothing,
            "Some weight lands on a hidden word. If every word of a row is hidden, softmax shares "
            "the whole 1 out among them: such a row has to become zeros.",
        ),
        Property(
            "a sentence of padding gets zeros",
            _padding_gets_zeros,
            "The sentence of padding still gets NaN: its weights add up to 0, and 0 divided by 0 "
            "is no number. Ask first whether the row may see anything.",
        ),
        Property("rows sum to one", _rows_sum_to_one, "A row that may see something must add up to 1."),
        Property(
            "gradients are finite",
            _gradients_are_finite,
            "The weights are fine, and their gradients are NaN: the NaN was covered up behind the "
            "division, and the way back leads through it. It must never arise.",
        ),
        Property(
            "loud padding changes nothing",
            _loud_padding_changes_nothing,
            "A hidden word with the score 500 takes all the weight before it is hidden, and "
            "nothing is left to share out. Hide it before the softmax.",
        ),
    ),
    _safe_weights,
    (
        Wrong("a sentence of padding gets zeros", _zero_by_zero),
        Wrong(
            "a sentence of padding gets zeros",
            _barred,
            "Hidden before the softmax, as it should be. But the sentence of padding has nothing "
            "left: a softmax over −∞ alone is 0 divided by 0 again. Take a number that is very "
            "low and no infinity, and then see to the rows that may see nothing.",
        ),
        Wrong("hidden words get no weight", _shared_out),
        Wrong("gradients are finite", _nan_hidden),
        Wrong("loud padding changes nothing", _a_little_added),
    ),
    "One sentence of padding no longer spoils the loss of its whole batch.",
    _with_loud_padding,
)

EXERCISES = (
    Exercise(
        "clinic.4",
        "The mask upside down",
        POLARITY,
        (
            "Give it a mask that is True in the first column alone, and look at the weights.",
            "~mask turns True and False round.",
        ),
    ),
    Exercise(
        "clinic.5",
        "A sentence of nothing",
        EMPTY_ROW,
        (
            "Follow the third sentence by hand: its weights times its mask, their sum, their quotient.",
            "Put a very low but finite number, torch.finfo(scores.dtype).min, where the mask says "
            "no, before the softmax. Then let mask.any(-1, keepdim=True) empty the rows that may "
            "see nothing.",
        ),
    ),
)
