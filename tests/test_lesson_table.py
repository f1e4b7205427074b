"""The table of lessons in docs/teaching.md, and the bounds of a lesson."""

from __future__ import annotations

import json
from pathlib import Path

from tools.lesson_table import COURSE, PAGE, Size, course_page, page, size, sizes
from viz_transformer.cli.course import Lesson, find_lesson

FOUND = sizes()


def in_its_new_form(lesson: str) -> bool:
    """Whether a lesson states its time without *about*, as a lesson within the bounds does."""
    first = json.loads(find_lesson(lesson).path.read_text(encoding="utf-8"))["cells"][0]["source"]
    return f"**Time:** {FOUND[lesson].stated} minutes." in "".join(first)


def test_the_table_and_the_list_are_those_of_the_lessons() -> None:
    sizes, questions = (path.read_text(encoding="utf-8") for path in (PAGE, COURSE))
    assert sizes == page(sizes, FOUND), "write it again: .venv/bin/python -m tools.lesson_table"
    assert questions == course_page(questions), "write it again: .venv/bin/python -m tools.lesson_table"


def test_a_lesson_takes_the_time_that_it_states_and_keeps_within_its_bounds() -> None:
    most = {"words": 1000, "lines": 80, "exercises": 4, "predictions": 3, "views": 3, "minutes": 60}
    wrong = {}
    for lesson, found in FOUND.items():
        if not in_its_new_form(lesson):
            continue
        over = {name: getattr(found, name) for name, limit in most.items() if getattr(found, name) > limit}
        if over or found.stated != found.minutes or (found.minutes < 45 and lesson != "1"):
            wrong[lesson] = over or f"states {found.stated} minutes and takes {found.minutes}"
    assert not wrong


def test_a_lesson_is_measured_by_what_a_student_reads_and_does(tmp_path: Path) -> None:
    code = {
        "first": "import viz_transformer as vt\n\nvt.explore(trace)",
        "p1": 'vt.predict_choice("?", ["a", "b"], "a", reveal=vt.explore(trace), name="2.p1")',
        "s1": 'vt.predict_choice("?", ["a", "b"], "a", name="2.s1")',
        "answer-2-1": "def embed(ids, table):\n    ...",
        "check-2-1": 'vt.exercises.check("2.1", embed)',
        "steps": "steps = vt.attention_steps(trace)",
    }
    folded = {"jupyter": {"source_hidden": True}}
    cells = [
        {"id": name, "cell_type": "code", "source": text, "metadata": folded if len(name) == 2 else {}}
        for name, text in code.items()
    ]
    text = "# 2 · Words\n\n**Time:** 45 minutes. It costs 3 – no more.\n\n| a | b |\n|---|---|"
    path = tmp_path / "02_words.ipynb"
    notebook = {"cells": [{"cell_type": "markdown", "source": text, "metadata": {}}, *cells]}
    path.write_text(json.dumps(notebook), encoding="utf-8")
    found = size(Lesson("2", path), frozenset({"explore"}))
    assert found == Size(words=12, lines=3, exercises=1, predictions=1, views=1, stated=45)
    assert Size(1000, 60, 4, 3, 3, 60).minutes == 55  # 8 + 10 + 24 + 6 + 9 = 57
