"""What tools/docs_site.py makes of the repository's texts; tests/ui/test_docs_site.py builds the whole."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from tests.support.source_code import MODULES, ROOT, for_each
from tools import docs_site
from viz_transformer.errors import DOCUMENTATION

#: Where pages of text stand; the root has some too.
WITH_PAGES = {"docs", "teaching", "data", *(path.name for path in ROOT.glob("*.md"))}
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
            "[a](../notebooks/08_masks.ipynb#cell-id=x)",
            "docs/index.md",
            "index.md",
            "[a](course/08_masks.html)",
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
    files = Known({"capture.md", "contributing.md", "course/index.html", "course/08_masks.html"})
    assert docs_site.linked(link, Path(source), page, files, REPOSITORY) == expected


def measured() -> str:
    """Return the rows of docs/contributing/benchmarks.md in which other tools show the same attention."""
    text = (ROOT / "docs" / "contributing" / "benchmarks.md").read_text(encoding="utf-8")
    section = text.partition("## The explorer's page against its peers'\n")[2].partition("\n## ")[0]
    return "".join(re.findall(r"^\| 12 × 12 \| 128 \|.*\n", section, re.MULTILINE))


def test_the_readme_gives_the_numbers_of_the_benchmarks() -> None:
    """Of 12 × 12 heads and 128 tokens: rounded, or what stands in the place of a number."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("## How it compares")[2]
    tools, page, paint, layer = (
        re.split(r" \| ", re.search(rf"^\| ?{row} \| (.+) \|$", readme, re.MULTILINE)[1])
        for row in ("", "page", "first picture", "another layer")
    )
    found = {
        tool.replace("explorer", "viz_transformer"): rest
        for tool, *rest in re.findall(
            r"^\| 12 × 12 \| 128 \| (\w+) \| (.+?) \| (.+?) \| (.+?) \|", measured(), re.MULTILINE
        )
    }
    for tool, *told in zip(tools, page, paint, layer, strict=True):
        megabytes, first, other = found[tool.split()[0]]
        assert told == [_rounded(megabytes, "MB"), _rounded(first, "s"), _rounded(other, "ms")], tool


def _rounded(measured: str, unit: str) -> str:
    """Return a number of the benchmarks as the README writes it."""
    number, _, of = measured.partition(" ")
    if not of or not number[0].isdigit():
        return measured.replace("stopped at", "over")
    value = float(number) / (1000 if (of, unit) == ("ms", "s") else 1)
    digits = 0 if unit == "ms" or value >= 100 else 1
    return f"{value:,.{digits}f} {unit}"


def anchors(page: Path) -> set[str]:
    """Return the names that GitHub and the site give to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_a_broken_page_stops_the_build() -> None:
    class Loader(yaml.SafeLoader):
        """Reads mkdocs.yml; what Python makes of a tag is left out."""

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
    config = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)
    assert {each for group in config["validation"].values() for each in group.values()} == {"warn"}
    assert config["theme"]["font"] is False
    assert "mkdocs build --strict" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_an_address_of_the_project_stands_in_pyproject_alone() -> None:
    """Nothing is published yet: a reader has the clone, and what is named elsewhere is in it."""
    ours = re.compile(
        r"viz-transformer\.github\.io|github(?:usercontent)?\.com/viz-transformer|pip install viz"
    )
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [ROOT / name for name in tracked.stdout.splitlines()]
    texts = [
        path for path in paths if path.suffix in {".md", ".py", ".toml", ".yml", ".cff", ".js", ".ipynb"}
    ]
    naming = [path.name for path in texts if path.exists() and ours.search(path.read_text(encoding="utf-8"))]
    assert naming == ["pyproject.toml", "test_docs.py", "test_project.py"]


@for_each(sorted(path for path in ROOT.glob("**/*.md") if path.relative_to(ROOT).parts[0] in WITH_PAGES))
def test_no_link_is_dead(page: Path) -> None:
    """Neither a file nor a heading that a page leads to is missing."""
    text = re.sub(r"`[^`\n]+`", "", page.read_text(encoding="utf-8"))  # without code
    for path, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(#[^)\s]+)?\)", text):
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name} links to {path}"
        if anchor and target.suffix == ".md":
            assert anchor[1:] in anchors(target), f"{page.name} links to {path}{anchor}"


def test_the_pages_that_errors_name_exist() -> None:
    assert DOCUMENTATION == "docs/"
    for module in MODULES:
        for page in re.findall(r"\{DOCUMENTATION\}(\w+)\.md", module.read_text(encoding="utf-8")):
            assert (ROOT / "docs" / f"{page}.md").exists(), f"{module.name} names a page {page}.md"


def test_the_readmes_first_screen_needs_no_network_and_names_both_commands() -> None:
    first = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:20])
    assert re.search(r"!\[[^\]]+\]\(docs/images/translation\.webp\)", first)
    assert "make lab " in first
    assert "make test " in first
