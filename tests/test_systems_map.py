"""contributing/systems.md names every item of the five articles, and every place that it names exists."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from tests.support.source_code import MODULES, ROOT, imports
from viz_transformer.config import ModelConfig
from viz_transformer.exercises.instruments import who_learns
from viz_transformer.model import Transformer

TEXT = (ROOT / "docs" / "contributing" / "systems.md").read_text(encoding="utf-8")
#: How many systems and how many mistakes each article has; F are results to reach.
ITEMS = {"A": (16, 13), "B": (13, 6), "C": (5, 6), "D": (11, 6), "E": (8, 6), "F": (4, 0)}


class Row(NamedTuple):
    """One line of the table."""

    key: str
    what: str
    lessons: str
    tests: str
    views: str


ROWS = [
    Row(*(part.strip() for part in line.strip("|").split("|")))
    for line in re.findall(r"^\| [A-Z]\.\d+ \|.*\|$", TEXT, flags=re.MULTILINE)
]


def links(text: str) -> list[tuple[str, str]]:
    """The words and the target of each link."""
    return re.findall(r"\[([^\]]+)\]\(([^)]+)\)", text)


lesson_of = cache(lambda name: Lesson(name))


@cache
def names_in(module: Path) -> frozenset[str]:
    """The tests of a module; of none if there is no such file."""

    def named(nodes: list[ast.stmt], before: str = "") -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                yield from named(node.body, f"{before}{node.name}::")
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield before + node.name

    return frozenset(named(ast.parse(module.read_text(encoding="utf-8")).body if module.exists() else []))


def test_every_item_has_its_row_in_order_with_mistakes_apart() -> None:
    wanted = [f"{letter}.{n + 1}" for letter, of in ITEMS.items() for n in range(sum(of))]
    assert [row.key for row in ROWS] == wanted
    for letter, (n_systems, n_mistakes) in ITEMS.items():
        part = TEXT.partition(f"\n## {letter} · ")[2].partition("\n## ")[0]
        tables = [
            re.findall(rf"^\| {letter}\.(\d+) \|", table, flags=re.MULTILINE)
            for table in part.split("| item |")[1:]
        ]
        assert [len(table) for table in tables] == [n for n in (n_systems, n_mistakes) if n]
    assert all(len(row.what.split()) >= 2 for row in ROWS)
    assert [what for what, times in Counter(row.what for row in ROWS).items() if times > 1] == []


def test_the_cells_that_it_names_exist_and_every_notebook_is_named() -> None:
    wrong, named = [], set()
    for row in ROWS:
        assert links(row.lessons), row.key
        for words, target in links(row.lessons):
            path, _, cell = target.partition("#cell-id=")
            name, _, shown = words.partition(" · ")
            lesson = lesson_of(name)
            named.add(lesson.path.name)
            right_file = (ROOT / "docs" / "contributing" / path).resolve().name == lesson.path.name
            if not right_file or shown != cell or cell not in lesson.cells:
                wrong.append((row.key, words, target))
    assert not wrong
    # The project and the demonstration put together what the lessons teach.
    rest = {"project.ipynb", "demonstration.ipynb"}
    assert named == {path.name for path in (ROOT / "notebooks").glob("*.ipynb")} - rest


def test_the_tests_that_it_names_exist() -> None:
    wrong = []
    for row in ROWS:
        assert links(row.tests), row.key
        for name, path in links(row.tests):
            if name not in names_in((ROOT / "docs" / "contributing" / path).resolve()):
                wrong.append((row.key, name, path))
    assert not wrong


def test_the_views_that_it_names_exist_and_a_lesson_shows_them() -> None:
    wrong = []
    for row in ROWS:
        views = re.findall(r"`vt\.([\w.]+)`", row.views)
        assert views, row.key
        lessons = {words.partition(" · ")[0] for words, _ in links(row.lessons)}
        code = "\n".join(source for name in lessons for source in lesson_of(name).code.values())
        for view in views:
            module, _, name = f"viz_transformer.{view}".rpartition(".")
            found = vt if module == "viz_transformer" else import_module(module)
            if not callable(getattr(found, name, None)) or not re.search(rf"\b{name}\b", code):
                wrong.append((row.key, view))
    assert not wrong


# -- published mistakes that no other test looks for ------------------------------------------------


def test_no_module_calls_tensorflow() -> None:
    foreign = {"tensorflow", "keras", "tf", "jax"}
    for module in MODULES:
        assert not {name.split(".")[0] for name in imports(module)} & foreign


@pytest.mark.usefixtures("shapes_unchecked")
def test_every_parameter_of_ours_takes_part() -> None:
    """A line behind `return` would leave its parameters without a gradient."""
    config = ModelConfig(vocab_size=9, d_model=16, n_heads=2, n_encoder_layers=2, n_decoder_layers=2, d_ff=8)
    ids = torch.tensor([[3, 4, 5]])
    found = who_learns(Transformer(config).eval(), ids, ids)
    assert not found.silent
    assert not {each.name for each in found.parameters if each.twin and not each.same}
