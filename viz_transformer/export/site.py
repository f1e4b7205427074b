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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ipywidgets

from viz_transformer._files import check_not_input, given_path, make_folder, text_beside
from viz_transformer._html import script_json, source_hash
from viz_transformer._renamed import NOTEBOOKS
from viz_transformer._text import given_heading
from viz_transformer.course_map import LESSONS
from viz_transformer.errors import FileError, UserError
from viz_transformer.export.course_drawing import course_drawing
from viz_transformer.export.inline_module import inline_style
from viz_transformer.export.notebook import Frame, NotebookPage, convert, page_html
from viz_transformer.export.page import check_replaceable, document, page_script, write_page
from viz_transformer.export.page_parts import parts_of_live, ready_for_export
from viz_transformer.export.sections import Section

INDEX, STUDIO = "index.html", "studio.html"
#: A kernel with torch takes half a gigabyte; and more would wait for the longest lesson.
_MOST_AT_A_TIME = 4

_QUESTION = re.compile(r"\*\*The question:\*\*(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
_TIME = re.compile(r"\*\*Time:\*\*\s*(?:about\s+)?(\d+(?:\s+to\s+\d+)?\s+minutes)")
_WRITTEN = re.compile(r'<b lang="\w+">(.*?)</b>')  # what a model writes, in its colour
_MARKS = re.compile(r"[*`]+|(?<!\w)_|_(?!\w)")

_COURSE = "One Transformer, and a lesson for each part of it"
_DOORS = "Each part of the model is a door to its lesson."
_TO_STUDIO = f'<a href="{STUDIO}">The studio</a> shows a sentence of yours in linked views.'
_ABOUT = (
    "Every picture on these pages can be used. The models run in the page, without Python and without a "
    "network, and what you answer is kept in this browser alone."
)
#: The body of a page at a lesson's earlier name.
_LEADS_ON = (
    '<meta http-equiv="refresh" content="0; url={0}.html">\n'
    '<main><p>The lessons have other numbers now: <a href="{0}.html">{0}</a>.</p></main>'
)
#: What the first page says until its script runs.
_NOT_RUNNING = (
    '<p class="vt-instead">Scripts do not run here: the search finds nothing, and what has been read is not '
    "shown. Every lesson opens all the same.</p>"
)


@dataclass(frozen=True)
class Page:
    """One notebook of a site.

    Attributes:
        notebook: its file.
        title: its first heading.
        question: what it asks, empty if it does not say.
        time: how long it takes, such as ``"40 minutes"``; empty if it does not say.
    """

    notebook: Path
    title: str
    question: str
    time: str = ""

    @property
    def name(self) -> str:
        """The name of its page."""
        return f"{self.notebook.stem}.html"


def write_site(
    notebooks: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str],
    *,
    title: str = "Lessons",
    studio: ipywidgets.Widget | None = None,
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
        studio: a view that has a page of its own, ``studio.html``, to which the first page leads.
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
    own = [INDEX] if studio is None else [STUDIO, INDEX]
    if twice := [name for name in names if names.count(name) > 1 or name in own]:
        raise UserError(f"two pages of the site would be called {twice[0]!r}; give the notebooks other names")
    target = make_folder(folder, "give another one")
    for name in [*names, *own]:
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
    if studio is not None:
        text = _studio_page(studio, pages, title)
        progress(write_page(target / STUDIO, text, max_megabytes=max_megabytes))
    index = _index(pages, title, {"pages": listed, "sections": sections}, own)
    return write_page(target / INDEX, index, max_megabytes=max_megabytes)


def write_earlier_names(folder: Path) -> None:
    """Write a page at each name that a lesson of a site had among fourteen lessons; it leads to the lesson.

    Files of those names that are no pages of ours stay.
    """
    for earlier, now in NOTEBOOKS.items():
        page = folder / f"{earlier}.html"
        if (folder / f"{now}.html").is_file():
            with suppress(FileError):
                check_replaceable(page)
                write_page(page, document(now, _LEADS_ON.format(now), styles=[]), max_megabytes=1)


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
    """Return a notebook's title and question."""
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
    asked, time = _QUESTION.search(first), _TIME.search(first)
    return Page(
        notebook,
        title=_plain(heading[1]) if heading else notebook.stem,
        question=_plain(asked[1]) if asked else "",
        time=_plain(time[1]) if time else "",
    )


def _linked_to_pages(text: str, pages: Sequence[Page]) -> str:
    """Return a page whose links to the site's notebooks lead to their pages."""
    for page in pages:
        text = text.replace(f'href="{page.notebook.name}', f'href="{page.name}')
    return text


def _plain(markdown: str) -> str:
    text = " ".join(_MARKS.sub("", _WRITTEN.sub(r"\1", markdown)).split())
    return text[:1].upper() + text[1:]


def _frame(pages: Sequence[Page], number: int, sections: Sequence[Section], title: str) -> Frame:
    """Return what is around a lesson: the bar above it, and the way on below."""
    page = pages[number]
    before, after = (pages[place] if 0 <= place < len(pages) else None for place in (number - 1, number + 1))
    on_page = "".join(
        f'<li><a href="#{html.escape(each.anchor)}">{html.escape(each.heading)}</a></li>'
        for each in sections
        if each.level == 2 and each.anchor
    )
    contents = f"<h2>On this page</h2><ol>{on_page}</ol>" if on_page else ""
    time = f'<span class="vt-time">{html.escape(page.time)}</span>' if page.time else ""
    bar = _bar(
        f'{_way_back(title)}<b class="vt-here">{html.escape(page.title)}</b>{_dots(pages, page)}{time}',
        contents,
    )
    way_on = (
        f'<nav class="vt-way-on" aria-label="Before and after">{_neighbour(before, "← ", "")}<span></span>'
        f"{_neighbour(after, '', ' →')}</nav>"
    )
    return _framed(bar, f"{way_on}\n", {"page": page.name}, pages)


def _framed(bar: str, below: str, data: dict[str, Any], pages: Sequence[Page]) -> Frame:
    listed = [{"name": each.name, "asked": []} for each in pages]
    styles = [inline_style(text_beside(__file__, "site.css"))]
    hashes = [source_hash(page_script("site.js"))]
    return Frame(bar, below + _script({**data, "pages": listed}), styles, allowed=hashes)


def _studio_page(studio: ipywidgets.Widget, pages: Sequence[Page], title: str) -> str:
    """Return the page of a view, below the bar of the site."""
    parts = parts_of_live(ready_for_export([studio]))
    page = NotebookPage("The studio", parts.add(studio.model_id), parts, ())
    return page_html(
        page, _framed(_bar(f'{_way_back(title)}<h1 class="vt-here">The studio</h1>'), "", {}, pages)
    )


def _way_back(title: str) -> str:
    return f'<a class="vt-back" href="{INDEX}" title="{html.escape(title)}">Course</a>'


def _bar(inside: str, more: str = "") -> str:
    """Return the bar of a page: where it is, and at its end the text's size and what else can be chosen."""
    theme = '<button type="button" class="vt-theme"><span>Theme: </span><span>system</span></button>'
    return (
        f'<nav class="vt-site-bar" aria-label="Lessons">{inside}'
        '<button type="button" class="vt-text-size" aria-label="Larger text" title="Larger text">A</button>'
        '<details class="vt-more"><summary aria-label="More" title="More">⋯</summary>'
        f"<div>{theme}{more}</div></details></nav>"
    )


def _dots(pages: Sequence[Page], here: Page) -> str:
    """Return a dot for each lesson, filled where it has been read, and in words where this one is."""
    dots = ""
    for page in pages:
        name, title = html.escape(page.name), html.escape(page.title)
        current = ' aria-current="page"' if page is here else ""
        dots += (
            f'<li><a href="{name}" title="{title}" aria-label="{title}" data-done="{name}"{current}></a></li>'
        )
    place = f'<span class="vt-place-of">{pages.index(here) + 1} / {len(pages)}</span>'
    return f'<ol class="vt-dots">{dots}</ol>{place}'


def _neighbour(page: Page | None, before: str, after: str) -> str:
    if page is None:
        return ""
    return f'<a href="{html.escape(page.name)}">{before}{html.escape(page.title)}{after}</a>'


def _script(data: dict[str, Any]) -> str:
    return (
        f'<script type="application/json" id="vt-site">{script_json(data)}</script>\n'
        f'<script type="module">{page_script("site.js")}</script>'
    )


def _index(pages: Sequence[Page], title: str, data: dict[str, Any], own: Sequence[str]) -> str:
    """Return the first page: the model, drawn, each part a door to its lesson; and the list of lessons."""
    doors = {
        LESSONS.index(page.notebook.stem) + 1: (page.name, page.title)
        for page in pages
        if page.notebook.stem in LESSONS
    }
    heading, about, drawn, named = title, _ABOUT, "", ""
    if doors:
        heading, about, drawn = _COURSE, f"{_DOORS} {_ABOUT}", course_drawing(doors)
        named = f'<b class="vt-here">{html.escape(title)}</b>'
    if STUDIO in own:
        about = f"{about} {_TO_STUDIO}"
    search = '<input type="search" class="vt-search" placeholder="Search" aria-label="Search all lessons">'
    lessons = "\n".join(map(_entry, pages))
    main = (
        f'<main class="vt-index">\n<section class="vt-map"><h1>{html.escape(heading)}</h1>\n<p>{about}</p>\n'
        f'{drawn}</section>\n<aside><div class="vt-contents"><p class="vt-count">{_lessons(len(pages))}</p>'
        f'<progress class="vt-course-read" max="{len(pages)}" value="0" aria-label="Lessons read"></progress>'
        f'\n<ol class="vt-lessons">\n{lessons}\n</ol></div>\n'
        '<ol class="vt-found" aria-live="polite"></ol></aside>\n</main>'
    )
    body = "\n".join([_bar(named + search), _NOT_RUNNING, main, _script(data)])
    styles = [inline_style(text_beside(__file__, name)) for name in ("site.css", "places.css")]
    return document(title, body, styles=styles, policy={"script-src": [source_hash(page_script("site.js"))]})


def _lessons(count: int) -> str:
    return "1 lesson" if count == 1 else f"{count} lessons"


def _entry(page: Page) -> str:
    name = html.escape(page.name)
    asked = f'<p class="vt-question">{html.escape(page.question)}</p>' if page.question else ""
    time = f"<small>{html.escape(page.time)}</small>" if page.time else ""
    number, found, rest = page.title.partition(" · ")
    has_number = bool(found) and number.isdigit()
    title = html.escape(rest if has_number else page.title)
    return (
        f'<li data-done="{name}"><a href="{name}"><i>{number if has_number else ""}</i> '
        f"<b>{title}</b>{time}{asked}</a>"
        f'<span class="vt-done" data-done="{name}"></span></li>'
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
