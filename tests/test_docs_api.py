"""The API's pages: every public name has its entry, and every choice of a view its row."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module

import pytest

import viz_transformer as vt
from tools import docs_api, docs_examples, docs_gallery
from viz_transformer.widgets.base.view import View


@pytest.fixture(scope="module")
def entries() -> Counter[str]:
    """The names that have an entry, and how many."""
    text = "\n".join(text for _, text in docs_api.pages().values())
    return Counter(re.findall(r"^ +heading: (\S+)$", text, re.MULTILINE))


def test_every_public_name_has_one_entry(entries: Counter[str]) -> None:
    names = {f"vt.{name}" for name in vt.__all__ if name not in docs_api.modules()}
    for module in docs_api.modules():
        names |= {f"vt.{module}.{name}" for name in set(dir(getattr(vt, module))) - set(vt.__all__)}
    assert {name for name in entries if name.startswith("vt.")} == names
    assert set(entries.values()) == {1}


@pytest.mark.parametrize("room", docs_api.ROOMS)
def test_a_room_has_an_entry_for_each_function_and_class(room: str, entries: Counter[str]) -> None:
    module = import_module(f"viz_transformer.{room}")
    known = {name.rpartition(".")[2] for name in entries}
    for name in module.__all__:
        assert name in known or not docs_api.is_ours(getattr(module, name))


def test_the_list_of_names_leads_to_each_with_its_first_line(entries: Counter[str]) -> None:
    _, text = docs_api.pages()["api/index.md"]
    rows = re.findall(r"^\| \[`(\S+)`\]\((\S+)\) \| (.+) \|$", text, re.MULTILINE)
    assert {name for name, _, _ in rows} == set(entries)
    assert ("vt.MaskLab", "mask_lab.md") in [(name, path) for name, path, _ in rows]


def test_each_page_stands_in_the_navigation_once() -> None:
    listed = re.findall(r"api/\w+\.md", str(docs_api.navigation()))
    assert sorted(listed) == sorted(docs_api.pages())


def test_a_views_traits_have_their_type_their_first_value_and_their_explanation() -> None:
    rows = {row[0]: row[1:] for row in docs_api.trait_rows(vt.AttentionExplorer)}
    assert rows["head"] == ("int", "`0`", "index of the head in that layer.")
    assert rows["query"][:2] == ("int or None", "`None`")
    assert rows["threshold"][:2] == ("float, 0 to 1", "`0.0`")
    assert rows["aggregate"][:2] == ("str", "`'head'`")
    table = docs_api.traits(vt.AttentionExplorer)
    assert table.count("\n") == len(rows) + 1


def test_every_public_view_has_a_table() -> None:
    names = [getattr(vt, name) for name in vt.__all__]
    public = [made for made in names if isinstance(made, type) and issubclass(made, View)]
    assert len(public) > 15
    assert all(list(docs_api.trait_rows(view)) for view in public)


def test_an_example_becomes_a_block_of_code() -> None:
    docstring = "Add.\n\n>>> add(1, 2)  # doctest: +ELLIPSIS\n3\n\nArgs:\n    a: one.\n"
    assert docs_examples.fenced(docstring) == (
        "Add.\n\n```pycon\n>>> add(1, 2)\n3\n```\n\nArgs:\n    a: one.\n"
    )


def test_each_documented_return_value_has_its_type() -> None:
    docstring = "Add.\n\n    Returns:\n        The sum: one number.\n"
    assert (
        docs_examples.typed(docstring, "int") == "Add.\n\n    Returns:\n        int: The sum: one number.\n"
    )


def test_the_gallery_has_every_view_with_the_code_of_its_example() -> None:
    page = docs_gallery.page()
    for name, members in docs_api.views().items():
        for function in (each for each in members if each[0].islower()):
            assert f"## [vt.{function}](api/{name}.md)" in page
            assert f"vt.{function}(" in docs_gallery.example(function)
            assert f'src="gallery/{function}.html"' in page


def test_the_page_of_pictures_has_every_view_with_its_first_line() -> None:
    text = docs_gallery.PICTURES.read_text(encoding="utf-8")
    assert text == docs_gallery.with_table(text), "write it again: python -m tools.docs_gallery --table"


def test_an_example_makes_the_view_that_it_shows() -> None:
    assert isinstance(docs_gallery.shown("softmax_lab"), vt.SoftmaxLab)
