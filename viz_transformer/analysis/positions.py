"""Properties of positional encodings: wavelengths, look-alikes, and scores under a shift.

Numpy only: a table may come from a trace, a checkpoint or a formula.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from viz_transformer.analysis.measures import Float64
from viz_transformer.errors import UserError

#: Two positions whose two numbers in a pair are nearer than this look alike to that pair: a turn
#: of the hand by 17 degrees.
ALIKE = 0.3


def as_table(values: ArrayLike, what: str = "table") -> Float64:
    """Return a table of finite numbers as float64 [position, d_model]; anything else is refused."""
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"{what} is {values!r:.60}; give numbers [position, d_model]") from error
    if table.ndim != 2 or 0 in table.shape:
        raise UserError(f"{what} has shape {list(table.shape)}; it must be [position, d_model]")
    if not np.isfinite(table).all():
        raise UserError(f"{what} holds NaN or infinity; give finite numbers [position, d_model]")
    return table


def wavelength(pair: int, d_model: int) -> float:
    """Return after how many tokens the sinusoids of the dimensions 2i and 2i + 1 have made a whole turn.

    It is 2π · 10000^(2i / d_model), from 6.28 tokens to nearly 62,832 (Vaswani et al. 2017, section 3.5).
    """
    return 2 * math.pi * 10_000 ** (2 * pair / d_model)


def is_sinusoidal(table: ArrayLike, base: float = 10_000.0) -> bool:
    """Whether a table is sines and cosines in turn, from position 0 on; by default the paper's."""
    values = as_table(table)
    if values.shape[1] % 2:
        return False
    rates = base ** (-np.arange(0, values.shape[1], 2) / values.shape[1])  # [d_model / 2]
    angles = np.arange(len(values))[:, None] * rates  # [position, d_model / 2]
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(values.shape)
    return bool(np.abs(values - waves).max() < 1e-4)  # float32 loses some digits far out


def look_alikes(table: ArrayLike, position: int, pair: int, within: float = ALIKE) -> tuple[int, ...]:
    """Return the other positions that are nearly alike to `position` in one pair of dimensions.

    Those whose two numbers, seen as a point, lie nearer to it than `within`.
    """
    points = as_table(table)[:, 2 * pair : 2 * pair + 2]  # [position, 2]
    near = np.linalg.norm(points - points[position], axis=-1) < within
    return tuple(int(other) for other in np.flatnonzero(near) if other != position)


def similarity(table: ArrayLike) -> Float64:
    """Return the dot product of every position's vector with every other's, [position, position].

    For sinusoids it is Σ cos((p - q) / 10000^(2i/d)), and so depends on the offset q - p alone.
    """
    table = as_table(table)
    return table @ table.T


def offset_spread(scores: ArrayLike) -> float:
    """Return how much scores [position, position] of one offset differ at most."""
    matrix = as_table(scores, "scores")
    size = len(matrix)
    return max(float(np.ptp(np.diagonal(matrix, k))) for k in range(1 - size, size))


def turned(vectors: ArrayLike, positions: ArrayLike) -> Float64:
    """Turn each pair (x_2i, x_2i+1) of each vector [vector, width] by position / 10000^(2i / width).

    There is a position for each vector, or one for all (Su et al. 2021, "RoFormer", section 3.4.2).
    """
    x = as_table(vectors, "vectors")
    rates = 10_000.0 ** (-np.arange(0, x.shape[1], 2) / x.shape[1])  # [width / 2]
    angles = np.asarray(positions, dtype=np.float64)[..., None] * rates  # [vector, width / 2]
    cos, sin, even, odd = np.cos(angles), np.sin(angles), x[:, 0::2], x[:, 1::2]
    pairs = np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
    return pairs.reshape(x.shape)


def rms(values: ArrayLike) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


class ScoreParts(NamedTuple):
    """The four parts of (W_q (x + p)) · (W_k (y + p')) / √d, each [query, key].

    Attributes:
        word_word: words with words, wherever they are.
        word_position: the query's word with the key's position.
        position_word: the query's position with the key's word.
        position_position: positions with positions, seen through W_q and W_k.
    """

    word_word: Float64
    word_position: Float64
    position_word: Float64
    position_position: Float64

    @property
    def whole(self) -> Float64:
        """The score itself: the sum of the four."""
        return self.word_word + self.word_position + self.position_word + self.position_position


@dataclass(frozen=True)
class ProbeHead:
    """A sentence of vectors and one head that scores it: what a shift is tried on.

    Attributes:
        words: [word, d_model].
        query_weight: W_q [d_model, d_model]; query = W_q x.
        key_weight: W_k [d_model, d_model].
    """

    words: Float64
    query_weight: Float64
    key_weight: Float64

    @property
    def mixing(self) -> Float64:
        """W_qᵀ W_k / √d, [d_model, d_model]: a score is x mixing yᵀ."""
        return self.query_weight.T @ self.key_weight / math.sqrt(self.words.shape[1])

    @property
    def queries(self) -> Float64:
        """[word, d_model]."""
        return self.words @ self.query_weight.T

    @property
    def keys(self) -> Float64:
        """[word, d_model]."""
        return self.words @ self.key_weight.T

    def added(self, table: ArrayLike, start: int = 0) -> ScoreParts:
        """Score the sentence with a table's positions from `start` on added to its words."""
        places = as_table(table)[start : start + len(self.words)]  # [word, d_model]
        if len(places) < len(self.words):
            raise UserError(
                f"{len(self.words)} words from position {start} on reach beyond the table's "
                f"{len(as_table(table))} positions; start earlier"
            )
        left = (self.words, self.words, places, places)
        right = (self.words, places, self.words, places)
        return ScoreParts(*(one @ self.mixing @ other.T for one, other in zip(left, right, strict=True)))

    def rotary(self, start: int = 0) -> Float64:
        """Score the sentence with queries and keys turned by their positions, [query, key]."""
        positions = np.arange(start, start + len(self.words))
        queries, keys = turned(self.queries, positions), turned(self.keys, positions)
        return queries @ keys.T / math.sqrt(self.words.shape[1])
