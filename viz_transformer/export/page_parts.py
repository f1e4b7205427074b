"""The parts of an exported page: scripts, styles, each view's state and place, the carried part of traces."""

from __future__ import annotations

import base64
import html
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import anywidget
import ipywidgets

from viz_transformer._files import text_beside
from viz_transformer._work import between_parts
from viz_transformer.errors import UserError
from viz_transformer.export.inline_module import Script, inline_module, inline_style
from viz_transformer.export.stills import still_of
from viz_transformer.widgets.base.bundle import shared_style
from viz_transformer.widgets.base.shared_script import unpacked
from viz_transformer.widgets.base.static_fallback import shown_text
from viz_transformer.widgets.base.widget_tree import REFERENCE, LiveWidgets, State, walk_widgets

#: Bytes of a reply get an element of their own if they take more letters than this, and all replies
#: together are compressed.
_MOST_INLINE = 4096

#: Fewer bytes than this are not compressed.
_LEAST_DEFLATED = 256

_NEEDS_KERNEL = "The controls here need a running notebook."


class PageParts:
    """The scripts, styles and views of one page; a view shown twice has one state.

    Attributes:
        scripts: of each view class once, by name.
        styles: of the places, then of each view class once.
        views: name of the script and state of each view.
        kept: the names under which the browser keeps what is answered.
        blocks: the large bytes of replies, as base64. Each has an element of its own, which
            the page reads when a viewer first needs it: read all at once, a large trace would fill
            the browser's memory several times over.
    """

    def __init__(
        self,
        state_of: Callable[[str], State | None],
        still_of: Callable[[str], str],
        answers_of: Callable[[str], Iterable[list[Any]]],
    ) -> None:
        """Start an empty page.

        The three functions take a widget's model id: of its state (None if there is no such widget), the
        HTML of what it shows now, and its answers, ``[[request, reply], …]``, each released before the next.
        """
        self.scripts: dict[str, Script] = {}
        self.styles = [inline_style(text_beside(__file__, "places.css"))]
        self.views: list[dict[str, Any]] = []
        self.kept: list[str] = []
        self.blocks: list[str] = []
        self._state_of = state_of
        self._still_of, self._answers_of = still_of, answers_of
        self._numbers: dict[str, int] = {}

    def add(self, model_id: str, fallback: str = "") -> str:
        """Add a view, or a box of views; returns the HTML of the places that they are drawn in.

        The fallback is HTML for where no script runs; if it is empty, a still of each view.
        """
        places, left_out = [], False
        for part in walk_widgets(model_id, self._state_of):
            if part.kind == "view":
                places.append(self._add_view(part.model_id, fallback))
                fallback = fallback and " "  # one picture may represent the whole box
            elif part.text:
                places.append(f'<p class="vt-text">{html.escape(part.text)}</p>')
            left_out |= part.kind == "control"
        if left_out:
            places.append(f'<p class="vt-note">{_NEEDS_KERNEL}</p>')
        return "\n".join(places)

    def _add_view(self, model_id: str, fallback: str) -> str:
        still = fallback.strip() if fallback else self._still_of(model_id)
        return (
            f'<section class="vt-view"><div data-view="{self._number(model_id)}">'
            f'<figure class="vt-instead">{still}</figure></div></section>'
        )

    def _number(self, model_id: str) -> int:
        """Add a view and those that its state refers to; returns its number."""
        if model_id in self._numbers:
            return self._numbers[model_id]
        number = self._numbers[model_id] = len(self.views)
        state = self._state_of(model_id) or {}
        if name := (state.get("keeps") or {}).get("name"):
            self.kept.append(name)
        # Notebooks that an earlier version saved have a copy of the script in each view.
        shared = self._state_of(str(state.get("_shared")).removeprefix(REFERENCE))
        own = tuple(unpacked(shared.get(name, b"")) for name in ("script", "sheet")) if shared else ()
        module, style = own or (state["_esm"], state.get("_css") or "")
        script = inline_module(module)
        self.scripts.setdefault(script.name, script)
        self._add_style(style)
        view: dict[str, Any] = {"script": script.name}
        self.views.append(view)  # before its state, which may refer to further views
        kept = {name: self._with_page_number(value) for name, value in own_state(state).items()}
        view["state"] = encode(kept)
        if answers := [self._with_blocks(encode(answer)) for answer in self._answers_of(model_id)]:
            text = json.dumps(answers)
            view["state"]["answers"] = deflated(text.encode()) if len(text) > _MOST_INLINE else answers
        return number

    def name_in_address(self, model_id: str, rules: dict[str, Any]) -> None:
        """Let the page's address say what is chosen in a view; see `View.address`."""
        self.views[self._numbers[model_id]]["address"] = rules

    def _with_blocks(self, value: Any) -> Any:
        """Return an encoded value whose large bytes are names of blocks, such as ``{"deflated": 3}``."""
        if isinstance(value, list):
            return [self._with_blocks(item) for item in value]
        if not isinstance(value, dict):
            return value
        for name in ("base64", "deflated"):
            text = value.get(name)
            if isinstance(text, str) and len(text) > _MOST_INLINE:
                self.blocks.append(text)
                return {name: len(self.blocks) - 1}
        return {name: self._with_blocks(item) for name, item in value.items()}

    def _add_style(self, css: str) -> None:
        """Add a view's style; the part that all views share is in the page once, before the others."""
        shared = shared_style() if css.startswith(shared_style()) else ""
        pieces = (shared, css.removeprefix(shared))
        for style in map(inline_style, pieces):
            if style and style not in self.styles:
                self.styles.append(style)

    def _with_page_number(self, value: Any) -> Any:
        """Return a trait's value; a reference in it to another widget becomes its number in the page."""
        if isinstance(value, dict):
            return {name: self._with_page_number(item) for name, item in value.items()}
        if isinstance(value, str) and value.startswith(REFERENCE):
            other = value.removeprefix(REFERENCE)
            if "_esm" in (self._state_of(other) or {}):
                return f"{REFERENCE}{self._number(other)}"
        return value


