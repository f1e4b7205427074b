"""What a page is put together from: scripts, styles, the state of each view, words between them."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Callable
from typing import Any, Protocol

import anywidget
import ipywidgets

from viz_transformer._files import text_beside
from viz_transformer.errors import UserError
from viz_transformer.export.module import Script, inline, inline_style
from viz_transformer.widgets.base.widget_tree import REFERENCE, LiveWidgets, State, contents

_NEEDS_KERNEL = "The controls that stood here need a running notebook."


class Extras(Protocol):
    """What a page adds to the state of a view: the view told it before the page was written."""

    def __call__(self, model_id: str) -> tuple[str, list[list[Any]]]:
        """Return a view's alternative text, and its answers ``[[request, reply], …]``."""


class Pieces:
    """The scripts, styles and views of one page; a view shown twice has one state.

    Attributes:
        scripts: of each view class once, by name.
        styles: of the places, then of each view class once.
        views: name of the script and state of each view.
    """

    def __init__(self, state_of: Callable[[str], State | None], extras: Extras) -> None:
        """Start with nothing; `state_of` and `extras` tell of a widget by its model id."""
        self.scripts: dict[str, Script] = {}
        self.styles = [inline_style(text_beside(__file__, "places.css"))]
        self.views: list[dict[str, Any]] = []
        self._state_of = state_of
        self._extras = extras
        self._numbers: dict[str, int] = {}

    def add(self, model_id: str, otherwise: str = "") -> str:
        """Take in a widget; returns the HTML of its places.

        Args:
            model_id: of a view, or of a box that views stand in.
            otherwise: HTML for readers without JavaScript; each view's alternative text if empty.
        """
        places, left_out = [], False
        for part in contents(model_id, self._state_of):
            if part.kind == "view":
                places.append(self._add_view(part.model_id, otherwise))
                otherwise = otherwise and " "  # one picture may stand for all of a box
            elif part.text:
                places.append(f'<p class="vt-text">{html.escape(part.text)}</p>')
            left_out |= part.kind == "control"
        if left_out:
            places.append(f'<p class="vt-note">{_NEEDS_KERNEL}</p>')
        return "\n".join(places)

    def _add_view(self, model_id: str, otherwise: str) -> str:
        number, alt = self._number(model_id)
        otherwise = otherwise.strip() if otherwise else f"<p>{html.escape(alt)}</p>"
        return (
            f'<section class="vt-view"><div data-view="{number}"></div>'
            f"<noscript>{otherwise}</noscript></section>"
        )

    def _number(self, model_id: str) -> tuple[int, str]:
        """Take in a view, and those that its state names; returns its number and its words."""
        alt, answers = self._extras(model_id)
        if model_id in self._numbers:
            return self._numbers[model_id], alt
        number = self._numbers[model_id] = len(self.views)
        state = self._state_of(model_id)
        script = inline(state["_esm"])
        self.scripts.setdefault(script.name, script)
        style = inline_style(state.get("_css") or "")
        if style and style not in self.styles:
            self.styles.append(style)
        view = {"script": script.name}
        self.views.append(view)
        kept = {name: self._inside(value) for name, value in own_state(state).items()}
        if answers:
            kept["answers"] = answers
        view["state"] = encode(kept)
        return number, alt

    def _inside(self, value: Any) -> Any:
        """The value of a trait; where it is another view, that one's number in the page."""
        if isinstance(value, str) and value.startswith(REFERENCE):
            other = value.removeprefix(REFERENCE)
            if "_esm" in (self._state_of(other) or {}):
                return f"{REFERENCE}{self._number(other)[0]}"
        return value


def of_live(widgets: LiveWidgets) -> Pieces:
    """Return the pieces of a page that shows widgets of this kernel."""

    def extras(model_id: str) -> tuple[str, list[list[Any]]]:
        view = widgets[model_id]
        return alternative(view), answered(view)

    return Pieces(widgets.state_of, extras)


def alternative(view: anywidget.AnyWidget) -> str:
    """Return a view's alternative text; of a view that has none, what Python calls it."""
    told = getattr(view, "alt_text", None)
    return str(told() if callable(told) else view)


def expected_bytes(widget: ipywidgets.Widget) -> int:
    """Return about how many bytes a page takes for what a view is going to answer."""
    return widget.export_bytes() if callable(getattr(widget, "export_bytes", None)) else 0


def answered(view: anywidget.AnyWidget) -> list[list[Any]]:
    """Ask a view what a page may ask it: ``[[request, reply], …]``."""
    if not callable(getattr(view, "questions", None)):
        return []
    return [[request, _reply(view, request)] for request in view.questions()]


def _reply(view: anywidget.AnyWidget, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return view.answer(request)
    except UserError as error:  # as in the notebook, the view shows it
        return {"error": str(error)}


def own_state(state: State) -> State:
    """The traits of the view's own class, without the plumbing of a notebook widget."""
    plumbing = anywidget.AnyWidget.class_traits(sync=True)
    return {name: each for name, each in state.items() if name[0] != "_" and name not in plumbing}


def encode(value: Any) -> Any:
    """JSON's own types, with bytes as base64: ``{"base64": "…"}``."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, dict):
        return {name: encode(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no such number, and a browser would refuse all of the page
    return value
