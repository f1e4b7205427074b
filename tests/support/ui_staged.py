"""The views that stand on the stage, each in every picture that it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import viz_transformer as vt
from tests.support.hand_made_starts import hand_made_starts
from tests.support.hand_made_traces import hostile_trace, make_trace, vision_trace
from tests.support.ui_views import SENTENCE, TOUR, falling, sharpened
from viz_transformer import labs
from viz_transformer.experiments.saturation import drawn_scores
from viz_transformer.model.positional import sinusoidal_encoding
from viz_transformer.translator import load_translator
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.figure_lab import figure_lab
from viz_transformer.widgets.position_clock import position_clock
from viz_transformer.widgets.scaling_lab import scaling_lab
from viz_transformer.widgets.schedule_lab import schedule_lab
from viz_transformer.widgets.softmax_lab import softmax_lab
from viz_transformer.widgets.tour import tour

LONG = "the animal did not cross the street because it was too tired"


def _explorer(text: str = SENTENCE, **traits: Any) -> View:
    return explore(load_translator().trace(text), **traits)


def _head_off() -> View:
    lab = labs.head_lab(load_translator(), "the teacher lost his book")
    lab.factors = [{"kind": "encoder", "layer": 1, "head": 1, "factor": 0}]
    return lab


def _position_lab(chapter: str) -> View:
    view = labs.position_lab(load_translator())
    view.unfolded = [chapter] if chapter else []
    return view


#: Two layers of four heads, in each picture of the explorer, and the other views.
STAGED: dict[str, Callable[[], View]] = {
    "sentence": lambda: _explorer(linked=False, picture="sentence"),
    "linked": lambda: _explorer(linked=True),
    "matrix": lambda: _explorer(linked=False, picture="matrix"),
    "lines": lambda: _explorer(linked=False, picture="lines"),
    "wall": lambda: _explorer(wall=True),
    "table": lambda: _explorer(linked=False, picture="table"),
    "patches": lambda: explore(vision_trace(), grid=(3, 4), query=3, picture="lines"),
    "translation lab": lambda: labs.translation_lab(load_translator(), SENTENCE),
    "architecture": lambda: labs.architecture(load_translator(), SENTENCE),
    "stepper": lambda: labs.attention_stepper(load_translator(), SENTENCE),
    "beam stepper": lambda: labs.beam_stepper(load_translator()),
    "head lab": _head_off,
    "mask lab": lambda: labs.mask_lab(load_translator()),
    **{
        f"position lab, {name or 'all'}": partial(_position_lab, name)
        for name in ("pair", "", "offset", "shift", "shuffle")
    },
    "position clock": lambda: position_clock(sinusoidal_encoding(64, 64).numpy(), 3, position=7),
    "softmax lab": lambda: softmax_lab(labels=["the", "cat", "is", "black"], slopes=True),
    "scaling lab": lambda: scaling_lab({d: drawn_scores(d, n_queries=200).numpy() for d in (4, 16, 64, 256)}),
    "schedule lab": lambda: schedule_lab(falling, [0.01, 0.02], [0, 5, 10], [0, 1], level=("ln 35", 3.56)),
    "initial loss lab": lambda: labs.initial_loss_lab(hand_made_starts(), sentence=0, place=1),
    "block lab": lambda: labs.block_lab(load_translator(), SENTENCE, changed=2),
    "embedding map": vt.embedding_map,
    "model summary lab": labs.model_summary_lab,
    "figure lab": lambda: figure_lab(sharpened, {"times": range(3)}),
    "trace switch": lambda: labs.trace_switch({"made": make_trace(), "hostile": hostile_trace()}),
    "tour": lambda: tour(explore(make_trace()), TOUR),
}
#: Pictures of a sentence whose words take two rows in the header.
LONG_STAGED: dict[str, Callable[[], View]] = {
    "linked, long": lambda: _explorer(LONG),
    "matrix, long": lambda: _explorer(LONG, linked=False, picture="matrix"),
    "lines, long": lambda: _explorer(LONG, linked=False, picture="lines"),
    "wall, long": lambda: _explorer(LONG, wall=True),
    "table, long": lambda: _explorer(LONG, linked=False, picture="table"),
    "beam stepper, long": lambda: labs.beam_stepper(load_translator(), LONG, beam_width=8),
}
