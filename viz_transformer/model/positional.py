"""Positional encodings: attention sees a set of words, so order must be added to the vectors.

Each variant is a module that is called with a length and a start, and returns the vectors that are
added to the embeddings at the positions start, …, start + length - 1.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_transformer.config import ModelConfig


def sinusoidal_encoding(
    length: int, d_model: int, start: int = 0
) -> Float[Tensor, "{length} {d_model}"]:
    """Give each position a vector of sines and cosines, from fast waves to slow ones.

        PE(position, 2i)     = sin(position / 10000^(2i / d_model))
        PE(position, 2i + 1) = cos(position / 10000^(2i / d_model))

    Args:
        length: number of positions.
        d_model: width of the vectors; even.
        start: the first position.

    Returns:
        float [length, d_model].

    Source: Vaswani et al. 2017, section 3.5.
    """
    # Double precision: far positions times small frequencies would lose digits in float32.
    positions = torch.arange(start, start + length, dtype=torch.float64)  # [length]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # [d_model / 2], the paper's 2i
    angles = positions[:, None] / 10_000 ** (even / d_model)  # [length, d_model / 2]
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)  # [length, d_model / 2, 2]
    return pairs.flatten(1).to(torch.get_default_dtype())  # [length, d_model]


class SinusoidalPositions(nn.Module):
    """The fixed waves of `sinusoidal_encoding`, computed once."""

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        # Not persistent: the table follows from its sizes, so a checkpoint need not carry it.
        self.register_buffer("table", sinusoidal_encoding(max_length, d_model), persistent=False)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "{length} d_model"]:
        """Return the encodings [length, d_model] of `length` positions from `start` on."""
        return self.table[start : start + length]


class LearnedPositions(nn.Module):
    """A vector per position, learned and scaled like the words' embeddings.

    Source: Gehring et al. 2017; row E of table 3 in Vaswani et al. 2017.
    """

    def __init__(self, max_length: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(max_length, d_model)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "{length} d_model"]:
        """Return the encodings [length, d_model] of `length` positions from `start` on."""
        table = self.embedding.weight
        return table[start : start + length] * math.sqrt(table.shape[1])


class NoPositions(nn.Module):
    """Zeros: what a model can do with word order taken away."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.register_buffer("zero", torch.zeros(1, d_model), persistent=False)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "{length} d_model"]:
        """Return zeros [length, d_model], whatever the start."""
        return self.zero.expand(length, -1)


def make_positions(config: ModelConfig) -> nn.Module:
    """Make the variant that `config.positional` names."""
    if config.positional == "sinusoidal":
        return SinusoidalPositions(config.max_length, config.d_model)
    if config.positional == "learned":
        return LearnedPositions(config.max_length, config.d_model)
    return NoPositions(config.d_model)
