"""The beam stepper's and the position lab's requests: Python and the engine reply the same."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

import pytest

import viz_transformer as vt
from tests.support.engine_answers import assert_both_sides_agree
from viz_transformer.corpus import english_spanish
from viz_transformer.widgets.beam_stepper.view import BeamStepper

SENTENCE = "the teacher sleeps"
Request = dict[str, Any]

pytestmark = pytest.mark.usefixtures("shapes_unchecked")  # they would take most of the time


@pytest.fixture(scope="module")
def stepper(translator: vt.Translator) -> BeamStepper:
    return vt.beam_stepper(translator, SENTENCE)


@pytest.fixture(scope="module")
def language_model() -> vt.LanguageModel:
    return vt.load_language_model()


def search(text: str = SENTENCE, beam_width: int = 4, length_penalty: float = 0.6, **more: Any) -> Request:
    return {
        "text": text,
        "method": "beam",
        "beam_width": beam_width,
        "length_penalty": length_penalty,
        **more,
    }


def draw(text: str = SENTENCE, **settings: Any) -> Request:
    free = {"temperature": 1.0, "top_k": None, "top_p": None, "seed": 0}
    return {"text": text, "method": "sample", **free, **settings}


def test_every_width_and_penalty(stepper: BeamStepper) -> None:
    penalties = (0, 0.3, 0.6, 1, 2)
    assert_both_sides_agree(
        stepper, [search(beam_width=w, length_penalty=p) for w in range(1, 9) for p in penalties]
    )


def test_twenty_sentences(stepper: BeamStepper) -> None:
    pairs = english_spanish(n_train=0, n_held_out=20, n_of_a_kind=0).held_out
    texts = [" ".join(pair.source) for pair in pairs]
    assert_both_sides_agree(stepper, [search(text, 1 + n % 8) for n, text in enumerate(texts)])


def test_draws_of_many_seeds_and_filters(stepper: BeamStepper) -> None:
    filters = (
        {},
        {"temperature": 0.5},
        {"temperature": 3.0},
        {"top_k": 3},
        {"top_p": 0.9},
        {"temperature": 2.0, "top_k": 8, "top_p": 0.7},
    )
    longer = "the cow did not cross the street because it was too tired"
    assert_both_sides_agree(
        stepper,
        [
            *(draw(seed=seed, **given) for seed in range(8) for given in filters),
            *(draw(longer, seed=seed, temperature=1.5) for seed in range(5)),
        ],
    )


def test_what_cannot_be_answered(stepper: BeamStepper) -> None:
    texts = ("", "the dragon sleeps", "the techer slepes", "the cat sleeps. the dog sleeps.", "cat " * 80)
    numbers = (
        *({"beam_width": value} for value in (0, -1)),
        *({"length_penalty": value} for value in (-1, -0.5)),
    )
    filters = (
        *({"temperature": value} for value in (0, -1)),
        *({"top_k": value} for value in (0, -2)),
        *({"top_p": value} for value in (0, 1.5)),
        {"seed": -1},
    )
    assert_both_sides_agree(
        stepper,
        [
            *(asked(text) for text in texts for asked in (search, draw)),
            *(search(**given) for given in numbers),
            *(draw(**given) for given in filters),
        ],
    )


def test_checkpoints_by_name(translator: vt.Translator) -> None:
    early = vt.load_translator()
    next(early.model.parameters()).data *= 0.8
    view = vt.beam_stepper({"early": early, "late": translator}, SENTENCE)
    names = ("early", "late")
    assert_both_sides_agree(
        view,
        [
            *(search(checkpoint=name, beam_width=width) for name in names for width in (1, 3)),
            *(draw(checkpoint=name, seed=2) for name in names),
        ],
    )


def test_a_language_model_continues(language_model: vt.LanguageModel) -> None:
    view = vt.beam_stepper(language_model, "el gato")
    texts = ("", "el gato", "las vacas", "la maestra no", "un dragón")
    assert_both_sides_agree(
        view,
        [
            *(search(text, width) for text in texts for width in (1, 2, 5, 8)),
            *(draw(text, seed=seed, top_k=5) for text in texts for seed in range(3)),
        ],
    )


@pytest.mark.parametrize("sentence", ["Maria sees the cat", "the dog sees the cat and the cow"])
def test_words_in_any_order_with_positions_and_without(translator: vt.Translator, sentence: str) -> None:
    view = vt.position_lab(translator, sentence)
    orders = list(permutations(range(len(view.words))))
    if len(orders) > 24:
        orders = Random(0).sample(orders, 8)
    assert_both_sides_agree(
        view,
        [{"order": list(order), "positions_on": on} for order in orders for on in (True, False)],
    )
