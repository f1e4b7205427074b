"""The exercise form's view: an exercise as plain data, and what is typed or clicked as an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import traitlets

from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ExerciseForm(View):
    """An exercise that the page itself checks, with the messages that Python would give.

    Attributes:
        asked: the exercise as plain data, as `exercises.forms.form_of` makes it.
        answer: what was typed or clicked last; None before. The text of a number, a list of them for
            a row, a list of texts or of truth values for a table, the chosen option.
        keeps: under which name an exported page keeps the answer; empty where code is asked for.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    asked = traitlets.Dict(help="the exercise").tag(sync=True, content=True)
    answer = traitlets.Any(None, allow_none=True, help="what was typed or clicked").tag(sync=True)
    keeps = traitlets.Dict(help="what an exported page keeps").tag(sync=True, content=True)

    def __init__(self, asked: Mapping[str, Any]) -> None:
        """Ask an exercise.

        Args:
            asked: what `exercises.forms.form_of` returns.
        """
        keeps = {"name": f"exercise {asked['name']}", "trait": "answer"}
        by_code = asked["kind"] == "code"
        super().__init__(traits={"asked": dict(asked), "keeps": {} if by_code else keeps})

    def figure(self) -> Figure | None:
        """Return nothing: an exercise is text."""
        return None

    def alt_text(self) -> str:
        """Return which exercise it is, and the answer if there is one."""
        said = "" if self.answer is None else f" The answer given: {self.answer}."
        return f"Exercise {self.asked['name']}: {self.asked['title']}.{said}"
