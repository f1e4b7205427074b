"""The head lab's and the attention stepper's requests: Python and the engine reply the same."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import viz_transformer as vt
from tests.support.engine_answers import assert_both_sides_agree
from viz_transformer.text_model import TextModel

#: By task: texts that the bundled model reads, the first at the start of a view.
TEXTS = {
    "translate": [
        "the teacher lost his book",
        "the cow did not cross the street because it was too tired",
        "Maria's friend doesn't sleep!",
        "she runs",
        "¿the cat?",
    ],
    "continue": [
        "la vaca no cruzó la calle porque estaba demasiado",
        "el gato",
        "",
        "Las maestras, no",
    ],
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
each_task = pytest.mark.parametrize("task", list(TEXTS))

pytestmark = pytest.mark.usefixtures("shapes_unchecked")  # they would take most of the time


@pytest.fixture(scope="module")
def models() -> dict[str, TextModel]:
    return {task: load() for task, load in LOADERS.items()}


def places(model: TextModel) -> list[dict[str, Any]]:
    """Every head of a model."""
    return [
        {"kind": kind, "layer": layer, "head": head}
        for kind, n_layers in model.config.attention_layers.items()
        for layer in range(n_layers)
        for head in range(model.config.n_heads)
    ]


@each_task
def test_each_head_switched_off_and_all_of_them_together(models, task: str) -> None:
    lab = vt.head_lab(models[task])
    off = [{**place, "factor": 0.0} for place in places(models[task])]
    changes = [[], *([each] for each in off), off]
    assert_both_sides_agree(lab, [{"sentence": lab.sentence, "changes": each} for each in changes])
    assert lab.questions()[0] == {"sentence": lab.sentence, "each": 0.0}
    assert_both_sides_agree(lab, lab.questions()[:1])


@each_task
def test_any_text_any_heads_and_any_factors(models, task: str) -> None:
    lab = vt.head_lab(models[task])
    random = Random(0)
    requests = []
    for sentence in TEXTS[task]:
        for n_heads in (1, 2, 5):
            chosen = random.sample(places(models[task]), n_heads)
            changes = [{**place, "factor": random.randint(-20, 40) / 20} for place in chosen]
            requests.append({"sentence": sentence, "changes": changes})
        requests += [{"sentence": sentence, "changes": []}, {"sentence": sentence, "each": random.random()}]
    assert_both_sides_agree(lab, requests)


@each_task
def test_texts_and_heads_that_the_head_lab_refuses(models, task: str) -> None:
    lab = vt.head_lab(models[task])
    (kind, *_) = models[task].config.attention_layers
    missing = [
        {"kind": kind, "layer": 2, "head": 0, "factor": 0},
        {"kind": kind, "layer": 0, "head": 4, "factor": 0},
        {"kind": "sideways", "layer": 0, "head": 0, "factor": 0},
    ]
    assert_both_sides_agree(
        lab,
        [
            *({"sentence": text, "changes": []} for text in REFUSED[task]),
            *({"sentence": text, "each": 0} for text in REFUSED[task]),
            *({"sentence": lab.sentence, "changes": [change]} for change in missing),
            {"sentence": lab.sentence, "changes": [{**places(models[task])[0], "factor": 0}] * 2},
        ],
    )


@each_task
def test_every_layer_of_every_text(models, task: str) -> None:
    texts = [text for text in TEXTS[task] if text]
    view = vt.attention_stepper(models[task], texts[0])
    requests = [
        {"text": text, "kind": kind, "layer": layer}
        for text in [*texts, *REFUSED[task]]
        for kind, layer in view.places
    ]
    assert_both_sides_agree(view, requests)
    # An empty text continues as one that the model writes freely, in which nothing is worked through.
    assert_both_sides_agree(view, [{"text": "", "kind": view.kind, "layer": 0}])


@each_task
def test_layers_that_are_not_there(models, task: str) -> None:
    view = vt.attention_stepper(models[task], TEXTS[task][0])
    missing = [("sideways", 0), (view.kind, 2), (view.kind, -1)]
    if task != "translate":
        missing.append(("cross", 0))
    assert_both_sides_agree(
        view, [{"text": view.text, "kind": kind, "layer": layer} for kind, layer in missing]
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"scale": False, "temperature": 2.5},
        {"causal_mask": False, "padding_mask": False},
        {"positions": False},
        {"residual": False},
        {"layer_norm": False},
        {"heads": [vt.HeadChange("encoder", layer=0, head=1, factor=-0.5)]},
        {"heads": [vt.HeadChange("encoder", layer=1, head=3, pattern="uniform")]},
        {"heads": [vt.HeadChange("encoder", layer=0, head=0, pattern=[[1, 0, 0]] * 3)]},
    ],
    ids=str,
)
def test_a_stepper_made_with_interventions(models, changes: dict[str, Any]) -> None:
    interventions = vt.Interventions(**changes)
    view = vt.attention_stepper(models["translate"], "she runs", interventions=interventions)
    requests = [
        {"text": text, "kind": kind, "layer": layer}
        for text in ("she runs", "the black cat sleeps")  # of another length than the last pattern
        for kind, layer in view.places
    ]
    assert_both_sides_agree(view, requests)
