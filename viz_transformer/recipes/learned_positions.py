"""Training of the learned position table."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path

from safetensors.torch import save

from viz_transformer._files import atomic_write
from viz_transformer.config import TrainConfig
from viz_transformer.corpus import english_spanish, vocabulary_of
from viz_transformer.corpus.batches import batches
from viz_transformer.model.threads import threads
from viz_transformer.recipes.english_spanish import MODEL, TRAINING
from viz_transformer.recipes.provenance import make_own_folder, python_command, sha256, write_provenance
from viz_transformer.training import fit, make_model

#: Two minutes' training: enough for neighbouring positions to become similar.
POSITIONS_TRAINING = replace(TRAINING, n_steps=1000)
#: The file of `train_learned_positions`.
POSITIONS = "learned.safetensors"


def train_learned_positions(
    folder: str | os.PathLike[str],
    training: TrainConfig = POSITIONS_TRAINING,
    *,
    n_train: int = 20_000,
) -> Path:
    """Train the translator's model with learned positions, and save the encoder's table of them.

    On one thread: the same arguments give the same file on one machine.

    >>> from dataclasses import replace
    >>> from safetensors.torch import load_file
    >>> from viz_transformer.recipes import POSITIONS, POSITIONS_TRAINING, train_learned_positions
    >>> two_steps = replace(POSITIONS_TRAINING, n_steps=2, batch_size=8)  # the whole takes minutes
    >>> tables = load_file(train_learned_positions("positions", two_steps, n_train=50) / POSITIONS)
    >>> moved = (tables["table"] != tables["start"]).any(dim=1)
    >>> moved[0].item(), moved[-1].item()  # no sentence is as long as the model allows
    (True, False)

    Args:
        folder: where ``learned.safetensors`` goes, with how it was made beside it. The file holds
            ``start``, the random table before training, and ``table``, the one after; both
            float32 [position, d_model], as they are added to the words. Positions that no
            sentence reached are equal in both.
        training: steps, rate and seed.
        n_train: number of training pairs.

    Raises:
        FileError: if the folder cannot be written, or holds other files of these names.
    """
    folder = make_own_folder(folder, "train_learned_positions", POSITIONS)
    corpus = english_spanish(n_train, n_held_out=0)
    vocabulary = vocabulary_of(corpus.train)
    model = make_model(replace(MODEL, vocab_size=len(vocabulary), positional="learned"), training.seed)
    positions = model.source_positions
    start = positions(MODEL.max_length).detach().clone()  # [position, d_model]
    stream = batches(corpus.train, vocabulary, training.batch_size, training.seed)
    with threads(1):
        for record in fit(model, stream, training):
            last = record
    table = positions(MODEL.max_length).detach()  # [position, d_model]
    data = save({"start": start, "table": table})
    settings = {
        "command": python_command("train_learned_positions", folder),
        "training": asdict(training),
        "n_train": len(corpus.train),
    }
    with atomic_write(folder / POSITIONS) as part:
        part.write_bytes(data)
    write_provenance(folder, settings, {"last_loss": last.loss, "sha256": {POSITIONS: sha256(data)}})
    return folder
