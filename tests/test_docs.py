"""What tools/docs_site.py makes of the repository's texts; tests/ui/test_docs_site.py builds the whole."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

import viz_transformer as vt
from tests.support.source_code import MODULES, ROOT
from tools import docs_site
from viz_transformer.errors import DOCUMENTATION

REPOSITORY = "https://example.org/blob/main/"


class Known:
    """The files of a site, as mkdocs gives them to its hooks."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = set(paths)

    def get_file_from_path(self, path: str) -> str | None:
        return path if path in self.paths else None


@pytest.mark.parametrize(
    ("link", "source", "page", "expected"),
    [
        ("[a](capture.md#pairs)", "docs/recipes.md", "recipes.md", "[a](capture.md#pairs)"),
        ("[a](docs/capture.md)", "CONTRIBUTING.md", "contributing.md", "[a](capture.md)"),
        (
            "[a](../CONTRIBUTING.md#add-a-view)",
            "docs/index.md",
            "index.md",
            "[a](contributing.md#add-a-view)",
        ),
        ("[a](../Makefile)", "docs/index.md", "index.md", f"[a]({REPOSITORY}Makefile)"),
        (
            "[a](../notebooks/07_masks.ipynb#cell-id=x)",
            "docs/index.md",
            "index.md",
            "[a](course/07_masks.html)",
        ),
        ("[a](../notebooks)", "docs/index.md", "index.md", "[a](course/index.html)"),
        ("[a](../tools)", "docs/index.md", "index.md", f"[a]({REPOSITORY}tools)"),
        ("[a](gone.md)", "docs/index.md", "index.md", "[a](gone.md)"),
        ("[a](https://example.org)", "docs/index.md", "index.md", "[a](https://example.org)"),
        ("[a](capture.md)", "docs/x.md", "api/x.md", "[a](../capture.md)"),
    ],
)
def test_a_link_leads_to_the_page_of_the_site_or_else_to_the_repository(
    link: str, source: str, page: str, expected: str
) -> None:
    files = Known({"capture.md", "contributing.md", "course/index.html", "course/07_masks.html"})
    assert docs_site.linked(link, Path(source), page, files, REPOSITORY) == expected


def test_the_course_lists_every_lesson_with_its_question() -> None:
    listed = docs_site.lessons().splitlines()
    assert len(listed) == len(list((ROOT / "notebooks").glob("*.ipynb")))
    assert all(re.fullmatch(r"- \[.+\]\(\.\./notebooks/.+\.ipynb\)\. .+\?", line) for line in listed)


def test_the_comparison_takes_every_tool_from_the_benchmarks_with_their_date() -> None:
    table = docs_site.measured()
    assert re.match(r"Measured on \d{4}-\d\d-\d\d: .+\.\n\n\|", table)
    assert "Versions: Chromium" in table
    for tool in ("explorer", "bertviz", "CircuitsVis", "inspectus", "attnview"):
        assert re.search(rf"^\| 12 × 12 \| 128 \| {tool} \| [\d.]+ MB \|", table, re.MULTILINE)


def test_the_readme_gives_the_numbers_of_the_benchmarks() -> None:
    """Of 12 × 12 heads and 128 tokens: rounded, or what stands in the place of a number."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("## How it compares")[2]
    tools, page, paint, layer = (
        re.split(r" \| ", re.search(rf"^\| ?{row} \| (.+) \|$", readme, re.MULTILINE)[1])
        for row in ("", "page", "first picture", "another layer")
    )
    measured = {
        tool.replace("explorer", "viz_transformer"): rest
        for tool, *rest in re.findall(
            r"^\| 12 × 12 \| 128 \| (\w+) \| (.+?) \| (.+?) \| (.+?) \|", docs_site.measured(), re.MULTILINE
        )
    }
    for tool, *told in zip(tools, page, paint, layer, strict=True):
        megabytes, first, other = measured[tool.split()[0]]
        assert told == [_rounded(megabytes, "MB"), _rounded(first, "s"), _rounded(other, "ms")], tool


def _rounded(measured: str, unit: str) -> str:
    """Return a number of the benchmarks as the README writes it."""
    number, _, of = measured.partition(" ")
    if not of or not number[0].isdigit():
        return measured.replace("stopped at", "over")
    value = float(number) / (1000 if (of, unit) == ("ms", "s") else 1)
    digits = 0 if unit == "ms" or value >= 100 else 1
    return f"{value:,.{digits}f} {unit}"


def test_the_build_stops_at_whatever_is_broken() -> None:
    class Loader(yaml.SafeLoader):
        """Reads mkdocs.yml; what Python makes of a tag is left out."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)
    assert {each for group in config["validation"].values() for each in group.values()} == {"warn"}
    assert config["theme"]["font"] is False
    assert "mkdocs build --strict" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_help_messages_and_the_project_name_the_same_address() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert f"site_url: {DOCUMENTATION}\n" in text
    assert f'Documentation = "{DOCUMENTATION}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"{DOCUMENTATION}:" in (vt.__doc__ or "")
    for path in MODULES:
        for page in re.findall(r"\{DOCUMENTATION\}(\w+)\.html", path.read_text(encoding="utf-8")):
            assert (ROOT / "docs" / f"{page}.md").exists(), f"{path.name} names a page {page}.html"
