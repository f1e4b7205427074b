"""What the notebook that goes further on decoding says, held to its own cells and its translators."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.lessons import Lesson
from viz_transformer.analysis import reliability
from viz_transformer.corpus import translation_tokens
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.exercises import exercise
from viz_transformer.recipes.grammar_eval import evaluate_against_grammar
from viz_transformer.translator import Translator

LESSON = Lesson("decoding")
SENTENCE = "the teacher sleeps"


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    """The names that the lesson's code cells leave behind, unanswered."""
    return LESSON.run_whole()


def test_greedy_search_misses_the_best_text_and_the_cache_changes_nothing(lesson: dict) -> None:
    tokens = lesson["vocabulary"].tokens
    assert [tokens[i] for i in lesson["read"]] == ["<sos>", "el", "profesor", "duerme"]
    assert lesson["word"] == lesson["vocabulary"].eos_id
    assert lesson["translator"].translate(SENTENCE, beam_width=1).text == "el profesor duerme"
    for step, words in enumerate((["el", "la"], ["profesor", "maestro"])):
        best = lesson["logits"][step][0].topk(2).indices
        assert [tokens[i] for i in best] == words
    for logits in lesson["logits"][2:]:  # nothing left to choose
        assert logits[0].softmax(-1).max() > 0.99
    # The cache changes nothing but the last digits.
    assert lesson["difference"] < 1e-4
    assert [*lesson["cache"].layers[0].target.keys.shape] == [1, 4, 4, 16]
    given = inspect.signature(Translator.translate).parameters
    width, penalty = given["beam_width"].default, given["length_penalty"].default
    row = f"| our translator | beam width {width}, length penalty {penalty} | its defaults |"
    assert row in LESSON["remember"]


def test_the_exercise_asks_for_the_gap_by_which_la_misses_a_beam_of_one(lesson: dict) -> None:
    first, second, *_ = lesson["translator"].decode(SENTENCE, 1, 0.0).steps
    el, la = first.candidates
    asked = exercise("decoding.2").wanted
    assert (la.token, la.status) == ("la", "pruned")
    assert asked.value == pytest.approx(la.margin, abs=0.003)
    maestro = second.candidates[1]
    wide = lesson["translator"].decode(SENTENCE, 2, 0.0).steps[0].candidates
    p_el, p_la = math.exp(el.log_prob), math.exp(la.log_prob)
    wrong = [la.log_prob, maestro.margin, wide[2].margin, p_el - p_la, p_la, -la.margin]
    assert maestro.token == "maestro"
    assert [mistake.answer for mistake in asked.mistakes] == pytest.approx(wrong, abs=0.005)
    assert f"({math.log(0.55 / 0.45):.2f} in the grammar itself)" in asked.right


def test_hello_world_needs_more_and_not_too_much(lesson: dict) -> None:
    unsure = lesson["unsure"]
    found = [unsure.translate("hello world", 3, penalty).text for penalty in (0, 0.6, 1, 6)]
    assert found == ["mundo", "mundo", "hola mundo", "hola hola mundo"]
    totals = [unsure.log_probs("hello world", text).sum() for text in ("mundo", "hola mundo")]
    tied = exercise("decoding.3").wanted.reference(totals[0], 1, totals[1], 2)
    assert f"the first crossing in the picture, {tied:.2f}." in LESSON.prose
    curves = [lesson["scores_of"](text) for text in lesson["texts"]]
    best = [max(range(3), key=lambda n: curves[n][at]) for at in (0, 20, 120)]
    assert best == [0, 1, 2]  # penalties 0, 1 and 6
    found = {" ".join(one.tokens): one.score for one in unsure.decode("good morning", 3, 0.0).hypotheses}
    tied = exercise("decoding.3").wanted.reference(found["buenos"], 1, found["buenos dias"], 2)
    assert f"it is {tied:.2f}," in exercise("decoding.3").wanted.right


def test_the_careless_search_has_the_four_mistakes(lesson: dict) -> None:
    finished, decode = lesson["finished"], lesson["tokens"].decode
    assert len(finished) > 40
    assert len({tuple(ids) for ids, _ in finished}) == 3
    assert decode(max(finished, key=lambda one: one[1])[0]) == "buenos"
    ours = lesson["ours"]
    assert (len(ours.hypotheses), len(ours.steps)) == (3, 3)
    assert f"this one ran {20 - len(ours.steps)} more" in LESSON.prose
    assert lesson["tokens"].sos_id in {ids[-1] for ids, _ in lesson["wide_beam"]}
    # And yet it is right for most of the six sentences.
    definition = "def " + LESSON["careless"].partition("def ")[2].partition("\n\n\nfinished")[0]
    right = 0
    for pair in SIX_PAIRS:
        english = torch.tensor([lesson["tokens"].source_ids(" ".join(pair.source))])
        names = {**lesson, "english": english}
        exec(definition, names)
        best = max(names["careless_beam"](3)[0], key=lambda one: one[1])[0]
        right += decode(best) == " ".join(pair.target)
    assert right == 4


def test_temperature_and_filters_change_the_samples(lesson: dict) -> None:
    plain, cold, hot, top_k, top_p, greedy = lesson["counted"].values()
    n_right = [sum(counts[text] for text in lesson["exact"]) for counts in (plain, cold, hot, top_k, top_p)]
    assert len(cold) <= len(plain) < len(hot)
    assert n_right[2] < 980 < min(n_right[0], n_right[1], n_right[3], n_right[4])
    assert max(len(top_k), len(top_p)) < len(hot) / 4
    assert greedy == {"el profesor duerme": 1000}


def test_the_translator_is_calibrated_and_with_a_low_temperature_is_not(lesson: dict) -> None:
    bins = []
    for name in ("translator", "sharp"):
        said = evaluate_against_grammar(lesson[name], lesson["sentences"], translation_tokens)
        bins.append(reliability(said.predicted, expected=said.expected, weights=said.weights))
    true, sharp = bins
    assert np.abs(true.predicted - true.observed)[true.counts >= 30].max() < 0.06
    assert true.counts[-1] > 0.6 * true.counts.sum()
    assert true.error < 0.01 < 0.015 < sharp.error
    between = sharp.edges[:-1]
    surer = (sharp.predicted - sharp.observed)[(between > 0.65) & (between < 0.85)]
    assert len(surer) == 2
    assert surer.min() > 0.08
    one, other = (lesson[n].translate(lesson["sentences"][0], beam_width=1) for n in ("sharp", "translator"))
    assert one.text == other.text


@pytest.mark.usefixtures("folder_thrown_away")
def test_right_guesses_are_scored(lesson: dict) -> None:
    guesses = {"p1": "hola hola mundo", "p2": 3, "p3": "below the line"}
    assert not LESSON.mistaken_predictions(guesses, lesson)
