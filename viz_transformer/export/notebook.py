"""A notebook as one HTML file in which its views are alive, and which fetches nothing."""

from __future__ import annotations

import base64
import copy
import html
import os
import re
from pathlib import Path
from typing import Any

from viz_transformer.errors import FileError, UserError
from viz_transformer.export.kernel import TELL, TOLD
from viz_transformer.export.page import script_elements, write_page
from viz_transformer.export.pieces import Pieces
from viz_transformer.widgets.base.widget_tree import State

_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
_STILL = 'class="vt-still"'

_LOST = (
    "What stood here was saved without its state. Run the notebook and save it again, or convert "
    "it with --execute."
)

# The notebook's own outputs may bring scripts and styles along; nothing may be fetched.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; media-src data:; base-uri 'none'; form-action 'none'"
)

# nbconvert's page without what it would fetch: require.js, MathJax, Mermaid, Jupyter's widgets.
_TEMPLATE = """
{%- extends 'index.html.j2' -%}
{%- block html_head_js -%}{{ resources.vt_head }}{%- endblock -%}
{%- block jupyter_widgets -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block body_loop -%}
{{ resources.vt_navigation }}{{ super() }}{{ resources.vt_navigation }}
{%- endblock -%}
{%- block input -%}
{%- if (cell.metadata.jupyter or {}).source_hidden -%}
<details style="flex: 1; min-width: 0">
<summary style="font: 14px var(--jp-ui-font-family)">code</summary>{{ super() }}</details>
{%- else -%}{{ super() }}{%- endif -%}
{%- endblock -%}
{%- block data_html -%}
{%- if output.metadata.vt_places -%}
<div class="jp-OutputArea-output" data-mime-type="text/html">{{ output.data['text/html'] }}</div>
{%- else -%}{{ super() }}{%- endif -%}
{%- endblock -%}
{%- block body_footer -%}</main>{{ resources.vt_end }}</body>{%- endblock -%}
"""


def notebook_html(
    notebook: str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    execute: bool = False,
    max_megabytes: float = 50,
    navigation: str = "",
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
        navigation: HTML to stand above and below the notebook.

    Raises:
        UserError: if nbconvert is not installed, a cell raises, or the page would be too large.
        FileError: if a file cannot be read or written.
    """
    source = Path(notebook)
    target = source.with_suffix(".html") if path is None else Path(path)
    told = {}
    read = _read(source)
    if execute:
        told = _run(read, source)
    widgets = StoredWidgets(read, told)
    pieces = Pieces(widgets.state_of, widgets.extras)
    text = _convert(_with_places(read, widgets, pieces), pieces, source, navigation)
    return write_page(target, text, max_megabytes=max_megabytes)


class StoredWidgets:
    """The widgets whose state a notebook file holds, by their ids."""

    def __init__(self, notebook: Any, told: dict[str, dict[str, Any]]) -> None:
        """Read their states; `told` is what the views themselves said, by id, if they ran."""
        stored = notebook.metadata.get("widgets", {}).get(_WIDGET_STATE, {}).get("state", {})
        self._states = {model_id: _state(model) for model_id, model in stored.items()}
        self._told = told

    def state_of(self, model_id: str) -> State | None:
        """Return the state of a widget, or None if the notebook does not hold it."""
        return self._states.get(model_id)

    def extras(self, model_id: str) -> tuple[str, list[list[Any]]]:
        """Return a view's alternative text and its answers, as far as they are known."""
        told = self._told.get(model_id, {})
        name = str(self._states[model_id].get("_anywidget_id", "view")).rpartition(".")[2]
        return told.get("alt", name), told.get("answers", [])


def _state(model: dict[str, Any]) -> State:
    """The state of one stored widget, with its bytes in their places."""
    state = copy.deepcopy(dict(model["state"]))
    state.setdefault("_model_name", model.get("model_name"))
    state.setdefault("_model_module", model.get("model_module"))
    for buffer in model.get("buffers", []):
        *way, last = buffer["path"]
        place = state
        for step in way:
            place = place[step]
        place[last] = base64.b64decode(buffer["data"])
    return state


def _read(path: Path) -> Any:
    try:
        import nbconvert  # noqa: F401
        import nbformat
    except ImportError as error:
        raise UserError(
            "converting a notebook needs nbconvert; install it with pip install 'viz-transformer[lab]'"
        ) from error
    try:
        return nbformat.read(path, as_version=4)
    except OSError as error:
        raise FileError(
            f"cannot read {str(path)!r}: {error.strerror or error}; give the path of a notebook"
        ) from error
    except Exception as error:  # nbformat's own errors have no common class
        raise FileError(f"{str(path)!r} is no notebook that nbformat can read: {error}") from error


def _run(notebook: Any, path: Path) -> dict[str, dict[str, Any]]:
    """Run a notebook in place, with the state of its widgets; returns what its views told."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    telling = nbformat.v4.new_code_cell("...")
    notebook.cells.append(telling)
    client = NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(path.parent)}})

    def name_the_views(cell: Any, **_: Any) -> None:
        if cell is telling:
            cell.source = TELL.format(ids=[i for i, s in client.widget_state.items() if "_esm" in s])

    client.on_cell_execute = name_the_views
    try:
        client.execute()
    except CellExecutionError as error:
        first = error.evalue.partition("\n")[0]
        raise UserError(
            f"a cell of {str(path)!r} raised {error.ename}: {first}; mend it, or convert without --execute"
        ) from error
    except DeadKernelError as error:
        raise UserError(f"the kernel of {str(path)!r} died while the notebook ran") from error
    outputs = notebook.cells.pop().outputs
    return {
        model_id: each
        for output in outputs
        for model_id, each in output.get("data", {}).get(TOLD, {}).items()
    }


def _with_places(notebook: Any, widgets: StoredWidgets, pieces: Pieces) -> Any:
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
            place = pieces.add(shown["model_id"], otherwise=still)
            if not place and still:
                del outputs[index]  # the picture speaks for itself
                continue
            if still:
                del outputs[index + 1]
            lost = f'<p class="vt-note">{html.escape(_LOST)}</p>'
            output["data"] = {"text/html": place or lost}
            output["metadata"] = {"vt_places": True}  # the notebook's style is not for the views
        if "outputs" in cell:
            cell.outputs = outputs
    return placed


def _still(output: Any) -> str:
    """The still picture that an output holds, without its style; empty if it holds none."""
    told = output.get("data", {}).get("text/html", "")
    return re.sub(r"<style>.*?</style>", "", told, flags=re.DOTALL) if _STILL in told else ""


def _convert(notebook: Any, pieces: Pieces, path: Path, navigation: str) -> str:
    from jinja2 import pass_context
    from nbconvert import HTMLExporter
    from nbconvert.filters.markdown_mistune import MarkdownWithMath

    from viz_transformer.export.maths import MathRenderer

    class Exporter(HTMLExporter):
        """nbconvert's own, with formulas that need no script."""

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

    head = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    resources = {
        "metadata": {"name": path.stem, "path": str(path.parent)},
        "vt_head": head + "\n".join(f"<style>{style}</style>" for style in pieces.styles),
        "vt_end": script_elements(pieces) if pieces.views else "",
        "vt_navigation": navigation,
    }
    exporter = Exporter(raw_template=_TEMPLATE, embed_images=True)
    return exporter.from_notebook_node(notebook, resources=resources)[0]
