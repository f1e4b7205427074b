"""The part of converting a notebook that happens in its kernel: the views tell about themselves."""

from __future__ import annotations

from collections.abc import Iterable

import ipywidgets

from viz_transformer.export.pieces import alternative, answered, encode
from viz_transformer.widgets.base.view import View

#: The kind of output in which they tell: model id → {"alt": …, "answers": [[request, reply], …]}.
TOLD = "application/vnd.viz-transformer.views+json"

#: A cell that has the views of these ids tell, in a notebook that has any of ours.
TELL = """\
import sys
if "viz_transformer.widgets.base.view" in sys.modules:
    from viz_transformer.export.kernel import tell
    tell({ids!r})
"""


def tell(ids: Iterable[str]) -> None:
    """Display what the views of these ids say of themselves; other widgets say nothing."""
    from IPython.display import display

    find = ipywidgets.widget_serialization["from_json"]
    widgets = {model_id: find(f"IPY_MODEL_{model_id}", None) for model_id in ids}
    told = {
        model_id: {"alt": alternative(view), "answers": encode(answered(view))}
        for model_id, view in widgets.items()
        if isinstance(view, View)
    }
    display({TOLD: told}, raw=True)
