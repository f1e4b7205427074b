"""Export of notebooks to a static site: an interactive page for each, and an index."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viz_transformer._files import check_not_input, given_path, make_folder, text_beside
from viz_transformer._html import script_json, source_hash
from viz_transformer._text import given_heading
from viz_transformer.errors import FileError, UserError
from viz_transformer.export.inline_module import inline_style
from viz_transformer.export.notebook import Frame, NotebookPage, convert, page_html
from viz_transformer.export.page import check_replaceable, document, page_script, write_page
from viz_transformer.export.sections import Section

INDEX = "index.html"
#: A kernel with torch takes half a gigabyte; and more would wait for the longest lesson.
_MOST_AT_A_TIME = 4

_QUESTION = re.compile(r"\*\*The question:\*\*(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
_MARKS = re.compile(r"[*`]+|(?<!\w)_|_(?!\w)")

_ABOUT = (
    "Every picture on these pages can be used: point, click, drag, type a sentence of your own. The models "
    "run in the page, without Python and without a network. What you answer is kept in this browser alone."
)


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
    tell: Callable[[str], object] = warnings.warn,
) -> Path:
    """Run notebooks and write them as pages of a site; returns the path of its first page.

    The site fetches nothing and needs no server: it opens from a disk. Pages of the same names that an
    earlier call wrote are replaced, and other files in the folder stay. Each notebook runs in a folder
    of its own, and stays as it is. On several cores some run at a time, each on one thread unless
    `OMP_NUM_THREADS` says another number.

    Args:
        notebooks: the notebook files, in their order.
        folder: where to write; made if it is not there.
        title: the heading of the first page.
        max_megabytes: no page may be larger than this many megabytes (10^6 bytes).
        progress: called with each page's path when it is written.
        tell: called with what is left out of a page, in a sentence, if anything is.

    Raises:
        UserError: if there is not a notebook, two have one name, a cell raises, or a page would be
            too large.
        FileError: if a file cannot be read or written, or a page would replace a file that is none.
    """
    title = given_heading(title)
    pages = [read_page(given_path(each)) for each in notebooks]
    if not pages:
        raise UserError("a site needs a notebook, and none was given; give their paths")
    names = [page.name for page in pages]
    if twice := [name for name in names if names.count(name) > 1 or name == INDEX]:
        raise UserError(f"two pages of the site would be called {twice[0]!r}; give the notebooks other names")
    target = make_folder(folder, "give another one")
    for name in [*names, INDEX]:
        check_not_input(target / name, *notebooks)
        check_replaceable(target / name)
    listed, sections = [], []
    for number, (page, converted) in enumerate(zip(pages, _all_converted(pages), strict=True)):
        text = page_html(converted, _frame(pages, number, converted.sections, title))
        text = _linked_to_pages(text, pages)
        progress(write_page(target / page.name, text, max_megabytes=max_megabytes))
        if converted.left_out:
            tell(f"{str(page.notebook)!r}: {converted.left_out}")
        listed.append({"name": page.name, "asked": converted.parts.kept})
        sections += [_searched(page, section) for section in converted.sections]
    index = _index(pages, title, {"pages": listed, "sections": sections})
    return write_page(target / INDEX, index, max_megabytes=max_megabytes)


def _all_converted(pages: Sequence[Page]) -> Iterator[NotebookPage]:
    """Run and convert some notebooks at a time; they come in their order, and so does an error.

    Threads will do: they mostly wait for the kernels, which are processes.
    """
    pool = ThreadPoolExecutor(min(_MOST_AT_A_TIME, os.cpu_count() or 1))
    try:
        yield from pool.map(_converted, pages)
    finally:
        pool.shutdown(cancel_futures=True)


def _converted(page: Page) -> NotebookPage:
    with tempfile.TemporaryDirectory() as scratch:
        copied = Path(scratch) / page.notebook.name
        shutil.copyfile(page.notebook, copied)
        # Threads of several kernels would wait for each other.
        return convert(copied, execute=True, environment={"OMP_NUM_THREADS": "1", **os.environ})


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
        raise FileError(f"{str(notebook)!r} is not a notebook: {error}") from error
    first = texts[0] if texts else ""
    heading = re.match(r"#\s+(.+)", first)
    asked = _QUESTION.search(first)
    return Page(
        notebook,
        title=_plain(heading[1]) if heading else notebook.stem,
        question=_plain(asked[1]) if asked else "",
    )


def _linked_to_pages(text: str, pages: Sequence[Page]) -> str:
    """Return a page whose links to the site's notebooks lead to their pages."""
    for page in pages:
        text = text.replace(f'href="{page.notebook.name}', f'href="{page.name}')
    return text


