"""What lesson 11, Decoding, says in prose, held to its own cells and its two translators."""

from __future__ import annotations

import inspect
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.lessons import Lesson
from viz_transformer.analysis import next_words, reliability
from viz_transformer.corpus import translation_tokens, translations
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.exercises import exercise
from viz_transformer.recipes.grammar_eval import evaluate_against_grammar
from viz_transformer.translator import Translator

LESSON = Lesson("11")
SENTENCE = "the teacher sleeps"


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    """The names that the lesson's code cells leave behind, unanswered."""
    return LESSON.run_whole()


def written(search: Any) -> list[str]:
    return [" ".join(one.tokens) for one in search.hypotheses]


def test_greedy_search_goes_down_the_garden_path_one_word_a_step(lesson: dict) -> None:
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


def test_the_likeliest_first_word_does_not_begin_the_likeliest_text(lesson: dict) -> None:
    true = lesson["exact"]
    assert list(true) == [
        "la maestra duerme",
        "el profesor duerme",
        "el maestro duerme",
        "la profesora duerme",
    ]
    held = {text: math.exp(lesson["translator"].log_probs(SENTENCE, text).sum()) for text in true}
    assert sorted(held, key=held.get, reverse=True) == list(true)
    assert all(abs(held[text] - true[text]) < 0.05 for text in true)  # "learned the figures well"
    # The probabilities of the exercise are the grammar's own.
    after = {node.prefix: node.words for node in next_words(translation_tokens(SENTENCE))}
    assert after[()]["el"] > after[()]["la"]
    told = "begins with *el* with probability {el:.2f} and with *la* with probability {la:.2f}."
    assert told.format(**after[()]) in LESSON.prose
    assert f"comes *maestra* with probability {after[('la',)]['maestra']:.3f}." in LESSON.prose
    truth = translations(SENTENCE)["la maestra duerme"]
    assert exercise("11.2").wanted.value == pytest.approx(math.log(truth), abs=0.001)
    assert f"As a probability that is {truth:.2f}" in exercise("11.2").wanted.right


def test_the_search_goes_as_the_lesson_says(lesson: dict) -> None:
    beam = lesson["beam_of_two"]
    first, second, _, fourth = (step.candidates for step in beam.steps)
    assert [one.token for one in first if one.status == "kept"] == ["el", "la"]
    assert [(one.token, one.parent, one.status) for one in second[:3]] == [
        ("maestra", 1, "kept"),
        ("profesor", 0, "kept"),
        ("maestro", 0, "pruned"),
    ]
    assert [one.token for one in fourth if one.status == "finished"] == ["<eos>", "<eos>"]
    assert written(beam) == ["la maestra duerme", "el profesor duerme"]


def test_the_exercise_asks_for_the_gap_by_which_la_misses_a_beam_of_one(lesson: dict) -> None:
    first, second, *_ = lesson["translator"].decode(SENTENCE, 1, 0.0).steps
    el, la = first.candidates
    asked = exercise("11.3").wanted
    assert (la.token, la.status) == ("la", "pruned")
    assert asked.value == pytest.approx(la.margin, abs=0.003)
    maestro = second.candidates[1]
    wide = lesson["beam_of_two"].steps[0].candidates
    p_el, p_la = math.exp(el.log_prob), math.exp(la.log_prob)
    wrong = [la.log_prob, maestro.margin, wide[2].margin, p_el - p_la, p_la, -la.margin]
    assert maestro.token == "maestro"
    assert [mistake.answer for mistake in asked.mistakes] == pytest.approx(wrong, abs=0.005)
    assert f"({math.log(0.55 / 0.45):.2f} in the grammar itself)" in asked.right


def test_how_wide_a_beam_must_be_and_may_be(lesson: dict) -> None:
    texts = {width: lesson["translator"].decode(SENTENCE, width, 0.0) for width in (1, 2, 4, 8)}
    best = {width: written(found)[0] for width, found in texts.items()}
    assert best == {1: "el profesor duerme", **dict.fromkeys((2, 4, 8), "la maestra duerme")}
    assert set(written(texts[4])) == set(lesson["exact"])
    assert sum(math.exp(one.log_prob) for one in texts[4].hypotheses) > 0.98
    for penalty in (0.6, 2.0):  # equally long, so the penalty decides nothing
        assert lesson["translator"].translate(SENTENCE, 4, penalty).text == best[4]
    # A wider beam finds the more probable and worse text.
    unsure = [lesson["unsure"].decode("good morning", width, 0.0) for width in (1, 2, 3, 4, 8)]
    worse = ["buenos buenos buenos", "buenos dias", *["buenos"] * 3]
    assert [written(found)[0] for found in unsure] == worse
    log_probs = [found.hypotheses[0].log_prob for found in unsure[:3]]
    assert log_probs[0] < log_probs[1] < log_probs[2]
    # A beam of three translates sentences that were in no pair.
    for sentence in ("i love cat", "this is a cat"):
        found = lesson["unsure"].decode(sentence, 3).hypotheses
        assert 1 <= len({hypothesis.ids for hypothesis in found}) == len(found) <= 3
        assert lesson["unsure"].translate(sentence, beam_width=3).text


