"""Trainings of the bundled models: recorded, and saved with what they were made from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors.torch import save

from viz_transformer.checkpoint import WEIGHTS, Checkpoint
from viz_transformer.config import TrainConfig
from viz_transformer.corpus.batches import Batch, TextBatch
from viz_transformer.corpus.files import TextPair
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.model.threads import threads
from viz_transformer.recipes.provenance import MADE_BY, provenance, sha256
from viz_transformer.recipes.recording import Recorder, moments_for, record_training
from viz_transformer.recipes.saved_trainings import TRAINING_TRACE
from viz_transformer.training import StepRecord, fit
from viz_transformer.vocabulary import Vocabulary

#: Wraps the step records, with their number, to show how far a training is.
Progress = Callable[[Iterable[StepRecord], int], Iterable[StepRecord]]
_N_MOMENTS = 20


def last_record(
    records: Iterable[StepRecord], training: TrainConfig, progress: Progress | None
) -> StepRecord:
    """Train to the end, and return what the last step did."""
    for record in records if progress is None else progress(records, training.n_steps):
        last = record
    return last


def train_recorded(
    folder: str | os.PathLike[str],
    model: Transformer | DecoderOnly | EncoderOnly,
    vocabulary: Vocabulary,
    stream: Iterator[Batch | TextBatch],
    training: TrainConfig,
    watched: Sequence[TextPair],
    *,
    command: str,
    facts: Mapping[str, Any],
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Path:
    """Train a model and save its checkpoint, its `TrainingTrace` and its ``made_by.json``.

    Args:
        folder: where they go.
        model: new, of any family; trained in place.
        vocabulary: the model's.
        stream: batches without end.
        training: steps, rate and seed.
        watched: what is recorded; see `Recorder`.
        command: what `viz-transformer train` calls this model.
        facts: what else it was made from, for ``made_by.json``.
        n_threads: torch's threads while training; their number decides the order of sums.
        progress: shows how far training is.

    Raises:
        FileError: if the folder cannot be written.
        UserError: if the loss is no longer a number.
    """
    moments = moments_for(training.n_steps, _N_MOMENTS)
    recorder = Recorder(model, vocabulary, watched, f"seed {training.seed}", moments)
    with threads(n_threads):
        records = record_training(fit(model, stream, training), recorder)
        last = last_record(records, training, progress)
    settings = {
        "command": f"viz-transformer train {command} --out {Path(folder).name} "
        f"--steps {training.n_steps} --seed {training.seed}",
        "training": asdict(training),
        "n_threads": n_threads,
        **facts,
    }
    results = {"last_loss": last.loss, "sha256": {WEIGHTS: sha256(save(model.state_dict()))}}
    notes = {MADE_BY: provenance(settings, results)}
    saved = Checkpoint(model.eval(), vocabulary).save(folder, notes)
    recorder.trace().save(saved / TRAINING_TRACE)
    return saved
