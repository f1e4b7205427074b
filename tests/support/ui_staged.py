"""The views that stand on the stage, each in every picture that it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import viz_transformer as vt
from tests.support.hand_made_starts import hand_made_starts
from tests.support.hand_made_traces import hostile_trace, make_trace, vision_trace
from tests.support.hand_made_trainings import make_training, validated
from tests.support.ui_views import (
    EVERY_VIEW,
    PATCHED,
    SENTENCE,
    TOUR,
    answered,
    direct_shares,
    falling,
    sharpened,
)
from viz_transformer.experiments.saturation import drawn_scores
from viz_transformer.model.positional import sinusoidal_encoding
from viz_transformer.translator import load_translator
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.figure_lab import figure_lab
from viz_transformer.widgets.position_clock.live import position_clock
from viz_transformer.widgets.scaling_lab import scaling_lab
from viz_transformer.widgets.schedule_lab import schedule_lab
from viz_transformer.widgets.softmax_lab import softmax_lab
from viz_transformer.widgets.tour import tour

LONG = "the animal did not cross the street because it was too tired"


def _explorer(text: str = SENTENCE, **traits: Any) -> View:
    return explore(load_translator().trace(text), **traits)


def _head_off() -> View:
    lab = vt.head_lab(load_translator(), "the teacher lost his book")
    lab.factors = [{"kind": "encoder", "layer": 1, "head": 1, "factor": 0}]
    return lab


def _causes(picture: str) -> View:
    view = vt.patch_lens(vt.load_language_model(), *PATCHED)
    view.picture = picture
    return view


def _position_lab(chapter: str) -> View:
    view = vt.position_lab(load_translator())
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
    "translation lab": lambda: vt.translation_lab(load_translator(), SENTENCE),
    "architecture": lambda: vt.architecture(load_translator(), SENTENCE),
    "stepper": lambda: vt.attention_stepper(load_translator(), SENTENCE),
    "beam stepper": lambda: vt.beam_stepper(load_translator()),
    "head lab": _head_off,
    "head card": partial(vt.head_card, n_texts=30),
    "head card of cross-attention": lambda: vt.head_card(load_translator(), n_texts=30),
    "mask lab": lambda: vt.mask_lab(load_translator()),
    **{
        f"position lab, {name or 'all'}": partial(_position_lab, name)
        for name in ("pair", "", "offset", "shift", "shuffle")
    },
    "position clock": lambda: position_clock(sinusoidal_encoding(64, 64).numpy(), 3, position=7),
    "softmax lab": lambda: softmax_lab(labels=["the", "cat", "is", "black"], slopes=True),
    "scaling lab": lambda: scaling_lab({d: drawn_scores(d, n_queries=200).numpy() for d in (4, 16, 64, 256)}),
    "schedule lab": lambda: schedule_lab(falling, [0.01, 0.02], [0, 5, 10], [0, 1], level=("ln 35", 3.56)),
    "initial loss lab": lambda: vt.initial_loss_lab(hand_made_starts(), sentence=0, place=1),
    "block lab": lambda: vt.block_lab(load_translator(), SENTENCE, changed=2),
    "embedding map": vt.embedding_map,
    "model summary lab": vt.model_summary_lab,
    "training scrubber": lambda: vt.watch_training(vt.load_training("en-es")),
    "training scrubber of two": lambda: vt.watch_training(
        validated(make_training()), validated(make_training("b", seed=9))
    ),
    **{f"causes, {name}": partial(_causes, name) for name in ("positions", "heads", "lens")},
    "causes, direct": direct_shares,
    "figure lab": lambda: figure_lab(sharpened, {"times": range(3)}),
    "trace switch": lambda: vt.trace_switch({"made": make_trace(), "hostile": hostile_trace()}),
    "class predictions": EVERY_VIEW["class predictions"],
    "tour": lambda: tour(explore(make_trace()), TOUR),
}


#: Predictions and exercises, which are cards in a text, asked and answered.
CARDS: dict[str, Callable[[], View]] = {
    **{name: make for name, make in EVERY_VIEW.items() if name.startswith(("prediction", "exercise"))},
    **{
        f"{kind}, answered": lambda kind=kind, guess=guess: answered(
            EVERY_VIEW[f"prediction of a {kind}"](), guess
        )
        for kind, guess in (("number", 16), ("choice", "el"), ("key", 1))
    },
}
#: Pictures of a sentence whose words take two rows in the header.
LONG_STAGED: dict[str, Callable[[], View]] = {
    "linked, long": lambda: _explorer(LONG),
    "matrix, long": lambda: _explorer(LONG, linked=False, picture="matrix"),
    "lines, long": lambda: _explorer(LONG, linked=False, picture="lines"),
    "wall, long": lambda: _explorer(LONG, wall=True),
    "table, long": lambda: _explorer(LONG, linked=False, picture="table"),
    "beam stepper, long": lambda: vt.beam_stepper(load_translator(), LONG, beam_width=8),
}
