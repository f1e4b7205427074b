"""The tour of lesson 13: heads of a real language model, on one sentence."""

from __future__ import annotations

from viz_transformer.trace import real_trace
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.tour import Tour


def make() -> Tour:
    """Return the tour: the causal mask, a sink, and two induction heads."""
    phrase = {"layer": 17, "head": 4}
    return Tour(
        explore(real_trace("gpt-repeats")),
        [
            {
                "caption": "SmolLM2, a language model of 30 layers with 9 heads each, reads a sentence "
                "whose beginning is repeated. Every head has a causal mask.",
                "state": {"layer": 0, "head": 0, "query": None},
            },
            {
                "caption": (
                    "Most heads of layer 5 give most of their weight to the first token, an attention sink."
                ),
                "state": {"layer": 5, "head": 0, "query": None},
            },
            {
                "caption": "One head of layer 17 has a second diagonal, in the repeated phrase.",
                "state": {**phrase, "query": None},
            },
            {
                "caption": "The second “D” attends to “umb”, which followed the first “D”.",
                "state": {**phrase, "query": 19},
            },
            {
                "caption": "The second “umb” attends to “rak”. This is an induction head.",
                "state": {**phrase, "query": 20},
            },
            {
                "caption": "Another head has the same pattern one layer later.",
                "state": {"layer": 18, "head": 6, "query": 20},
            },
        ],
    )
