"""What mkdocs does for the documentation beside its own work; mkdocs.yml names this file as its hooks.

Every page reads the same on disk and in the site. This file brings the texts outside of docs/ into the site,
adds the API and the live views, and points links between the pages to the site's. The addresses of the site
and of the repository are those of pyproject.toml.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools import docs_api, docs_commands, docs_gallery

ROOT = Path(__file__).parents[1]
#: Pages of the site whose text is elsewhere in the repository.
ELSEWHERE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "data.md": "data/README.md",
}
#: Pages that take the room of the list of their neighbours for a view.
WIDE = {"index.md", "gallery.md", "live.md"}
#: Where `make site` writes the lessons. They are part of the documentation if they are there.
LESSONS = ROOT / "build" / "site"
_LINK = re.compile(r"(?<=\]\()(?P<path>[\w./-]+)(?P<anchor>#[^)\s]*)?(?=\))")


def on_config(config: MkDocsConfig, **_: Any) -> MkDocsConfig:
    """Name the addresses, and put the API and the live views into the navigation."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    config.site_url, config.repo_url = urls["Documentation"], urls["Homepage"]
    gallery = {"Gallery": ["gallery.md", {"Every view, alive": "live.md"}]}
    config.nav[-1:-1] = [gallery, {"API": docs_api.navigation()}]
    return config


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages and files that are not in docs/."""
    for page, source in ELSEWHERE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for page, (_, text) in docs_api.pages().items():
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "live.md", content=docs_gallery.page()))
    files.append(File.generated(config, "command_line.md", content=docs_commands.page()))
    for folder, made in (("course", LESSONS), ("gallery", docs_gallery.FOLDER)):
        for path in sorted(made.glob("*.html")):
            files.append(File.generated(config, f"{folder}/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, config: MkDocsConfig, **_: Any) -> str:
    """Point the links to the site's pages."""
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["navigation"]
    source = ELSEWHERE.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    return linked(markdown, Path(source), page.file.src_uri, files, f"{config.repo_url}/blob/main/")


def linked(markdown: str, source: Path, page: str, files: Files, repository: str) -> str:
    """Return a page whose relative links work in the site.

    Args:
        markdown: its text.
        source: its file in the repository, from which the links start.
        page: its path in the site's sources.
        files: those of the site.
        repository: the address before the path of a file that is not in the site.
    """
    pages = {each: name for name, each in ELSEWHERE.items()}

    def target(link: re.Match[str]) -> str:
        path = os.path.normpath(source.parent / link["path"]).replace(os.sep, "/")
        if not (ROOT / path).exists():
            return link[0]  # mkdocs reports it and stops
        inside, anchor = pages.get(path, path.removeprefix("docs/")), link["anchor"] or ""
        if path.partition("/")[0] == "notebooks":
            inside, anchor = lesson_page(path), ""  # the cell exists in JupyterLab alone
        if files.get_file_from_path(inside):
            return os.path.relpath(inside, Path(page).parent).replace(os.sep, "/") + anchor
        return f"{repository}{path}{anchor}"

    return _LINK.sub(target, markdown)


def lesson_page(notebook: str) -> str:
    """Return the site's page of a notebook, or of the folder of all."""
    name = Path(notebook)
    return f"course/{name.stem if name.suffix else 'index'}.html"
