"""The key/value cache of step-by-step decoding.

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
    """The keys and values of one decoder layer.

    Attributes:
        target: of the target positions so far, for self-attention.
        source: of the source, for cross-attention; None in a decoder alone.
    """

    target: KeysValues
    source: KeysValues | None

    def select(self, rows: Int[Tensor, " selected"]) -> "LayerCache":
        """Return the given rows of the batch, in the given order."""
        return LayerCache(
            self.target.select(rows),
            None if self.source is None else self.source.select(rows),
        )


@dataclass(frozen=True, eq=False)
class DecoderCache:
    """What a decoder keeps between two steps; a step returns a new one.

    Attributes:
        layers: one `LayerCache` per decoder layer.
        target_mask: bool [batch, 1, 1, past], True where the target so far is no padding.
        source_mask: bool [batch, 1, 1, source], True where the source is no padding; None in a
            decoder alone.
    """

    layers: tuple[LayerCache, ...]
    target_mask: Bool[Tensor, "batch 1 1 past"]
    source_mask: Bool[Tensor, "batch 1 1 source"] | None = None

    @property
    def length(self) -> int:
        """Number of target positions in the cache."""
        return self.target_mask.shape[-1]

    def select(self, rows: Int[Tensor, " selected"]) -> "DecoderCache":
        """Return the given rows of the batch, in the given order; a row may come several times.

        Beam search calls this when some hypotheses are continued twice and others are dropped.
        """
        return DecoderCache(
            tuple(layer.select(rows) for layer in self.layers),
            self.target_mask[rows],
            None if self.source_mask is None else self.source_mask[rows],
        )
