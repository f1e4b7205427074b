"""Export of a notebook to one offline HTML file in which its views stay interactive."""

from __future__ import annotations

import copy
import html
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viz_transformer._files import check_not_input, given_path, text_beside
from viz_transformer._html import source_hash
from viz_transformer.bertviz_views.views import FRAME, frame_scripts
from viz_transformer.errors import FileError, UserError
from viz_transformer.export.inline_module import inline_style
from viz_transformer.export.page import (
    NOT_RUNNING,
    check_replaceable,
    document,
    script_elements,
    script_texts,
    write_page,
)
from viz_transformer.export.page_parts import PageParts
from viz_transformer.export.sections import Section, sections_of
from viz_transformer.export.stills import with_drawn_pictures, with_smaller_pictures
from viz_transformer.export.stored_widgets import DESCRIBE_CELL, DESCRIPTIONS, FORMS, StoredWidgets

_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_STILL = 'class="vt-still"'
_AROUND_STILL = re.compile(r'<style>.*?</style>|<p class="vt-still-note">.*?</p>', re.DOTALL)

_LOST = (
    '<p class="vt-note">The view of this place was saved without its state, or by another version. Run the '
    "notebook and save it again, or convert it with --execute.</p>"
)
#: In the place of a view while the HTML of the cells is sanitised.
_PLACE = '<div class="vt-place-{}"></div>'
_PLACES = re.compile(_PLACE.format(r"(\d{1,9})"))
#: How many names of what was left out are listed.
_MOST_NAMED = 12

_CODE = re.compile(r'<div class="highlight.*?</pre>', re.DOTALL)
#: Names, operators, brackets and spaces: `notebook.css` leaves them in the colour of plain text, and
#: marking them up took 1.5% of the course's bytes.
_PLAIN = re.compile(r'<span class="(?:n|nn|o|p|w)">([^<]*)</span>')

# Outputs have styles of their own, as attributes; a page may fetch no file.
_POLICY = {
    "style-src": ["'unsafe-inline'"],
    "img-src": ["data:", "blob:"],
    "font-src": ["data:"],
    "media-src": ["data:"],
}


@dataclass(frozen=True)
class NotebookPage:
    """A notebook, converted but for what surrounds it.

    Attributes:
        title: its first heading, or the file's name.
        body: the HTML of its cells.
        parts: its views.
        sections: what its headings divide it into.
        allowed: the hashes of the scripts in its frames.
        left_out: what it leaves out of the notebook, in a sentence; empty if nothing.
    """

    title: str
    body: str
    parts: PageParts
    sections: tuple[Section, ...]
    allowed: Sequence[str] = ()
    left_out: str = ""


@dataclass(frozen=True)
class Frame:
    """What a site puts around a notebook: HTML above and below it, style sheets, and its scripts' hashes."""

    above: str = ""
    below: str = ""
    styles: Sequence[str] = ()
    allowed: Sequence[str] = ()


def notebook_html(
    notebook: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    execute: bool = False,
    max_megabytes: float = 50,
    tell: Callable[[str], object] = warnings.warn,
) -> Path:
    """Write a notebook as one HTML file with its views alive; returns the file's path.

    The views open as they were saved with the notebook, or as its run leaves them. The page fetches
    nothing, and of the notebook's own HTML it takes what shows something and runs nothing; what is
    left out is said at its top. Formulas are MathML, which browsers draw by themselves. Without
    `execute` views are shown whose script is this version's; others become their picture.

    Args:
        notebook: the notebook file, which stays as it is.
        path: the file to write; the notebook's name with ``.html`` if None.
        execute: run the notebook first, in the folder that it is in.
        max_megabytes: a page larger than this many megabytes (10^6 bytes) is not written.
        tell: called with what is left out, in a sentence, if anything is.

    Raises:
        UserError: if nbconvert is not installed, a cell raises, or the page would be too large.
        FileError: if a file cannot be read or written, or the page would replace one that is no page of ours.
    """
    source = given_path(notebook)
    target = source.with_suffix(".html") if path is None else given_path(path)
    check_not_input(target, source)
    check_replaceable(target)
    page = convert(source, execute=execute)
    written = write_page(target, page_html(page), max_megabytes=max_megabytes)
    if page.left_out:
        tell(f"{str(source)!r}: {page.left_out}")
    return written


