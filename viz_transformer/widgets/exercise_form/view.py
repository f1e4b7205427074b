"""The exercise form's view: an exercise as plain data, and what is typed or clicked as an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import traitlets
from ipywidgets import widget_serialization

from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ExerciseForm(View):
    """An exercise that the page itself checks, with the messages that Python would give.

    Attributes:
        asked: the exercise as plain data, as `exercises.forms.form_of` makes it.
        answer: what was typed or clicked last; None before. The text of a number, a list of them for
            a row, a list of texts or of truth values for a table, the chosen option, or what was
            chosen in the other view.
        view: where the answer is chosen in another view, that one.
        keeps: under which name an exported page keeps the answer.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    asked = traitlets.Dict(help="the exercise").tag(sync=True, content=True)
    answer = traitlets.Any(None, allow_none=True, help="what was typed or clicked").tag(sync=True)
    view = traitlets.Instance(View, None, allow_none=True, help="the view to choose in").tag(
        sync=True, content=True, **widget_serialization
    )
    keeps = traitlets.Dict(help="what an exported page keeps").tag(sync=True, content=True)

    def __init__(self, asked: Mapping[str, Any], view: View | None = None) -> None:
        """Ask an exercise.

        Args:
            asked: what `exercises.forms.form_of` returns.
            view: the view to choose in.
        """
        keeps = {"name": f"exercise {asked['name']}", "trait": "answer"}
        super().__init__(traits={"asked": dict(asked), "view": view, "keeps": keeps})

    def figure(self) -> Figure | None:
        """Return None: an exercise is text."""
        return None

    def alt_text(self) -> str:
        """Return which exercise it is, and the answer if there is one."""
        said = "" if self.answer is None else f" The answer given: {self.answer}."
        return f"Exercise {self.asked['name']}: {self.asked['title']}.{said}"

    def __repr__(self) -> str:
        """Return the exercise and the answer, for a log or a page that cannot show the view."""
        return f"ExerciseForm({self.asked['name']!r}, answer={self.answer!r})"
