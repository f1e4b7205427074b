"""Export of notebooks to a static site: an interactive page for each, and an index."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from viz_transformer._files import atomic_write, make_folder, text_beside
from viz_transformer.errors import FileError, UserError
from viz_transformer.export.inline_module import inline_style
from viz_transformer.export.notebook import notebook_html
from viz_transformer.export.page import document

INDEX = "index.html"

_QUESTION = re.compile(r"\*\*The question:\*\*(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
_MARKS = re.compile(r"[*`]+|(?<!\w)_|_(?!\w)")

_INDEX = """<main class="vt-index">
<h1>{title}</h1>
<p>{about}</p>
<ul>
{entries}
</ul>
</main>"""
_ABOUT = (
    "Every picture on these pages can be used as in the notebook, without Python and without a "
    "network. What needs a running notebook says so."
)
_NAVIGATION_STYLE = """
.vt-navigation { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 8px 24px;
  max-width: 70em; margin: 12px auto; padding: 8px 16px; border-bottom: 1px solid #8889;
  font: 15px/1.4 system-ui, "Segoe UI", "Noto Sans", sans-serif; }
.vt-navigation span:empty { min-width: 1px; }
"""


@dataclass(frozen=True)
class Page:
    """One notebook of a site.

    Attributes:
        notebook: its file.
        title: its first heading.
        question: what it asks, empty if it does not say.
    """

    notebook: Path
    title: str
    question: str

    @property
    def name(self) -> str:
        """The name of its page."""
        return f"{self.notebook.stem}.html"


def write_site(
    notebooks: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    title: str = "Lessons",
    max_megabytes: float = 50,
    progress: Callable[[Path], None] = lambda _: None,
) -> Path:
    """Run notebooks and write them as pages of a site; returns the path of its first page.

    The site fetches nothing and needs no server: it opens from a disk. Pages of the same names are
    replaced, and other files in the folder stay. The notebooks run in a folder of their own, and
    stay as they are.

    Args:
        notebooks: the notebook files, in their order.
        folder: where to write; made if it is not there.
        title: the heading of the first page.
        max_megabytes: no page may be larger than this many megabytes (10^6 bytes).
        progress: called with each page's path when it is written.

    Raises:
        UserError: if there is no notebook, two have one name, a cell raises, or a page would be
            too large.
        FileError: if a file cannot be read or written.
    """
    pages = [read_page(Path(each)) for each in notebooks]
    if not pages:
        raise UserError("a site needs a notebook, and none was given; give their paths")
    names = [page.name for page in pages]
    if twice := [name for name in names if names.count(name) > 1 or name == INDEX]:
        raise UserError(f"two pages of the site would be called {twice[0]!r}; give the notebooks other names")
    target = make_folder(folder, "give another one")
    with tempfile.TemporaryDirectory() as scratch:
        for number, page in enumerate(pages):
            copied = Path(scratch) / page.notebook.name
            shutil.copyfile(page.notebook, copied)
            written = notebook_html(
                copied,
                target / page.name,
                execute=True,
                max_megabytes=max_megabytes,
                navigation=_navigation(pages, number),
            )
            progress(written)
    with atomic_write(target / INDEX) as part:
        part.write_text(_index(pages, title), encoding="utf-8")
    return target / INDEX


def read_page(notebook: Path) -> Page:
    """Return a notebook's title and question.

    Raises:
        FileError: if it cannot be read.
    """
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    except OSError as error:
        raise FileError(
            f"cannot read {str(notebook)!r}: {error.strerror or error}; give the path of a notebook"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{str(notebook)!r} is no notebook: {error}") from error
    first = texts[0] if texts else ""
    heading = re.match(r"#\s+(.+)", first)
    asked = _QUESTION.search(first)
    return Page(
        notebook,
        title=_plain(heading[1]) if heading else notebook.stem,
        question=_plain(asked[1]) if asked else "",
    )


def _plain(markdown: str) -> str:
    text = " ".join(_MARKS.sub("", markdown).split())
    return text[:1].upper() + text[1:]


def _navigation(pages: Sequence[Page], number: int) -> str:
    def link(place: int, before: str, after: str) -> str:
        if not 0 <= place < len(pages):
            return "<span></span>"
        page = pages[place]
        return f'<a href="{html.escape(page.name)}">{before}{html.escape(page.title)}{after}</a>'

    return (
        f"<style>{_NAVIGATION_STYLE}</style>"
        f'<nav class="vt-navigation" aria-label="Lessons">{link(number - 1, "← ", "")}'
        f'<a href="{INDEX}">All lessons</a>{link(number + 1, "", " →")}</nav>'
    )


def _index(pages: Sequence[Page], title: str) -> str:
    style = inline_style("\n".join(text_beside(__file__, name) for name in ("page.css", "index.css")))
    body = _INDEX.format(title=html.escape(title), about=_ABOUT, entries="\n".join(_entries(pages)))
    return document(title, body, styles=[style])


def _entries(pages: Sequence[Page]) -> Iterator[str]:
    for page in pages:
        asked = f"<p>{html.escape(page.question)}</p>" if page.question else ""
        yield (f'<li><a href="{html.escape(page.name)}">{html.escape(page.title)}</a>{asked}</li>')
