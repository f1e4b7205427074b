"""Predictions: questions that are answered once and scored before the result is shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
import traitlets
from numpy.typing import ArrayLike

from viz_transformer import progress
from viz_transformer._numbers import short_number
from viz_transformer.analysis import word_index
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.explorer import AttentionExplorer, explore
from viz_transformer.widgets.prediction import Prediction

T = TypeVar("T")
#: Of characters, in an explanation.
LONGEST_SENTENCE = 2_000
#: How far an explanation agrees with the model answer, by what the learner finds.
_SHARES = {"yes": 1.0, "partly": 0.5, "no": 0.0}


class KeptPrediction(Prediction):
    """A prediction whose guess is kept in ``progress.json`` and there again in the next run."""

    def __init__(self, question: str, kind: str, *, name: str | None = None, **rest: Any) -> None:
        """Ask, or show what was answered before."""
        self._name = name
        super().__init__(question, kind, name=name, **rest)
        kept = progress.prediction_of(name) if name else None
        if kept is not None:
            with suppress(UserError):  # the question has changed since
                self.guess = kept
        if name and kind != "sentence" and progress.shares_predictions():
            self.is_discussed = True
            with suppress(UserError):
                self.discussed = progress.discussed(name)

    @traitlets.observe("guess")
    def _keep(self, _: object) -> None:
        if not self._name:
            return
        asked = None
        if self.kind != "sentence":
            self.before_export()  # what is right is kept, too
            asked = {name: getattr(self, name) for name in ("question", "kind", "options", "truth")}
        progress.record_prediction(self._name, self.guess, asked)

    @traitlets.observe("discussed")
    def _keep_discussed(self, _: object) -> None:
        if self._name and self.discussed is not None:
            progress.record_discussed(self._name, self.discussed)


class NumberPrediction(KeptPrediction):
    """A number is predicted; `predict_number` makes one."""

    def __init__(self, question: str, answer: float | Callable[[], float], **rest: Any) -> None:
        """Ask for a number."""
        self._truth = answer
        super().__init__(question, "number", **rest)

    def _parse(self, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise UserError(f"a prediction is a number, not {value!r}; give one such as 3.5")
        return number

    def _find_truth(self) -> float:
        return float(_value(self._truth))

    def _told(self, guess: float) -> str:
        return f"{short_number(guess, 10)} {self.unit}".strip()

    def _score(self) -> float:
        if math.isclose(self.guess, self.truth, rel_tol=0.05, abs_tol=1e-9):
            return 1.0
        if self.guess * self.truth <= 0:
            return 0.0
        # A factor of ten is no longer near.
        return max(0.0, 1 - abs(math.log10(self.guess / self.truth)))


class ChoicePrediction(KeptPrediction):
    """One of a few answers is predicted; `predict_choice` makes one."""

    def __init__(
        self, question: str, options: Sequence[str], answer: str | Callable[[], str], **rest: Any
    ) -> None:
        """Ask for one of the options."""
        self._truth = answer
        super().__init__(question, "choice", options=options, **rest)

    def _parse(self, value: Any) -> str:
        if value not in self.options:
            raise UserError(f"{value!r} is not one of {self.options}")
        return value

    def _find_truth(self) -> str:
        return _value(self._truth)

    def _score(self) -> float:
        return float(self.guess == self.truth)


class RowPrediction(KeptPrediction):
    """A row of attention weights is predicted; `predict_row` makes one. Its `options` are the keys."""

    def __init__(
        self,
        question: str,
        labels: Sequence[str],
        weights: ArrayLike | Callable[[], ArrayLike],
        **rest: Any,
    ) -> None:
        """Ask for a row, with a slider for each key."""
        self._truth = weights
        super().__init__(question, "row", options=labels, **rest)

    @property
    def labels(self) -> list[str]:
        """The keys."""
        return self.options

    def _parse(self, value: Any) -> list[float]:
        try:
            row = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            row = np.empty(0)
        if row.shape != (len(self.options),) or not (np.isfinite(row).all() and (row >= 0).all()):
            raise UserError(
                f"give one weight for each of {self.options}, none below 0; this is {value!r:.60}"
            )
        if not row.sum():
            raise UserError("give at least one of them some weight")
        return (row / row.sum()).tolist()

    def _find_truth(self) -> list[float]:
        weights = np.asarray(_value(self._truth), dtype=float)
        if weights.shape != (len(self.options),):
            raise UserError(
                f"the row has the shape {weights.shape}, and there are {len(self.options)} labels"
            )
        return weights.tolist()

    def _told(self, guess: list[float]) -> str:
        return ", ".join(f"{key} {weight:.2f}" for key, weight in zip(self.options, guess, strict=True))

    def _score(self) -> float:
        return float(np.minimum(self.guess, self.truth).sum())  # 1 - half their L1 distance


class KeyPrediction(KeptPrediction):
    """The key that a query of one head attends to most is predicted; `prediction` makes one.

    The score is the weight of the chosen key over the largest weight.

    Attributes:
        choice: position of the chosen key, or None before the answer; the same as `guess`.
        explorer: the view, which is shown with the answer.
    """

    def __init__(
        self, explorer: AttentionExplorer, question: str, afterwards: str = "", name: str | None = None
    ) -> None:
        """Ask about the explorer's pinned query."""
        self.explorer = explorer
        trace, kind = explorer.trace, explorer.kind
        weights = trace.attention(kind)
        assert weights is not None  # an explorer shows a kind that its trace has
        self._weights = weights[explorer.layer, explorer.head, explorer.query]  # [key]
        keys = sendable(trace.key_tokens(kind))
        super().__init__(question, "key", options=keys, reveal=explorer, afterwards=afterwards, name=name)

    @property
    def choice(self) -> int | None:
        """Position of the chosen key, or None before the answer."""
        return self.guess

    @choice.setter
    def choice(self, place: int) -> None:
        self.guess = place

    def _parse(self, value: Any) -> int:
        if not isinstance(value, int | np.integer | str):
            raise UserError(f"{value!r:.60} is no key; give one of {self.options}, or its position from 0")
        return word_index(self.options, value if isinstance(value, str) else int(value))

    def _find_truth(self) -> list[float]:
        return [float(weight) for weight in self._weights]

    def _told(self, guess: int) -> str:
        return self.options[guess]

    def _score(self) -> float:
        return self.truth[self.guess] / max(self.truth)


