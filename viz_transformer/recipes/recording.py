"""Recording of a training: losses, answers and attention on a few sentences, at chosen steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from viz_transformer._bounds import MOMENTS, STEPS, at_most
from viz_transformer._text import shown
from viz_transformer.capturing.running import evaluating
from viz_transformer.corpus import SentencePair
from viz_transformer.corpus.batches import as_text, batches
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.language_model import LanguageModel
from viz_transformer.masked_model import MaskedModel
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.recipes.own_translator import OwnTranslator
from viz_transformer.text_model import TextModel
from viz_transformer.trace import Snapshot, TrainingTrace
from viz_transformer.training import StepRecord
from viz_transformer.training.loss import mean_loss
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import Tokeniser

#: The most points of a loss curve: about as many as a view has pixels for.
_CURVE_POINTS = 500
#: What a model of each family is asked with.
_READERS: dict[type, Any] = {Transformer: Translator, DecoderOnly: LanguageModel, EncoderOnly: MaskedModel}


def moments_for(n_steps: int, n_moments: int = 24) -> tuple[int, ...]:
    """Choose the steps at which to record a training: first 0, last `n_steps`.

    They are spaced geometrically, because most happens at the beginning, and shifted so that they
    do not crowd together in the first hundredth of the training.

    >>> from viz_transformer.recipes import moments_for
    >>> moments_for(1000, n_moments=6)
    (0, 15, 53, 149, 391, 1000)

    Args:
        n_steps: optimiser steps of the training.
        n_moments: about how many; a short training has fewer, since no step is recorded twice.

    Raises:
        UserError: if there is no step, or fewer than two moments are wanted.
    """
    are_whole = isinstance(n_steps, int) and isinstance(n_moments, int)
    if not are_whole or n_steps < 1 or n_moments < 2:
        raise UserError(
            f"n_steps={shown(n_steps)} and n_moments={shown(n_moments)}; give at least 1 step, and at "
            "least 2 moments: the beginning and the end"
        )
    at_most("n_steps", n_steps, STEPS)
    at_most("n_moments", n_moments, MOMENTS)
    shift = max(1.0, n_steps / 100)
    steps = np.geomspace(shift, shift + n_steps, n_moments) - shift  # [moment], 0 to n_steps
    return tuple(sorted({round(step) for step in steps.tolist()}))


class Recorder:
    """Records a model while it is trained, without changing the training.

    Call `record_moment` before the first step and after each, and `add_step` with each step's
    record; or wrap the records in `record_training`, which does both. `trace` returns the result.

    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.corpus import SentencePair, vocabulary_of
    >>> from viz_transformer.recipes import Recorder
    >>> from viz_transformer.training import make_model
    >>> pair = SentencePair(("the", "cat"), ("el", "gato"), links=())
    >>> words = vocabulary_of([pair])
    >>> sizes = {"d_model": 8, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 16}
    >>> model = make_model(ModelConfig(vocab_size=len(words), **sizes), seed=0)
    >>> recorder = Recorder(model, words, [pair], "by hand", moments=(0, 5))
    >>> for step in range(6):  # after each, your own code would change the model's parameters
    ...     recorder.record_moment(step)
    >>> [(moment.step, moment.traces[0].output_tokens) for moment in recorder.trace().moments]
    [(0, ('el', 'gato', '<eos>')), (5, ('el', 'gato', '<eos>'))]

    Attributes:
        moments: the steps that are recorded.
    """

    def __init__(
        self,
        model: nn.Module,
        vocabulary: Tokeniser,
        pairs: Sequence[SentencePair | TextPair],
        name: str,
        moments: Iterable[int],
        validation: Sequence[SentencePair | TextPair] = (),
    ) -> None:
        """Check the arguments and prepare to record, before the training starts.

        Args:
            model: the model that is going to be trained: one of ours of any family, or one of your own as
                `OwnTranslator` takes it.
            vocabulary: turns the sentences into ids.
            pairs: a few sentences to record, with their reference translations. For a language
                model, beginnings with the whole texts; for a masked language model, texts with a gap
                and the same texts filled.
            name: distinguishes this run from others.
            moments: the steps to record, rising; 0 is before the first. See `moments_for`.
            validation: pairs that the training never shows, for a translator; at each moment the mean
                loss on them is recorded.

        Raises:
            UserError: if the moments do not rise, there is no pair, a word is unknown, or a
                sentence is longer than the model reads.
        """
        self.moments = tuple(moments)
        if not self.moments or self.moments[0] < 0 or self.moments != tuple(sorted(set(self.moments))):
            raise UserError(
                f"moments={self.moments!r:.60} must be steps that rise, 0 or more; give moments_for(n_steps)"
            )
        if not pairs:
            raise UserError("there is no sentence to watch; give at least one pair")
        self._name = name
        self._sources = tuple(as_text(pair.source) for pair in pairs)
        self._references = tuple(as_text(pair.target) for pair in pairs)
        if isinstance(model, Transformer):
            for source, reference in zip(self._sources, self._references, strict=True):
                _check_lengths(source, reference, vocabulary, model.config.max_length)
        # The reader's traced model shares this model's parameters, so it always shows their
        # present values. Building it draws unused weights, hence the fork of torch's generator.
        with torch.random.fork_rng(devices=[]):
            self._reader: TextModel | OwnTranslator
            self._reader = _READERS.get(type(model), OwnTranslator)(model, vocabulary)
        for source, reference in zip(self._sources, self._references, strict=True):
            self._reader.judge(source, reference)  # raises now if the model cannot read them
        self._model = model
        self._validation = (
            [next(batches(validation, vocabulary, len(validation), seed=0))] if validation else []
        )
        self._best: tuple[float, int, dict[str, torch.Tensor]] | None = None
        self._recorded: dict[int, Snapshot] = {}
        self._curve: list[tuple[int, float, float | None]] = []

    def record_moment(self, step: int) -> None:
        """Record a moment if `step` is one of them.

        The model is evaluated without dropout and put back into its mode; no gradient is kept
        and no random number drawn.

        Args:
            step: optimiser steps done.
        """
        if step not in self.moments:
            return
        validation_loss = self._validation_loss()
        if validation_loss is not None and (self._best is None or validation_loss < self._best[0]):
            kept = {name: each.clone() for name, each in self._model.state_dict().items()}
            self._best = validation_loss, step, kept
        judged = [self._reader.judge(*pair) for pair in zip(self._sources, self._references, strict=True)]
        self._recorded[step] = Snapshot(
            step=step,
            translations=tuple(self._reader.answers(self._sources)),
            losses=tuple(-torch.from_numpy(log_probs).mean().item() for _, log_probs in judged),
            # Without the positions, which would make the file larger and are drawn nowhere.
            traces=tuple(replace(trace, source_positions=None, target_positions=None) for trace, _ in judged),
            validation_loss=validation_loss,
        )

    def _validation_loss(self) -> float | None:
        if not self._validation:
            return None
        with evaluating(self._model):
            return mean_loss(self._model, self._validation, self._reader.vocabulary.pad_id)

    def restore_best(self) -> int:
        """Give the model the parameters of the moment with the lowest validation loss; return its step.

        Raises:
            UserError: if no validation loss was recorded.
        """
        if self._best is None:
            raise UserError("no validation loss was recorded; give the Recorder pairs: validation=")
        _, step, parameters = self._best
        self._model.load_state_dict(parameters)
        return step

    def resume(self, trace: TrainingTrace, step: int) -> None:
        """Keep what was recorded of the training's beginning, up to the step it goes on from."""
        self._recorded |= {moment.step: moment for moment in trace.moments if moment.step <= step}
        accuracies = trace.accuracies.tolist() or [None] * len(trace.steps)
        curve = zip(trace.steps.tolist(), trace.losses.tolist(), accuracies, strict=True)
        self._curve += [point for point in curve if point[0] <= step]

    def add_step(self, record: StepRecord) -> None:
        """Add a point to the loss curve."""
        self.add_loss(record.step, record.loss, record.token_accuracy)

    def add_loss(self, step: int, loss: float, accuracy: float | None = None) -> None:
        """Add a point to the loss curve, from a loop of your own.

        Args:
            step: optimiser steps done.
            loss: of the batch, in nats per token.
            accuracy: the share of its tokens that were predicted right, if it was counted.
        """
        self._curve.append((step, loss, accuracy))

    def trace(self) -> TrainingTrace:
        """Return the recording so far, its curve thinned to at most 500 points.

        Raises:
            UserError: if no moment was reached yet.
        """
        kept = [self._curve[number] for number in _thinned(len(self._curve))]
        steps, losses, accuracies = zip(*kept, strict=True) if kept else ((), (), ())
        return TrainingTrace(
            name=self._name,
            sources=self._sources,
            references=self._references,
            moments=tuple(self._recorded[step] for step in sorted(self._recorded)),
            steps=np.array(steps, dtype=np.int64),
            losses=np.array(losses, dtype=np.float32),
            accuracies=np.array([] if None in accuracies else accuracies, dtype=np.float32),
        )


