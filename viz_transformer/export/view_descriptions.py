"""Descriptions of a notebook's views, collected in its kernel when it is converted to a page."""

from __future__ import annotations

from collections.abc import Iterable

import ipywidgets

from viz_transformer.export.page_parts import alt_text, collect_answers, encode, ready_for_export
from viz_transformer.widgets.base.view import View

#: MIME type of the output: model id → {"alt": …, "answers": [[request, reply], …]}.
DESCRIPTIONS = "application/vnd.viz-transformer.views+json"

#: A cell that displays the descriptions of some views, if the notebook has made any of ours.
DESCRIBE_CELL = """\
import sys
if "viz_transformer.widgets.base.view" in sys.modules:
    from viz_transformer.export.view_descriptions import display_descriptions
    display_descriptions({ids!r})
"""


def display_descriptions(ids: Iterable[str]) -> None:
    """Display the descriptions of the views with these ids; other widgets are left out."""
    from IPython.display import display

    find = ipywidgets.widget_serialization["from_json"]
    widgets = ready_for_export(find(f"IPY_MODEL_{model_id}", None) for model_id in ids)
    descriptions = {
        view.model_id: {"alt": alt_text(view), "answers": encode(collect_answers(view))}
        for view in widgets
        if isinstance(view, View)
    }
    display({DESCRIPTIONS: descriptions}, raw=True)
