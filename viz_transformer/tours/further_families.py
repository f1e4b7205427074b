"""The tour of the three families: from a reader's mask to a writer's, and to a translator's."""

from __future__ import annotations

from viz_transformer.translator import load_translator
from viz_transformer.widgets.mask_lab.live import mask_lab
from viz_transformer.widgets.tour import Tour


def make() -> Tour:
    """Return the tour: three masks of an encoder–decoder, and one switch between two families."""
    reader = {"kind": "encoder", "causal": False}
    writer = {"kind": "encoder", "causal": True}
    return Tour(
        mask_lab(load_translator()),
        [
            {
                "caption": "A reader, such as BERT: every token may attend to every other.",
                "state": {**reader, "query": None},
            },
            {
                "caption": "A token in the middle may attend to what comes before it and after it.",
                "state": {**reader, "query": 2},
            },
            {
                "caption": "Switch on one mask, causal, and the same layers are a writer's, as in GPT-2.",
                "state": {**writer, "query": None},
            },
            {
                "caption": "The same token may now attend only to itself and to what comes before it.",
                "state": {**writer, "query": 2},
            },
            {
                "caption": "An encoder–decoder, such as T5, has both kinds: its encoder reads both ways …",
                "state": {**reader, "query": None},
            },
            {
                "caption": "… its decoder looks back only …",
                "state": {"kind": "decoder", "causal": True, "query": None},
            },
            {
                "caption": "… and cross-attention reads the whole source.",
                "state": {"kind": "cross", "causal": False, "query": None},
            },
        ],
    )
