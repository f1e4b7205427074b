"""Tour of lesson 1: how cross-attention changes the word order."""

from __future__ import annotations

from viz_transformer.translator import load_translator
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.tour import Tour


def make() -> Tour:
    """Return the tour: reading a head of the bundled translator, row by row."""
    trace = load_translator().trace("the black cat sleeps")
    crossed = {"kind": "cross", "layer": 1, "head": 0}
    return Tour(
        explore(trace),
        [
            {
                "caption": "“the black cat sleeps” becomes “el gato negro duerme”. Each row shows where the "
                "model looks as it writes a word.",
                "state": {**crossed, "query": None},
            },
            {
                "caption": "Having read <sos>, the start of the sequence, it writes “el” and looks at “the”.",
                "state": {**crossed, "query": 0},
            },
            {
                "caption": "Having read “el”, it writes “gato” and looks at “cat”. It skips “black”.",
                "state": {**crossed, "query": 1},
            },
            {
                "caption": "Now it writes “negro” and goes back to “black”. The word order is crossed.",
                "state": {**crossed, "query": 2},
            },
            {
                "caption": (
                    "In layer 0 the heads attend to different words. For “gato”, head 3 attends "
                    "most to “black” …"
                ),
                "state": {"kind": "cross", "layer": 0, "head": 3, "query": 1},
            },
            {
                "caption": "… and head 0 to another word.",
                "state": {"kind": "cross", "layer": 0, "head": 0, "query": 1},
            },
        ],
    )
