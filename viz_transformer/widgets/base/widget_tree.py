"""A walk through a widget: the views and the text inside it, in order, whatever boxes hold them.

Widgets are read from the state that Jupyter has of them, so that those of a running notebook and
those stored in a notebook file are read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, Literal

import ipywidgets

#: The state of a widget by its model id: trait by trait, other widgets as ``"IPY_MODEL_<id>"``.
State = dict[str, Any]

#: The prefix of a widget's id where a state refers to one.
REFERENCE = "IPY_MODEL_"
_TEXTS = {"HTMLModel", "HTMLMathModel", "LabelModel"}


@dataclass(frozen=True)
class Part:
    """One thing that a widget shows.

    Attributes:
        kind: ``"view"``, ``"text"``, or ``"control"`` for what only a kernel can answer.
        model_id: the widget's.
        text: of a ``"text"``, or what a control was set to, such as ``"English: the cat sleeps"``.
    """

    kind: Literal["view", "text", "control"]
    model_id: str
    text: str = ""


def walk_widgets(model_id: str, state_of: Callable[[str], State | None]) -> Iterator[Part]:
    """Yield what a widget shows, from top to bottom, without what is hidden or unknown.

    Args:
        model_id: the widget's.
        state_of: returns the state of a widget by its id, or None if there is none.
    """
    state = state_of(model_id)
    if state is None or _is_hidden(state, state_of):
        return
    if "_esm" in state:  # an anywidget
        yield Part("view", model_id)
    elif isinstance(state.get("children"), list | tuple):
        for child in state["children"]:
            yield from walk_widgets(str(child).removeprefix(REFERENCE), state_of)
    elif state.get("_model_name") in _TEXTS:
        if text := _labelled(state, _text_of(state.get("value", ""), state["_model_name"])):
            yield Part("text", model_id, text)
    elif "controls" in str(state.get("_model_module")):
        yield Part("control", model_id, _labelled(state, _setting(state)))


def _is_hidden(state: State, state_of: Callable[[str], State | None]) -> bool:
    layout = state_of(str(state.get("layout")).removeprefix(REFERENCE)) or {}
    return layout.get("display") == "none" or layout.get("visibility") == "hidden"


def _labelled(state: State, text: str) -> str:
    label = state.get("description")
    return f"{label}: {text}" if label and text else text


def _setting(state: State) -> str:
    """What a control is set to, if that is text: its own, or the name of the chosen option."""
    value, options, index = (state.get(name) for name in ("value", "_options_labels", "index"))
    if isinstance(value, str):
        return value
    if options and isinstance(index, int):
        return str(options[index])
    return ""


def _text_of(value: str, model_name: str) -> str:
    if model_name == "LabelModel":
        return value
    reader = _TextParser()
    reader.feed(value)
    reader.close()
    return re.sub(r"\s+", " ", "".join(reader.texts)).strip()


class _TextParser(HTMLParser):
    """A parser that collects the text of a piece of HTML."""

    _BLOCKS = frozenset({"br", "div", "h1", "h2", "h3", "h4", "li", "p", "td", "th", "tr"})

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._skipping = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._skipping += tag in ("script", "style")
        if tag in self._BLOCKS:
            self.texts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._skipping -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.texts.append(data)


class LiveWidgets:
    """The widgets of a running notebook, and all widgets inside them, by their ids."""

    def __init__(self, widgets: Iterable[ipywidgets.Widget]) -> None:
        """Gather the widgets and what is inside them."""
        self._widgets: dict[str, ipywidgets.Widget] = {}
        for widget in widgets:
            self._gather(widget)

    def __iter__(self) -> Iterator[ipywidgets.Widget]:
        """Yield each widget once."""
        return iter(self._widgets.values())

    def __getitem__(self, model_id: str) -> ipywidgets.Widget:
        """Return the widget of an id."""
        return self._widgets[model_id]

    def state_of(self, model_id: str) -> State | None:
        """Return the state of a widget, or None if it is not one of these."""
        widget = self._widgets.get(model_id)
        return None if widget is None else widget.get_state()

    def _gather(self, widget: ipywidgets.Widget) -> None:
        if widget.model_id in self._widgets:
            return
        self._widgets[widget.model_id] = widget
        parts = [getattr(widget, name, None) for name in ("layout", "view", "explorer", "_shared")]
        engine = getattr(widget, "engine", {}).get("models", {})
        revealed = getattr(widget, "revealed", {})
        rooms = getattr(widget, "rooms", {})
        inside = (*getattr(widget, "children", ()), *engine.values(), *revealed.values(), *rooms.values())
        for inner in (*parts, *inside):
            if isinstance(inner, ipywidgets.Widget):
                self._gather(inner)
