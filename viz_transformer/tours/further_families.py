"""The tour of the three families: the masks of BERT, GPT-2 and a translator."""

from __future__ import annotations

from viz_transformer.translator import load_translator
from viz_transformer.widgets.mask_lab.live import mask_lab
from viz_transformer.widgets.tour import Tour


def make() -> Tour:
    """Return the tour: three masks of an encoder–decoder, and one switch between two families."""
    encoder_only = {"kind": "encoder", "causal": False}
    decoder_only = {"kind": "encoder", "causal": True}
    return Tour(
        mask_lab(load_translator()),
        [
            {
                "caption": "Encoder-only, such as BERT: every token may attend to every other.",
                "state": {**encoder_only, "query": None},
            },
            {
                "caption": "A token in the middle may attend to what comes before it and after it.",
                "state": {**encoder_only, "query": 2},
            },
            {
                "caption": "With the causal mask, the same layers are a decoder-only model, as in GPT-2.",
                "state": {**decoder_only, "query": None},
            },
            {
                "caption": "The same token may now attend only to itself and to what comes before it.",
                "state": {**decoder_only, "query": 2},
            },
            {
                "caption": (
                    "An encoder–decoder, such as T5, has both kinds: its encoder attends in both directions …"
                ),
                "state": {**encoder_only, "query": None},
            },
            {
                "caption": "… its decoder attends to earlier tokens only …",
                "state": {"kind": "decoder", "causal": True, "query": None},
            },
            {
                "caption": "… and cross-attention reads the whole source.",
                "state": {"kind": "cross", "causal": False, "query": None},
            },
        ],
    )
