"""Tour of lesson 8: masks that are right, and masks that leak."""

from __future__ import annotations

from viz_transformer.translator import load_translator
from viz_transformer.widgets.mask_lab.live import mask_lab
from viz_transformer.widgets.tour import Tour

SENTENCES = ["the black cat is very tired", "Maria sees the queen"]


def make() -> Tour:
    """Return the tour: the three right masks, then mistakes, each with a word that shows it."""
    right = {"side": "right", "padding": True, "causal": True, "mistake": "none", "sentence": 0}
    decoder = {**right, "kind": "decoder", "edited": 3}
    cross = {**right, "kind": "cross", "causal": False, "sentence": 1, "edited": 5}
    return Tour(
        mask_lab(load_translator(), SENTENCES),
        [
            {
                "caption": "The decoder's mask: a word attends to itself and to the words before it.",
                "state": decoder,
            },
            {
                "caption": (
                    "Without the look-ahead mask, replacing “negro” changes earlier outputs: a leak."
                ),
                "state": {**decoder, "causal": False},
            },
            {
                "caption": "The encoder's mask hides only the columns of the padding.",
                "state": {**right, "kind": "encoder", "causal": False, "sentence": 1, "edited": 5},
            },
            {
                "caption": (
                    "Without the padding mask, replacing a padding token changes every word's vector."
                ),
                "state": {
                    **right,
                    "kind": "encoder",
                    "causal": False,
                    "padding": False,
                    "sentence": 1,
                    "edited": 5,
                },
            },
            {
                "caption": (
                    "Cross-attention: the queries are Spanish, the keys English. The English "
                    "padding is hidden."
                ),
                "state": cross,
            },
            {
                "caption": ("With the mask of the Spanish padding, one English padding token stays visible."),
                "state": {**cross, "mistake": "target_padding"},
            },
            {
                "caption": "Padding on the left: every key is hidden from the first row.",
                "state": {**decoder, "side": "left", "sentence": 1, "edited": 3},
            },
        ],
    )
