"""Watching a training: what the model does with a few sentences, at chosen steps."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from viz_transformer._files import bundled
from viz_transformer.corpus import SentencePair
from viz_transformer.corpus.batches import text
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.model import Transformer
from viz_transformer.trace import ForwardTrace, Snapshot, TrainingTrace
from viz_transformer.training import StepRecord
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import Tokeniser

#: What a recorded training is called, beside the checkpoint that came of it.
TRAINING_TRACE = "training.npz"
#: The recorded trainings that come with the package.
BUNDLED_TRAININGS = {
    "en-es": "data/en-es/training.npz",
    "six-pairs-0": "data/six-pairs/seed-0.npz",
    "six-pairs-1": "data/six-pairs/seed-1.npz",
    "six-pairs-large": "data/six-pairs/large.npz",
}
#: Points of a loss curve at the most: more than a view has pixels for is of no use.
_CURVE_POINTS = 500


def moments_for(n_steps: int, n_moments: int = 24) -> tuple[int, ...]:
    """Choose the steps of a training that are worth a look: first 0, last `n_steps`.

    They grow further and further apart, because most happens at the beginning: as powers of one
    number do, shifted so that they do not crowd before a hundredth of the training is done.

    Args:
        n_steps: optimiser steps of the training.
        n_moments: how many, about: of a short training fewer, since no step is looked at twice.

    Raises:
        UserError: if there is no step, or fewer than two moments are wanted.
    """
    if n_steps < 1 or n_moments < 2:
        raise UserError(
            f"n_steps={n_steps} and n_moments={n_moments}; a training of at least 1 step is "
            "looked at in at least 2 moments, its beginning and its end"
        )
    shift = max(1.0, n_steps / 100)
    apart = np.geomspace(shift, shift + n_steps, n_moments) - shift  # [moment], 0 to n_steps
    return tuple(sorted({round(step) for step in apart.tolist()}))


class Recorder:
    """Looks at a model while it is trained, and disturbs nothing: the weights stay the same.

    Call `look` before the first step and after each, and `hear` with each step's record; or wrap
    the records in `recorded`, which does both. Then `trace` is what was seen.

    Attributes:
        moments: the steps at which it looks.
    """

    def __init__(
        self,
        model: Transformer,
        vocabulary: Tokeniser,
        pairs: Sequence[SentencePair | TextPair],
        name: str,
        moments: Iterable[int],
    ) -> None:
        """Prepare to watch a model; whatever does not fit is refused now, before the training.

        Args:
            model: the model that is going to be trained.
            vocabulary: turns the sentences into ids.
            pairs: a few sentences to watch, with their right translations.
            name: what tells this run from another.
            moments: the steps to look at, rising; 0 is before the first. See `moments_for`.

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
        self._model, self._vocabulary, self._name = model, vocabulary, name
        self._sources = tuple(text(pair.source) for pair in pairs)
        self._references = tuple(text(pair.target) for pair in pairs)
        self._ids = [
            (vocabulary.source_ids(source), vocabulary.target_ids(target))
            for source, target in zip(self._sources, self._references, strict=True)
        ]
        for (source, target), pair in zip(self._ids, pairs, strict=True):
            # The decoder reads a target without its last id.
            longest, most = max(len(source), len(target) - 1), model.config.max_length
            if longest > most:
                raise UserError(
                    f"the pair {text(pair.source)!r:.40} has {longest} tokens with the special "
                    f"ones, and this model reads at most {most}; watch a shorter one"
                )
        # Its traced model, whose parameters are this model's, shows what they make of a sentence
        # at any time. It draws weights that nobody wants, so torch's generator is put back.
        with torch.random.fork_rng(devices=[]):
            self._translator = Translator(model, vocabulary)
        self._taken: dict[int, Snapshot] = {}
        self._curve: list[tuple[int, float, float]] = []

    def look(self, step: int) -> None:
        """Take a moment if `step` is one of them; otherwise do nothing.

        The model is evaluated without dropout and put back into its mode; no gradient is kept
        and no random number drawn.

        Args:
            step: optimiser steps done.
        """
        if step not in self.moments:
            return
        written = self._translator.translate_all(self._sources, beam_width=1)  # greedy
        losses, traces = zip(*(self._read(*ids) for ids in self._ids), strict=True)
        self._taken[step] = Snapshot(
            step=step,
            translations=tuple(translation.text for translation in written),
            losses=losses,
            traces=traces,
        )

    def take_up(self, trace: TrainingTrace, step: int) -> None:
        """Keep what was recorded of the training's beginning, up to the step it goes on from."""
        self._taken |= {one.step: one for one in trace.moments if one.step <= step}
        curve = zip(trace.steps.tolist(), trace.losses.tolist(), trace.accuracies.tolist(), strict=True)
        self._curve += [point for point in curve if point[0] <= step]

    def hear(self, record: StepRecord) -> None:
        """Keep a point of the loss curve."""
        self._curve.append((record.step, record.loss, record.token_accuracy))

    def trace(self) -> TrainingTrace:
        """Return what was seen and heard so far, the curve thinned to 500 points at the most.

        Raises:
            UserError: if no moment was reached yet.
        """
        kept = [self._curve[number] for number in _thinned(len(self._curve))]
        steps, losses, accuracies = zip(*kept, strict=True) if kept else ((), (), ())
        return TrainingTrace(
            name=self._name,
            sources=self._sources,
            references=self._references,
            moments=tuple(self._taken[step] for step in sorted(self._taken)),
            steps=np.array(steps, dtype=np.int64),
            losses=np.array(losses, dtype=np.float32),
            accuracies=np.array(accuracies, dtype=np.float32),
        )

    @torch.no_grad()
    def _read(self, source: list[int], target: list[int]) -> tuple[float, ForwardTrace]:
        """Read a reference, teacher forced; return its loss in nats a token, and the heads."""
        device = next(self._model.parameters()).device
        read, written = target[:-1], target[1:]
        output = self._translator.traced_model(
            torch.tensor([source], device=device), torch.tensor([read], device=device)
        )
        # In float64 a word that is all but certain still shows how certain.
        log_probs = output.logits[0].cpu().double().log_softmax(-1)  # [position, vocab]
        loss = -log_probs.gather(1, torch.tensor(written)[:, None]).mean()
        words = self._vocabulary
        return float(loss), ForwardTrace(
            source_tokens=words.tokens_of(source),
            target_tokens=words.tokens_of(read),
            output_tokens=words.tokens_of(written),
            source_words=words.word_numbers(source),
            target_words=words.word_numbers(read),
            encoder_attention=_stack(output.encoder_attention),
            decoder_attention=_stack(output.decoder_attention),
            cross_attention=_stack(output.cross_attention),
        )


