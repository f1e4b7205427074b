"""Tour of lesson 9: one word is changed, and some outputs of each part of a block change."""

from __future__ import annotations

from viz_transformer.widgets.block_lab.live import block_lab
from viz_transformer.widgets.tour import Tour


def make() -> Tour:
    """Return the tour: the second block, a norm that leaks, the first block, another sentence."""
    black_cat = {"sentence": "the black cat sleeps"}
    second, first = {**black_cat, "layer": 1}, {**black_cat, "layer": 0}
    return Tour(
        block_lab(),
        [
            {
                "caption": "“cat” is changed. In self-attention, every word's output changes.",
                "state": {**second, "changed": 2},
            },
            {
                "caption": ("Now “the”: in LayerNorm and the feed-forward network, no other output changes."),
                "state": {**second, "changed": 0},
            },
            {
                "caption": (
                    "Now “sleeps”: a norm over the words also passes information between them. No "
                    "mask prevents this leak."
                ),
                "state": {**second, "changed": 3},
            },
            {
                "caption": (
                    "In the first block, “cat” is changed: “the”, “black” and “sleeps” hardly change."
                ),
                "state": {**first, "changed": 2},
            },
            {
                "caption": (
                    "If <eos> is changed there, every word changes: in this block they all attend to it."
                ),
                "state": {**first, "changed": 4},
            },
            {
                "caption": "In another sentence, too, the other words change only in attention.",
                "state": {"sentence": "the dog sees the cat", "layer": 1, "changed": 1},
            },
        ],
    )
