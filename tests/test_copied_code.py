"""*Copy as Python*: the lines that an inspector offers make the same view, with the same things chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import viz_transformer as vt
from tests.support.causal_models import byte_tokenizer, gpt2
from tests.support.hand_made_starts import hand_made_starts
from tests.support.hand_made_traces import hostile_trace, make_trace
from tests.support.hand_made_trainings import make_training
from tests.support.javascript import answers_in_node
from tests.support.spanish_models import small_language_model, small_masked_model
from tests.support.ui_views import EVERY_VIEW, falling, sharpened
from viz_transformer.experiments.saturation import drawn_scores
from viz_transformer.model.positional import sinusoidal_encoding
from viz_transformer.widgets.base.state_traits import state_traits
from viz_transformer.widgets.base.view import View

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

LINES = "([made, traits]) => linesOf(made, (name) => traits[name])"

#: What stands for the names in the lines, by view.
GIVEN: dict[str, Callable[[Any], dict[str, Any]]] = {
    "explorer": lambda _: {"trace": make_trace()},
    "explorer of hostile tokens": lambda _: {"trace": hostile_trace()},
    "wall of heads": lambda _: {"trace": make_trace()},
    "trace switch": lambda _: {"traces": {"made": make_trace(), "hostile": hostile_trace()}},
    "figure lab": lambda _: {"draw": sharpened, "controls": {"times": range(3)}},
    "scaling lab": lambda _: {"scores": {d_k: drawn_scores(d_k, n_queries=100) for d_k in (1, 8, 64)}},
    "position clock": lambda _: {"table": sinusoidal_encoding(24, 16).numpy()},
    "schedule lab": lambda _: {"train": falling, "peaks": [0.01, 0.02], "warmups": [0, 5], "seeds": [0, 1]},
    "training scrubber": lambda _: {"training": make_training(), "other": make_training("b", seed=9)},
    "initial loss lab": lambda _: {"model": hand_made_starts()},
    "causes": lambda _: {"model": small_language_model(), "clean": "el gato", "corrupted": "la gata"},
    "head card": lambda _: {
        "model": small_language_model(),
        "texts": ["el gato duerme", "el gato negro duerme"],
    },
    "lens of a language model": lambda view: {"lens": view._find("lens")},
    "direct shares": lambda view: {"parts": view._find("direct")},
}

#: What a viewer chooses besides, by view.
CHOSEN: dict[str, dict[str, Any]] = {
    "explorer": {
        "kind": "decoder",
        "layer": 1,
        "head": 3,
        "query": 2,
        "picture": "table",
        "search": 'a"\\\n',
    },
    "explorer of hostile tokens": {"linked": False, "threshold": 0.25, "selected": [[0, 1], [0, 0]]},
    "wall of heads": {"label_filter": ["", "previous token"], "layer_filter": [0, 1], "order": "entropy"},
    "trace switch": {"shown": "hostile", "kind": "encoder", "head": 1, "colour_scale": "log"},
    "stepper": {"kind": "decoder", "layer": 0, "head": 2, "temperature": 0.5, "step": 3, "column": 1},
    "head lab": {
        "factors": [{"kind": "decoder", "layer": 1, "head": 2, "factor": 0.5}],
        "sentence": "the cat sleeps",
    },
    "mask lab": {"painted": [[0, 0, 1, 2]], "causal": True, "query": 3},
    "architecture": {"sentence": "the dog sees the cat", "step": 12},
    "softmax lab": {"scores": [1.5, -2.0, 0.0, 3.0], "times": 2.0},
    "scaling lab": {"power": 0.5},
    "embedding map": {"token": "cat", "zoom": 2},
}

MARY, JOHN = " when Mary gave John the cat", " when John gave Mary the cat"

#: Views on the stage, whose inspectors offer the lines; these know no sentences that a mask lab was given and
#: no files of a class.
NAMES = [
    name
    for name in EVERY_VIEW
    if not name.startswith(
        ("exercise", "prediction", "tour", "studio", "translation", "mask lab of", "class")
    )
]


def copied(view: View) -> list[str]:
    """The lines that the page offers."""
    known = {name: getattr(view, name) for name in state_traits(view)}
    state = {name: value for name, value in known.items() if not has_bytes(value)}
    return answers_in_node({"linesOf": "widgets/base/made.ts"}, LINES, [view.made, state])


def has_bytes(value: Any) -> bool:
    return isinstance(value, bytes) or (isinstance(value, dict) and any(map(has_bytes, value.values())))


@pytest.mark.parametrize("name", NAMES)
def test_the_lines_make_the_same_view(name: str) -> None:
    view = EVERY_VIEW[name]()
    for trait, value in CHOSEN.get(name, {}).items():
        setattr(view, trait, value)
    family = name.partition(" of a ")[2]
    model = {"language model": small_language_model, "masked language model": small_masked_model}
    names: dict[str, Any] = {
        "vt": vt,
        "model": model.get(family, vt.load_translator)(),
        **GIVEN.get(name, lambda _: {})(view),
    }
    lines = copied(view)
    exec("\n".join(lines), names)
    made = names["view"]
    wanted, found = ({each: getattr(one, each) for each in state_traits(view)} for one in (view, made))
    assert found == wanted, lines
    assert all(len(line) < 200 for line in lines)


#: Of a model of Hugging Face's, and what the reader gave besides.
THEIRS: dict[str, tuple[Callable[[Any, Any], View], str, dict[str, Any]]] = {
    "stepper": (
        lambda model, words: vt.attention_stepper(model, MARY, tokenizer=words, query="gave"),
        f'vt.attention_stepper(model, "{MARY}", tokenizer=tokenizer)',
        {"temperature": 0.5},
    ),
    "beam stepper": (
        lambda model, words: vt.beam_stepper(model, MARY, tokenizer=words, max_new_tokens=3),
        f'vt.beam_stepper(model, "{MARY}", tokenizer=tokenizer, max_new_tokens=3)',
        {"beam_width": 2},
    ),
    "embedding map": (
        lambda model, words: vt.embedding_map(model, "Mary", tokenizer=words),
        "vt.embedding_map(model, tokenizer=tokenizer)",
        {"zoom": 2},
    ),
    "architecture": (
        lambda model, words: vt.architecture(model, MARY, tokenizer=words),
        f'vt.architecture(model, "{MARY}", tokenizer=tokenizer)',
        {"sentence": f"{MARY} gave", "step": 9},
    ),
    "head lab": (
        lambda model, words: vt.head_lab(model, MARY, tokenizer=words, metric=(" Mary", " John")),
        f'vt.head_lab(model, "{MARY}", tokenizer=tokenizer)',
        {"head": 1},
    ),
    "patch lens": (
        lambda model, words: vt.patch_lens(model, MARY, JOHN, (" Mary", " John"), tokenizer=words),
        "vt.patch_lens(model, clean, corrupted, metric=(' Mary', ' John'), tokenizer=tokenizer)",
        {"picture": "heads"},
    ),
    "patch lens of a function": (
        lambda model, words: vt.patch_lens(model, MARY, JOHN, first_logit, tokenizer=words, kind="decoder"),
        "vt.patch_lens(model, clean, corrupted, metric=metric, tokenizer=tokenizer, kind='decoder')",
        {},
    ),
    "head card": (
        lambda model, words: vt.head_card(model, [MARY, JOHN], layer=1, head=0, tokenizer=words),
        "vt.head_card(model, texts, layer=1, head=0, tokenizer=tokenizer)",
        {},
    ),
    "studio": (
        lambda model, words: vt.studio(model, MARY, tokenizer=words, room="head")._open("head"),
        f'vt.attention_stepper(model, "{MARY}", tokenizer=tokenizer)',
        {"step": 2},
    ),
}


@pytest.mark.parametrize("name", THEIRS)
def test_the_lines_have_the_tokenizer_and_the_metric(name: str) -> None:
    words = byte_tokenizer(f"{MARY} {JOHN}")
    model = gpt2(len(words))
    make, call, chosen = THEIRS[name]
    view = make(model, words)
    given = {"clean": MARY, "corrupted": JOHN, "metric": first_logit, "texts": [MARY, JOHN]}
    assert copied(view)[0] == f"view = {call}"
    for trait, value in chosen.items():
        setattr(view, trait, value)
    names: dict[str, Any] = {"vt": vt, "model": model, "tokenizer": words, **given}
    exec("\n".join(copied(view)), names)
    wanted, found = (
        {each: getattr(one, each) for each in state_traits(view)} for one in (view, names["view"])
    )
    assert found == wanted


def first_logit(logits: Any) -> Any:
    return logits[-1, 0]


def test_a_picture_at_its_end_and_parts_of_scores_need_no_lines() -> None:
    words = byte_tokenizer(MARY)
    picture = vt.architecture(gpt2(len(words)), MARY, tokenizer=words)
    picture.sentence = f"{MARY} gave"
    picture.step = len(picture.steps) - 1
    assert len(copied(picture)) == 1
    explorer = vt.explore(make_trace(), score_parts=vt.attribution.score_parts)
    assert not any("has_parts" in line for line in copied(explorer))


def test_the_lines_are_short() -> None:
    view = vt.explore(make_trace(n_layers=20), kind="decoder", layer=16, query=4, linked=False)
    assert copied(view) == [
        "view = vt.explore(trace)",
        *(f"view.{name} = {value}" for name, value in (("kind", '"decoder"'), ("picture", '"matrix"'))),
        *(f"view.{name} = False" for name in ("wall", "linked")),
        *("view.layer = 16", "view.query = 4"),
    ]
