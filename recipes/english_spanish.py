"""The bundled English→Spanish translator: trained on pairs, then on all translations of a sentence."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

from recipes.recorded import (
    BUNDLED,
    BUNDLED_TRAINING,
    Progress,
    last_record,
    train_recorded,
    write_made_by,
)
from viz_transformer.checkpoint import WEIGHTS, Checkpoint, check_writable
from viz_transformer.config import TrainConfig
from viz_transformer.corpus import english_spanish, vocabulary_of
from viz_transformer.corpus.batches import batches
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.soft_targets import chosen_sentences, soft_target_batches
from viz_transformer.model import Transformer
from viz_transformer.model.threads import threads
from viz_transformer.recipes.notes import MADE_BY, sha256
from viz_transformer.training import fit, make_model

MODEL, TRAINING = BUNDLED, BUNDLED_TRAINING
#: Recorded while it is trained: an adjective that changes places with its noun, agreement over a
#: distance, and *it*, whose adjective takes the gender of what it stands for. All four are held
#: out: each combines words that training never combines.
WATCHED = (
    TextPair("the black cat sleeps", "el gato negro duerme"),
    TextPair(
        "the tickets from Beijing to Lisbon are cheap",
        "los billetes de Pekín a Lisboa son baratos",
    ),
    TextPair(
        "the animal did not cross the square because it was too tired",
        "el animal no cruzó la plaza porque estaba demasiado cansado",
    ),
    TextPair(
        "the animal did not cross the square because it was too wide",
        "el animal no cruzó la plaza porque era demasiado ancha",
    ),
)
#: The most sentences that the second training reads; the grammar needs 2 ms for all translations of one.
_MOST_SENTENCES = 140_000


def train_english_spanish(
    folder: str | os.PathLike[str],
    training: TrainConfig = TRAINING,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Path:
    """Generate the corpus, train the bundled translator's model on it and save the checkpoint.

    It learns from pairs first, with one translation drawn for each sentence, and then from all
    translations of a sentence at once (`refine`). Beside the weights goes ``training.npz``, the
    `TrainingTrace` of how it learned the sentences `WATCHED` from pairs. The same arguments give the same
    weights and the same trace on one machine.

    Args:
        folder: where the checkpoint goes.
        training: steps, rate and seed of the training on pairs; the second takes as many steps again.
        n_threads: torch's threads while training; their number decides the order of sums.
        progress: wraps the step records of each training, with their number, to show how far it is.

    Raises:
        FileError: if the folder cannot be written.
    """
    check_writable(folder)
    corpus = english_spanish()
    vocabulary = vocabulary_of(corpus.train)
    saved = train_recorded(
        folder,
        make_model(replace(MODEL, vocab_size=len(vocabulary)), training.seed),
        vocabulary,
        batches(corpus.train, vocabulary, training.batch_size, training.seed),
        training,
        WATCHED,
        name="en-es",
        facts={"n_train": len(corpus.train)},
        n_threads=n_threads,
        progress=progress,
    )
    # At a lower rate, so that what was learned stays and heads keep their work.
    refine(saved, replace(training, batch_size=64, learning_rate=1e-3), n_threads, progress)
    return saved


def refine(folder: Path, training: TrainConfig, n_threads: int, progress: Progress | None) -> None:
    """Train a checkpoint's translator on, with all translations of each sentence by their probabilities.

    The new weights take the place of the old ones, and ``made_by.json`` records both trainings. The
    recording beside them, of the first training, stays.
    """
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
    write_made_by(folder, made_by, {"refinement": second, "sha256": {WEIGHTS: weights}})
