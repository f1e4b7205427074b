"""The keys of a box of ipywidgets: those that run the cell, and Enter in a text field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anywidget
import ipywidgets

from viz_transformer.widgets.base.bundle import bundle


class BoxKeys(anywidget.AnyWidget):
    """An invisible child of a box: Shift+Enter in the box runs its cell and moves on.

    Without it a text field would swallow that key, and after a click that disables its button no
    key would reach the notebook.
    """

    _esm = bundle(__file__)

    def __init__(self, on_enter: Callable[[str], None] | None = None) -> None:
        """Handle the keys.

        Args:
            on_enter: called with the text of a field in which Enter was pressed.
        """
        self._on_enter = on_enter
        super().__init__(layout=ipywidgets.Layout(display="none"))
        self.on_msg(self._on_message)

    def _on_message(self, _: BoxKeys, content: dict[str, Any], __: list[bytes]) -> None:
        if self._on_enter is not None and isinstance(content.get("entered"), str):
            self._on_enter(content["entered"])
