"""What holds for every view: words, a picture, a script that stands alone, and refusals of bad values."""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import Any
from unittest import mock

import pytest
import traitlets

from tests.support.attention_steps import random_steps
from tests.support.hand_made_searches import hand_made
from tests.support.hand_made_traces import HOSTILE, hostile_trace
from tests.support.hand_made_trainings import hostile_training
from tests.support.javascript import answers_in_node
from tests.support.ui_views import EVERY_VIEW
from tests.support.view_messages import messages
from viz_transformer.errors import UserError
from viz_transformer.plots import plot_log_probs
from viz_transformer.widgets.attention_stepper.view import AttentionStepper
from viz_transformer.widgets.base.static_fallback import render_static
from viz_transformer.widgets.base.view import View, split_bytes
from viz_transformer.widgets.beam_stepper.view import BeamStepper
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.training_scrubber.view import watch_training

pytestmark = pytest.mark.usefixtures("shapes_unchecked")


@pytest.fixture(scope="module")
def views() -> dict[str, View]:
    """Each view once. The other families' are tested in test_labs_of_families.py."""
    return {name: make() for name, make in EVERY_VIEW.items() if not name.endswith("model")}


def test_every_view_has_a_figure_and_alternative_text(views: dict[str, View]) -> None:
    wrong = {}
    for name, view in views.items():
        text, figure = view.alt_text(), view.figure()
        plain = view._repr_mimebundle_()[0]["text/plain"].rstrip("…")  # ipywidgets may cut it
        if not text or "\n" in repr(view) or not repr(view).startswith(plain):
            wrong[name] = (text, repr(view))
        if figure is None:  # words say all
            if not name.startswith(("prediction", "exercise")):
                wrong[name] = "no figure"
        elif not figure.alt_text or not figure.get_axes():
            wrong[name] = "an empty figure"
    assert not wrong


def test_hostile_words_are_sent_and_drawn_as_text() -> None:
    n = len(HOSTILE)
    steps = random_steps(n, n, kind="encoder", query_tokens=HOSTILE, key_tokens=HOSTILE)
    views: list[View] = [
        explore(hostile_trace(), query=0),
        AttentionStepper(steps, text=HOSTILE[0]),
        BeamStepper(hand_made(HOSTILE)),
        watch_training(hostile_training(), hostile_training(), sentence=1, moment=2),
    ]
    for view in views:
        message, _ = split_bytes(view.get_state())
        json.dumps(message, ensure_ascii=False).encode("utf-8")
        view.figure().canvas.draw()
        told, _ = render_static(view)
        assert "<script" not in told, type(view).__name__
    words = list(HOSTILE)
    plot_log_probs(words, [-1.0] * n, [-2.0] * n).figure.canvas.draw()


def test_the_script_of_every_view_is_one_module_that_imports_nothing(views: dict[str, View]) -> None:
    scripts = {type(view).__name__: view.get_state(["_esm"])["_esm"] for view in views.values()}
    assert len(scripts) > 20
    kinds = answers_in_node(
        {},
        """async (texts) => {
            const load = (text) => import("data:text/javascript," + encodeURIComponent(text));
            const pages = await Promise.all(texts.map(load));
            return pages.map((page) => typeof page.default.render);
        }""",
        list(scripts.values()),
    )
    assert dict(zip(scripts, kinds, strict=True)) == dict.fromkeys(scripts, "function")
    assert [name for name, text in scripts.items() if re.search(r"^import ", text, re.MULTILINE)] == []


def test_a_request_that_fits_no_view_gets_one_line(views: dict[str, View]) -> None:
    wrong = {}
    for name, view in views.items():
        for asked in ({"weather": "tomorrow"}, None, [], 3, "x"):
            sent: list[dict[str, Any]] = []
            with mock.patch.object(view, "send", lambda reply, buffers=(), sent=sent: sent.append(reply)):
                view._on_message(view, {"id": 7, "ask": asked}, [])
            (reply,) = sent
            if reply["id"] != 7 or "\n" in reply.get("error", "\n"):
                wrong[name, str(asked)] = reply
    assert not wrong


HEAD = {"kind": "encoder", "layer": 1, "head": 1, "factor": 0}
NO_FACTOR = [{**HEAD, "factor": wrong} for wrong in (5, math.nan, True)]
NO_HEAD = [{**HEAD, "head": 9}, {**HEAD, "kind": "sideways"}, {"kind": "encoder", "layer": 1, "head": 1}]