def record_training(records: Iterable[StepRecord], recorder: Recorder, done: int = 0) -> Iterator[StepRecord]:
    """Yield the records of a training while the recorder records it.

    >>> from dataclasses import replace
    >>> from viz_transformer.corpus import SentencePair, vocabulary_of
    >>> from viz_transformer.corpus.batches import batches
    >>> from viz_transformer.recipes import SMALL_MODEL, SMALL_TRAINING
    >>> from viz_transformer.recipes import Recorder, moments_for, record_training
    >>> from viz_transformer.training import fit, make_model
    >>> pair = SentencePair(("the", "cat"), ("el", "gato"), links=())
    >>> words = vocabulary_of([pair])
    >>> model = make_model(replace(SMALL_MODEL, vocab_size=len(words)), seed=0)
    >>> recorder = Recorder(model, words, [pair], "one pair", moments_for(3))
    >>> records = fit(model, batches([pair], words, 1, seed=0), replace(SMALL_TRAINING, n_steps=3))
    >>> for record in record_training(records, recorder):
    ...     pass  # such as a progress bar
    >>> learned = recorder.trace()
    >>> learned.steps.tolist(), bool(learned.losses[-1] < learned.losses[0])
    ([1, 2, 3], True)

    Args:
        records: one a step, from the step after `done` on.
        recorder: records the moments and the loss curve.
        done: optimiser steps done before; not 0 in a training that is resumed.
    """
    recorder.record_moment(done)
    for record in records:
        recorder.add_step(record)
        recorder.record_moment(record.step)
        yield record


def _check_lengths(source: str, reference: str, vocabulary: Tokeniser, most: int) -> None:
    # The decoder reads a target without its last id.
    n_target = len(vocabulary.target_ids(reference)) - 1
    longest = max(len(vocabulary.source_ids(source)), n_target)
    if longest > most:
        raise UserError(
            f"the pair {source!r:.40} has {longest} tokens with the special "
            f"ones, and this model reads at most {most}; watch a shorter one"
        )


def _thinned(n: int) -> list[int]:
    """Return the indices to keep of `n` points: the first, the last, and most of the early ones."""
    if n <= _CURVE_POINTS:
        return list(range(n))
    half = _CURVE_POINTS // 2
    evenly = np.linspace(0, n - 1, half).round()
    early = np.geomspace(1, n, half).round() - 1
    return np.union1d(evenly, early).astype(int).tolist()
