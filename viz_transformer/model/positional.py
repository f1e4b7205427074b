"""Positional encodings, without which attention sees a set of words and not their order.

Most variants are a module that is called with a length and a start, and returns the vectors that
are added to the embeddings at the positions start, …, start + length - 1. Rotary positions add
nothing: they rotate each query and key before self-attention.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_transformer._bounds import SIZE, fits_memory, whole_number
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError


def sinusoidal_encoding(
    length: int, d_model: int, start: int = 0, *, halves: bool = False
) -> Float[Tensor, "{length} {d_model}"]:
    """Give each position a vector of sines and cosines, from fast waves to slow ones.

        PE(position, 2i)     = sin(position / 10000^(2i / d_model))
        PE(position, 2i + 1) = cos(position / 10000^(2i / d_model))

    Args:
        length: number of positions.
        d_model: width of the vectors; even.
        start: the first position.
        halves: put all sines before all cosines (Marian, tensor2tensor) and not in turn.

    Returns:
        float [length, d_model].

    Raises:
        UserError: if d_model is odd.

    Source: Vaswani et al. 2017, section 3.5.
    """
    angles = _angles(length, d_model, start)  # [length, d_model / 2]
    waves = (angles.sin(), angles.cos())
    if halves:
        return torch.cat(waves, dim=-1).to(torch.get_default_dtype())  # [length, d_model]
    pairs = torch.stack(waves, dim=-1)  # [length, d_model / 2, 2]
    return pairs.flatten(1).to(torch.get_default_dtype())  # [length, d_model]


def _angles(length: int, width: int, start: int = 0) -> Float[Tensor, "{length} pair"]:
    """Return position / 10000^(2i / width): how far each position turns each pair of numbers."""
    whole_number("length", length, SIZE, least=0)
    whole_number("width", width, SIZE)
    if width % 2:
        raise UserError(
            f"a width of {width} is odd, and each angle belongs to a pair of numbers; use {width + 1}"
        )
    if torch.get_default_device().type == "cpu":
        fits_memory(12 * length * width, f"a table of {length:,} positions of {width:,} numbers")
    # Double precision: far positions times small frequencies would lose digits in float32.
    positions = torch.arange(start, start + length, dtype=torch.float64)  # [length]
    even = torch.arange(0, width, 2, dtype=torch.float64)  # [width / 2], the paper's 2i
    return positions[:, None] / 10_000 ** (even / width)  # [length, width / 2]


class SinusoidalPositions(nn.Module):
    """The fixed waves of `sinusoidal_encoding`, computed once."""

    table: Tensor  # [max_length, d_model]

    def __init__(self, max_length: int, d_model: int, halves: bool = False) -> None:
        super().__init__()
        # Not persistent: the table follows from its sizes, so a checkpoint need not carry it.
        table = sinusoidal_encoding(max_length, d_model, halves=halves)
        self.register_buffer("table", table, persistent=False)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "{length} d_model"]:
        """Return the encodings [length, d_model] of `length` positions from `start` on."""
        return self.table[start : start + length]


class LearnedPositions(nn.Module):
    """A vector per position, learned, and multiplied by what the words' embeddings are.

    Source: Gehring et al. 2017; row E of table 3 in Vaswani et al. 2017.
    """

    def __init__(self, max_length: int, d_model: int, scale: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding(max_length, d_model)
        self.scale = scale

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "{length} d_model"]:
        """Return the encodings [length, d_model] of `length` positions from `start` on."""
        return self.embedding.weight[start : start + length] * self.scale


class NoPositions(nn.Module):
    """Zeros: what a model can do with word order taken away."""

    zero: Tensor  # [1, d_model]

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.register_buffer("zero", torch.zeros(1, d_model), persistent=False)

    def forward(self, length: int, start: int = 0) -> Float[Tensor, "{length} d_model"]:
        """Return zeros [length, d_model], whatever the start."""
        return self.zero.expand(length, -1)


def embedding_scale(config: ModelConfig) -> float:
    """Return what embeddings are multiplied by: √d_model, or 1 where they are taken as they are.

    √d_model brings the words, drawn with standard deviation 1/√d_model, to the positions' size.

    Source: Vaswani et al. 2017, section 3.4.
    """
    return math.sqrt(config.d_model) if config.scale_embeddings else 1.0


class RotaryPositions(nn.Module):
    """Turn every pair of numbers in a query or key by an angle that grows with its position.

    The pair (x_2i, x_2i+1) at position p is turned by p / 10000^(2i / d_head), like the hands of a
    clock, fast ones and slow ones. A dot product of two turned vectors depends only on the
    difference of their angles: on how far apart they are, and not on where.

    Args:
        max_length: number of positions.
        d_head: width of a head's queries and keys; even.

    Raises:
        UserError: if d_head is odd.

    Source: Su et al. 2021, "RoFormer", sections 3.2 and 3.4.2.
    """

    cos: Tensor  # [max_length, d_head / 2]
    sin: Tensor  # [max_length, d_head / 2]

    def __init__(self, max_length: int, d_head: int) -> None:
        super().__init__()
        angles = _angles(max_length, d_head)  # [max_length, d_head / 2]
        dtype = torch.get_default_dtype()
        self.register_buffer("cos", angles.cos().to(dtype), persistent=False)
        self.register_buffer("sin", angles.sin().to(dtype), persistent=False)

    def forward(
        self, x: Float[Tensor, "*batch position d_head"], start: int = 0
    ) -> Float[Tensor, "*batch position d_head"]:
        """Return the vectors turned as at the positions start, start + 1, …; the shape stays.

        Raises:
            UserError: if the last position is beyond max_length.
        """
        end = start + x.shape[-2]
        if end > len(self.cos):
            raise UserError(
                f"vectors of shape {list(x.shape)} reach position {end}, but max_length is "
                f"{len(self.cos)}; shorten the text, or make a model with a larger max_length"
            )
        cos, sin = (table[start:end].to(x.dtype) for table in (self.cos, self.sin))
        even, odd = x[..., 0::2], x[..., 1::2]  # [..., position, d_head / 2]
        turned = (even * cos - odd * sin, even * sin + odd * cos)
        return torch.stack(turned, dim=-1).flatten(-2)  # [..., position, d_head]


def make_positions(config: ModelConfig) -> nn.Module:
    """Make the variant that `config.positional` names; rotary positions add nothing here."""
    if config.positional.startswith("sinusoidal"):
        halves = config.positional == "sinusoidal_halves"
        return SinusoidalPositions(config.max_length, config.d_model, halves)
    if config.positional == "learned":
        return LearnedPositions(config.max_length, config.d_model, embedding_scale(config))
    return NoPositions(config.d_model)
