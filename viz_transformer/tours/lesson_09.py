"""Tour of lesson 9: one word is changed, and each part of a block tells which outputs move."""

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
                "caption": "“cat” is changed. In self-attention, every word's output moves.",
                "state": {**second, "changed": 2},
            },
            {
                "caption": "Now “the”: in LayerNorm and the feed-forward network, no other output moves.",
                "state": {**second, "changed": 0},
            },
            {
                "caption": "Now “sleeps”: a norm over the words lets them meet too. No mask stops that leak.",
                "state": {**second, "changed": 3},
            },
            {
                "caption": "In the first block, change “cat”: “the”, “black” and “sleeps” hardly move.",
                "state": {**first, "changed": 2},
            },
            {
                "caption": "Change <eos> there, and every word moves: in this block they all attend to it.",
                "state": {**first, "changed": 4},
            },
            {
                "caption": "Another sentence, the same rule: the other words notice in attention alone.",
                "state": {"sentence": "the dog sees the cat", "layer": 1, "changed": 1},
            },
        ],
    )