def test_buenos_wins_without_a_penalty_and_loses_with_one(lesson: dict) -> None:
    unsure = lesson["unsure"]
    raw = {" ".join(one.tokens): one.score for one in unsure.decode("good morning", 3, 0.0).hypotheses}
    told = f"−{-raw['buenos']:.2f} against −{-raw['buenos dias']:.2f}"
    assert f"wins with {told}, and loses" in LESSON.prose
    for penalty in (0.6, 1.0):
        assert written(unsure.decode("good morning", 3, penalty))[0] == "buenos dias"
    tied = exercise("11.5").wanted.reference(raw["buenos"], 1, raw["buenos dias"], 2)
    assert f"it is {tied:.2f}," in exercise("11.5").wanted.right


def test_hello_world_needs_more_and_not_too_much(lesson: dict) -> None:
    unsure = lesson["unsure"]
    found = [unsure.translate("hello world", 3, penalty).text for penalty in (0, 0.6, 1, 6)]
    assert found == ["mundo", "mundo", "hola mundo", "hola hola mundo"]
    totals = [unsure.log_probs("hello world", text).sum() for text in ("mundo", "hola mundo")]
    tied = exercise("11.5").wanted.reference(totals[0], 1, totals[1], 2)
    assert f"the first crossing in the picture, {tied:.2f}." in LESSON.prose
    curves = [lesson["scores_of"](text) for text in lesson["texts"]]
    best = [max(range(3), key=lambda n: curves[n][at]) for at in (0, 20, 120)]
    assert best == [0, 1, 2]  # penalties 0, 1 and 6


def test_the_careless_search_has_the_four_slips(lesson: dict) -> None:
    finished, decode = lesson["finished"], lesson["tokens"].decode
    assert len(finished) > 40
    assert len({tuple(ids) for ids, _ in finished}) == 3
    assert decode(max(finished, key=lambda one: one[1])[0]) == "buenos"
    ours = lesson["ours"]
    assert (len(ours.hypotheses), len(ours.steps)) == (3, 3)
    assert f"this one went on for {20 - len(ours.steps)} more" in LESSON.prose
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


def test_a_text_is_drawn_as_often_as_it_is_probable(lesson: dict) -> None:
    error = math.sqrt(0.43 * 0.57 / 1000)
    assert lesson["exact"]["la maestra duerme"] == pytest.approx(0.43)
    assert f"a share like this varies by about {error:.3f} either way" in LESSON["p4"]
    drawn = {text: lesson["plain"][text] / 1000 for text in lesson["exact"]}
    assert drawn == pytest.approx(lesson["exact"], abs=3 * error)


def test_temperature_and_filters_change_the_samples(lesson: dict) -> None:
    plain, cold, hot, top_k, top_p, greedy = lesson["counted"].values()
    n_right = [sum(counts[text] for text in lesson["exact"]) for counts in (plain, cold, hot, top_k, top_p)]
    assert len(cold) <= len(plain) < len(hot)
    assert n_right[2] < 980 < min(n_right[0], n_right[1], n_right[3], n_right[4])
    assert max(len(top_k), len(top_p)) < len(hot) / 4
    assert greedy == {"el profesor duerme": 1000}
    # Cold draws go down the garden path.
    shares = lesson["shares_by_temperature"]()
    at = lesson["temperatures"].index(1)
    assert shares["el profesor duerme"][0] > 0.8
    assert shares["la maestra duerme"][0] < 0.15
    assert all(one > other for one, other in pairwise(shares["el profesor duerme"][: at + 1]))
    assert shares["la maestra duerme"][at] > shares["el profesor duerme"][at] + 0.03


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
def test_the_right_guesses_are_scored_and_do_not_stand_around_their_questions(lesson: dict) -> None:
    guesses = {"p1": "la maestra duerme", "p2": "hola hola mundo", "p5": "el profesor duerme"}
    guesses |= {"p6": "below the line"}
    ids = list(LESSON.cells)
    for cell, answer in guesses.items():
        at = ids.index(cell)
        around = " ".join(LESSON[each] for each in ids[at - 1 : at + 3] if each not in LESSON.code)
        assert answer not in around.casefold(), cell
    guesses |= {"p3": 3, "p4": lesson["plain"]["la maestra duerme"]}
    assert not LESSON.mistaken_predictions(guesses, lesson)