class Explanation(KeptPrediction):
    """A sentence is written, and then compared with a model answer; `explain` makes one.

    Its `guess` is ``{"sentence": …, "holds": …}``: what was written, and how it compares with the model
    answer in the learner's own judgement, ``"yes"``, ``"partly"`` or ``"no"``; None before.
    """

    def __init__(self, question: str, answer: str, **rest: Any) -> None:
        """Ask for a sentence."""
        self._truth = answer
        super().__init__(question, "sentence", **rest)

    def _parse(self, value: Any) -> dict[str, Any]:
        given = value if isinstance(value, dict) else {"sentence": value}
        written, holds = (self._made or given).get("sentence"), given.get("holds")
        if not isinstance(written, str) or not written.strip() or len(written) > LONGEST_SENTENCE:
            raise UserError(
                f"an explanation is a text of at most {LONGEST_SENTENCE:,} characters, not {value!r:.60}"
            )
        if holds is not None and holds not in _SHARES:
            raise UserError(f"whether it holds is one of {[*_SHARES]}, not {holds!r:.60}")
        return {"sentence": written.strip(), "holds": holds}

    def _is_final(self) -> bool:
        return self._made is not None and self._made["holds"] is not None

    def _find_truth(self) -> str:
        return self._truth

    def _told(self, guess: dict[str, Any]) -> str:
        return f"“{guess['sentence']}” A model answer: {self.truth}"

    def _score(self) -> float | None:
        return None if self.guess["holds"] is None else _SHARES[self.guess["holds"]]


