"""Questions that are answered once, scored, and only then shown the answer to."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import ipywidgets
import numpy as np
import traitlets

from viz_transformer import progress
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.static_fallback import StaticFallbackMixin, figure_to_png
from viz_transformer.widgets.box_keys import BoxKeys


class Guess(StaticFallbackMixin, ipywidgets.VBox):
    """A question that is answered once; the answer is scored, and then the picture is shown.

    Attributes:
        guess: the learner's answer, None before. Setting it answers.
        score: how good it was, 0 to 1; None before.
    """

    guess = traitlets.Any(None, allow_none=True)
    score = traitlets.Float(None, allow_none=True)

    def __init__(
        self,
        question: str,
        controls: Sequence[ipywidgets.Widget],
        reveal: Any = None,
        afterwards: str = "",
        name: str | None = None,
        on_enter: Callable[[str], None] | None = None,
    ) -> None:
        """Ask; what was guessed in an earlier run of the lesson is taken up again."""
        self._reveal, self._afterwards, self._name = reveal, afterwards, name
        asked = ipywidgets.HTML(f"<b>{html.escape(question)}</b>")
        self._controls = list(controls)
        self._trouble = ipywidgets.HTML()
        super().__init__([asked, *controls, self._trouble, BoxKeys(on_enter)])
        for part in self._parts():
            if part.has_trait("value"):
                part.observe(self._forget_trouble, "value")
        before = progress.guess_of(name) if name else None
        if before is not None:
            with suppress(UserError):  # the question has changed since
                self.guess = before

    @traitlets.validate("guess")
    def _check_guess(self, proposal: dict) -> Any:
        if self.guess is not None:
            return self.guess  # a prediction is made once
        return self._checked(proposal["value"])

    @traitlets.observe("guess")
    def _on_guess(self, _: object) -> None:
        self._settle()
        if self._name:
            progress.remember_guess(self._name, self.guess)
        self.score, verdict = self._judge()
        told = ipywidgets.HTML(f'<p role="status">{verdict} {html.escape(self._afterwards)}</p>')
        revealed = self._reveal() if callable(self._reveal) else self._reveal
        self.children = (
            *self.children,
            told,
            *([] if revealed is None else [_as_widget(revealed)]),
        )

    def _try(self, value: Any) -> None:
        """Take a guess from the controls, or say why it is none."""
        try:
            self.guess = value
        except UserError as error:
            self._trouble.value = f'<span role="alert">{html.escape(str(error))}</span>'

    def _settle(self) -> None:
        """Show what was guessed, and let it not be changed."""
        self._forget_trouble()
        for part in self._parts():
            if part.has_trait("disabled"):
                part.disabled = True

    def _forget_trouble(self, _: object = None) -> None:
        self._trouble.value = ""

    def _parts(self) -> list[ipywidgets.Widget]:
        """Return the controls, and those inside them."""
        return [part for control in self._controls for part in (control, *getattr(control, "children", ()))]

    def _checked(self, value: Any) -> Any:
        """Return a guess as it is kept, or raise `UserError`."""
        raise NotImplementedError

    def _judge(self) -> tuple[float, str]:
        """Return the score of the guess, and a verdict as HTML."""
        raise NotImplementedError


def _as_widget(shown: Any) -> ipywidgets.Widget:
    """Return a widget of what is revealed; a figure becomes a picture."""
    if isinstance(shown, ipywidgets.Widget):
        return shown
    shown = getattr(shown, "figure", shown)  # of axes, their figure
    data, width, _ = figure_to_png(shown)
    alt = html.escape(getattr(shown, "alt_text", ""))
    return ipywidgets.HTML(
        f'<img alt="{alt}" style="max-width: {width}px; width: 100%; background: #fff" '
        f'src="data:image/png;base64,{base64.b64encode(data).decode("ascii")}">'
    )


def _button(description: str, on_click: Callable[[], None]) -> ipywidgets.Button:
    button = ipywidgets.Button(description=description, layout=ipywidgets.Layout(width="auto"))
    button.on_click(lambda _: on_click())
    return button


class NumberGuess(Guess):
    """A number is predicted; `predict_number` makes one."""

    def __init__(self, question: str, answer: Any, unit: str, **rest: Any) -> None:
        """Ask for a number."""
        self._answer, self._unit = answer, unit
        self._field = ipywidgets.Text(
            placeholder="a number", layout=ipywidgets.Layout(width="10em"), tooltip=question
        )
        button = _button("Predict", lambda: self._try(self._field.value))
        row = ipywidgets.HBox([self._field, ipywidgets.Label(unit), button])
        super().__init__(question, [row], on_enter=self._enter, **rest)

    def _enter(self, text: str) -> None:
        """Take what was typed. The field's own message may come later, and is then no news."""
        if self.guess is None:
            self._field.value = text
            self._try(text)

    def _checked(self, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise UserError(f"a prediction is a number, not {value!r}; give one such as 3.5")
        return number

    def _settle(self) -> None:
        self._field.value = f"{self.guess:g}"
        super()._settle()

    def _judge(self) -> tuple[float, str]:
        answer = float(self._answer() if callable(self._answer) else self._answer)
        unit = html.escape(f" {self._unit}" if self._unit else "")
        told = f"You said <b>{self.guess:g}{unit}</b>; it is <b>{answer:.4g}{unit}</b>."
        if math.isclose(self.guess, answer, rel_tol=0.05, abs_tol=1e-9):
            return 1.0, f"{told} Spot on."
        if self.guess * answer <= 0:
            return 0.0, told
        factor = max(self.guess / answer, answer / self.guess)
        # A factor of ten is no longer near.
        return max(0.0, 1 - math.log10(factor)), f"{told} Off by a factor of {factor:.2g}."


class ChoiceGuess(Guess):
    """One of a few answers is predicted; `predict_choice` makes one.

    Attributes:
        options: what can be answered.
    """

    def __init__(self, question: str, options: Sequence[str], answer: Any, **rest: Any) -> None:
        """Ask for one of the options."""
        self.options, self._answer = list(options), answer
        self._buttons = [
            _button(option, lambda option=option: setattr(self, "guess", option)) for option in self.options
        ]
        row = ipywidgets.HBox(self._buttons, layout=ipywidgets.Layout(flex_flow="row wrap"))
        super().__init__(question, [row], **rest)

    def _checked(self, value: Any) -> str:
        if value not in self.options:
            raise UserError(f"{value!r} is not one of {self.options}")
        return value

    def _settle(self) -> None:
        self._buttons[self.options.index(self.guess)].button_style = "info"
        super()._settle()

    def _judge(self) -> tuple[float, str]:
        answer = self._answer() if callable(self._answer) else self._answer
        told = f"You said <b>{html.escape(self.guess)}</b>."
        if self.guess == answer:
            return 1.0, f"{told} So it is."
        return 0.0, f"{told} It is <b>{html.escape(answer)}</b>."


class RowGuess(Guess):
    """A row of weights is drawn; `predict_row` makes one.

    Attributes:
        labels: the keys.
    """

    def __init__(self, question: str, labels: Sequence[str], weights: Any, **rest: Any) -> None:
        """Ask for a row, a slider for each key."""
        self.labels, self._weights = list(labels), weights
        self._sliders = [
            ipywidgets.FloatSlider(
                value=0,
                min=0,
                max=1,
                step=0.05,
                description=label,
                orientation="vertical",
                layout=ipywidgets.Layout(height="170px", width="72px"),
            )
            for label in self.labels
        ]
        row = ipywidgets.HBox(self._sliders, layout=ipywidgets.Layout(flex_flow="row wrap"))
        button = _button("Predict", lambda: self._try([one.value for one in self._sliders]))
        button.layout.align_self = "flex-start"  # as wide as its word, not as the cell
        super().__init__(question, [row, button], **rest)

    def _checked(self, value: Any) -> list[float]:
        try:
            row = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            row = np.empty(0)
        if row.shape != (len(self.labels),) or not (np.isfinite(row).all() and (row >= 0).all()):
            raise UserError(f"give one weight for each of {self.labels}, none below 0; this is {value!r:.60}")
        if not row.sum():
            raise UserError("give at least one of them some weight")
        return (row / row.sum()).tolist()

    def _settle(self) -> None:
        for slider, weight in zip(self._sliders, self.guess, strict=True):
            slider.value = weight
        super()._settle()

    def _judge(self) -> tuple[float, str]:
        weights = np.asarray(self._weights() if callable(self._weights) else self._weights)
        if weights.shape != (len(self.labels),):
            raise UserError(f"the row has the shape {weights.shape}, and there are {len(self.labels)} labels")
        drawn = np.array(self.guess)  # [key]
        overlap = float(np.minimum(drawn, weights).sum())  # 1 - half their L1 distance
        most = int(weights.argmax())
        label = html.escape(self.labels[most])
        verdict = (
            f"Your row has {overlap:.0%} of its weight where it belongs. Most goes to "
            f"<b>{label}</b>: {weights[most]:.2f}; you gave it {drawn[most]:.2f}."
        )
        return overlap, verdict + self._table(drawn, weights)

    def _table(self, drawn: np.ndarray, weights: np.ndarray) -> str:
        def row(name: str, values: np.ndarray) -> str:
            cells = "".join(f'<td style="padding: 2px 8px">{value:.2f}</td>' for value in values)
            return f'<tr><th scope="row" style="padding: 2px 8px">{name}</th>{cells}</tr>'

        heads = "".join(
            f'<th scope="col" style="padding: 2px 8px">{html.escape(label)}</th>' for label in self.labels
        )
        rows = row("yours", drawn) + row("measured", weights)
        return f"<table><tr><td></td>{heads}</tr>{rows}</table>"
