"""Tour of *Going further*, Encoder and decoder: the shapes and the parameters of an encoder–decoder."""

from __future__ import annotations

from typing import Any

from viz_transformer.widgets.model_summary_lab.live import model_summary_lab
from viz_transformer.widgets.tour import Tour

_BASE = {
    "n_source": 6,
    "n_target": 4,
    "d_model": 512,
    "n_heads": 8,
    "d_ff": 2048,
    "n_layers": 6,
    "vocab_size": 35,
}


def make() -> Tour:
    """Return the tour: the base model, its size changed one number at a time."""
    return Tour(
        model_summary_lab(),
        [
            _step(
                "An encoder reads 6 tokens, and a decoder has written 4. Read both towers from the bottom up."
            ),
            _step("Twelve source tokens: the decoder changes only in cross-attention.", n_source=12),
            _step("Eight tokens written: the encoder doesn't change at all.", n_target=8),
            _step("Sixteen heads are half as wide. The number of parameters stays the same.", n_heads=16),
            _step(
                "Twelve layers in each stack: the shapes stay the same, and the parameters nearly double.",
                n_layers=12,
            ),
            _step(
                "Everything twice as wide: about four times the parameters.",
                d_model=1024,
                d_ff=4096,
            ),
            _step(
                "Width 32, 2 layers: 43,104 parameters are enough for six pairs of sentences.",
                d_model=32,
                n_heads=4,
                d_ff=64,
                n_layers=2,
            ),
        ],
    )


def _step(caption: str, **changes: int) -> dict[str, Any]:
    return {"caption": caption, "state": {**_BASE, **changes}}
