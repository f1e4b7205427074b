"""Experiments: claims about attention, measured on random vectors.

Each function draws its vectors from a seed, so the same call gives the same numbers, and returns
plain numbers or tensors that a lesson plots.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from viz_transformer.errors import UserError
from viz_transformer.model.positional import RotaryPositions, sinusoidal_encoding
from viz_transformer.model.scoring import dot, scaled_dot


class ScoreSpread(NamedTuple):
    """How far the scores of random vectors spread, and what a softmax makes of them.

    Attributes:
        d_k: width of the queries and keys.
        variance: of q·k; about d_k.
        scaled_variance: of q·k / √d_k; about 1.
        largest_weight: mean of the largest of a query's weights, from q·k.
        largest_scaled_weight: the same from q·k / √d_k.
    """

    d_k: int
    variance: float
    scaled_variance: float
    largest_weight: float
    largest_scaled_weight: float


def score_spread(d_k: int, *, n_keys: int = 10, n_queries: int = 2000, seed: int = 0) -> ScoreSpread:
    """Measure why the paper divides by √d_k.

    The numbers in a query and a key are drawn from N(0, 1). Their product's variance is then 1, so
    that of a sum of d_k products is d_k; and a softmax of numbers that far apart gives nearly all
    its weight to the largest one.

    Args:
        d_k: width of the queries and keys.
        n_keys: keys that share each query's weight.
        n_queries: queries to average over, each with keys of its own.
        seed: fixes the draw.

    Raises:
        UserError: if a number is below 1.

    Source: Vaswani et al. 2017, section 3.2.1 and its footnote 4.
    """
    _check_counts(d_k=d_k, n_keys=n_keys, n_queries=n_queries)
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(n_queries, 1, d_k, generator=generator)  # [sample, query, d_k]
    key = torch.randn(n_queries, n_keys, d_k, generator=generator)  # [sample, key, d_k]
    plain, scaled = dot(query, key), scaled_dot(query, key)  # [sample, query, key]
    return ScoreSpread(
        d_k=d_k,
        variance=plain.var().item(),
        scaled_variance=scaled.var().item(),
        largest_weight=plain.softmax(-1).amax(-1).mean().item(),
        largest_scaled_weight=scaled.softmax(-1).amax(-1).mean().item(),
    )


class ShiftedScores(NamedTuple):
    """The scores of a sentence's words with each other, here and further to the right.

    Attributes:
        here: [query, key], the words standing at the positions 0, 1, ….
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
        """The most that the shift changes any score."""
        return (self.shifted - self.here).abs().max().item()


class ShiftExperiment(NamedTuple):
    """What moving a sentence to the right changes; see `shift_experiment`.

    Attributes:
        positions: PE·PE, the sinusoids compared with each other alone: nothing changes.
        sinusoidal: whole scores, the sinusoids added to the words: they change.
        rotary: whole scores, queries and keys turned by their positions: nothing changes.
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

    Args:
        n_words: words in the sentence.
        d_model: width of the vectors.
        seed: fixes the draw.

    Raises:
        UserError: if a number is below 1.
    """
    _check_counts(n_words=n_words, d_model=d_model)
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(n_words, d_model, generator=generator)  # [word, d_model]
    bound = math.sqrt(3 / d_model)  # Xavier's, for a square matrix
    w_q, w_k = (torch.empty(d_model, d_model).uniform_(-bound, bound, generator=generator) for _ in range(2))
    return RandomHead(words, w_q, w_k)


def shift_experiment(
    *, n_words: int = 12, shift: int = 10, d_model: int = 64, seed: int = 0
) -> ShiftExperiment:
    """Measure whether attention notices that a sentence stands elsewhere.

    One head of random projections (Xavier's) reads random words, drawn from N(0, 1) as the model's
    scaled embeddings are. Sinusoids have PE(p)·PE(q) = Σ cos((p - q) ω), which depends on the
    distance alone; but a score is (W_q (x + PE(p)))·(W_k (y + PE(q))), where words meet positions
    and projections come between, and that depends on the place. Rotary scores do not.

    Args:
        n_words: words in the sentence.
        shift: how many positions it is moved.
        d_model: width of the vectors; even. All scores are divided by its root.
        seed: fixes the draw.

    Raises:
        UserError: if a number is below 1, or d_model is odd.

    Source: Vaswani et al. 2017, section 3.5; Su et al. 2021, section 3.2.
    """
    _check_counts(n_words=n_words, shift=shift, d_model=d_model)
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


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UserError(f"{name}={value!r} must be a whole number of at least 1")