def convert(
    notebook: Path, *, execute: bool = False, environment: Mapping[str, str] = os.environ
) -> NotebookPage:
    """Return a notebook's cells and views; see `notebook_html`. A kernel runs in `environment`."""
    read = _read(notebook)
    descriptions = _run(read, notebook, environment) if execute else {}
    try:
        return _converted(read, StoredWidgets(read, descriptions, ran=execute), notebook)
    except UserError:
        raise
    except Exception as error:  # its cells, outputs and widgets may be anything
        raise FileError(
            f"{str(notebook)!r} holds cells, outputs or widgets that no Jupyter wrote "
            f"({type(error).__name__}); open it in JupyterLab, run it and save it again"
        ) from error


def _converted(read: Any, widgets: StoredWidgets, notebook: Path) -> NotebookPage:
    from viz_transformer.export.sanitising import left_out, sanitised, with_cell_styles

    parts = PageParts(widgets.state_of, widgets.still_of, widgets.answers_of)
    placed, places = _with_places(read, parts)
    given = with_cell_styles(_cells(placed, notebook))
    kept = sanitised(given)
    body = _PLACES.sub(lambda place: "".join(places[int(place[1]) :][:1]), with_smaller_pictures(kept))
    sections = sections_of(body)
    title = sections[0].heading if sections else notebook.stem
    allowed = set().union(*map(frame_scripts, places))
    frames = Counter({"the frame of a bertviz view": places.count(_LOST)})
    said = _said(left_out(given, kept) + widgets.foreign + frames)
    return NotebookPage(title, body, parts, sections, sorted(allowed), said)


def _said(names: Counter[str]) -> str:
    """Return a sentence on what was left out of a page, by name; may be empty."""
    named = [f"{re.sub(r'[^ -~]', '?', name):.60} ({n})" for name, n in names.most_common(_MOST_NAMED)]
    named += [f"and {len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return f"Left out, as it is not safe in a page: {', '.join(named)}." if named else ""


def page_html(page: NotebookPage, frame: Frame = Frame()) -> str:
    """Return the whole HTML of a converted notebook."""
    own = inline_style(text_beside(__file__, "notebook.css"))
    note = f'<p class="vt-note">{html.escape(page.left_out)}</p>\n' if page.left_out else ""
    main = f'<main class="vt-notebook">\n{note}{page.body}\n</main>'
    runs = script_texts(page.parts) if page.parts.views else []
    scripts, said = (script_elements(page.parts), NOT_RUNNING) if runs else ("", "")
    allowed = [*map(source_hash, runs), *page.allowed, *frame.allowed]
    return document(
        page.title,
        "\n".join([said, frame.above, main, frame.below, scripts]),
        styles=[own, *frame.styles, *page.parts.styles],
        policy={"script-src": allowed or ["'none'"], **_POLICY},
    )


def _read(path: Path) -> Any:
    import nbconvert  # noqa: F401 - so that it is missed before the notebook has run
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except OSError as error:
        raise FileError(
            f"cannot read {str(path)!r}: {error.strerror or error}; give the path of a notebook"
        ) from error
    except Exception as error:  # nbformat's own errors have no common class
        first = str(error).partition("\n")[0]
        raise FileError(f"{str(path)!r} is not a notebook that nbformat can read: {first}") from error


def _run(notebook: Any, path: Path, environment: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Run a notebook in place, with the state of its widgets; returns its views' descriptions.

    Where a result has a form, the form is shown in its place.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    notebook.metadata.pop("widgets", None)  # of these the run made none
    describing = nbformat.v4.new_code_cell("...")
    notebook.cells.append(describing)
    client = NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(path.parent)}})

    def name_the_views(cell: Any, **_: Any) -> None:
        if cell is describing:
            cell.source = DESCRIBE_CELL.format(ids=[i for i, s in client.widget_state.items() if "_esm" in s])

    client.on_cell_execute = name_the_views
    try:
        client.execute(env=dict(environment))
    except CellExecutionError as error:
        first = error.evalue.partition("\n")[0]
        raise UserError(
            f"a cell of {str(path)!r} raised {error.ename}: {first}; fix it, or convert without --execute"
        ) from error
    except DeadKernelError as error:
        raise UserError(f"the kernel of {str(path)!r} died while the notebook ran") from error
    shown = [output.get("data", {}) for output in notebook.cells.pop().outputs]
    _show_forms(notebook, {number: form for data in shown for number, form in data.get(FORMS, {}).items()})
    return {model_id: each for data in shown for model_id, each in data.get(DESCRIPTIONS, {}).items()}


