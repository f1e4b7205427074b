"""Tour of lesson 8: masks that keep a secret, and masks that leak."""

from __future__ import annotations

from viz_transformer.translator import load_translator
from viz_transformer.widgets.mask_lab.live import mask_lab
from viz_transformer.widgets.tour import Tour

SENTENCES = ["the black cat is very tired", "Maria sees the queen"]


def make() -> Tour:
    """Return the tour: the three right masks, then mistakes, each with a word that gives it away."""
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
                "caption": "Without the look-ahead mask, replacing “negro” moves earlier outputs: a leak.",
                "state": {**decoder, "causal": False},
            },
            {
                "caption": "The encoder's mask closes the columns of the padding, and nothing else.",
                "state": {**right, "kind": "encoder", "causal": False, "sentence": 1, "edited": 5},
            },
            {
                "caption": "Without the padding mask, replacing a padding token moves every word's vector.",
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
                "caption": "Cross-attention: the queries are Spanish, the keys English. The English padding "
                "is closed.",
                "state": cross,
            },
            {
                "caption": "Closed with the Spanish padding instead, one English padding token stays open.",
                "state": {**cross, "mistake": "target_padding"},
            },
            {
                "caption": "Padding on the left: the first row may attend to nothing at all.",
                "state": {**decoder, "side": "left", "sentence": 1, "edited": 3},
            },
        ],
    )
