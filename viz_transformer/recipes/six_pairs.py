"""How six sentence pairs are learned: in about a second, or by a model far too large for them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import torch

from viz_transformer._files import written_whole
from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import batches
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.errors import FileError
from viz_transformer.model import Transformer
from viz_transformer.model.threads import threads
from viz_transformer.recipes.recording import Recorder, moments_for, recorded
from viz_transformer.trace import TrainingTrace
from viz_transformer.training import StepRecord, fit, make_model
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import Vocabulary

#: The model of the six pairs: two layers, four heads, learned in about a second.
SIX_PAIRS_MODEL = ModelConfig(
    vocab_size=1,  # replaced by the size of the pairs' vocabulary
    d_model=32,
    n_heads=4,
    n_encoder_layers=2,
    n_decoder_layers=2,
    d_ff=64,
    max_length=20,
    dropout=0.1,
    bias=False,
)
SIX_PAIRS_TRAINING = TrainConfig(n_steps=300, batch_size=6, warmup_steps=10, fused=False, seed=0)
#: Small and large are watched while they learn, and differ in nothing but size and rate: neither
#: drops anything, and the rate is constant. An epoch is a step: one batch of all six pairs.
SMALL_MODEL = replace(SIX_PAIRS_MODEL, dropout=0.0)
SMALL_TRAINING = TrainConfig(
    n_steps=100, batch_size=6, warmup_steps=0, schedule="constant", fused=False, seed=0
)
#: The paper's base model, a thousand times larger than six pairs need: it learns them all, and
#: its decoder looks at all source words alike.
LARGE_MODEL = replace(SMALL_MODEL, d_model=512, n_heads=8, n_encoder_layers=6, n_decoder_layers=6, d_ff=2048)
LARGE_TRAINING = replace(SMALL_TRAINING, learning_rate=1e-4)


def six_pairs_translator(n_steps: int = 300, seed: int = 0) -> Translator:
    """Train a tiny translator on the six sentence pairs, here and now.

    300 steps take about a second, and it knows all six. After 70 steps with seed 7 it is half
    trained: without length normalisation *buenos* beats *buenos dias*, and with it loses.

    Args:
        n_steps: how long to train.
        seed: of the weights, the order and the dropout.
    """
    training = replace(SIX_PAIRS_TRAINING, n_steps=n_steps, seed=seed)
    model, vocabulary = _new_model(SIX_PAIRS_MODEL, seed)
    with threads(1):  # half trained, the last bits grow: lessons quote two digits of it
        for _ in _steps(model, vocabulary, training):
            pass
    return Translator(model.eval(), vocabulary)


def six_pairs_training(seed: int = 0, n_epochs: int = 100) -> TrainingTrace:
    """Train a tiny model on the six pairs, here and now, and return what was seen of it.

    100 epochs take about a second, and it knows all six. Like `six_pairs_translator`'s, but for
    the dropout and the falling rate.

    Args:
        seed: of the weights.
        n_epochs: how long to train.

    Raises:
        UserError: if a number is out of range.
    """
    training = replace(SMALL_TRAINING, n_steps=n_epochs, seed=seed)
    return train_six_pairs(SMALL_MODEL, training, f"small, seed {seed}")


def train_six_pairs(
    model: ModelConfig, training: TrainConfig, name: str, n_moments: int = 24
) -> TrainingTrace:
    """Train any model on the six pairs, and return what was seen of all six on the way.

    Args:
        model: sizes and choices; the size of the vocabulary is the pairs'.
        training: steps, rate and seed.
        name: what tells this run from another.
        n_moments: how often to look; see `moments_for`.

    Raises:
        UserError: if there are fewer than two moments, or the loss is no longer a number.
    """
    made, vocabulary = _new_model(model, training.seed)
    moments = moments_for(training.n_steps, n_moments)
    recorder = Recorder(made, vocabulary, SIX_PAIRS, name, moments)
    for _ in recorded(_steps(made, vocabulary, training), recorder):
        pass
    return recorder.trace()


def write_six_pairs_trainings(folder: str | os.PathLike[str]) -> Path:
    """Make the bundled trainings: two of the small model, and the large one's, in minutes.

    On one thread: the same files on one machine.

    Args:
        folder: where ``seed-0.npz``, ``seed-1.npz`` and ``large.npz`` go, and ``made_by.json``.

    Raises:
        FileError: if the folder cannot be written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)  # before the training, lest it be lost
    except OSError as error:
        raise FileError(
            f"cannot make the folder {str(folder)!r}: {error.strerror}; choose another"
        ) from error
    with threads(1):
        seen = {f"seed-{seed}.npz": six_pairs_training(seed) for seed in (0, 1)}
        # Ten moments of 144 heads are as many bytes as a file beside a lesson should have.
        seen["large.npz"] = train_six_pairs(LARGE_MODEL, LARGE_TRAINING, "large, seed 0", 10)
    for name, trace in seen.items():
        trace.save(folder / name)
    made_by = {
        "command": 'python -c "from viz_transformer.recipes import write_six_pairs_trainings; '
        f"write_six_pairs_trainings('{folder.name}')\"",
        "training": {"seed-*.npz": asdict(SMALL_TRAINING), "large.npz": asdict(LARGE_TRAINING)},
        "torch": torch.__version__,
        "sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in seen},
    }
    with written_whole(folder / "made_by.json") as part:
        part.write_text(json.dumps(made_by, indent=2) + "\n", encoding="utf-8")
    return folder


def _new_model(config: ModelConfig, seed: int) -> tuple[Transformer, Vocabulary]:
    vocabulary = vocabulary_of(SIX_PAIRS)
    return make_model(replace(config, vocab_size=len(vocabulary)), seed), vocabulary


def _steps(model: Transformer, vocabulary: Vocabulary, training: TrainConfig) -> Iterator[StepRecord]:
    return fit(model, batches(SIX_PAIRS, vocabulary, training.batch_size, training.seed), training)