def ready_for_export(widgets: Iterable[ipywidgets.Widget]) -> LiveWidgets:
    """Return some widgets and all inside them, after each has made what a page will need of it."""
    listed = list(widgets)
    for widget in LiveWidgets(listed):
        if callable(getattr(widget, "before_export", None)):
            widget.before_export()
    return LiveWidgets(listed)  # with what was made


def parts_of_live(widgets: LiveWidgets) -> PageParts:
    """Return the still empty parts of a page for widgets of this kernel."""

    def state_of(model_id: str) -> State | None:
        state = widgets.state_of(model_id)
        of_page = getattr(widgets[model_id], "page_state", None) if state else None
        return of_page(state) if of_page else state

    return PageParts(
        state_of,
        lambda model_id: still_of(widgets[model_id], alt_text(widgets[model_id])),
        lambda model_id: collect_answers(widgets[model_id]),
    )


def alt_text(view: ipywidgets.Widget) -> str:
    """Return a view's alternative text; for a view without one, its Python representation."""
    text = getattr(view, "alt_text", None)
    return shown_text(str(text() if callable(text) else view))


def expected_bytes(widget: ipywidgets.Widget) -> int:
    """Return roughly how many bytes a view's answers will take in a page."""
    if getattr(widget, "engine", None) or not callable(getattr(widget, "export_bytes", None)):
        return 0
    return widget.export_bytes()


def collect_answers(view: ipywidgets.Widget) -> Iterator[list[Any]]:
    """Ask a view the questions that a page could not answer: yields pairs ``[request, reply]``."""
    questions: list[dict[str, Any]] = getattr(view, "carried_questions", getattr(view, "questions", list))()
    replies = (
        view.replies(questions)  # together they may take less time and fewer bytes
        if callable(getattr(view, "replies", None))
        else (_reply(view, request) for request in questions)
    )
    for number, (request, reply) in enumerate(zip(questions, replies, strict=True), start=1):
        between_parts(f"{type(view).__name__}: answer {number} of {len(questions)}")
        yield [request, reply]


def _reply(view: ipywidgets.Widget, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return view.answer(request)
    except UserError as error:  # as in the notebook, the view shows it
        return {"error": str(error)}


def own_state(state: State) -> State:
    """Return the traits of the view's own class, without those that every widget has."""
    inherited = anywidget.AnyWidget.class_traits(sync=True)
    return {name: each for name, each in state.items() if name[0] != "_" and name not in inherited}


def deflated(content: bytes | bytearray | memoryview) -> str:
    """Return bytes that zlib has compressed, as base64."""
    return base64.b64encode(zlib.compress(content)).decode("ascii")


def encode(value: Any) -> Any:
    """Return a value in JSON's types, with bytes as base64: ``{"base64": "…"}``.

    Those that zlib makes shorter are ``{"deflated": "…"}``.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        plain = base64.b64encode(value).decode("ascii")
        shorter = deflated(value) if len(value) > _LEAST_DEFLATED else plain
        return {"deflated": shorter} if len(shorter) < 0.95 * len(plain) else {"base64": plain}
    if isinstance(value, dict):
        return {name: encode(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no such number, and a browser would reject the whole page
    return value


#: What a page takes besides, in megabytes.
_SCRIPTS = 0.3


@contextmanager
def carried_part(
    widgets: Iterable[Any],
    *,
    layers: Iterable[int] | None = None,
    heads: Iterable[int] | None = None,
    bits: int | None = None,
    threshold: float = 0.0,
) -> Iterator[None]:
    """Inside this, each explorer among some widgets carries this part of its trace; there must be one."""
    asked = {"layers": layers, "heads": heads, "bits": bits, "threshold": threshold}
    explorers = _explorers(widgets)
    if not explorers and asked != {"layers": None, "heads": None, "bits": None, "threshold": 0.0}:
        raise UserError(
            "layers=, heads=, bits= and threshold= choose what a page carries of an explorer's trace, and "
            "there is no explorer here; leave them out"
        )
    kept = {name: list(each) if isinstance(each, Iterator) else each for name, each in asked.items()}
    with ExitStack() as stack:
        for explorer in explorers:
            stack.enter_context(explorer.carrying(**kept))
        yield


def smaller_part(widgets: Iterable[Any], max_megabytes: float) -> str:
    """Return which part of the widgets' traces fits a page, as arguments: "bits=8, layers=range(6)".

    An empty text if there is no explorer, or not even one layer of it fits.
    """
    listed = list(widgets)
    n_layers = max((explorer.most_layers() for explorer in _explorers(listed)), default=0)
    if not n_layers:
        return ""

    def megabytes(count: int) -> float:
        with carried_part(listed, layers=range(count), bits=8):
            return _SCRIPTS + sum(map(expected_bytes, listed)) / 1e6

    count = n_layers
    while count and (size := megabytes(count)) > max_megabytes:
        count = min(count - 1, int(count * max_megabytes / size))  # nearly as many as fit
    if not count:
        return ""
    part = "bits=8" if count == n_layers else f"layers=range({count}), bits=8"
    return f"{part} (about {size:.1f} MB)"


def _explorers(widgets: Iterable[Any]) -> list[Any]:
    return [widget for widget in widgets if callable(getattr(widget, "carrying", None))]
