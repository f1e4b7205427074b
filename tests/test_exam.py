"""The exam: every question has a solution, and the numbers in the solutions are right."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch

from tests.support.source_code import ROOT
from viz_transformer.cli.course import course
from viz_transformer.model import attend
from viz_transformer.model.masks import causal_mask, padding_mask

NUMBER = re.compile(r"^\*\*(\d+[a-d])\.\*\*", re.MULTILINE)
QUESTIONS = (ROOT / "docs" / "exam.md").read_text(encoding="utf-8")
SOLUTIONS = (ROOT / "teaching" / "exam_solutions.md").read_text(encoding="utf-8")


def solution(number: str) -> str:
    """The text of one solution, as one line."""
    text = SOLUTIONS.split(f"**{number}.**")[1].split("\n\n**")[0]
    return " ".join(text.split())


def test_every_lesson_has_questions_and_each_has_a_solution() -> None:
    keys = [lesson.key for lesson in course() if lesson.key.isdigit()]
    wanted = [f"{key}{letter}" for key in keys for letter in ("abcd" if key == "9" else "ab")]
    assert NUMBER.findall(QUESTIONS) == wanted
    assert NUMBER.findall(SOLUTIONS) == wanted
    titles = [f"{lesson.key} · {lesson.title}" for lesson in course() if lesson.key.isdigit()]
    assert re.findall(r"^## (.+)", QUESTIONS, re.MULTILINE) == titles


def test_one_head_by_hand() -> None:
    query = torch.tensor([[1.0, 2.0]])
    keys, values = torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([[10.0, 0.0], [0.0, 10.0]])
    output, weights = attend(query, keys, values)
    scaled = (query @ keys.T / math.sqrt(2)).squeeze().tolist()
    assert solution("4a") == (
        f"Scores 1 and 3; scaled {scaled[0]:.2f} and {scaled[1]:.2f}; weights {weights[0, 0]:.2f} and "
        f"{weights[0, 1]:.2f}; output ({output[0, 0]:.2f}, {output[0, 1]:.2f})."
    )


def test_the_mask_that_is_drawn() -> None:
    mask = (causal_mask(4) & padding_mask(torch.tensor([[1, 5, 6, 0]]), pad_id=0))[0, 0]
    rows = ["(" + " ".join("✓" if may else "·" for may in row) + ")" for row in mask.tolist()]
    assert ", ".join(rows) in solution("8a")


def test_each_number_of_the_exam_has_the_stated_answer() -> None:
    wrong = []
    for number, value, told in (
        ("1a", 0.7 + 0.1 + 0.5, "1.3"),
        ("2b", 48 / 50, "0.96"),
        ("3a", 2 / 8, "0.25"),
        ("3a", 5 / 8, "0.625"),
        ("5a", 4 * 512 * 512, "1,048,576"),
        ("9a", 3 / math.sqrt(5), "1.342"),
        ("9a", 1 / math.sqrt(5), "0.447"),
        ("9b", 512 * 2048 + 2048 + 2048 * 512 + 512, "2,099,712"),
        ("7a", math.log(50_000), "10.82"),
        ("7a", math.log(1_000), "6.91"),
        ("10b", -sum(map(math.log, (0.5, 0.25, 0.8))) / 3, "0.768"),
        ("11a", 0.6 * 0.25, "0.15"),
        ("11a", 0.4 * 0.9, "0.36"),
        ("11b", 0.8**2 / (0.8**2 + 0.2**2), "0.941"),
    ):
        digits = len(told.partition(".")[2])
        if f"{value:,.{digits}f}" != told or told not in solution(number):
            wrong.append((number, value, told))
    assert not wrong


def test_the_variance_of_scores() -> None:
    draws = np.random.default_rng(0).normal(size=(2, 20_000, 64))
    scores = (draws[0] * draws[1]).sum(axis=1)
    assert scores.var() == pytest.approx(64, rel=0.05)
    assert (scores / 8).var() == pytest.approx(1, rel=0.05)
    assert solution("3b").startswith("64; 1.")


def test_the_numbers_of_a_cache() -> None:
    assert solution("13a").startswith(f"2 · 12 · 4 · 64 · 1,000 = {2 * 12 * 4 * 64 * 1000:,}.")
