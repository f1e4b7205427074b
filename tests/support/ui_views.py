"""One of each view, from a live translator, for the tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

import viz_transformer as vt
from tests.support.hand_made_starts import hand_made_starts
from tests.support.hand_made_traces import hostile_trace, make_trace
from tests.support.hand_made_trainings import make_training
from tests.support.spanish_models import small_config, small_language_model, small_masked_model
from viz_transformer.exercises import exercise
from viz_transformer.exercises.answer_types import Choice, Exercise, Function
from viz_transformer.exercises.forms import form_of
from viz_transformer.experiments.saturation import drawn_scores
from viz_transformer.model import DecoderOnly
from viz_transformer.model.positional import sinusoidal_encoding
from viz_transformer.plots import plot_softmax
from viz_transformer.training import make_model
from viz_transformer.translator import load_translator
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.beam_stepper.view import BeamStepper
from viz_transformer.widgets.class_predictions import ClassPredictions
from viz_transformer.widgets.exercise_form import ExerciseForm
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.figure_lab.view import figure_lab
from viz_transformer.widgets.position_clock.live import position_clock
from viz_transformer.widgets.prediction import Prediction
from viz_transformer.widgets.scaling_lab import scaling_lab
from viz_transformer.widgets.schedule_lab import schedule_lab
from viz_transformer.widgets.softmax_lab import softmax_lab
from viz_transformer.widgets.tour import tour
from viz_transformer.widgets.training_scrubber.view import watch_training

SENTENCE = "the black cat sleeps"
SPANISH = "el gato negro duerme"
#: Two beginnings of as many words, whose ends agree with *gato* and with *vaca*.
PATCHED = (
    "el gato negro no cruzó la calle porque estaba muy",
    "la vaca negra no cruzó la calle porque estaba muy",
)

TOUR = [
    {"caption": "Where “gato” looks.", "state": {"layer": 1, "head": 2, "query": 1}},
    {"caption": "The encoder.", "state": {"kind": "encoder", "layer": 0, "head": 0, "query": None}},
]


def tanh_scores(query: Tensor, key: Tensor, v: Tensor) -> Tensor:
    """Return additive scores: an answer in code, as lines to put in order."""
    pairs = query.unsqueeze(-2) + key.unsqueeze(-3)  # [query, key, d]
    return torch.tanh(pairs) @ v


SCORES = Function(tanh_scores, lambda _: ())
IN_ORDER = Exercise("x.1", "Order the lines", SCORES)
WITH_GAPS = Exercise("x.2", "Fill the gap", SCORES, lines="a ___ b", gaps=(Choice("@", ["*", "@"], []),))


#: What a class answered to two predictions.
CLASS = [
    {
        "name": "3.p1",
        "question": "The scores are 0 and 2. About how much of the weight does the larger one get?",
        "options": ["50%", "67%", "88%", "100%"],
        "first": [2, 13, 7, 2],
        "after": [0, 4, 19, 1],
        "right": 2,
    },
    {
        "name": "3.p2",
        "question": "By which factor do the weights change?",
        "options": ["0.5 to 1", "1 to 1.5"],
        "first": [9, 15],
        "after": [0, 0],
        "right": None,
    },
]


def sharpened(times: int) -> Figure:
    """Draw two scores and their weights."""
    return plot_softmax([0.0, float(times)], ["black", "cat"])


def answered(prediction: Prediction, guess: Any) -> View:
    """Return a prediction with its guess."""
    prediction.guess = guess
    return prediction


def falling(peak: float, warmup: int, seed: int) -> list[float]:
    """Return losses that fall, later with a longer warm-up."""
    return [3.5 / (1 + 100 * peak * max(0, step - warmup)) + 0.01 * seed for step in range(50)]


def direct_shares() -> View:
    """Return a view of what each head of a small model adds to a logit."""
    words = small_language_model().vocabulary
    config = small_config(family="decoder", vocab_size=len(words), norm="pre", n_heads=4)
    model = make_model(config, 0, DecoderOnly)
    return vt.explore_attribution(
        vt.attribution.direct_logit_attribution(model, "el gato negro", tokenizer=words, metric=("la", "el"))
    )


#: Each kind of view, in each state that looks unlike the others.
EVERY_VIEW: dict[str, Callable[[], View]] = {
    "explorer": lambda: explore(make_trace(), query=1, key=2),
    "explorer of hostile tokens": lambda: explore(hostile_trace(), query=0),
    "wall of heads": lambda: explore(make_trace(), wall=True),
    "stepper by hand": vt.thinking_machines,
    "stepper": lambda: vt.attention_stepper(load_translator(), SENTENCE),
    "mask lab": lambda: vt.mask_lab(load_translator()),
    "position lab": lambda: vt.position_lab(load_translator()),
    "head lab": lambda: vt.head_lab(load_translator(), SENTENCE),
    "beam stepper": lambda: vt.beam_stepper(load_translator()),
    "beam stepper of draws": lambda: BeamStepper(load_translator().sample(SENTENCE, 2.0)),
    "mask lab of a masked language model": lambda: vt.mask_lab(small_masked_model(), [SPANISH, "la gata"]),
    "head lab of a language model": lambda: vt.head_lab(small_language_model(), "el gato"),
    "head lab of a masked language model": lambda: vt.head_lab(small_masked_model(), "el [?] negro duerme"),
    "beam stepper of a language model": lambda: vt.beam_stepper(small_language_model(), "el gato"),
    "translation lab": lambda: vt.translation_lab(load_translator(), SENTENCE),
    "trace switch": lambda: vt.trace_switch({"made": make_trace(), "hostile": hostile_trace()}),
    "tour": lambda: tour(explore(make_trace()), TOUR),
    "studio": lambda: vt.studio(load_translator(), SENTENCE),
    "studio at one head": lambda: vt.studio(load_translator(), SENTENCE, room="head"),
    "studio of a language model": lambda: vt.studio(small_language_model(), "el gato", room="model"),
    "initial loss lab": lambda: vt.initial_loss_lab(hand_made_starts(), sentence=0, place=1),
    "architecture": lambda: vt.architecture(load_translator(), SENTENCE),
    "architecture at work": lambda: vt.architecture(load_translator(), SENTENCE, step=46),
    "architecture of a language model": lambda: vt.architecture(small_language_model(), "el gato"),
    "architecture of a masked language model": lambda: vt.architecture(small_masked_model(), "el [?] negro"),
    "embedding map": lambda: vt.embedding_map(load_translator()),
    "block lab": lambda: vt.block_lab(load_translator(), SENTENCE, changed=2),
    "model summary lab": lambda: vt.model_summary_lab(d_model=96, n_heads=6),
    "causes": lambda: vt.patch_lens(small_language_model(), "el gato", "la gata"),
    "lens of a language model": lambda: vt.explore_lens(
        vt.attribution.logit_lens(
            small_language_model().model, "el gato", tokenizer=small_language_model().vocabulary
        )
    ),
    "direct shares": direct_shares,
    "figure lab": lambda: figure_lab(sharpened, {"times": range(3)}),
    "head card": lambda: vt.head_card(small_language_model(), ["el gato duerme", "el gato negro duerme"]),
    "softmax lab": lambda: softmax_lab(labels=["the", "cat", "is", "black"], slopes=True),
    "scaling lab": lambda: scaling_lab({d_k: drawn_scores(d_k, n_queries=100) for d_k in (1, 8, 64)}),
    "position clock": lambda: position_clock(sinusoidal_encoding(24, 16).numpy(), 2, position=7),
    "schedule lab": lambda: schedule_lab(falling, [0.01, 0.02], [0, 5], [0, 1], level=("ln 35", 3.56)),
    "prediction of a number": lambda: vt.predict_number("How many heads?", 8, unit="heads"),
    "prediction of a choice": lambda: vt.predict_choice("Which word?", ["el", "gato"], "gato"),
    "prediction of a row": lambda: vt.predict_row("Where?", ["el", "gato"], [0.1, 0.9]),
    "prediction of a row, answered": lambda: answered(
        vt.predict_row("Where?", ["el", "gato"], [0.1, 0.9]), [0.5, 0.5]
    ),
    "prediction of a key": lambda: vt.prediction(
        make_trace(), "Where does it look?", kind="cross", layer=0, head=0, query=0
    ),
    "prediction of a sentence": lambda: vt.explain("Why √d_k?", "Softmax saturates.", name="3.e1"),
    "prediction of a sentence, compared": lambda: answered(
        vt.explain("Why divide by √d_k?", "So that softmax does not saturate."), "Scores grow with d_k."
    ),
    "exercise form": lambda: ExerciseForm(form_of(exercise("1.1"))),
    "exercise form of a row": lambda: ExerciseForm(form_of(exercise("4.1"))),
    "exercise form of a mask": lambda: ExerciseForm(form_of(exercise("8.1"))),
    "exercise form of a choice": lambda: ExerciseForm(form_of(exercise("6.1"))),
    "exercise form of a repair": lambda: ExerciseForm(form_of(exercise("clinic.12"))),
    "exercise form of lines": lambda: ExerciseForm(form_of(IN_ORDER)),
    "exercise form of gaps": lambda: ExerciseForm(form_of(WITH_GAPS)),
    "class predictions": lambda: ClassPredictions(CLASS, 24, 3, 1),
    "training scrubber": lambda: watch_training(make_training(), make_training("b", seed=9)),
}


def class_names(view: type[View] = View) -> Iterator[str]:
    """The name of every class of view that the package has and that no other one builds upon.

    Traitlets gives each widget a class of its own, beneath the one that it is made of and with its
    name: those count as one.
    """
    others = [each for each in view.__subclasses__() if each.__name__ != view.__name__]
    if not others and view.__module__.startswith("viz_transformer."):
        yield view.__name__
    for other in others:
        yield from class_names(other)
