"""What lesson 11, Decoding, says in prose, held to its own cells and its two translators."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest

from tests.support.lessons import Lesson
from viz_transformer.analysis import next_words
from viz_transformer.corpus import translation_tokens, translations
from viz_transformer.exercises import exercise, lent

LESSON = Lesson("11")
SENTENCE = "the teacher sleeps"


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    """The names that the lesson's code cells leave behind, unanswered."""
    return LESSON.run_whole()


def written(search: Any) -> list[str]:
    return [" ".join(one.tokens) for one in search.hypotheses]


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
    assert all(abs(held[text] - true[text]) < 0.05 for text in true)
    # The probabilities of the exercise are the grammar's own.
    after = {node.prefix: node.words for node in next_words(translation_tokens(SENTENCE))}
    assert after[()]["el"] > after[()]["la"]
    told = "begins with *el* with probability {el:.2f} and with *la* with probability {la:.2f}."
    assert told.format(**after[()]) in LESSON.prose
    assert f"comes *maestra* with probability {after[('la',)]['maestra']:.3f}." in LESSON.prose
    truth = translations(SENTENCE)["la maestra duerme"]
    assert exercise("11.1").wanted.value == pytest.approx(math.log(truth), abs=0.001)
    assert f"As a probability that is {truth:.2f}" in exercise("11.1").wanted.right


def test_the_search_goes_as_the_lesson_says(lesson: dict) -> None:
    greedy, beam = lesson["greedy"], lesson["beam_of_two"]
    model, source = lesson["translator"].model, lesson["source"]
    assert lesson["vocabulary"].decode(greedy(model, source)) == "el profesor duerme"
    for width, text in ((1, "el profesor duerme"), (2, "la maestra duerme"), (4, "la maestra duerme")):
        assert lesson["vocabulary"].decode(lent.beam_search(model, source, width)) == text
    first, second, _, fourth = (step.candidates for step in beam.steps)
    assert [one.token for one in first if one.status == "kept"] == ["el", "la"]
    assert [(one.token, one.parent, one.status) for one in second[:3]] == [
        ("maestra", 1, "kept"),
        ("profesor", 0, "kept"),
        ("maestro", 0, "pruned"),
    ]
    assert [one.token for one in fourth if one.status == "finished"] == ["<eos>", "<eos>"]
    assert written(beam) == ["la maestra duerme", "el profesor duerme"]


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
    assert f"*buenos* wins with {told}. With 0.6 or 1.0" in LESSON.prose
    for penalty in (0.6, 1.0):
        assert written(unsure.decode("good morning", 3, penalty))[0] == "buenos dias"


def test_a_text_is_drawn_as_often_as_it_is_probable(lesson: dict) -> None:
    error = math.sqrt(0.43 * 0.57 / 1000)
    assert lesson["exact"]["la maestra duerme"] == pytest.approx(0.43)
    assert f"a share like this varies by about {error:.3f} either way" in LESSON["p2"]
    drawn = {text: lesson["plain"][text] / 1000 for text in lesson["exact"]}
    assert drawn == pytest.approx(lesson["exact"], abs=3 * error)


def test_a_low_temperature_comes_close_to_greedy_search(lesson: dict) -> None:
    shares = lesson["shares_by_temperature"]()
    at = lesson["temperatures"].index(1)
    assert shares["el profesor duerme"][0] > 0.8
    assert shares["la maestra duerme"][0] < 0.15
    assert all(one > other for one, other in pairwise(shares["el profesor duerme"][: at + 1]))
    assert shares["la maestra duerme"][at] > shares["el profesor duerme"][at] + 0.03


@pytest.mark.usefixtures("folder_thrown_away")
def test_right_guesses_are_scored(lesson: dict) -> None:
    guesses = {"p1": "la maestra duerme", "p3": "el profesor duerme"}
    guesses |= {"p2": lesson["plain"]["la maestra duerme"], "spaced-1": "0"}
    guesses["spaced-2"] = "the tokens that were chosen so far"
    assert not LESSON.mistaken_predictions(guesses, lesson)
