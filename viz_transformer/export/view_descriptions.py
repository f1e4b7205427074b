"""Descriptions of a notebook's views, collected in its kernel when it is converted to a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets

from viz_transformer.export.page_parts import alt_text, collect_answers, encode, ready_for_export
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.exercise_form import ExerciseForm

#: MIME type of the output: model id → {"alt": …, "answers": [[request, reply], …]}.
DESCRIPTIONS = "application/vnd.viz-transformer.views+json"

#: MIME type of its second part: number of the cell that was run → model id of the form that its
#: result becomes in a page.
FORMS = "application/vnd.viz-transformer.forms+json"

#: A cell that displays both, if the notebook has used anything of ours.
DESCRIBE_CELL = """\
import sys
if "viz_transformer" in sys.modules:
    from viz_transformer.export.view_descriptions import display_descriptions
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
