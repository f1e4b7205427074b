"""Predictions: questions that are answered once and scored before the result is shown."""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import ipywidgets
import numpy as np
import traitlets
from numpy.typing import ArrayLike

from viz_transformer import progress
from viz_transformer.analysis import word_index
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.static_fallback import StaticFallbackMixin, figure_to_png
from viz_transformer.widgets.box_keys import BoxKeys
from viz_transformer.widgets.explorer import AttentionExplorer, explore

T = TypeVar("T")


class Prediction(StaticFallbackMixin, ipywidgets.VBox):
    """A question that is answered once: the answer is scored, then the result is shown.

    A subclass says which answers are valid (`_parse`) and how they are scored (`_grade`).

    Attributes:
        guess: the learner's answer, None before. Setting it submits it.
        score: from 0 to 1; None before the answer.
    """

    guess = traitlets.Any(None, allow_none=True)
    score = traitlets.Float(None, allow_none=True)
    children: tuple[ipywidgets.Widget, ...]

    def __init__(
        self,
        question: str,
        controls: Sequence[ipywidgets.Widget],
        below: Sequence[ipywidgets.Widget] = (),
        *,
        reveal: Any = None,
        afterwards: str = "",
        name: str | None = None,
    ) -> None:
        """Show the question; an answer kept from an earlier run of the lesson is restored.

        Args:
            question: what is asked.
            controls: the widgets to answer with, disabled after the answer.
            below: widgets that follow them.
            reveal: a widget or a figure shown after the answer, or a function that makes one.
            afterwards: text shown with the score.
            name: the key under which `progress` keeps the answer; None does not keep it.
        """
        self._reveal, self._afterwards, self._name = reveal, afterwards, name
        self._controls = list(controls)
        super().__init__([ipywidgets.HTML(f"<b>{html.escape(question)}</b>"), *controls, *below])
        kept = progress.prediction_of(name) if name else None
        if kept is not None:
            with suppress(UserError):  # the question has changed since
                self.guess = kept

    @traitlets.validate("guess")
    def _check_guess(self, proposal: dict[str, Any]) -> Any:
        if self.guess is not None:
            return self.guess  # a prediction is made once
        return self._parse(proposal["value"])

    @traitlets.observe("guess")
    def _on_guess(self, _: object) -> None:
        self._lock()
        if self._name:
            progress.record_prediction(self._name, self.guess)
        self.score, verdict = self._grade()
        shown = [ipywidgets.HTML(f'<p role="status">{verdict} {html.escape(self._afterwards)}</p>')]
        revealed = self._reveal() if callable(self._reveal) else self._reveal
        if revealed is not None:
            shown.append(_as_widget(revealed))
        self.children = (*self.children, *shown)

    def _lock(self) -> None:
        """Disable the controls, with the answer showing in them."""
        for widget in self._all_controls():
            if widget.has_trait("disabled"):
                widget.disabled = True

    def _all_controls(self) -> Iterator[ipywidgets.Widget]:
        """Yield the controls, and those inside them."""
        for control in self._controls:
            yield control
            yield from getattr(control, "children", ())

    def _parse(self, value: Any) -> Any:
        """Return a valid answer in the form in which it is kept, or raise `UserError`."""
        raise NotImplementedError

    def _grade(self) -> tuple[float, str]:
        """Return the score of the answer, and a verdict as HTML."""
        raise NotImplementedError


class FormPrediction(Prediction):
    """A prediction with a line below its controls that explains why an input is no answer."""

    def __init__(
        self,
        question: str,
        controls: Sequence[ipywidgets.Widget],
        *,
        on_enter: Callable[[str], None] | None = None,
        **options: Any,
    ) -> None:
        """Show the question; `options` are those of `Prediction`.

        Args:
            question: what is asked.
            controls: the widgets to answer with.
            on_enter: called with the text of a field in which Enter was pressed.
            options: what else `Prediction` takes.
        """
        self._error = ipywidgets.HTML()
        super().__init__(question, controls, [self._error, BoxKeys(on_enter)], **options)
        for widget in self._all_controls():
            if widget.has_trait("value"):
                widget.observe(self._clear_error, "value")

    def _submit(self, value: Any) -> None:
        """Take an answer from the controls, or show why it is none."""
        try:
            self.guess = value
        except UserError as error:
            self._error.value = f'<span role="alert">{html.escape(str(error))}</span>'

    def _lock(self) -> None:
        self._clear_error()
        super()._lock()

    def _clear_error(self, _: object = None) -> None:
        self._error.value = ""


