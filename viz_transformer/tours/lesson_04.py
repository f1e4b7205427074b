"""Tour of lesson 4: one head, from the vectors of two words to its output."""

from __future__ import annotations

from viz_transformer.widgets.attention_stepper.live import thinking_machines
from viz_transformer.widgets.tour import Tour


def make() -> Tour:
    """Return the tour: every step of the head for “thinking”, then “machines”, with and without √d_k."""
    view = thinking_machines()
    at = {name: number for number, name in enumerate(view.steps.steps)}
    thinking = {"query": 0, "scale": True}
    return Tour(
        view,
        [
            {
                "caption": "Two words, each a vector of four numbers.",
                "state": {**thinking, "step": at["x"]},
            },
            {
                "caption": "“thinking” compares its query with both keys. The scores are 2 and 4.5.",
                "state": {**thinking, "step": at["scores"]},
            },
            {
                "caption": "The scores are divided by √3, the root of d_k.",
                "state": {**thinking, "step": at["scaled"]},
            },
            {
                "caption": "The softmax makes them weights: 0.19 for “thinking” itself, 0.81 for “machines”.",
                "state": {**thinking, "step": at["weights"]},
            },
            {
                "caption": "The values, mixed by these weights, are the head's output for “thinking”.",
                "state": {**thinking, "step": at["output"]},
            },
            {
                "caption": "“machines” has a query of its own, and gives 0.91 to “thinking”.",
                "state": {"query": 1, "scale": True, "step": at["weights"]},
            },
            {
                "caption": "Without the division the same row is sharper: 0.98.",
                "state": {"query": 1, "scale": False, "step": at["weights"]},
            },
        ],
    )
