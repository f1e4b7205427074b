"""The effect of a shift of positions on attention scores, for sinusoidal and rotary positions."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from viz_transformer._bounds import SEED, room_for, whole_number
from viz_transformer.experiments.checks import check_counts
from viz_transformer.model.positional import RotaryPositions, sinusoidal_encoding
from viz_transformer.model.scoring import scaled_dot


class ShiftedScores(NamedTuple):
    """The scores of a sentence's words with each other, before and after a shift to the right.

    Attributes:
        here: [query, key], with the words at the positions 0, 1, ….
        shifted: [query, key], the same words some positions later.
    """

    here: Float[Tensor, "query key"]
    shifted: Float[Tensor, "query key"]

    @property
    def rms(self) -> float:
        """Root mean square of the scores themselves: what to compare the difference with."""
        return self.here.square().mean().sqrt().item()

    @property
    def rms_difference(self) -> float:
        """Root mean square of what the shift changes."""
        return (self.shifted - self.here).square().mean().sqrt().item()

    @property
    def largest_difference(self) -> float:
        """The largest change of any score."""
        return (self.shifted - self.here).abs().max().item()


class ShiftExperiment(NamedTuple):
    """How a shift of the positions changes scores; see `shift_experiment`.

    >>> from viz_transformer.experiments import shift_experiment
    >>> rotary = shift_experiment(n_words=3, shift=100).rotary
    >>> rotary.here.shape, rotary.largest_difference < 1e-4 < rotary.rms
    (torch.Size([3, 3]), True)

    Attributes:
        positions: PE·PE, the sinusoids compared with each other alone: no score changes.
        sinusoidal: whole scores, the sinusoids added to the words: they change.
        rotary: whole scores, queries and keys turned by their positions: no score changes.
    """

    positions: ShiftedScores
    sinusoidal: ShiftedScores
    rotary: ShiftedScores


class RandomHead(NamedTuple):
    """Random words and one head of random projections, as `shift_experiment` draws them.

    Attributes:
        words: [word, d_model], drawn from N(0, 1).
        query_weight: W_q [d_model, d_model], Xavier's: query = W_q x.
        key_weight: W_k [d_model, d_model], likewise.
    """

    words: Float[Tensor, "word d_model"]
    query_weight: Float[Tensor, "d_model d_model"]
    key_weight: Float[Tensor, "d_model d_model"]


def random_head(n_words: int = 12, d_model: int = 64, seed: int = 0) -> RandomHead:
    """Draw the words and projections of `shift_experiment`.

    >>> from viz_transformer.experiments import random_head
    >>> head = random_head(n_words=5, d_model=16)
    >>> ((head.words @ head.query_weight.T) @ (head.words @ head.key_weight.T).T).shape  # its scores
    torch.Size([5, 5])

    Args:
        n_words: words in the sentence.
        d_model: width of the vectors.
        seed: fixes the draw.

    Raises:
        UserError: if a number is below 1.
    """
    check_counts(n_words=n_words, d_model=d_model)
    whole_number("seed", seed, SEED, least=0)
    room_for(max(n_words**2, n_words * d_model, d_model**2), f"n_words={n_words} and d_model={d_model}")
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(n_words, d_model, generator=generator)  # [word, d_model]
    bound = math.sqrt(3 / d_model)  # Xavier's, for a square matrix
    w_q, w_k = (torch.empty(d_model, d_model).uniform_(-bound, bound, generator=generator) for _ in range(2))
    return RandomHead(words, w_q, w_k)


def shift_experiment(
    *, n_words: int = 12, shift: int = 10, d_model: int = 64, seed: int = 0
) -> ShiftExperiment:
    """Measure whether attention scores change when a sentence is shifted.

    One head of random projections (Xavier's) reads random words, drawn from N(0, 1) as the model's
    scaled embeddings are. Sinusoids have PE(p)·PE(q) = Σ cos((p - q) ω), which depends on the
    distance alone; but a score is (W_q (x + PE(p)))·(W_k (y + PE(q))), where words meet positions
    and projections come between, and that depends on the place. Rotary scores do not.

    >>> from viz_transformer.experiments import shift_experiment
    >>> found = shift_experiment(shift=10)
    >>> {name: round(scores.rms_difference, 1) for name, scores in found._asdict().items()}
    {'positions': 0.0, 'sinusoidal': 1.0, 'rotary': 0.0}

    Args:
        n_words: words in the sentence.
        shift: how many positions it is moved.
        d_model: width of the vectors; even. All scores are divided by its root.
        seed: fixes the draw.

    Raises:
        UserError: if a number is below 1, or d_model is odd.

    Source: Vaswani et al. 2017, section 3.5; Su et al. 2021, section 3.2.
    """
    check_counts(n_words=n_words, shift=shift, d_model=d_model)
    room_for((shift + n_words) * d_model, f"shift={shift}, n_words={n_words} and d_model={d_model}")
    words, w_q, w_k = random_head(n_words, d_model, seed)
    rotary = RotaryPositions(shift + n_words, d_model)

    def positions_at(start: int) -> Tensor:
        return sinusoidal_encoding(n_words, d_model, start)  # [word, d_model]

    def alone(start: int) -> Tensor:
        return scaled_dot(positions_at(start), positions_at(start))  # [query, key]

    def added(start: int) -> Tensor:
        x = words + positions_at(start)  # [word, d_model]
        return scaled_dot(x @ w_q.T, x @ w_k.T)  # [query, key]

    def turned(start: int) -> Tensor:
        query, key = rotary(words @ w_q.T, start), rotary(words @ w_k.T, start)  # [word, d_model]
        return scaled_dot(query, key)  # [query, key]

    return ShiftExperiment(*(ShiftedScores(scores(0), scores(shift)) for scores in (alone, added, turned)))
