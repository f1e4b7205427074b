"""Tour of lesson 3: from scores to weights, and what their size does."""

from __future__ import annotations

from viz_transformer.widgets.softmax_lab import softmax_lab
from viz_transformer.widgets.tour import Tour


def make() -> Tour:
    """Return the tour: one row of scores, multiplied, moved and saturated."""
    scores = [-3.0, 2.0, -1.0, 0.0]
    return Tour(
        softmax_lab(scores, ["the", "cat", "is", "black"]),
        [
            {
                "caption": "All scores are multiplied by 0, so they are equal, and so are the weights.",
                "state": {"scores": scores, "times": 0.0, "slopes": False},
            },
            {
                "caption": "The scores as they are. “cat” has the largest, and gets a weight of 0.84.",
                "state": {"scores": scores, "times": 1.0, "slopes": False},
            },
            {
                "caption": "Every score is higher by 1. The weights are the same: only differences count.",
                "state": {"scores": [each + 1 for each in scores], "times": 1.0, "slopes": False},
            },
            {
                "caption": (
                    "With four times the scores, “cat” gets nearly all the weight. Larger scores "
                    "make a row sharper."
                ),
                "state": {"scores": scores, "times": 4.0, "slopes": False},
            },
            {
                "caption": (
                    "The slope w(1 − w) is the change of a weight for a small change of its own score."
                ),
                "state": {"scores": scores, "times": 1.0, "slopes": True},
            },
            {
                "caption": "Sixteen times the scores: the slopes have vanished. The softmax is saturated.",
                "state": {"scores": scores, "times": 16.0, "slopes": True},
            },
        ],
    )
