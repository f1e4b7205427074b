"""Export of a notebook to one offline HTML file in which its views stay interactive."""

from __future__ import annotations

import base64
import copy
import html
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viz_transformer._files import check_not_input, given_path, text_beside
from viz_transformer.errors import FileError, UserError
from viz_transformer.export.inline_module import inline_style
from viz_transformer.export.page import NOT_RUNNING, check_replaceable, document, script_elements, write_page
from viz_transformer.export.page_parts import PageParts
from viz_transformer.export.pictures import with_smaller_pictures
from viz_transformer.export.sections import Section, sections_of
from viz_transformer.export.stills import with_drawn_pictures
from viz_transformer.export.view_descriptions import DESCRIBE_CELL, DESCRIPTIONS, FORMS
from viz_transformer.widgets.base.widget_tree import State

_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
_STILL = 'class="vt-still"'
_AROUND_STILL = re.compile(r'<style>.*?</style>|<p class="vt-still-note">.*?</p>', re.DOTALL)

_LOST = (
    "What stood here was saved without its state. Run the notebook and save it again, or convert "
    "it with --execute."
)

_CODE = re.compile(r'<div class="highlight.*?</pre>', re.DOTALL)
#: Names, operators, brackets and spaces: `notebook.css` leaves them in the colour of plain text, and
#: marking them up took 1.5% of the course's bytes.
_PLAIN = re.compile(r'<span class="(?:n|nn|o|p|w)">([^<]*)</span>')

# The notebook's own outputs may contain scripts and styles; nothing may be fetched.
_POLICY = {
    "script-src": ["'unsafe-inline'"],
    "style-src": ["'unsafe-inline'"],
    "img-src": ["data:", "blob:"],
    "font-src": ["data:"],
    "media-src": ["data:"],
}


@dataclass(frozen=True)
class NotebookPage:
    """A notebook, converted but for what stands around it.

    Attributes:
        title: its first heading, or the file's name.
        body: the HTML of its cells.
        parts: its views.
        sections: what its headings divide it into.
    """

    title: str
    body: str
    parts: PageParts
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Frame:
    """What a site puts around a notebook: HTML above and below it, and style sheets."""

    above: str = ""
    below: str = ""
    styles: Sequence[str] = ()


def notebook_html(
    notebook: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    execute: bool = False,
    max_megabytes: float = 50,
) -> Path:
    """Write a notebook as one HTML file with its views alive; returns the file's path.

    The views open as they were saved with the notebook, or as its run leaves them. The page fetches
    nothing: what nbconvert would load from elsewhere is left out, and formulas are MathML, which
    browsers draw by themselves.

    Args:
        notebook: the notebook file, which stays as it is.
        path: the file to write; the notebook's name with ``.html`` if None.
        execute: run the notebook first, in the folder that it stands in.
        max_megabytes: a page larger than this many megabytes (10^6 bytes) is not written.

    Raises:
        UserError: if nbconvert is not installed, a cell raises, or the page would be too large.
        FileError: if a file cannot be read or written, or the page would replace one that is no page of ours.
    """
    source = given_path(notebook)
    target = source.with_suffix(".html") if path is None else given_path(path)
    check_not_input(target, source)
    check_replaceable(target)
    text = page_html(convert(source, execute=execute))
    return write_page(target, text, max_megabytes=max_megabytes)


def convert(
    notebook: Path, *, execute: bool = False, environment: Mapping[str, str] = os.environ
) -> NotebookPage:
    """Return a notebook's cells and views; see `notebook_html`. A kernel runs in `environment`.

    Raises:
        UserError: if nbconvert is not installed, or a cell raises.
        FileError: if the notebook cannot be read.
    """
    read = _read(notebook)
    descriptions = _run(read, notebook, environment) if execute else {}
    widgets = StoredWidgets(read, descriptions)
    parts = PageParts(widgets.state_of, widgets.still_of, widgets.answers_of)
    body = with_smaller_pictures(_cells(_with_places(read, parts), notebook))
    sections = sections_of(body)
    title = sections[0].heading if sections else notebook.stem
    return NotebookPage(title, body, parts, sections)


