"""Tour of lesson 6: how positions encode the order of words, and what depends on them."""

from __future__ import annotations

from viz_transformer.translator import load_translator
from viz_transformer.widgets.position_lab.live import position_lab
from viz_transformer.widgets.tour import Tour

WRITTEN = [0, 1, 2, 3, 4]
SWAPPED = [0, 4, 2, 3, 1]  # the dog and the cat


def make() -> Tour:
    """Return the tour: clock hands, a sentence that moves, and words that change places."""
    view = position_lab(load_translator(), "the dog sees the cat")
    start = {"encoding": "sinusoidal", "pair": 3, "position": 7, "shift": 0, "order": WRITTEN}
    hands = {**start, "positions_on": True, "unfolded": ["pair"]}
    moved = {**start, "positions_on": True, "unfolded": ["shift"], "shift": 10}
    shuffled = {**start, "unfolded": ["shuffle"], "order": SWAPPED}
    return Tour(
        view,
        [
            {
                "caption": "Sinusoids: a column for each position; each pair of its numbers is a clock hand.",
                "state": hands,
            },
            {
                "caption": "The last pair is the slowest hand. It hardly moves between neighbours.",
                "state": {**hands, "pair": 31},
            },
            {
                "caption": "The sentence moves 10 positions on, and its scores change.",
                "state": moved,
            },
            {
                "caption": "With rotary positions it moves as far, but no score changes.",
                "state": {**moved, "encoding": "rotary"},
            },
            {
                "caption": (
                    "Now the words are shuffled: dog and cat are swapped. The vectors change, and "
                    "so does the meaning."
                ),
                "state": {**shuffled, "positions_on": True},
            },
            {
                "caption": (
                    "Without positions no vector changes, and both sentences get the same translation."
                ),
                "state": {**shuffled, "positions_on": False},
            },
        ],
    )
