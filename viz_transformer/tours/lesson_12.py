"""The tour of lesson 12: a picture of a head, and what it does not show."""

from __future__ import annotations

from viz_transformer.translator import load_translator
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.tour import Tour

_TIRED = "the animal did not cross the street because it was too tired"


def make() -> Tour:
    """Return the tour: one head's rows, attention sinks, alignments, and one that the model needs more."""
    trace = load_translator().trace(_TIRED)
    view = explore(trace, kind="encoder", layer=1, head=1)
    source, target = trace.source_tokens, trace.query_tokens("cross")
    gaze = {"kind": "encoder", "layer": 1, "head": 1}
    return Tour(
        view,
        [
            {
                "caption": "In this head tired attends to animal. Does the model use this?",
                "state": {**gaze, "query": source.index("tired")},
            },
            {
                "caption": "Here it means the animal, yet in the same head it attends to did.",
                "state": {**gaze, "query": source.index("it")},
            },
            {
                "caption": (
                    "The heads of encoder layer 0 attend mostly to <eos>. Without one of the first "
                    "three, the loss hardly changes."
                ),
                "state": {"kind": "encoder", "layer": 0, "head": 0, "query": source.index("it")},
            },
            {
                "caption": "In this head each word attends to its translation: cansado attends to tired.",
                "state": {"kind": "cross", "layer": 1, "head": 0, "query": target.index("cansado")},
            },
            {
                "caption": (
                    "This one has a worse alignment error rate, but the model needs it twice as much."
                ),
                "state": {"kind": "cross", "layer": 1, "head": 2, "query": None},
            },
            {
                "caption": "The weights of a head don't show whether it is needed. Switch it off to see.",
                "state": {**gaze, "query": None},
            },
        ],
    )