def page_html(page: NotebookPage, frame: Frame = Frame()) -> str:
    """Return the whole HTML of a converted notebook."""
    own = inline_style(text_beside(__file__, "notebook.css"))
    main = f'<main class="vt-notebook">\n{page.body}\n</main>'
    scripts, said = (script_elements(page.parts), NOT_RUNNING) if page.parts.views else ("", "")
    return document(
        page.title,
        "\n".join([said, frame.above, main, frame.below, scripts]),
        styles=[own, *frame.styles, *page.parts.styles],
        policy=_POLICY,
    )


class StoredWidgets:
    """The widgets whose state a notebook file holds, by their ids."""

    def __init__(self, notebook: Any, descriptions: dict[str, dict[str, Any]]) -> None:
        """Read their states; `descriptions` are those of the views by id, if the notebook ran."""
        stored = notebook.metadata.get("widgets", {}).get(_WIDGET_STATE, {}).get("state", {})
        self._states = {model_id: _state(model) for model_id, model in stored.items()}
        self._descriptions = descriptions

    def state_of(self, model_id: str) -> State | None:
        """Return the state of a widget, or None if the notebook does not hold it."""
        return self._states.get(model_id)

    def still_of(self, model_id: str) -> str:
        """Return a view's alternative text as HTML, its name where the notebook did not run."""
        name = str(self._states[model_id].get("_anywidget_id", "view")).rpartition(".")[2]
        return f"<p>{html.escape(self._descriptions.get(model_id, {}).get('alt', name))}</p>"

    def answers_of(self, model_id: str) -> list[list[Any]]:
        """Return a view's answers, as far as they are known."""
        return self._descriptions.get(model_id, {}).get("answers", [])


def _state(model: dict[str, Any]) -> State:
    """Return the state of one stored widget, with its binary buffers put back."""
    state = copy.deepcopy(dict(model["state"]))
    state.setdefault("_model_name", model.get("model_name"))
    state.setdefault("_model_module", model.get("model_module"))
    for buffer in model.get("buffers", []):
        *parents, last = buffer["path"]
        holder = state
        for name in parents:
            holder = holder[name]
        holder[last] = base64.b64decode(buffer["data"])
    return state


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
        raise FileError(f"{str(path)!r} is not a notebook that nbformat can read: {error}") from error


def _run(notebook: Any, path: Path, environment: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Run a notebook in place, with the state of its widgets; returns its views' descriptions.

    Where a result has a form, the form is shown in its place.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError

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


def _with_places(notebook: Any, parts: PageParts) -> Any:
    """Return the notebook with a place for each view where Jupyter would have shown it."""
    placed = copy.deepcopy(notebook)
    placed.metadata.pop("widgets", None)
    for cell in placed.cells:
        outputs = list(cell.get("outputs", []))
        for index, output in reversed(list(enumerate(outputs))):
            shown = output.get("data", {}).get(_WIDGET_VIEW)
            if shown is None:
                continue
            still = _still(outputs[index + 1]) if index + 1 < len(outputs) else ""
            place = parts.add(shown["model_id"], fallback=with_drawn_pictures(still))
            if not place and still:
                del outputs[index]  # the static picture alone is shown
                continue
            if still:
                del outputs[index + 1]
            lost = f'<p class="vt-note">{html.escape(_LOST)}</p>'
            output["data"] = {"text/html": place or lost}
            output["metadata"] = {"vt_places": True}  # keeps nbconvert's table styles off the views
        if "outputs" in cell:
            cell.outputs = outputs
    return placed


def _still(output: Any) -> str:
    """Return the static picture in an output, without its style and note; empty if there is none."""
    text = output.get("data", {}).get("text/html", "")
    return _AROUND_STILL.sub("", text) if _STILL in text else ""


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