def recorded(records: Iterable[StepRecord], recorder: Recorder, done: int = 0) -> Iterator[StepRecord]:
    """Yield the records of a training, and let the recorder see and hear it all.

    Args:
        records: one a step, from the step after `done` on.
        recorder: watches.
        done: optimiser steps done before: not 0 in a training that goes on.
    """
    recorder.look(done)
    for record in records:
        recorder.hear(record)
        recorder.look(record.step)
        yield record


def load_training(name: str | os.PathLike[str]) -> TrainingTrace:
    """Load a recorded training.

    Args:
        name: ``"en-es"``, the bundled translator's; ``"six-pairs-0"`` and ``"six-pairs-1"``, the
            tiny model's with two seeds; ``"six-pairs-large"``, that of a model too large for six
            pairs. Or the path of a file that `TrainingTrace.save` wrote, or of a trained folder.

    Raises:
        UserError: if there is no such training.
        FileError: if its file is damaged.
    """
    if name in BUNDLED_TRAININGS:
        return TrainingTrace.load(bundled(BUNDLED_TRAININGS[name]))
    path = Path(name)
    path = path / TRAINING_TRACE if path.is_dir() else path
    if not path.is_file():
        raise UserError(
            f"no recorded training {str(name)!r}; choose one of {list(BUNDLED_TRAININGS)}, or "
            f"give a file, or a folder with a {TRAINING_TRACE}"
        )
    return TrainingTrace.load(path)


def _thinned(n: int) -> list[int]:
    """Return which of `n` points are kept: the first, the last, and most of the early ones."""
    if n <= _CURVE_POINTS:
        return list(range(n))
    half = _CURVE_POINTS // 2
    evenly = np.linspace(0, n - 1, half).round()
    early = np.geomspace(1, n, half).round() - 1
    return np.union1d(evenly, early).astype(int).tolist()


def _stack(layers: Sequence[Tensor]) -> np.ndarray:
    """Turn one sentence's layers, each [1, head, query, key], into [layer, head, query, key]."""
    return torch.cat(tuple(layers)).cpu().numpy()
