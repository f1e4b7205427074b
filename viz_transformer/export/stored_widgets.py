"""The widgets whose state a notebook file holds, and what its kernel tells of its views."""

from __future__ import annotations

import base64
import copy
import html
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import ipywidgets

from viz_transformer.errors import UserError
from viz_transformer.export.page_parts import alt_text, collect_answers, encode, ready_for_export
from viz_transformer.widgets.base.bundle import built
from viz_transformer.widgets.base.shared_script import packed, unpacked
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.base.widget_tree import REFERENCE, State
from viz_transformer.widgets.exercise_form import ExerciseForm

STATE = "application/vnd.jupyter.widget-state+json"


class StoredWidgets:
    """The widgets of a notebook, by their ids.

    Attributes:
        foreign: the names of the views that are left out, and how many of each: without a run, those
            whose script is not of this version, or that need such a one.
    """

    def __init__(self, notebook: Any, descriptions: Mapping[str, dict[str, Any]], *, ran: bool) -> None:
        """Read the states; of a notebook that `ran` just now, with the descriptions of its views by id."""
        stored = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
        self._states = {model_id: _state(model) for model_id, model in stored.items()}
        self._descriptions = descriptions
        self.foreign: Counter[str] = Counter()
        if not ran:
            self._keep_our_views()

    def state_of(self, model_id: str) -> State | None:
        """Return the state of a widget, or None if the notebook does not hold it."""
        return self._states.get(model_id)

    def still_of(self, model_id: str) -> str:
        """Return a view's alternative text as HTML, its name where the notebook did not run."""
        alt = self._descriptions.get(model_id, {}).get("alt", _name_of(self._states[model_id]))
        return f"<p>{html.escape(alt)}</p>"

    def answers_of(self, model_id: str) -> list[list[Any]]:
        """Return a view's answers, as far as they are known."""
        return self._descriptions.get(model_id, {}).get("answers", [])

    def _keep_our_views(self) -> None:
        """Leave out views whose script is another, and what refers to one, such as the box around it."""
        left_out = [
            model_id
            for model_id, state in self._states.items()
            if "_esm" in state and _script_of(state, self._states) not in own_views()
        ]
        texts = {model_id: str(state) for model_id, state in self._states.items()} if left_out else {}
        for gone in left_out:  # which grows
            referring = (each for each, text in texts.items() if f"'{REFERENCE}{gone}'" in text)
            left_out += [each for each in referring if each not in left_out]
            state = self._states.pop(gone)
            if "_esm" in state and "script" not in state:
                self.foreign[f"the script of {_name_of(state)}"] += 1
        for state in self._states.values():
            if "_esm" in state:
                style = own_views()[_script_of(state, self._states)]
                state.update({"sheet": packed(style)} if "script" in state else {"_css": style})


@cache
def own_views() -> dict[str, str]:
    """Return the style of each of our views by its script, both of this version."""
    widgets = Path(__file__).parents[1] / "widgets"
    for view in widgets.glob("*/view.py"):
        import_module(f"{widgets.parent.name}.widgets.{view.parent.name}.view")

    def below(kind: type[View]) -> list[type[View]]:
        return [each for direct in kind.__subclasses__() for each in (direct, *below(direct))]

    scripts = {each: vars(each).get("_esm") for each in below(View)}
    # A view has a class of its own, anywidget's, in which that is a trait.
    ours = {
        script: str(getattr(each, "_css", "")) for each, script in scripts.items() if isinstance(script, str)
    }
    return {built("engine.js"): "", **ours}


def _script_of(state: State, states: Mapping[str, State]) -> str:
    """Return the script that a view is drawn by, which another widget may carry; empty if it has none."""
    if "script" in state:
        with suppress(UserError):
            return unpacked(state["script"])
        return ""
    if state.get("_shared"):
        shared = states.get(str(state["_shared"]).removeprefix(REFERENCE), {})
        return _script_of(shared, states) if "script" in shared else ""
    return str(state["_esm"])


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


#: MIME type of the output: model id → {"alt": …, "answers": [[request, reply], …]}.
DESCRIPTIONS = "application/vnd.viz-transformer.views+json"

#: MIME type of its second part: number of the cell that was run → model id of the form that its
#: result becomes in a page.
FORMS = "application/vnd.viz-transformer.forms+json"

#: A cell that displays both, if the notebook has used anything of ours.
DESCRIBE_CELL = """\
import sys
if "viz_transformer" in sys.modules:
    from viz_transformer.export.stored_widgets import display_descriptions
    display_descriptions({ids!r})
"""


def display_descriptions(ids: Iterable[str]) -> None:
    """Display the notebook's forms, and the descriptions of them and of the views with these ids."""
    from IPython import get_ipython
    from IPython.display import display

    find = ipywidgets.widget_serialization["from_json"]
    forms = _forms_of(get_ipython().user_ns.get("Out", {}))
    shown = (find(f"IPY_MODEL_{model_id}", None) for model_id in ids)
    widgets = ready_for_export([*shown, *forms.values()])
    descriptions = {
        view.model_id: {"alt": alt_text(view), "answers": encode([*collect_answers(view)])}
        for view in widgets
        if isinstance(view, View)
    }
    numbered = {str(number): form.model_id for number, form in forms.items()}
    display({DESCRIPTIONS: descriptions, FORMS: numbered}, raw=True)


def _forms_of(results: Mapping[int, Any]) -> dict[int, ExerciseForm]:
    """Return a form for each result that has one: an exercise that was not answered; by the cell's number."""
    ways = {number: getattr(result, "as_form", None) for number, result in results.items()}
    asked = {number: as_form() for number, as_form in ways.items() if callable(as_form)}
    return {number: ExerciseForm(*each) for number, each in asked.items() if each}
