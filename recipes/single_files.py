"""The small bundled files: recorded trainings on six pairs, a position table, a model of attention alone.

Each is trained on one thread, so that the same arguments give the same files on one machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save

from recipes.english_spanish import MODEL, TRAINING
from recipes.recorded import command, make_own_folder, write_made_by
from viz_transformer._files import atomic_write
from viz_transformer.config import TrainConfig
from viz_transformer.corpus import english_spanish, vocabulary_of
from viz_transformer.corpus.batches import batches
from viz_transformer.model.threads import threads
from viz_transformer.recipes import six_pairs
from viz_transformer.recipes.induction import INDUCTION, AttentionOnly, repeated_ids
from viz_transformer.recipes.notes import sha256
from viz_transformer.training import fit, learning_rate, make_model

#: A minute on one core.
INDUCTION_TRAINING = TrainConfig(
    n_steps=1200, batch_size=32, learning_rate=5e-3, warmup_steps=50, schedule="cosine", fused=False, seed=0
)
#: Two minutes' training: enough for neighbouring positions to become similar.
POSITIONS_TRAINING = replace(TRAINING, n_steps=1000)
#: The file of `train_learned_positions`.
POSITIONS = "learned.safetensors"


def write_six_pairs_trainings(folder: str | os.PathLike[str]) -> Path:
    """Record two trainings of the small model on six pairs, and the large one's, in minutes.

    Args:
        folder: where ``seed-0.npz``, ``seed-1.npz`` and ``large.npz`` go, and ``made_by.json``.

    Raises:
        FileError: if the folder cannot be written, or holds other files of these names.
    """
    folder = make_own_folder(folder, "six-pairs", "seed-0.npz", "seed-1.npz", "large.npz")
    small, large = six_pairs.SMALL_TRAINING, six_pairs.LARGE_TRAINING
    with threads(1):
        recorded = {f"seed-{seed}.npz": six_pairs.six_pairs_training(seed) for seed in (0, 1)}
        # Ten moments of 144 heads are as many bytes as a file beside a lesson should have.
        recorded["large.npz"] = six_pairs.train_six_pairs(six_pairs.LARGE_MODEL, large, "large, seed 0", 10)
    for name, trace in recorded.items():
        trace.save(folder / name)
    settings = {
        "command": command("six-pairs", folder),
        "training": {"seed-*.npz": asdict(small), "large.npz": asdict(large)},
    }
    write_made_by(folder, settings, {"sha256": {n: sha256((folder / n).read_bytes()) for n in recorded}})
    return folder


def train_learned_positions(
    folder: str | os.PathLike[str],
    training: TrainConfig = POSITIONS_TRAINING,
    *,
    n_train: int = 20_000,
) -> Path:
    """Train the translator's model with learned positions, and save the encoder's table of them.

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
    folder = make_own_folder(folder, "positions", POSITIONS)
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
    tables = {"start": start, "table": table}
    return _write(folder, "positions", POSITIONS, tables, training, last.loss, {"n_train": n_train})


def train_induction_model(folder: str | os.PathLike[str], training: TrainConfig = INDUCTION_TRAINING) -> Path:
    """Train the induction model and save it, with how it was made beside it.

    Args:
        folder: where ``model.safetensors`` and ``made_by.json`` go.
        training: steps, batch size, rate and seed.

    Raises:
        FileError: if the folder cannot be written, or holds another model.
    """
    folder = make_own_folder(folder, "induction", INDUCTION)
    with threads(1), torch.random.fork_rng(devices=[]):
        torch.manual_seed(training.seed)
        model = AttentionOnly()
        *_, last = induction_losses(model, training)
    return _write(folder, "induction", INDUCTION, model.state_dict(), training, last)


def induction_losses(model: AttentionOnly, training: TrainConfig) -> Iterator[float]:
    """Train a model in place, yielding the loss of each step: nats per token of the repeated half."""
    generator = torch.Generator().manual_seed(training.seed)
    optimiser = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=training.weight_decay)
    for step in range(1, training.n_steps + 1):
        ids = repeated_ids(training.batch_size, generator)  # [batch, 1 + 2 · period]
        period = ids.shape[1] // 2
        logits = model(ids[:, :-1])[:, period:]  # [batch, period, n_tokens]: the repeated part
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, period + 1 :].flatten())
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(step, training)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        yield loss.item()


def _write(
    folder: Path,
    name: str,
    file: str,
    tensors: Mapping[str, torch.Tensor],
    training: TrainConfig,
    last_loss: float,
    facts: Mapping[str, int] | None = None,
) -> Path:
    """Write a recipe's tensors, and how they were made; returns the folder."""
    data = save(dict(tensors))
    with atomic_write(folder / file) as part:
        part.write_bytes(data)
    settings = {"command": command(name, folder), "training": asdict(training), **(facts or {})}
    write_made_by(folder, settings, {"last_loss": last_loss, "sha256": {file: sha256(data)}})
    return folder
