"""The prediction's view: a question, controls to answer it once, and then the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import ipywidgets
import traitlets
from ipywidgets import widget_serialization

from viz_transformer._text import without_markup
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.static_fallback import figure_to_png
from viz_transformer.widgets.base.traits import SelectionError
from viz_transformer.widgets.base.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: How a question is answered; a sentence is an explanation.
KINDS = ("number", "choice", "row", "key", "sentence")


class Prediction(View):
    """A question that is answered once: the answer is scored, then the result is shown.

    A subclass defines which answers are valid (`_parse`), what is true (`_find_truth`) and how an
    answer is scored (`_score`). The verdict's words are the page's work.

    >>> import viz_transformer as vt
    >>> view = vt.predict_number("How many heads has the translator?", 24, unit="heads")
    >>> view.question[:14]
    'How many heads'

    Attributes:
        guess: the learner's answer, None before. Setting it submits it.
        score: from 0 to 1; None before the answer.
        question: what is asked.
        kind: ``"number"``, ``"choice"``, ``"row"``, ``"key"``, or ``"sentence"`` for an explanation in words.
        options: the answers to choose from, or the keys.
        unit: what a number is measured in.
        afterwards: text shown with the score: paragraphs with an empty line between, in which
            ``*emphasis*``, code in backticks and ``[links](https://…)`` are drawn as such.
        truth: the right answer, None before the guess.
        revealed: what is then shown: a view, or a picture; empty before, or if there is none.
        keeps: under which name an exported page keeps the guess.
        is_discussed: whether it may be answered once more, after a discussion in class.
        discussed: that second answer; None before.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    guess = traitlets.Any(None, allow_none=True, help="the answer").tag(sync=True)
    score = traitlets.Float(None, allow_none=True)
    question = traitlets.Unicode(help="what is asked").tag(sync=True, content=True)
    kind = traitlets.Enum(KINDS, "number").tag(sync=True, content=True)
    options = traitlets.List(traitlets.Unicode(), help="answers or keys").tag(sync=True, content=True)
    unit = traitlets.Unicode(help="what a number is measured in").tag(sync=True, content=True)
    afterwards = traitlets.Unicode(help="said with the result").tag(sync=True, content=True)
    truth = traitlets.Any(None, allow_none=True, help="the right answer").tag(sync=True, content=True)
    revealed = traitlets.Dict(help="a view or a picture").tag(sync=True, content=True, **widget_serialization)
    keeps = traitlets.Dict(help="what an exported page keeps").tag(sync=True, content=True)
    is_discussed = traitlets.Bool(False, help="whether it is answered once more").tag(sync=True, content=True)
    discussed = traitlets.Any(None, allow_none=True, help="the second answer").tag(sync=True, content=True)

    def __init__(
        self,
        question: str,
        kind: str,
        *,
        options: Sequence[str] = (),
        unit: str = "",
        reveal: Any = None,
        afterwards: str = "",
        name: str | None = None,
    ) -> None:
        """Ask.

        Args:
            question: what is asked.
            kind: how it is answered.
            options: the answers to choose from, or the keys.
            unit: what a number is measured in.
            reveal: a widget or a figure shown after the answer, or a function that makes one.
            afterwards: text shown with the score; see the attribute.
            name: the name under which a page keeps the answer; None does not keep it.
        """
        self._reveal = reveal
        self._made: Any = None  # the guess that stays
        self._made_again: Any = None
        super().__init__(
            traits={
                "question": question,
                "kind": kind,
                "options": list(options),
                "unit": unit,
                "afterwards": afterwards,
                "keeps": {"name": name, "trait": "guess"} if name else {},
            }
        )

    def before_export(self) -> None:
        """Find the result now: a page shows it after the guess, when no kernel can be asked."""
        if self.truth is None:
            with self.hold_sync():  # one message: the page shows both at once
                self.truth = self._find_truth()
                self.revealed = self._revealed()

    def figure(self) -> Figure | None:
        """Return None: a question is text."""
        return None

    def alt_text(self) -> str:
        """Return the question; after the guess also what was said, and what is said with the result."""
        if self.guess is None:
            return self.question
        said = f"{self.question} You said {self._told(self.guess)}."
        return f"{said} {without_markup(self.afterwards)}".rstrip()

    def __repr__(self) -> str:
        """Return the question and the answer, for a log or a page that cannot show the view."""
        return f"{type(self).__name__}({self.question!r}, guess={self.guess!r})"

    @traitlets.validate("guess")
    def _check_guess(self, proposal: dict[str, Any]) -> Any:
        # Not `guess`: in a message from the page it is set before it is validated.
        if self._is_final() or proposal["value"] is None:
            return self._made  # a prediction is made once, and never taken back
        try:
            return self._parse(proposal["value"])
        except UserError as error:
            raise SelectionError(str(error)) from error

    @traitlets.validate("discussed")
    def _check_discussed(self, proposal: dict[str, Any]) -> Any:
        if self._made_again is None and proposal["value"] is not None and self.guess is not None:
            try:
                self._made_again = self._parse(proposal["value"])
            except UserError as error:
                raise SelectionError(str(error)) from error
        return self._made_again

    @traitlets.observe("guess")
    def _on_guess(self, _: object) -> None:
        self._made = self.guess
        self.before_export()
        self.score = self._score()

    def _revealed(self) -> dict[str, Any]:
        shown = self._reveal() if callable(self._reveal) else self._reveal
        if shown is None:
            return {}
        if isinstance(shown, ipywidgets.Widget):
            return {"view": shown}
        figure = getattr(shown, "figure", shown)  # of axes, their figure
        alt = getattr(figure, "alt_text", "")
        data, width, _height = figure_to_png(figure)
        return {"png": data, "width": width, "alt": alt}

    def _is_final(self) -> bool:
        """Return whether an answer was given that no other may replace."""
        return self._made is not None

    def _told(self, guess: Any) -> str:
        return str(guess)

    def _parse(self, value: Any) -> Any:
        """Return a valid answer in the form in which it is kept, or raise `UserError`."""
        raise NotImplementedError

    def _find_truth(self) -> Any:
        """Return the right answer as plain JSON."""
        raise NotImplementedError

    def _score(self) -> float | None:
        """Return the score of the guess, now that the truth is known."""
        raise NotImplementedError
