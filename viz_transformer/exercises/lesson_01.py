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
        return Check(False, "Check the view that you clicked in: search.explorer.")
    return check_head(_looks(), kind=view.kind, layer=view.layer, head=view.head, at_least=0.7)


def _head(kind: str, layer: int, head: int) -> SimpleNamespace:
    return SimpleNamespace(kind=kind, layer=layer, head=head)


def _row(rng: np.random.Generator) -> tuple[list[float], list[str]]:
    row = rng.dirichlet(np.full(len(_WORDS), 0.5))  # [key], sums to 1
    # In another order each time, so that the first word is not also the last of the alphabet.
    return row.tolist(), rng.permutation(_WORDS).tolist()


EXERCISES = (
    Exercise(
        "1.1",
        "Count the heads",
        Number(
            24,
            (
                Mistake(8, "That is one kind of attention. How many kinds are there?"),
                Mistake(4, "That is one row of small pictures: one layer of one kind. Count every row."),
                Mistake(16, "That is two kinds of attention. The picture shows three."),
                Mistake(12, "That is one layer of each kind. How many layers does each kind have?"),
                Mistake(6, "You counted the rows: each is a layer, and each layer has several heads."),
            ),
            right="3 kinds of attention × 2 layers × 4 heads in each layer.",
        ),
        (
            "Each small picture is one head.",
            "Count the pictures in one row. Then count the rows of all three kinds.",
        ),
    ),
    Exercise(
        "1.2",
        "Find the head that carries the gender",
        CustomCheck(
            _chosen_head,
            choices={"kind": list(KINDS), "layer": range(2), "head": range(4)},
            mistakes=(
                Mistake(
                    _head("cross", 1, 0),
                    "That head belongs to cross-attention. “tired” attends to “animal” in the encoder: "
                    "look there.",
                ),
                Mistake((1, 3), "Check the view that you clicked in: search.explorer."),
                Mistake(
                    _head("encoder", 4, 0),
                    "There is no layer 4, head 0: layers go from 0 to 1 and heads from 0 to 3. "
                    "Counting starts at 0.",
                ),
            ),
        ),
        (
            "Find the row “tired” and the column “animal”. Look for a head with a strong cell there.",
            "It is in the second row of the encoder's small pictures: layer 1.",
        ),
    ),
    Exercise(
        "1.3",
        "Read a row in Python",
        Function(
            lambda row, words: words[int(np.argmax(row))],
            _row,
            (
                Mistake(
                    lambda row, words: int(np.argmax(row)),
                    "That is the position of the largest weight. Return the word at that position.",
                ),
                Mistake(
                    lambda row, words: max(row),
                    "That is the largest weight itself. Return the word that it belongs to.",
                ),
                Mistake(
                    lambda row, words: words[int(np.argmin(row))],
                    "That is the word with the smallest weight.",
                ),
                Mistake(
                    lambda row, words: max(words),
                    "You compared the words, and Python compares words by the alphabet. Compare the weights.",
                ),
                Mistake(
                    lambda row, words: words[0],
                    "You always return the first word. Which position has the largest weight?",
                ),
                Mistake(
                    lambda row, words: words[-1],
                    "You always return the last word. Which position has the largest weight?",
                ),
            ),
            right="The strongest cell of a row shows only where most of the weight goes.",
        ),
        (
            "max(row) is the largest weight, and row.index(weight) is the position of a weight.",
            "The weight at position 2 belongs to words[2].",
        ),
        lines="""def favourite(row, words):
    largest = max(row)
    position = row.index(largest)
    return words[position]""",
        wrong_lines=(
            Mistake("    return position", "A position is a number. Return the word at that position."),
            Mistake(
                "    largest = max(words)",
                "That compares the words, and Python compares words by the alphabet. Compare the weights.",
            ),
        ),
    ),
)
