"""What the labs ask of a model: Python and the engine reply the same, and refuse in the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from random import Random
from typing import Any

import pytest

import viz_transformer as vt
from tests.support.engine_answers import assert_both_sides_agree, engine_replies
from tests.support.texts import HOSTILE
from tests.support.texts import TEXTS as CORPUS
from viz_transformer.text_model import TextModel
from viz_transformer.widgets.base.view import View

Request = dict[str, Any]
Models = dict[str, TextModel]

#: By task: texts that the bundled model reads, the first at the start of a view.
TEXTS = {
    "translate": [
        "the teacher lost his book",
        "the cow did not cross the street because it was too tired",
        "Maria's friend doesn't sleep!",
        "she runs",
        "¿the cat?",
    ],
    "continue": ["la vaca no cruzó la calle porque estaba demasiado", "el gato", "", "Las maestras, no"],
    "fill": [
        "la vaca no cruzó la calle porque estaba demasiado [?]",
        "el gato ___ duerme",
        "[?] duerme",
        "el <mask> negro",
    ],
}
#: Texts that it does not: an unknown word, two sentences, another language, no word, too many words.
REFUSED = {
    "translate": ["the dragon sleeps", "the techer slepes", "the cat sleeps. the dog sleeps.",
                  "el gato negro duerme", "", "?!", "cat " * 80],
    "continue": ["el dragón", "the black cat", "gato " * 80],
    "fill": ["el dragón [?]", "el gato duerme", "el [?] y el [?]", "[?]", "", "[?] " + "gato " * 80],
}  # fmt: skip
LOADERS = {
    "translate": vt.load_translator,
    "continue": vt.load_language_model,
    "fill": vt.load_masked_model,
}

pytestmark = pytest.mark.usefixtures("shapes_unchecked")  # they would take most of the time


@pytest.fixture(scope="module")
def models() -> Models:
    return {task: load() for task, load in LOADERS.items()}


def places(model: TextModel) -> list[Request]:
    """Every head of a model."""
    return [
        {"kind": kind, "layer": layer, "head": head}
        for kind, n_layers in model.config.attention_layers.items()
        for layer in range(n_layers)
        for head in range(model.config.n_heads)
    ]


def search(text: str = "the teacher sleeps", width: int = 4, penalty: float = 0.6, **more: Any) -> Request:
    return {"text": text, "method": "beam", "beam_width": width, "length_penalty": penalty, **more}


def draw(text: str = "the teacher sleeps", **settings: Any) -> Request:
    free = {"temperature": 1.0, "top_k": None, "top_p": None, "seed": 0}
    return {"text": text, "method": "sample", **free, **settings}


# Each yields views, and what is asked of them.
Asked = Iterator[tuple[View, list[Request]]]


def translations(models: Models) -> Asked:
    typed = ["THE TEACHER LOST HER BOOK", "  the   dog did not cross the street ", "the cat", "¿the cat?"]
    explained = ["The dragon didn't sleep.", "zzz", "The dog runs. the cow sleeps!", "el gato sleeps"]
    sent = [text for text in HOSTILE if "\ud83d" not in text]  # half a character cannot be sent
    texts = [*CORPUS[:96:4], *typed, *explained, *REFUSED["translate"], "cat\tcat " * 40, *sent]
    yield vt.translation_lab(models["translate"], "the black cat sleeps"), [{"text": text} for text in texts]


def beam_searches(models: Models) -> Asked:
    widths = [(width, penalty) for width in range(1, 9) for penalty in (0, 0.3, 0.6, 1, 2)]
    yield (
        vt.beam_stepper(models["translate"], "she runs"),
        [search(text, *each) for text, each in zip(CORPUS, widths, strict=False)],
    )
    early = vt.load_translator()
    next(early.model.parameters()).data *= 0.8
    named = vt.beam_stepper({"early": early, "late": models["translate"]}, "she runs")
    yield named, [search(checkpoint=name, width=w) for name in ("early", "late") for w in (1, 3)]
    yield named, [draw(checkpoint=name, seed=2) for name in ("early", "late")]


def draws(models: Models) -> Asked:
    temperatures = [{}, {"temperature": 0.5}, {"temperature": 3.0}]
    filters = [{"top_k": 3}, {"top_p": 0.9}, {"temperature": 2.0, "top_k": 8, "top_p": 0.7}]
    requests = [draw(CORPUS[seed], seed=seed, **each) for seed in range(8) for each in temperatures + filters]
    yield vt.beam_stepper(models["translate"], "she runs"), requests


def continuations(models: Models) -> Asked:
    texts = ("", "el gato", "las vacas", "la maestra no", "un dragón")
    searched = [search(text, width) for text in texts for width in (1, 2, 8)]
    drawn = [draw(text, seed=seed, top_k=5) for text in texts for seed in range(2)]
    yield vt.beam_stepper(models["continue"], "el gato"), searched + drawn


def searches_that_are_refused(models: Models) -> Asked:
    wrong = [
        *(search(**each) for each in ({"width": 0}, {"width": -1}, {"penalty": -1}, {"penalty": -0.5})),
        *(draw(temperature=value) for value in (0, -1)),
        *(draw(top_k=value) for value in (0, -2)),
        *(draw(top_p=value) for value in (0, 1.5)),
        draw(seed=-1),
    ]
    texts = [ask(text) for text in REFUSED["translate"] for ask in (search, draw)]
    yield vt.beam_stepper(models["translate"], "she runs"), texts + wrong


def words_in_other_orders(models: Models) -> Asked:
    for sentence in ("Maria sees the cat", "the dog sees the cat and the cow"):
        view = vt.position_lab(models["translate"], sentence)
        orders = Random(0).sample(list(permutations(range(len(view.words)))), 8)
        yield (
            view,
            [
                {"words": view.words, "order": list(order), "positions_on": on}
                for order in orders
                for on in (True, False)
            ],
        )


def heads_switched_off(models: Models) -> Asked:
    for model in models.values():
        lab = vt.head_lab(model)
        off = [{**place, "factor": 0.0} for place in places(model)]
        changes = [[], *([each] for each in off), off]
        assert lab.questions()[0] == {"sentence": lab.sentence, "each": 0.0}
        ranking = lab.questions()[0]
        firsts = [place for place in places(model) if place["head"] == 0]
        layers = [{**ranking, "kind": each["kind"], "layer": each["layer"]} for each in firsts]
        yield lab, [ranking, *layers, *({"sentence": lab.sentence, "changes": each} for each in changes)]


def heads_with_any_factors(models: Models) -> Asked:
    random = Random(0)
    for task, model in models.items():
        requests = []
        for text in TEXTS[task]:
            for n_heads in (0, 1, 2, 5):
                chosen = random.sample(places(model), n_heads)
                changes = [{**place, "factor": random.randint(-20, 40) / 20} for place in chosen]
                requests.append({"sentence": text, "changes": changes})
            requests.append({"sentence": text, "each": random.random()})
        yield vt.head_lab(model), requests


def heads_that_are_refused(models: Models) -> Asked:
    for task, model in models.items():
        lab = vt.head_lab(model)
        first = {**places(model)[0], "factor": 0}
        missing = [[{**first, **wrong}] for wrong in ({"layer": 2}, {"head": 4}, {"kind": "sideways"})]
        yield lab, [{"sentence": lab.sentence, "changes": each} for each in (*missing, [first, first])]
        asks = ({"changes": []}, {"each": 0})
        yield lab, [{"sentence": text, **ask} for text in REFUSED[task] for ask in asks]


def layers_step_by_step(models: Models) -> Asked:
    for task, model in models.items():
        texts = [*filter(None, TEXTS[task]), *REFUSED[task]]
        view = vt.attention_stepper(model, texts[0])
        asked = [(text, *place) for text in texts for place in view.places]
        missing = [(texts[0], *place) for place in (("sideways", 0), (view.kind, 2), (view.kind, -1))]
        if task != "translate":
            missing.append((texts[0], "cross", 0))
        # An empty text continues as one that the model writes freely, in which nothing is worked through.
        asked += [*missing, ("", view.kind, 0)]
        yield view, [{"text": text, "kind": kind, "layer": layer} for text, kind, layer in asked]


def layers_under_interventions(models: Models) -> Asked:
    for changes in (
        {"scale": False, "temperature": 2.5},
        {"causal_mask": False, "padding_mask": False},
        {"positions": False},
        {"residual": False},
        {"layer_norm": False},
        {"heads": [vt.HeadChange("encoder", layer=0, head=1, factor=-0.5)]},
        {"heads": [vt.HeadChange("encoder", layer=1, head=3, pattern="uniform")]},
        {"heads": [vt.HeadChange("encoder", layer=0, head=0, pattern=[[1, 0, 0]] * 3)]},
    ):
        interventions = vt.Interventions(**changes)
        view = vt.attention_stepper(models["translate"], "she runs", interventions=interventions)
        texts = ("she runs", "the black cat sleeps")  # of another length than the last pattern
        asked = [(text, *place) for text in texts for place in view.places]
        yield view, [{"text": text, "kind": kind, "layer": layer} for text, kind, layer in asked]


def rooms_of_a_studio(models: Models) -> Asked:
    for task, rooms in (
        ("translate", ("masks", "positions")),
        ("continue", ("heads", "masks")),
        ("fill", ("heads", "masks")),
    ):
        texts = [*filter(None, TEXTS[task]), *REFUSED[task]]
        studio = vt.studio(models[task], texts[0])
        yield studio, [{"text": text, "room": room} for room in rooms for text in texts]
        if task != "translate":
            yield studio.rooms["model"], [{"sentence": text} for text in texts]


EVERY = (
    *(translations, beam_searches, draws, continuations, searches_that_are_refused, words_in_other_orders),
    *(heads_switched_off, heads_with_any_factors, heads_that_are_refused),
    *(layers_step_by_step, layers_under_interventions, rooms_of_a_studio),
)


@pytest.mark.parametrize("ask", EVERY, ids=lambda ask: ask.__name__)
def test_both_sides_reply_the_same(models: Models, ask: Callable[[Models], Asked]) -> None:
    for view, requests in ask(models):
        assert_both_sides_agree(view, requests)


def test_a_suggestion_of_the_page_is_translated(models: Models) -> None:
    lab = vt.translation_lab(models["translate"], "the black cat sleeps")
    (reply,) = engine_replies(lab, [{"text": "The dragon didn't sleep."}])
    texts = [text for _, text in reply["suggestions"]]
    assert reply["problem"]
    assert "the dog did not sleep" in texts
    assert_both_sides_agree(lab, [{"text": text} for text in texts])


def test_a_lab_without_engine_gives_the_same_replies(models: Models) -> None:
    translator = models["translate"]
    assert vt.mask_lab(translator).engine["lab"] == "mask_lab"
    assert vt.mask_lab(translator, engine="kernel").engine == {}
    labs = [vt.translation_lab(translator, "she runs", engine=engine) for engine in (None, "kernel")]
    assert labs[1].engine == {}
    assert labs[0].answer({"text": "the cow runs"}) == labs[1].answer({"text": "the cow runs"})
