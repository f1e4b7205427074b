"""The trace of a training: heads, translations and losses at chosen moments."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.trace.arrays import given_array
from viz_transformer.trace.field_types import check_types
from viz_transformer.trace.files import load_trace, save_trace
from viz_transformer.trace.forward import FloatArray, ForwardTrace, attention_of, shares_of
from viz_transformer.trace.kinds import KINDS

_TOKENS = ("source_tokens", "target_tokens", "output_tokens", "source_words", "target_words")


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """The model as it was after some step.

    >>> import viz_transformer as vt
    >>> last = vt.load_training("en-es").moments[-1]
    >>> last.step, len(last.translations) == len(last.traces)
    (8000, True)

    Attributes:
        step: optimiser steps done; 0 is before the first.
        translations: what the model wrote for each sentence, unaided: its translation, the whole
            text that a language model made of it, or the text with its gap filled.
        losses: for each sentence the cross-entropy of its reference, in nats per token, teacher
            forced; of a text with a gap, that of the word in it.
        traces: for each sentence the attention while its reference is read, so that the tokens
            are the same at every moment.
        validation_loss: the mean loss on sentences that the training never shows, in nats per token;
            None if it was not measured.
    """

    step: int
    translations: tuple[str, ...]
    losses: tuple[float, ...]
    traces: tuple[ForwardTrace, ...]
    validation_loss: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class TrainingTrace:
    """A training, at chosen moments and on chosen sentences.

    >>> import viz_transformer as vt
    >>> training = vt.load_training("en-es")
    >>> bool(training.losses[0] > training.losses[-1])
    True

    Attributes:
        name: what distinguishes this run from another, such as ``"seed 1"``.
        sources: the sentences; for a language model beginnings, for a masked language model texts with
            a gap.
        references: their right translations; whole texts for the other two.
        moments: in the order of their steps.
        steps: int64 ``[record]``, the optimiser steps of the loss curve.
        losses: float32 ``[record]``, the training loss of each, in nats per token.
        accuracies: float32 ``[record]``, the share of tokens predicted right, 0 to 1; empty if not counted.

    Raises:
        UserError: if the parts do not fit each other.
    """

    name: str
    sources: tuple[str, ...]
    references: tuple[str, ...]
    moments: tuple[Snapshot, ...]
    steps: np.ndarray
    losses: FloatArray
    accuracies: FloatArray

    def __post_init__(self) -> None:
        """Convert to read-only arrays, and check that all lengths agree."""
        for name, dtype in (
            ("steps", np.int64),
            ("losses", np.float32),
            ("accuracies", np.float32),
        ):
            array = np.array(given_array(getattr(self, name), name), dtype=dtype)  # [record]
            if array.ndim != 1:
                raise UserError(f"{name} has shape {list(array.shape)}; give one number for each step")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        check_types(self)
        n_sentences = len(self.sources)
        if not self.moments or not n_sentences:
            raise UserError("a training trace needs at least one moment and one sentence")
        for what, length in (
            ("references", len(self.references)),
            *(
                (f"{part} at step {moment.step}", len(getattr(moment, part)))
                for moment in self.moments
                for part in ("translations", "losses", "traces")
            ),
        ):
            if length != n_sentences:
                raise UserError(f"{what} has {length} entries for {n_sentences} sentences")
        order = [moment.step for moment in self.moments]
        if order != sorted(set(order)):
            raise UserError(f"the moments' steps {order!r:.60} must rise; give them in order")
        n_records = len(self.steps)
        if len(self.losses) != n_records or len(self.accuracies) not in (0, n_records):
            raise UserError(
                f"the curve has {len(self.steps)} steps, {len(self.losses)} losses and "
                f"{len(self.accuracies)} accuracies; give the same number of each"
            )
        for sentence in range(n_sentences):
            shapes = {_shape(moment.traces[sentence]) for moment in self.moments}
            if len(shapes) > 1:
                raise UserError(
                    f"the traces of sentence {sentence} differ in tokens or heads from moment to "
                    "moment; trace the same reference with the same model"
                )

    @property
    def task(self) -> str:
        """What the model does with the sentences: ``"translate"``, ``"continue"`` or ``"fill"``."""
        trace = self.moments[0].traces[0]
        if not trace.target_tokens:
            return "fill"
        return "translate" if trace.source_tokens else "continue"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace as one ``.npz`` file (no pickle), whole or not at all.

        Weights are kept as float16, off by 0.00025 at most.

        Raises:
            FileError: if the file cannot be written.
        """
        plain: dict[str, Any] = {
            "name": self.name,
            "sources": self.sources,
            "references": self.references,
            "moments": [[one.step, one.translations, one.losses] for one in self.moments],
            "validation": [one.validation_loss for one in self.moments],
            "tokens": [{name: getattr(trace, name) for name in _TOKENS} for trace in self.moments[0].traces],
        }
        arrays = {"steps": self.steps, "losses": self.losses, "accuracies": self.accuracies}
        for sentence, first in enumerate(self.moments[0].traces):
            for kind in first.kinds:
                weights = [attention_of(one.traces[sentence], kind) for one in self.moments]
                # [moment, layer, head, query, key]
                arrays[f"{kind}.{sentence}"] = np.stack(weights).astype(np.float16)
        return save_trace(path, "TrainingTrace", plain, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, checked: bool = True) -> TrainingTrace:
        """Read a trace that `save` wrote; needs no torch and no model.

        Args:
            path: the file.
            checked: whether its content must be what was saved; False loads a changed one as it is.

        Raises:
            FileError: if the file is missing, damaged or not a saved TrainingTrace.
        """
        return load_trace(path, "TrainingTrace", _unpacked, checked=checked)


def _unpacked(plain: dict[str, Any], arrays: dict[str, np.ndarray]) -> TrainingTrace:
    validation_losses = plain.get("validation", [None] * len(plain["moments"]))
    moments = [
        Snapshot(
            step=step,
            validation_loss=validation,
            translations=tuple(translations),
            losses=tuple(losses),
            traces=tuple(
                ForwardTrace(**tokens, **_attention_of(arrays, sentence, number))
                for sentence, tokens in enumerate(plain["tokens"])
            ),
        )
        for number, ((step, translations, losses), validation) in enumerate(
            zip(plain["moments"], validation_losses, strict=True)
        )
    ]
    return TrainingTrace(
        name=plain["name"],
        sources=tuple(plain["sources"]),
        references=tuple(plain["references"]),
        moments=tuple(moments),
        **{name: arrays[name] for name in ("steps", "losses", "accuracies")},
    )


def _attention_of(arrays: dict[str, np.ndarray], sentence: int, number: int) -> dict[str, Any]:
    return {
        kind.field: arrays[f"{kind.name}.{sentence}"][number].astype(np.float32)
        for kind in KINDS.values()
        if f"{kind.name}.{sentence}" in arrays
    }


def _shape(trace: ForwardTrace) -> tuple[Any, ...]:
    """Return what must be alike at every moment."""
    tokens = tuple(getattr(trace, name) for name in _TOKENS)
    return (*tokens, *((kind, shares_of(trace, kind).shape) for kind in trace.kinds))
