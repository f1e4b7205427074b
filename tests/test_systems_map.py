"""docs/systems.md names every item of the five articles, and every place that it names exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.source_code import MODULES, imports
from viz_transformer.config import ModelConfig
from viz_transformer.exercises.instruments import who_learns
from viz_transformer.model import Transformer
from viz_transformer.recipes import six_pairs_translator

ROOT = Path(__file__).parents[1]
#: How many systems and how many mistakes each article has; F are results to reach.
ITEMS = {"A": (16, 13), "B": (13, 6), "C": (5, 6), "D": (11, 6), "E": (8, 6), "F": (4, 0)}
KEYS = [f"{letter}.{n + 1}" for letter, of in ITEMS.items() for n in range(sum(of))]


class Row(NamedTuple):
    """One line of the table."""

    key: str
    what: str
    lessons: str
    tests: str
    views: str


def rows() -> list[Row]:
    text = (ROOT / "docs" / "systems.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| [A-Z]\.\d+ \|.*\|$", text, flags=re.MULTILINE)
    return [Row(*(part.strip() for part in line.strip("|").split("|"))) for line in lines]


ROWS = rows()
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)


def links(text: str) -> list[tuple[str, str]]:
    """The words and the target of each link."""
    return re.findall(r"\[([^\]]+)\]\(([^)]+)\)", text)


@cache
def cells(notebook: Path) -> dict[str, tuple[str, str]]:
    """The kind and the source of each cell."""
    found = nbformat.read(notebook, as_version=4).cells
    return {cell.id: (cell.cell_type, cell.source) for cell in found}


@cache
def names_in(module: Path) -> frozenset[str]:
    def named(nodes: list[ast.stmt], before: str = "") -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                yield from named(node.body, f"{before}{node.name}::")
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield before + node.name

    return frozenset(named(ast.parse(module.read_text(encoding="utf-8")).body))


def test_every_item_has_its_row_in_order() -> None:
    assert [row.key for row in ROWS] == KEYS


def test_systems_and_mistakes_stand_apart() -> None:
    text = (ROOT / "docs" / "systems.md").read_text(encoding="utf-8")
    for letter, (n_systems, n_mistakes) in ITEMS.items():
        part = text.partition(f"\n## {letter} · ")[2].partition("\n## ")[0]
        tables = [
            re.findall(rf"^\| {letter}\.(\d+) \|", table, flags=re.MULTILINE)
            for table in part.split("| item |")[1:]
        ]
        assert [len(table) for table in tables] == [n for n in (n_systems, n_mistakes) if n]


@every_row
def test_it_is_told_in_words_of_its_own(row: Row) -> None:
    assert len(row.what.split()) >= 2
    assert [other.key for other in ROWS if other.what == row.what] == [row.key]


@every_row
def test_its_lessons_have_these_cells(row: Row) -> None:
    assert links(row.lessons)
    for words, target in links(row.lessons):
        path, _, cell = target.partition("#cell-id=")
        lesson, _, shown = words.partition(" · ")
        notebook = (ROOT / "docs" / path).resolve()
        assert notebook.is_file(), f"{row.key}: there is no {path}"
        assert notebook.name.startswith(lesson if lesson == "clinic" else f"{int(lesson):02}_")
        assert shown == cell
        assert cell in cells(notebook), f"{row.key}: {notebook.name} has no cell {cell!r}"


@every_row
def test_its_tests_exist(row: Row) -> None:
    assert links(row.tests)
    for name, path in links(row.tests):
        module = (ROOT / "docs" / path).resolve()
        assert module.is_file(), f"{row.key}: there is no {path}"
        assert name in names_in(module), f"{row.key}: {module.name} has no {name}"


@every_row
def test_its_views_exist_and_one_of_its_lessons_shows_them(row: Row) -> None:
    views = re.findall(r"`vt\.([\w.]+)`", row.views)
    assert views
    lessons = {(ROOT / "docs" / target.partition("#")[0]) for _, target in links(row.lessons)}
    code = "\n".join(
        source for lesson in lessons for kind, source in cells(lesson).values() if kind == "code"
    )
    for view in views:
        module, _, name = f"viz_transformer.{view}".rpartition(".")
        found = vt if module == "viz_transformer" else import_module(module)
        assert callable(getattr(found, name)), f"{row.key}: there is no vt.{view}"
        assert re.search(rf"\b{name}\b", code), f"{row.key}: no lesson named shows {name}"


def test_every_lesson_and_the_clinic_are_on_the_map() -> None:
    named = {target.partition("#")[0] for row in ROWS for _, target in links(row.lessons)}
    there = {f"../notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert named == there


# -- what no other test holds ----------------------------------------------------------------------


def test_a_beam_of_three_translates_sentences_that_were_in_no_pair() -> None:
    translator = six_pairs_translator()
    for sentence in ("i love cat", "this is a cat"):
        found = translator.decode(sentence, beam_width=3).hypotheses
        assert 1 <= len(found) <= 3
        assert len({hypothesis.ids for hypothesis in found}) == len(found)
        assert translator.translate(sentence, beam_width=3).text


def test_a_model_keeps_the_width_that_its_forward_scales_by() -> None:
    """Published code multiplied by √self.d_model, and had kept no such attribute."""
    config = ModelConfig(vocab_size=9, d_model=16, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, d_ff=8)
    model = Transformer(config).eval()
    assert model.config.d_model == 16
    ids = torch.tensor([[3, 4]])
    without_positions = model.source_embedding(ids) * 4
    assert model.embed_source(ids).shape == without_positions.shape
    assert torch.isfinite(model(ids, ids)).all()


def test_no_module_calls_tensorflow() -> None:
    foreign = {"tensorflow", "keras", "tf", "jax"}
    for module in MODULES:
        assert not {name.split(".")[0] for name in imports(module)} & foreign


def test_torch_takes_an_encoder_and_a_decoder_by_name_alone() -> None:
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), 1)
    with pytest.raises(TypeError):
        nn.Transformer(encoder, decoder)
    machine = nn.Transformer(8, 2, custom_encoder=encoder, custom_decoder=decoder, batch_first=True)
    assert machine.encoder is encoder
    assert machine.decoder is decoder
    assert machine(torch.zeros(1, 3, 8), torch.zeros(1, 4, 8)).shape == (1, 4, 8)


@pytest.mark.usefixtures("shapes_unchecked")
def test_every_parameter_of_ours_takes_part() -> None:
    """A line behind `return` would leave its parameters without a gradient."""
    config = ModelConfig(vocab_size=9, d_model=16, n_heads=2, n_encoder_layers=2, n_decoder_layers=2, d_ff=8)
    ids = torch.tensor([[3, 4, 5]])
    found = who_learns(Transformer(config).eval(), ids, ids)
    assert not found.silent
    assert not {each.name for each in found.parameters if each.twin and not each.same}