#: Of each view: values that do not suit a trait, by what the line says of all of them.
WRONG_VALUES: dict[str, list[tuple[str, list[Any], str]]] = {
    "explorer": [
        ("kind", ["self"], r"kind='self', but this trace holds \['encoder', 'decoder', 'cross'\]"),
        ("layer", [2, -1], "layer=.*, but the cross attention of this trace has 2; choose 0 to 1"),
        ("head", [4], "head=4.*choose 0 to 3"),
        ("head", [1.5, "1", None], "head"),
        ("query", [5], "query=5.*choose 0 to 4"),
        ("key", [-1], "key=-1.*choose 0 to 4"),
        ("selected", [[[0, 4]], [[0, 1, 2]], [0, 1]], "selected holds"),
        ("aggregate", ["sum"], r"aggregate='sum'; choose one of \['head', 'mean', 'max'"),
        ("threshold", [1.5], "threshold=1.5 is no share of attention; give 0 to 1"),
        ("order", ["size"], "order='size'; choose one of"),
        ("pair", ["AB"], "holds no pair of sentences; give segments="),
        ("layer_filter", [[1, 0], [0, 2], [1], [-1, 1]], r"the last layer, at most \[0, 1\]"),
        ("linked_heads", [{"encoder": each} for each in ([2, 0], [0, -1], [0])], "encoder"),
        ("linked_heads", [{"memory": [0, 0]}], "memory"),
        ("text_size", [100, -1], r"0\.5 to 4"),
    ],
    "mask lab": [
        ("kind", ["self"], "kind='self'"),
        ("side", ["both"], "side='both'"),
        ("mistake", ["typo"], "mistake='typo'"),
        ("polarity", ["true"], "polarity='true'"),
        ("edit", ["all"], "edit='all'"),
        ("lengths", [[5], [0, 3], [9, 3], ["x", 3]], "lengths"),
        ("painted", [[[0, 1]], [[-1, 0, 0, True]]], "painted"),
        ("sentence", [2], "sentence=2"),
        ("query", [7], "query=7"),
        ("key", [-1], "key=-1"),
        ("edited", [7, "one"], "edited"),
    ],
    "position lab": [
        ("encoding", ["wavy"], "choose one of sinusoidal"),
        ("pair", [32], "choose 0 to 31"),
        ("position", [-1], "choose 0 to 63"),
        ("offset", [64], "choose -63 to 63"),
        ("shift", [53], "choose 0 to 52"),
        ("order", [[0, 1, 2, 3], [0, 1, 2, 3, 3]], "each of the 5 words once"),
        ("text_size", [9.0], "give 0.5 to 4"),
    ],
    "head lab": [
        ("sentence", ["the dragon sleeps", "", "cat " * 80], "dragon|no word|80 words"),
        ("factors", [[each] for each in NO_FACTOR], "from -1 to 2"),
        ("factors", [[each] for each in NO_HEAD], "no head of this model"),
        ("factors", [[HEAD, HEAD]], "twice"),
        ("kind", ["sideways"], "kind='sideways'"),
        ("layer", [2], "layer=2"),
        ("head", [-1], "head=-1"),
        ("query", [40], "query=40"),
        ("text_size", [9.0], "give 0.5 to 4"),
    ],
    "beam stepper": [
        ("beam_width", [0], "beam_width=0"),
        ("length_penalty", [-1.0, math.inf], "length_penalty="),
        ("temperature", [0.0, math.nan], "temperature="),
        ("top_k", [0], "top_k=0"),
        ("top_p", [1.5], "top_p=1.5"),
        ("seed", [-1], "seed=-1"),
        ("step", [99], "step=99"),
        ("chosen", [-1, 99], "chosen="),
        ("layer", [2], "layer=2"),
        ("head", [4], "head=4"),
        ("method", ["guess"], "method"),
        ("checkpoint", ["late"], "checkpoint"),
        ("sentence", ["the dragon sleeps", ""], "dragon|no word"),
        ("text_size", [9.0], "give 0.5 to 4"),
    ],
    "beam stepper of draws": [
        ("beam_width", [8], "finished"),
        ("method", ["beam"], "finished"),
        ("sentence", ["z"], "finished"),
    ],
    "stepper": [
        ("step", [13], "step=13"),
        ("head", [4], "head=4"),
        ("query", [5], "query=5"),
        ("key", [-1], "key=-1"),
        ("column", [64], "column=64"),
        ("temperature", [0.0], "temperature=0"),
        ("text", ["the dragon"], "dragon"),
        ("kind", ["both"], "both"),
        ("layer", [2], "layer=2"),
    ],
    "stepper by hand": [("text", ["other words"], "no live model")],
    "initial loss lab": [
        ("std", [0.7], "std=0.7 was not measured; choose one of stds: "),
        ("sentence", [2], "sentence=2, but here there are 2"),
        ("place", [3], "place=3, but the sentence has 3"),
    ],
    "architecture": [
        ("sentence", ["the dragon"], "dragon"),
        ("step", [91], "step=91, but the sentence has 91"),
        ("box", ["encoder.2.tokens"], "the boxes are encoder.tokens"),
        ("head", [4], "head=4, but the model has 4"),
        ("row", [5], "row=5, but the sentence has 5"),
        ("pace", [0.1], "give 0.5 to 8"),
        ("depth", ["near"], "choose one of model, layer, block, head"),
        ("layer", [1], "is in no layer"),
    ],
    "embedding map": [("token", ["blorp"], "'blorp' is not a token of this map"), ("zoom", [3], "zoom=3")],
    "block lab": [
        ("sentence", ["the dragon"], "dragon"),
        ("changed", [5], "changed=5, but the sentence has 5"),
        ("layer", [2], "layer=2, but the encoder has 2"),
    ],
    "model summary lab": [
        ("n_source", [0], "n_source=0; give 1 to 1,000"),
        ("d_model", [100], r"choose\(d_model=100, n_heads=5\) sets both"),
        ("n_heads", [7], "n_heads=7 does not divide d_model=96"),
        ("part", [13], "part=13, but the model has 13"),
    ],
    "figure lab": [("places", [[], [3]], "give a place from 0 for each")],
    "head card": [
        ("layer", [2], r"layer=2; choose one of \[0, 1\]"),
        ("head", [2, -1], "but a layer has 2"),
        ("example", [10], "example=10"),
    ],
    "softmax lab": [
        ("scores", [[0, 1]], "give 4 numbers"),
        ("scores", [[0, 1, 2, 5.5], [0, 1, 2, math.nan]], "from -5 to 5"),
        ("times", [3.0], "choose one of"),
    ],
    "scaling lab": [("d_k", [2], "there are scores of"), ("power", [1.5, math.nan], "give 0 to 1")],
    "position clock": [("pair", [8, -1], "this table has"), ("position", [24], "this table has")],
    "schedule lab": [
        ("peak", [0.5], "choose among"),
        ("warmup", [7], "choose among"),
        ("seed", [2], "choose among"),
    ],
    "prediction of a key": [("choice", [7], "7 is not in")],
    "trace switch": [("shown", ["old"], "'old' is not one of")],
    "training scrubber": [
        ("moment", [8, -1], "moment=.*, but here there are 8; choose 0 to 7"),
        ("sentence", [3], "sentence=3, but here there are 3"),
        ("kind", ["both"], r"kind='both', but this training holds \['encoder', 'decoder', 'cross'\]"),
        ("layer", [2], "layer=2, but here there are 2"),
        ("head", [4], "head=4"),
        ("other_layer", [2], "layer=2"),
        ("text_size", [9], "text_size=9; give 0.5 to 4"),
    ],
    "translation lab": [("sentence", ["the dragon"], "dragon")],
    "studio": [
        ("room", ["cellar"], "room='cellar', but the rooms are model, heads, head"),
        ("sentence", ["the dragon", ""], "dragon|no word"),
        ("kind", ["sideways"], "kind='sideways', but the kinds are encoder, decoder, cross"),
        ("layer", [2, -1], "layer=.*, but the cross attention has 2; choose 0 to 1"),
        ("head", [4], "head=4"),
        ("head", [1.5, None], "head"),
        ("query", [5], "query=5"),
        ("text_size", [9.0], "give 0.5 to 4"),
    ],
}
#: What only a cell is refused: the page sets these together with others, or keeps its own first choice.
FROM_CELLS = {
    "architecture": ("layer", "step"),
    "beam stepper of draws": ("beam_width", "method", "sentence"),
    "prediction of a key": ("choice",),
    "studio": ("kind", "layer", "head", "query"),
}


def test_a_value_that_does_not_suit_is_refused_and_changes_nothing(views: dict[str, View]) -> None:
    """In a cell and in a message from the page; the page is sent nothing."""
    wrong = {}
    for name, rows in WRONG_VALUES.items():
        view = views[name]
        before = view.get_state()
        cases = [(trait, value, said) for trait, values, said in rows for value in values]
        for (trait, value, said), way in itertools.product(cases, ("cell", "page")):
            if way == "page" and trait in FROM_CELLS.get(name, ()):
                continue
            row = (name, trait, str(value)[:40], way)
            with messages(view) as sent:
                try:
                    setattr(view, trait, value) if way == "cell" else view.set_state({trait: value})
                except (UserError, traitlets.TraitError) as error:
                    if "\n" in str(error) or not re.search(said, str(error)):
                        wrong[row] = str(error)
                else:
                    wrong[row] = "taken"
            if view.get_state() != before or sent:
                wrong[row] = f"changed, or sent {sent}"
    assert not wrong