class NumberPrediction(FormPrediction):
    """A number is predicted; `predict_number` makes one."""

    def __init__(self, question: str, answer: float | Callable[[], float], unit: str, **options: Any) -> None:
        """Ask for a number."""
        self._answer, self._unit = answer, unit
        self._field = ipywidgets.Text(
            placeholder="a number", layout=ipywidgets.Layout(width="10em"), tooltip=question
        )
        button = _button("Predict", lambda: self._submit(self._field.value))
        row = ipywidgets.HBox([self._field, ipywidgets.Label(unit), button])
        super().__init__(question, [row], on_enter=self._on_enter, **options)

    def _on_enter(self, text: str) -> None:
        """Submit what was typed. The field's own message may arrive later, and changes nothing."""
        if self.guess is None:
            self._field.value = text
            self._submit(text)

    def _parse(self, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise UserError(f"a prediction is a number, not {value!r}; give one such as 3.5")
        return number

    def _lock(self) -> None:
        self._field.value = f"{self.guess:g}"
        super()._lock()

    def _grade(self) -> tuple[float, str]:
        answer = float(_value(self._answer))
        unit = html.escape(f" {self._unit}" if self._unit else "")
        told = f"You said <b>{self.guess:g}{unit}</b>; it is <b>{answer:.4g}{unit}</b>."
        if math.isclose(self.guess, answer, rel_tol=0.05, abs_tol=1e-9):
            return 1.0, f"{told} Spot on."
        if self.guess * answer <= 0:
            return 0.0, told
        factor = max(self.guess / answer, answer / self.guess)
        # A factor of ten is no longer near.
        return max(0.0, 1 - math.log10(factor)), f"{told} Off by a factor of {factor:.2g}."


class ChoicePrediction(FormPrediction):
    """One of a few answers is predicted; `predict_choice` makes one.

    Attributes:
        options: the possible answers.
    """

    def __init__(
        self, question: str, options: Sequence[str], answer: str | Callable[[], str], **rest: Any
    ) -> None:
        """Ask for one of the options."""
        self.options, self._answer = list(options), answer
        self._buttons = [_button(option, self._choosing(option)) for option in self.options]
        row = ipywidgets.HBox(self._buttons, layout=ipywidgets.Layout(flex_flow="row wrap"))
        super().__init__(question, [row], **rest)

    def _choosing(self, option: str) -> Callable[[], None]:
        return lambda: self._submit(option)

    def _parse(self, value: Any) -> str:
        if value not in self.options:
            raise UserError(f"{value!r} is not one of {self.options}")
        return value

    def _lock(self) -> None:
        self._buttons[self.options.index(self.guess)].button_style = "info"
        super()._lock()

    def _grade(self) -> tuple[float, str]:
        answer = _value(self._answer)
        told = f"You said <b>{html.escape(self.guess)}</b>."
        if self.guess == answer:
            return 1.0, f"{told} So it is."
        return 0.0, f"{told} It is <b>{html.escape(answer)}</b>."


class RowPrediction(FormPrediction):
    """A row of attention weights is predicted; `predict_row` makes one.

    Attributes:
        labels: the keys.
    """

    def __init__(
        self,
        question: str,
        labels: Sequence[str],
        weights: ArrayLike | Callable[[], ArrayLike],
        **options: Any,
    ) -> None:
        """Ask for a row, with a slider for each key."""
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
        button = _button("Predict", lambda: self._submit([each.value for each in self._sliders]))
        button.layout.align_self = "flex-start"  # as wide as its word, not as the cell
        super().__init__(question, [row, button], **options)

    def _parse(self, value: Any) -> list[float]:
        try:
            row = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            row = np.empty(0)
        if row.shape != (len(self.labels),) or not (np.isfinite(row).all() and (row >= 0).all()):
            raise UserError(f"give one weight for each of {self.labels}, none below 0; this is {value!r:.60}")
        if not row.sum():
            raise UserError("give at least one of them some weight")
        return (row / row.sum()).tolist()

    def _lock(self) -> None:
        for slider, weight in zip(self._sliders, self.guess, strict=True):
            slider.value = weight
        super()._lock()

    def _grade(self) -> tuple[float, str]:
        weights = np.asarray(_value(self._weights))
        if weights.shape != (len(self.labels),):
            raise UserError(f"the row has the shape {weights.shape}, and there are {len(self.labels)} labels")
        drawn = np.array(self.guess)  # [key]
        overlap = float(np.minimum(drawn, weights).sum())  # 1 - half their L1 distance
        largest = int(weights.argmax())
        label = html.escape(self.labels[largest])
        verdict = (
            f"Your row has {overlap:.0%} of its weight where it belongs. Most goes to "
            f"<b>{label}</b>: {weights[largest]:.2f}; you gave it {drawn[largest]:.2f}."
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


class KeyPrediction(Prediction):
    """The key that a query of one head attends to most is predicted; `prediction` makes one.

    The score is the weight of the chosen key over the largest weight.

    Attributes:
        choice: position of the chosen key, or None before the answer; the same as `guess`.
        explorer: the view, which is shown with the answer.
    """

    def __init__(self, explorer: AttentionExplorer, question: str, afterwards: str = "") -> None:
        """Ask about the explorer's pinned query."""
        self.explorer = explorer
        trace, kind = explorer.trace, explorer.kind
        self._keys = trace.key_tokens(kind)
        weights = trace.attention(kind)
        assert weights is not None  # an explorer shows a kind that its trace has
        self._weights = weights[explorer.layer, explorer.head, explorer.query]  # [key]
        self._buttons = [_button(key, self._choosing(place)) for place, key in enumerate(self._keys)]
        row = ipywidgets.HBox([*self._buttons, BoxKeys()], layout=ipywidgets.Layout(flex_flow="row wrap"))
        super().__init__(question, [row], reveal=explorer, afterwards=afterwards)

    def _choosing(self, place: int) -> Callable[[], None]:
        return lambda: setattr(self, "guess", place)

    @property
    def choice(self) -> int | None:
        """Position of the chosen key, or None before the answer."""
        return self.guess

    @choice.setter
    def choice(self, place: int) -> None:
        self.guess = place

    def _parse(self, value: Any) -> int:
        return word_index(self._keys, value)

    def _lock(self) -> None:
        self._buttons[self.guess].button_style = "info"
        super()._lock()

    def _grade(self) -> tuple[float, str]:
        order = (-self._weights).argsort(kind="stable")  # positions, largest weight first
        rank = int((order == self.guess).argmax()) + 1
        weight, largest = self._weights[self.guess], self._weights[order[0]]
        chosen, most = html.escape(self._keys[self.guess]), html.escape(self._keys[order[0]])
        told = f"You chose <b>{chosen}</b>: weight {weight:.2f}, rank {rank} of {len(self._keys)}."
        if rank == 1:
            verdict = f"{told} That is where this head looks."
        else:
            verdict = f"{told} This head looks most at <b>{most}</b>: {largest:.2f}."
        return float(weight / largest), verdict


def predict_number(
    question: str,
    answer: float | Callable[[], float],
    *,
    unit: str = "",
    reveal: Any = None,
    afterwards: str = "",
    name: str | None = None,
) -> NumberPrediction:
    """Ask for a number before it is shown. The score falls with the factor that the guess is off.

    Args:
        question: what is asked.
        answer: the number, or a function that computes it after the guess.
        unit: what it is measured in.
        reveal: a widget or a figure that is then shown, or a function that makes one.
        afterwards: shown with the answer.
        name: such as ``"3.p1"``; the guess is kept in ``progress.json`` under it.
    """
    return NumberPrediction(question, answer, unit, reveal=reveal, afterwards=afterwards, name=name)


def predict_choice(
    question: str,
    options: Sequence[str],
    answer: str | Callable[[], str],
    *,
    reveal: Any = None,
    afterwards: str = "",
    name: str | None = None,
) -> ChoicePrediction:
    """Ask for one of a few answers before the right one is shown.

    Args:
        question: what is asked.
        options: the possible answers, each once.
        answer: the right one, or a function that finds it after the guess.
        reveal: a widget or a figure that is then shown, or a function that makes one.
        afterwards: shown with the answer.
        name: such as ``"3.p1"``; the guess is kept in ``progress.json`` under it.

    Raises:
        UserError: if there are fewer than two options, or one of them twice.
    """
    if len(set(options)) != len(options) or len(options) < 2:
        raise UserError(f"options are at least two different answers, not {list(options)}")
    return ChoicePrediction(question, options, answer, reveal=reveal, afterwards=afterwards, name=name)


def predict_row(
    question: str,
    labels: Sequence[str],
    weights: ArrayLike | Callable[[], ArrayLike],
    *,
    reveal: Any = None,
    afterwards: str = "",
    name: str | None = None,
) -> RowPrediction:
    """Ask for a row of attention weights, drawn with sliders, before the real one is shown.

    What is drawn is scaled to sum to 1. The score is the weight that both rows share, 0 to 1.

    Args:
        question: what is asked.
        labels: the keys.
        weights: the real row [key], or a function that computes it after the guess.
        reveal: a widget or a figure that is then shown, or a function that makes one.
        afterwards: shown with the answer.
        name: such as ``"3.p1"``; the guess is kept in ``progress.json`` under it.
    """
    return RowPrediction(question, labels, weights, reveal=reveal, afterwards=afterwards, name=name)


def prediction(
    trace: ForwardTrace,
    question: str,
    *,
    kind: str,
    layer: int,
    head: int,
    query: int | str,
    afterwards: str = "",
) -> KeyPrediction:
    """Ask which key a query attends to most; the explorer appears with the answer.

    Args:
        trace: the trace asked about.
        question: shown above the words to choose from.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer, from 0.
        head: index of the head, from 0.
        query: the word that looks, or its position.
        afterwards: shown with the answer.

    Raises:
        UserError: if the trace has no such kind, layer, head or word.
    """
    place = word_index(trace.query_tokens(kind), query)
    explorer = explore(trace, kind=kind, layer=layer, head=head, query=place)
    return KeyPrediction(explorer, question, afterwards)


def _value(answer: T | Callable[[], T]) -> T:
    """Return an answer, computed if a function was given."""
    return answer() if callable(answer) else answer


def _button(description: str, on_click: Callable[[], None]) -> ipywidgets.Button:
    button = ipywidgets.Button(description=description, layout=ipywidgets.Layout(width="auto"))
    button.on_click(lambda _: on_click())
    return button


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
