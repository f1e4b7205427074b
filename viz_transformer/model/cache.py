"""The cache of incremental decoding: keys and values that need no second computing.

A decoder writes one word at a time. What it computed for the words before stays true, because the
causal mask hides the later ones from them; so each layer keeps their keys and values, and a new
word costs one position instead of the whole sentence. The source's keys and values for the
cross-attention never change at all.
"""

from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Bool, Int
from torch import Tensor

from viz_transformer.model.attention import KeysValues


class LayerCache(NamedTuple):
    """What one decoder layer remembers.

    Attributes:
        target: keys and values of the target positions so far, for self-attention.
        source: keys and values of the source, for cross-attention.
    """

    target: KeysValues
    source: KeysValues

    def select(self, rows: Int[Tensor, " selected"]) -> "LayerCache":
        """Return the given rows of the batch, in the given order."""
        return LayerCache(self.target.select(rows), self.source.select(rows))


@dataclass(frozen=True, eq=False)
class DecoderCache:
    """What the decoder remembers between two steps; a step returns a new one.

    Attributes:
        layers: one `LayerCache` per decoder layer.
        target_mask: bool [batch, 1, 1, past], True where the target so far is no padding.
        source_mask: bool [batch, 1, 1, source], True where the source is no padding.
    """

    layers: tuple[LayerCache, ...]
    target_mask: Bool[Tensor, "batch 1 1 past"]
    source_mask: Bool[Tensor, "batch 1 1 source"]

    @property
    def length(self) -> int:
        """Number of target positions remembered."""
        return self.target_mask.shape[-1]

    def select(self, rows: Int[Tensor, " selected"]) -> "DecoderCache":
        """Return the given rows of the batch, in the given order; a row may come several times.

        Beam search calls this when some hypotheses are continued twice and others are dropped.
        """
        return DecoderCache(
            tuple(layer.select(rows) for layer in self.layers),
            self.target_mask[rows],
            self.source_mask[rows],
        )


@dataclass(frozen=True, eq=False)
class TextCache:
    """What a decoder alone remembers of the text that it has read; a step returns a new one.

    Attributes:
        layers: the keys and values of every layer.
        mask: bool [batch, 1, 1, past], True where the text so far is no padding.
    """

    layers: tuple[KeysValues, ...]
    mask: Bool[Tensor, "batch 1 1 past"]

    @property
    def length(self) -> int:
        """Number of positions remembered."""
        return self.mask.shape[-1]

    def select(self, rows: Int[Tensor, " selected"]) -> "TextCache":
        """Return the given rows of the batch, in the given order; a row may come several times."""
        return TextCache(tuple(layer.select(rows) for layer in self.layers), self.mask[rows])
