"""What the recipes share: the models' shape, a training that is recorded, and the note of how it was made."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from safetensors.torch import save

from viz_transformer._files import atomic_write, make_folder
from viz_transformer.checkpoint import WEIGHTS, Checkpoint
from viz_transformer.config import TrainConfig
from viz_transformer.corpus.batches import Batch, TextBatch
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import FileError
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.model.threads import threads
from viz_transformer.recipes.notes import MADE_BY, provenance, read_provenance, sha256
from viz_transformer.recipes.recording import Recorder, moments_for, record_training
from viz_transformer.recipes.saved_trainings import TRAINING_TRACE
from viz_transformer.recipes.six_pairs import TWO_LAYERS
from viz_transformer.training import StepRecord, fit
from viz_transformer.vocabulary import Vocabulary

#: Wraps the step records, with their number, to show how far a training is.
Progress = Callable[[Iterable[StepRecord], int], Iterable[StepRecord]]
#: The bundled models': so small that their heads can be looked at one by one and each has work to do.
BUNDLED = replace(TWO_LAYERS, d_model=64, d_ff=128, max_length=64, dropout=0.0, norm="post")
#: Muon comes nearer to the grammar's probabilities than Adam in as many steps (docs/models.md).
BUNDLED_TRAINING = TrainConfig(
    n_steps=8000,
    batch_size=128,
    optimiser="muon",
    learning_rate=5e-3,
    warmup_steps=200,
    fused=False,
    seed=0,
)
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
    name: str,
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
        name: what ``python -m recipes`` calls this model.
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
        "command": f"{command(name, folder)} --steps {training.n_steps} --seed {training.seed}",
        "training": asdict(training),
        "n_threads": n_threads,
        **facts,
    }
    results = {"last_loss": last.loss, "sha256": {WEIGHTS: sha256(save(model.state_dict()))}}
    notes = {MADE_BY: provenance(settings, results)}
    saved = Checkpoint(model.eval(), vocabulary).save(folder, notes)
    recorder.trace().save(saved / TRAINING_TRACE)
    return saved


def command(name: str, folder: str | os.PathLike[str]) -> str:
    """Return the shell command that makes a bundled file, or a model, in a folder."""
    return f"python -m recipes {name} --out {Path(folder).name}"


def make_own_folder(folder: str | os.PathLike[str], name: str, *files: str) -> Path:
    """Make a recipe's folder, before a training, so that one that cannot be used costs no time.

    Args:
        folder: the folder.
        name: what ``python -m recipes`` calls the recipe.
        files: what it writes there.

    Raises:
        FileError: if it cannot be made, or holds files of these names that the recipe did not write.
    """
    folder = make_folder(folder)
    made_by = str(read_provenance(folder).get("command")).replace("_", "-")
    is_own = name in re.split(r" --out |\(", made_by)[0]
    there = [file for file in (*files, MADE_BY) if (folder / file).exists()]
    if there and not is_own:
        raise FileError(
            f"{str(folder / there[0])!r} is there already and not of recipe {name}; give another folder"
        )
    return folder


def write_made_by(folder: Path, settings: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    """Write ``made_by.json`` into a folder.

    Raises:
        FileError: if it cannot be written.
    """
    with atomic_write(folder / MADE_BY) as part:
        part.write_text(provenance(settings, results), encoding="utf-8")
