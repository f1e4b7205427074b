"""A Hugging Face model that scores what it reads, behind the calls that the head lab makes.

A classifier of texts, pictures or sounds answers with the class, a masked model with the word of its gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer._text import given_text
from viz_transformer.capturing import capture
from viz_transformer.capturing.arguments import encode
from viz_transformer.capturing.running import evaluating
from viz_transformer.errors import UserError
from viz_transformer.interpreting.batched_runs import BatchedRuns
from viz_transformer.interpreting.heads import interventions
from viz_transformer.interpreting.metric import (
    class_names,
    difference,
    logits_of_output,
    token_id,
    token_names,
)
from viz_transformer.model.interventions import HeadChange, Interventions
from viz_transformer.trace import ForwardTrace

#: So many of the likeliest classes or tokens are told.
_MOST_LIKELY = 8
#: What stands in place of a text, where a model reads none.
_LABELS = {"pixel_values": "a picture"}


class HuggingFaceScores:
    """A classifier, or a masked model with a gap, and what it reads.

    Attributes:
        model: the model; it stays as it is.
        tokenizer: turns a text into its input; None of pictures and sounds.
        task: as of a model that writes one word.
        text: what it reads at first, or what is in its place.
    """

    task = "translate"

    def __init__(self, model: Any, given: Any, tokenizer: Any = None) -> None:
        """Join a model and what it reads: a text, or what a processor returned of one picture or sound.

        Raises:
            UserError: if it scores nothing, or there is nothing to read.
        """
        self.model = model
        self.tokenizer = tokenizer
        self._features = {**given} if isinstance(given, Mapping) else None
        if self._features is None and (given is None or tokenizer is None):
            raise UserError(
                f"{type(model).__name__} needs something to read; give a text and its tokenizer=, or what a "
                "processor returns of one picture or sound"
            )
        if self._features is None and model.main_input_name != "input_ids":
            raise UserError(
                f"{type(model).__name__} reads {model.main_input_name}=, and a text was given; give what its "
                "processor returns of one picture or sound"
            )
        self.text = (
            given_text(given) if self._features is None else _LABELS.get(model.main_input_name, "a sound")
        )
        self._newest: tuple[Any, Any] = (None, None)  # the scores that were asked for last, and of what
        self._known: tuple[Any, BatchedRuns | None, dict[HeadChange, Tensor]] = (None, None, {})
        self._row(self.text)

    def answer(self, text: str, changes: Interventions | None = None) -> tuple[str, ...]:
        """Return the likeliest class, or the likeliest word of the gap."""
        row, names = self._row(text, changes)
        return token_names(names, [int(row.argmax())])

    def shown(self, tokens: Sequence[str]) -> tuple[str, ...]:
        """Return names as they are."""
        return tuple(tokens)

    def judge(
        self, text: str, answer: tuple[str, ...], changes: Interventions | None = None
    ) -> tuple[ForwardTrace, NDArray[np.float64]]:
        """Return the attention, and the log-probability of an answer."""
        row, names = self._row(text, changes)
        with interventions(self.model, changes.heads if changes else ()):
            trace = (
                capture(self.model, text, tokenizer=self.tokenizer)
                if self._features is None
                else capture(self.model, **self._features)
            )
        return trace, self._log_probs(row, names, answer)

    def judge_apart(
        self, text: str, answer: tuple[str, ...], changes: Sequence[HeadChange]
    ) -> Iterator[tuple[ForwardTrace, NDArray[np.float64], tuple[str, ...]]]:
        """Yield what `judge` and `answer` return under each of some changes alone."""
        for change in changes:
            alone = Interventions(heads=[change])
            yield *self.judge(text, answer, alone), self.answer(text, alone)

    def log_probs_apart(
        self, text: str, answer: tuple[str, ...], changes: Sequence[HeadChange]
    ) -> NDArray[np.float64]:
        """Return the log-probabilities of an answer under each of some changes, [change, 1]."""
        names = self._row(text)[1]
        return np.array([self._log_probs(row, names, answer) for row in self._rows_apart(text, changes)])

    def measured(
        self, text: str, answer: tuple[str, ...], metric: Sequence[str], changes: Interventions | None = None
    ) -> float:
        """Return the logit of a class or token, or minus that of a second one.

        Raises:
            UserError: if one of them is not there.
        """
        row, names = self._row(text, changes)
        return float(difference(row, [token_id(names, each, len(row)) for each in metric]))

    def measured_apart(
        self, text: str, answer: tuple[str, ...], metric: Sequence[str], changes: Sequence[HeadChange]
    ) -> NDArray[np.float64]:
        """Return what `measured` gives under each of some changes, [change]."""
        row, names = self._row(text)
        ids = [token_id(names, each, len(row)) for each in metric]
        return np.array([float(difference(each, ids)) for each in self._rows_apart(text, changes)])

    def likeliest(
        self, text: str, answer: tuple[str, ...], changes: Interventions | None = None
    ) -> tuple[tuple[str, ...], list[float]]:
        """Return the likeliest classes or tokens, with their probabilities."""
        row, names = self._row(text, changes)
        shares, ids = row.softmax(-1).topk(min(_MOST_LIKELY, len(row)))
        return token_names(names, ids.tolist()), shares.tolist()

    def named(self, name: str) -> str:
        """Return a class or token as `likeliest` names it."""
        row, names = self._row(self.text)
        return token_names(names, [token_id(names, name, len(row))])[0]

    def _log_probs(self, row: Tensor, names: Any, answer: tuple[str, ...]) -> NDArray[np.float64]:
        at = [token_id(names, each, len(row)) for each in answer]
        return row.double().log_softmax(-1)[at].cpu().numpy()

    def _row(self, text: str, changes: Interventions | None = None) -> tuple[Tensor, Any]:
        """Return the scores [class or token], and what names them."""
        heads = tuple(changes.heads) if changes else ()
        of = (text, heads, self._versions)
        if self._newest[0] != of:
            given = self._given(text)
            with interventions(self.model, heads), evaluating(self.model):
                self._newest = (of, self._scores(self.model(**given), given))
        return self._newest[1]

    def _rows_apart(self, text: str, changes: Sequence[HeadChange]) -> list[Tensor]:
        """Return the scores [class or token] under each change."""
        given = self._given(text)
        of = (text, self._versions)
        if self._known[0] != of:

            def run(n_rows: int) -> Any:
                return self.model(
                    **{name: each.expand(n_rows, *each.shape[1:]) for name, each in given.items()}
                )

            self._known = (of, BatchedRuns(self.model, run), {})
        _, runs, known = self._known
        missing = [change for change in changes if change not in known]
        assert runs is not None
        for change, output in zip(missing, runs.outputs(missing), strict=True):
            known[change] = self._scores(output, given)[0]
        return [known[change] for change in changes]

    @property
    def _versions(self) -> list[int]:
        """A count for each parameter, which training raises."""
        return [parameter._version for parameter in self.model.parameters()]

    def _given(self, text: str) -> dict[str, Tensor]:
        """Return the arguments of the model's forward.

        Raises:
            UserError: if another text was given than the model reads.
        """
        if self._features is None:
            return dict(encode(self.tokenizer, text))
        if text != self.text:
            raise UserError(f"this lab reads {self.text}, and no text; make another lab for another one")
        return {name: torch.as_tensor(each) for name, each in self._features.items()}

    def _scores(self, output: Any, given: Mapping[str, Tensor]) -> tuple[Tensor, Any]:
        logits = logits_of_output(output)
        if logits is None:
            raise UserError(
                f"{type(self.model).__name__} scores nothing; load it with its head "
                "(AutoModelForMaskedLM, AutoModelForSequenceClassification …), or rank its heads by a "
                "function: vt.rank_heads(model, metric, text, tokenizer=tokenizer)"
            )
        row = logits[0].detach().float()
        if row.ndim == 1:
            return row, class_names(self.model, len(row))
        gap = getattr(self.tokenizer, "mask_token_id", None)
        if gap is None or "input_ids" not in given:
            raise UserError(
                f"{type(self.model).__name__} does not write after a text, fill a gap or tell classes "
                "apart; give a model that does one of them"
            )
        places = [i for i, each in enumerate(given["input_ids"][0].tolist()) if each == gap]
        if len(places) != 1:
            mask = self.tokenizer.mask_token
            raise UserError(f"the text has {len(places)} gaps; give one to fill, written {mask}")
        return row[places[0]], self.tokenizer
