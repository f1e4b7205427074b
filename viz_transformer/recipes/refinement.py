"""The bundled translator's second training, on all translations of a sentence at once."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace

from viz_transformer._files import given_path
from viz_transformer.checkpoint import WEIGHTS, Checkpoint
from viz_transformer.config import TrainConfig
from viz_transformer.corpus.soft_targets import chosen_sentences, soft_target_batches
from viz_transformer.model import Transformer
from viz_transformer.model.threads import threads
from viz_transformer.recipes.provenance import MADE_BY, sha256, write_provenance
from viz_transformer.recipes.recorded import Progress, last_record
from viz_transformer.training import fit

#: The most sentences that are read; the grammar needs 2 ms for all translations of one.
_MOST_SENTENCES = 140_000


def refinement_after(training: TrainConfig) -> TrainConfig:
    """Return the second training that follows a first on pairs.

    Its rate is lower, so that what was learned stays and heads keep their work.
    """
    return replace(training, batch_size=64, learning_rate=1e-3)


def refine(
    folder: str | os.PathLike[str],
    training: TrainConfig,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> None:
    """Train a checkpoint's translator on, with all translations of each sentence by their probabilities.

    The new weights take the place of the old ones, and ``made_by.json`` tells of both trainings. The
    recording beside them, of the first training, stays.

    Args:
        folder: what `train_recorded` wrote.
        training: steps, rate and seed.
        n_threads: torch's threads while training; their number decides the order of sums.
        progress: shows how far training is.

    Raises:
        FileError: if the folder is no checkpoint, or cannot be written.
        UserError: if the loss is no longer a number.
    """
    folder = given_path(folder)
    checkpoint = Checkpoint.load(folder, Transformer)
    n_sentences = min(training.n_steps * training.batch_size, _MOST_SENTENCES)
    sentences = chosen_sentences(n_sentences, training.seed)
    stream = soft_target_batches(sentences, checkpoint.vocabulary, training.batch_size, training.seed)
    with threads(n_threads):
        last = last_record(fit(checkpoint.model, stream, training), training, progress)
    made_by = json.loads((folder / MADE_BY).read_text(encoding="utf-8"))
    second = {
        "from_sha256": made_by.pop("sha256")[WEIGHTS],
        "training": asdict(training),
        "n_threads": n_threads,
        "n_sentences": len(sentences),
        "last_loss": last.loss,
    }
    weights = sha256(checkpoint.save_weights(folder).read_bytes())
    write_provenance(folder, made_by, {"refinement": second, "sha256": {WEIGHTS: weights}})
