"""Which traits of a view its viewer sets: what is chosen of it, as opposed to what it shows."""

from __future__ import annotations

import anywidget

from viz_transformer.widgets.base.traits import Index
from viz_transformer.widgets.base.view import View

#: Traits of all views that a viewer does not set, and the text size, which suits the room, not the
#: step. A view's own content, as opposed to what is chosen of it, is tagged ``content=True``.
_NOT_IN_STATE = {"about", "live", "data", "text_size"}


def state_traits(view: View) -> list[str]:
    """Return the names of the traits that the viewer sets, in an order in which they can be set.

    An index comes after what it counts: a sentence before its words, a layer before its heads.
    """
    plumbing = {*anywidget.AnyWidget.class_traits(sync=True), *_NOT_IN_STATE}
    traits = view.traits(sync=True)
    defined = [name for kind in reversed(type(view).__mro__) for name in vars(kind)]
    names = [
        name
        for name, trait in traits.items()
        if name not in plumbing and name[0] != "_" and not trait.metadata.get("content")
    ]

    def rank(name: str) -> tuple[bool, bool, int]:
        return isinstance(traits[name], Index), name != "layer", defined.index(name)

    return sorted(names, key=rank)
