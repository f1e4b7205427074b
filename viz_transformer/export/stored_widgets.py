"""The widgets whose state a notebook file holds."""

from __future__ import annotations

import base64
import copy
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from viz_transformer.widgets.base.bundle import join, styles
from viz_transformer.widgets.base.widget_tree import REFERENCE, State

STATE = "application/vnd.jupyter.widget-state+json"


class StoredWidgets:
    """The widgets of a notebook, by their ids.

    Attributes:
        foreign: the names of the views that are left out, and how many of each: without a run, those
            whose script is not of this version, or that need such a one.
    """

    def __init__(self, notebook: Any, descriptions: Mapping[str, dict[str, Any]], *, ran: bool) -> None:
        """Read their states.

        Args:
            notebook: the notebook.
            descriptions: those of the views by id, if the notebook ran.
            ran: whether it ran just now, so that its views are those of the run.
        """
        stored = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
        self._states = {model_id: _state(model) for model_id, model in stored.items()}
        self._descriptions = descriptions
        self.foreign: Counter[str] = Counter()
        if not ran:
            self._keep_our_views()

    def state_of(self, model_id: str) -> State | None:
        """Return the state of a widget, or None if the notebook does not hold it."""
        return self._states.get(model_id)

    def describe(self, model_id: str) -> tuple[str, list[list[Any]]]:
        """Return a view's alternative text and its answers, as far as they are known."""
        description = self._descriptions.get(model_id, {})
        return description.get("alt", _name_of(self._states[model_id])), description.get("answers", [])

    def _keep_our_views(self) -> None:
        """Leave out views whose script is another, and what refers to one, such as the box around it."""
        left_out = [
            model_id
            for model_id, state in self._states.items()
            if "_esm" in state and str(state["_esm"]) not in own_views()
        ]
        texts = {model_id: str(state) for model_id, state in self._states.items()} if left_out else {}
        for gone in left_out:  # which grows
            referring = (each for each, text in texts.items() if f"'{REFERENCE}{gone}'" in text)
            left_out += [each for each in referring if each not in left_out]
            state = self._states.pop(gone)
            if "_esm" in state:
                self.foreign[f"the script of {_name_of(state)}"] += 1
        for state in self._states.values():
            if "_esm" in state:
                state["_css"] = own_views()[state["_esm"]]


@cache
def own_views() -> dict[str, str]:
    """Return the style of each of our views by its script, both of this version."""
    package = Path(__file__).parents[1]
    scripts = [*package.glob("widgets/*/view.js"), package / "engine" / "engine.js"]
    return {
        join(script): str(styles(script)) if script.with_name("style.css").exists() else ""
        for script in scripts
    }


def _name_of(state: State) -> str:
    """Return the name of a view's class."""
    return str(state.get("_anywidget_id", "view")).rpartition(".")[2]


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