def _show_forms(notebook: Any, forms: dict[str, str]) -> None:
    """Put forms, by the number of a cell that was run, in the place of the cell's result."""
    for output in (each for cell in notebook.cells for each in cell.get("outputs", [])):
        if form := forms.get(str(output.get("execution_count"))):
            output.data = {_WIDGET_VIEW: {"model_id": form}}


def _with_places(notebook: Any, parts: PageParts) -> tuple[Any, list[str]]:
    """Return the notebook with a mark where a view will be, and the HTML for each mark."""
    placed = copy.deepcopy(notebook)
    places: list[str] = []

    def mark(place: str) -> str:
        places.append(place)
        return _PLACE.format(len(places) - 1)

    def mark_frame(found: re.Match[str]) -> str:
        return mark(found[0] if frame_scripts(found[0]) else _LOST)

    placed.metadata.pop("widgets", None)
    for cell in placed.cells:
        outputs = list(cell.get("outputs", []))
        for index, output in reversed(list(enumerate(outputs))):
            data = output.get("data", {})
            shown = data.get(_WIDGET_VIEW)
            if shown is None:
                if "text/html" in data:
                    data["text/html"] = FRAME.sub(mark_frame, str(data["text/html"]))
                continue
            still = _still(outputs[index + 1]) if index + 1 < len(outputs) else ""
            place = parts.add(shown["model_id"], fallback=with_drawn_pictures(still))
            if place and still:
                del outputs[index + 1]
            output["data"] = {"text/html": mark(f'<div class="vt-places">{place or _LOST}</div>')}
            output["metadata"] = {"vt_place": True}  # keeps nbconvert's table styles off the views
        if "outputs" in cell:
            cell.outputs = outputs
    _fold_views_alone(placed.cells)
    return placed, places


def _fold_views_alone(cells: Sequence[Any]) -> None:
    """Mark code that only builds a view, which a page folds, and the text that goes with each view."""
    opened = None  # the last cell of a view and the text below it
    for cell in cells:
        shown = cell.get("outputs", [])
        is_view = bool(shown) and all(output.get("metadata", {}).get("vt_place") for output in shown)
        if opened is not None and cell.cell_type != "markdown":
            opened.metadata["vt_closes"] = True
            opened = None
        if is_view:
            cell.metadata.update(vt_folded=True, vt_opens=True)
        elif cell.metadata.get("nbgrader", {}).get("solution") and "def " not in cell.source:
            cell.metadata["vt_folded"] = True  # a page's form has fields for the answer
        if is_view or opened is not None:
            opened = cell
    if opened is not None:
        opened.metadata["vt_closes"] = True


def _still(output: Any) -> str:
    """Return the static picture in an output, without its style and note; empty if there is none."""
    from viz_transformer.export.sanitising import sanitised

    text = str(output.get("data", {}).get("text/html", ""))
    return sanitised(_AROUND_STILL.sub("", text)) if _STILL in text else ""


def _cells(notebook: Any, path: Path) -> str:
    """Return the HTML of a notebook's cells, formulas as MathML."""
    from jinja2 import pass_context
    from nbconvert import HTMLExporter
    from nbconvert.filters.markdown_mistune import MarkdownWithMath

    from viz_transformer.export.mathml import MathRenderer

    class Exporter(HTMLExporter):
        """nbconvert's exporter, with formulas that need no script."""

        @pass_context
        def markdown2html(self, context: Any, source: str) -> str:
            attachments = context.get("cell", {}).get("attachments", {})
            renderer = MathRenderer(
                escape=False,
                attachments=attachments,
                embed_images=self.embed_images,
                path=str(path.parent),
                anchor_link_text=self.anchor_link_text,
                exclude_anchor_links=self.exclude_anchor_links,
            )
            return MarkdownWithMath(renderer=renderer).render(source)

    exporter = Exporter(
        template_name="basic", raw_template=text_beside(__file__, "notebook.html.j2"), embed_images=True
    )
    # A cell's text reaches a saved notebook in as many pieces as it was sent, and each would be a block.
    exporter.register_preprocessor("nbconvert.preprocessors.CoalesceStreamsPreprocessor", enabled=True)
    resources = {"metadata": {"name": path.stem, "path": str(path.parent)}}
    cells = exporter.from_notebook_node(notebook, resources=resources)[0]
    return _CODE.sub(lambda code: _PLAIN.sub(r"\1", code[0]), cells)