def _plain(markdown: str) -> str:
    text = " ".join(_MARKS.sub("", markdown).split())
    return text[:1].upper() + text[1:]


def _frame(pages: Sequence[Page], number: int, sections: Sequence[Section], title: str) -> Frame:
    """Return what stands around a lesson: the bar above it, and the way on below."""
    before, after = (pages[place] if 0 <= place < len(pages) else None for place in (number - 1, number + 1))
    on_page = "".join(
        f'<li><a href="#{html.escape(each.anchor)}">{html.escape(each.heading)}</a></li>'
        for each in sections
        if each.level == 2 and each.anchor
    )
    bar = _bar(
        f'<a href="{INDEX}">{html.escape(title)}</a>'
        f"{_neighbour(before, '← ', '')}{_neighbour(after, '', ' →')}"
        '<span class="vt-spacer"></span>'
        f'<details class="vt-on-page"><summary>On this page</summary><ol>{on_page}</ol></details>'
    )
    way_on = (
        f'<nav class="vt-way-on" aria-label="Before and after">{_neighbour(before, "← ", "")}<span></span>'
        f"{_neighbour(after, '', ' →')}</nav>"
    )
    below = f"{way_on}\n{_script({'page': pages[number].name})}"
    styles = [inline_style(text_beside(__file__, "site.css"))]
    return Frame(bar, below, styles, allowed=[source_hash(page_script("site.js"))])


def _bar(inside: str) -> str:
    button = '<button type="button" class="vt-theme"><span>Theme: </span><span>system</span></button>'
    return f'<nav class="vt-site-bar" aria-label="Lessons">{inside}{button}</nav>'


def _neighbour(page: Page | None, before: str, after: str) -> str:
    if page is None:
        return ""
    link = f"{before}<span>{html.escape(page.title)}</span>{after}"
    return f'<a class="vt-neighbour" href="{html.escape(page.name)}">{link}</a>'


def _script(data: dict[str, Any]) -> str:
    return (
        f'<script type="application/json" id="vt-site">{script_json(data)}</script>\n'
        f'<script type="module">{page_script("site.js")}</script>'
    )


def _index(pages: Sequence[Page], title: str, data: dict[str, Any]) -> str:
    about = f"<h1>{html.escape(title)}</h1>\n<p>{_ABOUT}</p>"
    search = (
        '<p class="vt-search"><input type="search" placeholder="Search all lessons" '
        'aria-label="Search all lessons"></p>\n<ol class="vt-found" aria-live="polite"></ol>'
    )
    lessons = "\n".join(_entry(page) for page in pages)
    main = f'<main class="vt-index">\n{about}\n{search}\n<ol class="vt-lessons">\n{lessons}\n</ol>\n</main>'
    body = "\n".join([_bar('<span class="vt-spacer"></span>'), main, _script(data)])
    style = inline_style(text_beside(__file__, "site.css"))
    return document(title, body, styles=[style], policy={"script-src": [source_hash(page_script("site.js"))]})


def _entry(page: Page) -> str:
    asked = f"<p>{html.escape(page.question)}</p>" if page.question else ""
    name = html.escape(page.name)
    return (
        f'<li><span class="vt-done" data-done="{name}"></span>'
        f'<a href="{name}">{html.escape(page.title)}</a>{asked}</li>'
    )


def _searched(page: Page, section: Section) -> dict[str, str]:
    """Return a section as the search of the first page reads it."""
    return {
        "page": page.name,
        "lesson": page.title,
        "anchor": section.anchor,
        "heading": section.heading,
        "text": section.text,
    }
