"""The tour of lesson 11: greedy search misses the best text, and a wider beam finds it."""

from __future__ import annotations

from viz_transformer.translator import load_translator
from viz_transformer.widgets.beam_stepper.live import beam_stepper
from viz_transformer.widgets.tour import Tour


def make() -> Tour:
    """Return the tour: greedy search, a beam of two, four translations, and draws."""
    view = beam_stepper(load_translator(), "the teacher sleeps", beam_width=1, length_penalty=0.0)
    beam, draws = {"method": "beam"}, {"method": "sample"}
    return Tour(
        view,
        [
            {
                "caption": "Greedy search keeps the most probable first word, el. La is pruned.",
                "state": {**beam, "beam_width": 1, "step": 0},
            },
            {
                "caption": "It ends with el profesor duerme. Each word was the best of its step.",
                "state": {**beam, "beam_width": 1, "step": 3},
            },
            {
                "caption": "A beam of two keeps both el and la.",
                "state": {**beam, "beam_width": 2, "step": 0},
            },
            {
                "caption": "One step later, la maestra overtakes el profesor.",
                "state": {**beam, "beam_width": 2, "step": 1},
            },
            {
                "caption": (
                    "La maestra duerme wins: the most probable first word does not begin the most "
                    "probable text."
                ),
                "state": {**beam, "beam_width": 2, "step": 3},
            },
            {
                "caption": "A beam of four finds all four translations that the grammar allows.",
                "state": {**beam, "beam_width": 4, "step": 3},
            },
            {
                "caption": "Sampling draws each word with its probability, so every text can occur.",
                "state": {**draws, "step": 0, "temperature": 1.0},
            },
            {
                "caption": "At a low temperature nearly every draw takes the most probable word.",
                "state": {**draws, "step": 0, "temperature": 0.2},
            },
        ],
    )
