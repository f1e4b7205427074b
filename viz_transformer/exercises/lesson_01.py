"""Exercises of lesson 1, Which head attends where."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import CustomCheck, Exercise, Function, Mistake, Number
from viz_transformer.exercises.feedback import Check
from viz_transformer.exercises.heads import Look, check_head
from viz_transformer.trace import KINDS
from viz_transformer.translator import load_translator

_STREET = "the animal did not cross the street because it was too"
_WORDS = ("the", "black", "cat", "sleeps", "<eos>")


@cache
def _looks() -> tuple[Look, Look]:
    translator = load_translator()
    return (
        Look(translator.trace(f"{_STREET} tired"), "encoder", "tired", "animal"),
        Look(translator.trace(f"{_STREET} wide"), "encoder", "wide", "street"),
    )


def _chosen_head(view: Any) -> Check:
    """Judge the head that is selected in a view."""
    if not all(hasattr(view, name) for name in ("kind", "layer", "head")):
        return Check(False, "Give the view that you clicked in: search.explorer.")
    return check_head(_looks(), kind=view.kind, layer=view.layer, head=view.head)


def _head(kind: str, layer: int, head: int) -> SimpleNamespace:
    return SimpleNamespace(kind=kind, layer=layer, head=head)


def _row(rng: np.random.Generator) -> tuple[list[float], list[str]]:
    row = rng.dirichlet(np.full(len(_WORDS), 0.5))  # [key], sums to 1
    return row.tolist(), list(_WORDS)


EXERCISES = (
    Exercise(
        "1.1",
        "Counting heads",
        Number(
            24,
            (
                Mistake(8, "These are the heads of one kind. How many kinds of attention are there?"),
                Mistake(4, "These are the heads of one row, which is one layer. Count all rows."),
                Mistake(16, "These are two kinds. The picture shows three."),
                Mistake(6, "These are the rows, one for each layer of each kind; each has more heads."),
            ),
            right="Three kinds of attention, two layers each, four heads in every layer.",
        ),
        (
            "Each small square is one head.",
            "Count the squares of one row, and then the rows, of all three kinds.",
        ),
    ),
    Exercise(
        "1.2",
        "The head that tells",
        CustomCheck(
            _chosen_head,
            choices={"kind": list(KINDS), "layer": range(2), "head": range(4)},
            mistakes=(
                Mistake(
                    _head("cross", 1, 0),
                    "That is a head of the cross attention. “tired” and “animal” meet in the "
                    "encoder attention: look there.",
                ),
                Mistake((1, 3), "Give the view that you clicked in: search.explorer."),
                Mistake(
                    _head("encoder", 4, 0),
                    "There is no layer 4, head 0: layers go from 0 to 1 and heads from 0 to 3. "
                    "Counting starts at 0.",
                ),
            ),
        ),
        (
            "Look for the row *tired* and the column *animal*; a dark cell there is what you want.",
            "It is in the second row of small squares of the encoder: layer 1.",
        ),
    ),
    Exercise(
        "1.3",
        "Read a row by program",
        Function(
            lambda row, words: words[int(np.argmax(row))],
            _row,
            (
                Mistake(
                    lambda row, words: int(np.argmax(row)),
                    "You return the position of the largest weight. Which word stands there?",
                ),
                Mistake(
                    lambda row, words: max(row),
                    "You return the largest weight itself. Which word does it belong to?",
                ),
                Mistake(
                    lambda row, words: words[int(np.argmin(row))],
                    "You return the word with the smallest weight.",
                ),
                Mistake(
                    lambda row, words: max(words),
                    "You compare the words, and Python puts words in the order of the alphabet. "
                    "Compare the weights.",
                ),
            ),
            right="That is all a darkest cell says: where this row puts most of its weight.",
        ),
        (
            "`max(row)` is the largest weight; `row.index(weight)` is the position of a weight.",
            "The weight at position 2 belongs to `words[2]`.",
        ),
    ),
)