def explain(question: str, answer: str, *, afterwards: str = "", name: str | None = None) -> Explanation:
    """Ask for an explanation in a sentence, then show a model answer beside it to compare.

    The learner judges whether the two agree.

    >>> import viz_transformer as vt
    >>> view = vt.explain("Why divide by √d_k?", "Larger vectors have larger scores, and softmax saturates.")

    Args:
        question: what is asked.
        answer: the model answer, shown after the learner has written one.
        afterwards: shown at the end; paragraphs, emphasis, code and links as `Prediction` has them.
        name: such as ``"3.e1"``; what was written is kept in ``progress.json`` under it.

    Raises:
        UserError: if there is no model answer.
    """
    if not answer.strip():
        raise UserError("give a model answer to compare with; answer= is empty")
    return Explanation(question, answer, afterwards=afterwards, name=name)


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

    >>> import viz_transformer as vt
    >>> view = vt.predict_number("How many heads has the translator?", 24, unit="heads")

    Args:
        question: what is asked.
        answer: the number, or a function that computes it after the guess.
        unit: what it is measured in.
        reveal: a widget or a figure that is then shown, or a function that makes one.
        afterwards: shown with the answer; paragraphs, emphasis, code and links as `Prediction` has them.
        name: such as ``"3.p1"``; the guess is kept in ``progress.json`` under it.
    """
    return NumberPrediction(question, answer, unit=unit, reveal=reveal, afterwards=afterwards, name=name)


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

    >>> import viz_transformer as vt
    >>> view = vt.predict_choice("Which word does “it” mean?", ["cat", "street"], "cat")

    Args:
        question: what is asked.
        options: the possible answers, each once.
        answer: the right one, or a function that finds it after the guess.
        reveal: a widget or a figure that is then shown, or a function that makes one.
        afterwards: shown with the answer; paragraphs, emphasis, code and links as `Prediction` has them.
        name: such as ``"3.p1"``; the guess is kept in ``progress.json`` under it.

    Raises:
        UserError: if there are fewer than two options, or one of them twice.
    """
    if len(set(options)) != len(options) or len(options) < 2:
        raise UserError(f"give at least two different answers, not {list(options)}")
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
    """Ask for a row of attention weights, set with sliders, before the real one is shown.

    What is drawn is scaled to sum to 1. The score is the weight that both rows share, 0 to 1.

    >>> import viz_transformer as vt
    >>> view = vt.predict_row("Where does it look?", ["the", "cat"], [0.25, 0.75])

    Args:
        question: what is asked.
        labels: the keys.
        weights: the real row [key], or a function that computes it after the guess.
        reveal: a widget or a figure that is then shown, or a function that makes one.
        afterwards: shown with the answer; paragraphs, emphasis, code and links as `Prediction` has them.
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
    name: str | None = None,
) -> KeyPrediction:
    """Ask which key a query attends to most; the explorer appears with the answer.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> view = vt.prediction(trace, "Where to?", kind="encoder", layer=0, head=1, query="cat")

    Args:
        trace: the trace asked about.
        question: shown above the words to choose from.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer, from 0.
        head: index of the head, from 0.
        query: the word that looks, or its position.
        afterwards: shown with the answer; paragraphs, emphasis, code and links as `Prediction` has them.
        name: such as ``"3.p1"``; the guess is kept in ``progress.json`` under it.

    Raises:
        UserError: if the trace has no such kind, layer, head or word.
    """
    place = word_index(trace.query_tokens(kind), query)
    explorer = explore(trace, kind=kind, layer=layer, head=head, query=place)
    return KeyPrediction(explorer, question, afterwards, name)


def _value(answer: T | Callable[[], T]) -> T:
    """Return an answer, computed if a function was given."""
    return answer() if callable(answer) else answer
