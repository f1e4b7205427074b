"""Section 4, decoding: finished hypotheses that are copied at every step."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from viz_transformer.exercises.answer_types import Exercise
from viz_transformer.exercises.clinic.hidden_tests import HiddenTests, Property, WrongAnswer

# -- 14: finished hypotheses -----------------------------------------------------------------------

Words = tuple[str, ...]
Hypothesis = tuple[Words, float]
NextWords = Callable[[Words], dict[str, float]]
_END = "<eos>"


def _search(keep: Callable[[list[Hypothesis], list[Hypothesis]], list[Hypothesis]]) -> Any:
    """Return a beam search; `keep` notes what has ended in its second list, returns the rest."""

    def beam_search(step: NextWords, width: int, max_length: int) -> list[Hypothesis]:
        beam: list[Hypothesis] = [((), 0.0)]
        finished: list[Hypothesis] = []
        for _ in range(max_length):
            grown = []
            for words, log_prob in beam:
                if words and words[-1] == _END:
                    grown.append((words, log_prob))
                    continue
                for word, more in step(words).items():
                    grown.append(((*words, word), log_prob + more))
            grown.sort(key=lambda hypothesis: hypothesis[1], reverse=True)
            beam = keep(grown[:width], finished)
        return finished

    return beam_search


def _ended(hypothesis: Hypothesis) -> bool:
    return hypothesis[0][-1] == _END


def _leave(beam: list[Hypothesis], finished: list[Hypothesis]) -> list[Hypothesis]:
    finished += filter(_ended, beam)
    return [each for each in beam if not _ended(each)]


def _stay(beam: list[Hypothesis], finished: list[Hypothesis]) -> list[Hypothesis]:
    finished += filter(_ended, beam)
    return beam


def _forget(beam: list[Hypothesis], finished: list[Hypothesis]) -> list[Hypothesis]:
    return [each for each in beam if not _ended(each)]


def _note_the_first(beam: list[Hypothesis], finished: list[Hypothesis]) -> list[Hypothesis]:
    if not finished:
        finished += filter(_ended, beam)
    return [each for each in beam if not _ended(each)]


def _take_all(beam: list[Hypothesis], finished: list[Hypothesis]) -> list[Hypothesis]:
    finished += beam
    return [each for each in beam if not _ended(each)]


def toy_step(words: Words) -> dict[str, float]:
    """Return the log-probability of each next word, in a language of three words and an end."""
    seen = sum((place + 1) * len(word) for place, word in enumerate(words))
    likes = {"buenos": 3 + seen % 2, "días": 1 + seen % 3, "hola": 2, _END: 1 + 2 * len(words)}
    total = sum(likes.values())
    return {word: math.log(like / total) for word, like in likes.items()}


def _each_once(search: Any) -> bool:
    found = [words for words, _ in search(toy_step, 3, 8)]
    return len(found) == len(set(found))


def _all_ended(search: Any) -> bool:
    return all(_END in words[-1:] and _END not in words[:-1] for words, _ in search(toy_step, 3, 8))


def _wide_beam_finds_all(search: Any) -> bool:
    found = {tuple(words) for words, _ in search(toy_step, 10_000, 4)}
    others = ("buenos", "días", "hola")
    all_there_are = {
        (*words, _END) for length in range(4) for words in itertools.product(others, repeat=length)
    }
    return found == all_there_are


def _scores_are_sums(search: Any) -> bool:
    return all(
        math.isclose(log_prob, sum(toy_step(words[:at])[word] for at, word in enumerate(words)))
        for words, log_prob in search(toy_step, 3, 8)
    )


COPIED = HiddenTests(
    (
        Property(
            "each hypothesis is returned once",
            _each_once,
            "Finished hypotheses are still copied: they stay in the beam and are added to the finished "
            "ones again at each step.",
        ),
        Property(
            "every result ends with <eos>",
            _all_ended,
            "One of the finished hypotheses does not end with <eos>, or continues after it.",
        ),
        Property(
            "a wide beam finds all texts",
            _wide_beam_finds_all,
            "A wide enough beam should find all 40 texts of up to three words, but some are missing: add "
            "every hypothesis that ends to the finished ones, at every step.",
        ),
        Property(
            "scores are sums of log-probabilities",
            _scores_are_sums,
            "The score of a hypothesis is the sum of its words' log-probabilities.",
        ),
    ),
    _search(_leave),
    (
        WrongAnswer("each hypothesis is returned once", _search(_stay)),
        WrongAnswer("every result ends with <eos>", _search(_take_all)),
        WrongAnswer(
            "a wide beam finds all texts",
            _search(_forget),
            "No text is found: hypotheses that have ended are removed from the beam without being added "
            "to the finished ones.",
        ),
        WrongAnswer("a wide beam finds all texts", _search(_note_the_first)),
    ),
    "Each finished hypothesis is returned once, and its place in the beam is free for another.",
    lambda search: search(toy_step, 3, 8),
)

EXERCISES = (
    Exercise(
        "clinic.14",
        "Beam search",
        COPIED,
        (
            "Print the beam at each step, and follow one hypothesis that has ended.",
            "After adding the finished ones to the list, keep only those that have not ended in the beam.",
        ),
        repairs={
            "                grown.append((words, log_prob))": ("",),
            "        beam = grown[:width]": (
                '        beam = [each for each in grown[:width] if each[0][-1] != "<eos>"]',
            ),
            '        finished += [each for each in beam if each[0][-1] == "<eos>"]': (
                "        finished += beam",
                '        finished += [each for each in beam if each[0][-1] == "<eos>"]\n'
                '        beam = [each for each in beam if each[0][-1] != "<eos>"]',
            ),
        },
    ),
)
