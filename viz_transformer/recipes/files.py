"""How a translator is trained on anybody's sentence pairs, and goes on where it was stopped."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

import torch

from viz_transformer.checkpoint import WEIGHTS, Checkpoint
from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus.batches import batches, loosened
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.split import refuse_leaks, too_long
from viz_transformer.errors import UserError
from viz_transformer.recipes.evaluation import validation_loss
from viz_transformer.recipes.metrics_log import Look, read_curve, write_curve
from viz_transformer.recipes.recording import TRAINING_TRACE, Recorder, load_training
from viz_transformer.training import (
    Run,
    StepRecord,
    WeightAverage,
    load_state,
    make_model,
    save_state,
)
from viz_transformer.training.distributed import all_reduce_sum, rank, shard
from viz_transformer.training.interruption import interruption
from viz_transformer.vocabulary import Subwords, Tokeniser, Vocabulary, tokenize

#: Where a training that was stopped goes on from, and the pairs that it has never seen.
STATE, TEST = "training.safetensors", "test.tsv"
#: Below so many pairs, whole words are learned; above, pieces of words.
FEW_PAIRS = 5_000
#: Validation sentences, of middling length, whose heads are recorded at every look.
WATCHED = 3

#: For real text.
MODEL = ModelConfig(
    vocab_size=1,  # replaced by the size of the vocabulary
    d_model=256,
    n_heads=4,
    n_encoder_layers=3,
    n_decoder_layers=3,
    d_ff=1024,
    max_length=128,
    dropout=0.2,
    norm="pre",
)
TRAINING = TrainConfig(
    n_steps=10_000,
    batch_tokens=4_096,
    learning_rate=2e-3,
    warmup_steps=1_000,
    schedule="inverse_sqrt",
    label_smoothing=0.1,
)


@dataclass(frozen=True)
class Trained:
    """A training that has ended, or was stopped.

    Attributes:
        folder: the checkpoint, with the weights that were best on the validation pairs.
        looks: what was measured on the way.
        step: optimiser steps done.
        stopped: why it ended before its last step, or "".
    """

    folder: Path
    looks: tuple[Look, ...]
    step: int
    stopped: str


def vocabulary_for(
    pairs: Sequence[TextPair],
    others: Sequence[TextPair] = (),
    *,
    n_tokens: int = 8_000,
    words: bool | None = None,
    languages: tuple[str, str] = ("source", "target"),
) -> Tokeniser:
    """Return the words of a small corpus, or the byte-pair pieces of a large one.

    Args:
        pairs: the pairs to learn from.
        others: held-out pairs, whose words must be known, too, where they are learned as words.
        n_tokens: how many pieces, special tokens included.
        words: whether to take words; None: where there are fewer than `FEW_PAIRS` pairs.
        languages: their names, or tags such as ``"de"``: what the views call the two sides.

    Raises:
        UserError: if there are no pairs.
    """
    if not pairs:
        raise UserError("there are no sentence pairs to learn a vocabulary from; give some")
    if words or (words is None and len(pairs) < FEW_PAIRS):
        source = {word for pair in (*pairs, *others) for word in tokenize(pair.source)}
        target = {word for pair in (*pairs, *others) for word in tokenize(pair.target)}
        return Vocabulary(source, target, languages=languages)
    texts = [text for pair in pairs for text in (pair.source, pair.target)]
    return Subwords.train(texts, n_tokens, languages)


def train_files(
    train: Sequence[TextPair],
    validation: Sequence[TextPair],
    folder: str | os.PathLike[str],
    *,
    test: Sequence[TextPair] | None = None,
    vocabulary: Tokeniser | None = None,
    model: ModelConfig = MODEL,
    training: TrainConfig = TRAINING,
    look_every: int = 500,
    minutes: float | None = None,
    drop_long: bool = False,
    resume: bool = False,
    device: str = "cpu",
    progress: Callable[[Iterator[StepRecord], int, int], Iterable[StepRecord]] | None = None,
) -> Trained:
    """Train a translator, and keep at every look the weights that are best so far.

    The folder is a checkpoint from the first look on, usable in every view. It also holds the
    state that a stopped training goes on from, bit for bit on the same machine, the curve, and the
    recorded heads of a few sentences (`load_training(folder)`). Ctrl-C stops after the step under
    way, and keeps what was learned; a second one stops at once, and the last look stands.

    Args:
        train: the pairs to learn from.
        validation: pairs to measure with; none of them may stand in `train`.
        folder: where the checkpoint goes.
        test: pairs that are only kept beside the checkpoint, for `viz-transformer evaluate`.
        vocabulary: by default that of `vocabulary_for`.
        model: sizes and choices; the vocabulary's size is put in.
        training: steps, batches, rate and seed.
        look_every: steps from one look to the next.
        minutes: stop after so many of this call.
        drop_long: leave out pairs that are longer than the model reads.
        resume: go on with the training in `folder`.
        device: ``"cpu"``, ``"cuda"`` or ``"mps"``.
        progress: wraps the records, given the steps done and those in all.

    Raises:
        FileError: if the folder cannot be read or written.
        UserError: if the folder holds a training and `resume` is not asked for, validation pairs
            stand in training, pairs are too long, there are no pieces to drop, settings were
            others before, or the loss is no number any more; the checkpoint of the last look
            stands.
    """
    folder = Path(folder)
    if not resume and (folder / STATE).exists():
        raise UserError(
            f"{str(folder)!r} holds a training already, which would be lost; go on with it with "
            "resume (--resume), or give another folder"
        )
    refuse_leaks(train, {"validation": validation, "test": test or ()})
    if resume:
        vocabulary = Checkpoint.load(folder).vocabulary
    elif vocabulary is None:
        vocabulary = vocabulary_for(train, (*validation, *(test or ())))
    loosened(vocabulary, training.piece_dropout, Random())  # refused before anything is written
    model = replace(model, vocab_size=len(vocabulary))
    train = _short_enough(train, vocabulary, model.max_length, drop_long)
    validation = _short_enough(validation, vocabulary, model.max_length, drop_long)
    facts = {"data": _digest(train), "vocabulary": _sha256(vocabulary.to_json())}
    watched = sorted(validation, key=lambda pair: len(pair.source))[len(validation) // 2 :][:WATCHED]
    run = Run(make_model(model, training.seed), training, device)
    average = WeightAverage(run.model)
    moments = sorted({*range(0, training.n_steps, look_every), training.n_steps})
    recorder = Recorder(run.model, vocabulary, watched, folder.name, moments)
    checkpoint = Checkpoint(run.model, vocabulary)
    is_first = rank() == 0  # of processes that train together, one writes
    looks: list[Look] = []
    if resume:
        load_state(run, folder / STATE, facts, average)
        looks = [look for look in read_curve(folder) if look.step <= run.step]
        recorder.take_up(load_training(folder), run.step)
    elif is_first:
        notes = {"made_by.json": _made_by(training, train, validation)}
        if test:
            notes[TEST] = "".join(f"{pair.source}\t{pair.target}\n" for pair in test)
        checkpoint.save(folder, notes)
    if not resume:
        recorder.look(0)
    start, stopped = time.monotonic(), ""

    def look(record: StepRecord) -> None:
        with average.inside(run.model):
            found = Look(
                record.step,
                record.loss,
                validation_loss(run.model, validation, vocabulary, run.device),
                (time.monotonic() - start) / 60,
            )
            if is_first and all(found.validation_loss <= one.validation_loss for one in looks):
                checkpoint.save_weights(folder)
            recorder.look(record.step)
        looks.append(found)
        if is_first:
            write_curve(folder, looks)
            recorder.trace().save(folder / TRAINING_TRACE)
            save_state(run, folder / STATE, facts, average)

    stream = batches(
        train,
        vocabulary,
        training.batch_size,
        training.seed,
        batch_tokens=training.batch_tokens,
        piece_dropout=training.piece_dropout,
        start=run.step * training.accumulate,
    )
    records = run.fit(map(shard, stream))
    shown = records if progress is None else progress(records, run.step, training.n_steps)
    try:
        with interruption() as ctrl_c:
            for record in shown:
                average.add(run.model, record.step)
                recorder.hear(record)
                wish = "by hand" if ctrl_c.is_set() else ""
                if minutes is not None and time.monotonic() - start >= 60 * minutes:
                    wish = f"after {minutes:g} minutes"
                if all_reduce_sum(float(bool(wish)), run.device):  # one process's wish is all processes'
                    stopped = wish or "by another process"
                if stopped or record.step % look_every == 0 or record.step == training.n_steps:
                    look(record)
                if stopped:
                    break
    except UserError as error:
        last = f"the checkpoint of step {looks[-1].step} stands" if looks else "nothing was kept"
        raise UserError(f"{error}; {last} in {str(folder)!r}") from error
    finally:
        records.close()
    return Trained(folder, tuple(looks), run.step, stopped)


def _short_enough(
    pairs: Sequence[TextPair], vocabulary: Tokeniser, max_length: int, drop: bool
) -> Sequence[TextPair]:
    long = too_long(pairs, vocabulary, max_length)
    if not long:
        return pairs
    if not drop:
        number, n_tokens = long[0]
        raise UserError(
            f"{len(long)} of {len(pairs)} pairs are longer than the {max_length} tokens that the "
            f"model reads, the first is pair {number + 1} with {n_tokens}; leave them out with "
            "drop_long (--drop-long), or give a larger max_length"
        )
    numbers = {number for number, _ in long}
    return [pair for number, pair in enumerate(pairs) if number not in numbers]


def _made_by(training: TrainConfig, train: Sequence[TextPair], validation: Sequence[TextPair]) -> str:
    facts = {
        "training": asdict(training),
        "n_train": len(train),
        "n_validation": len(validation),
        "torch": torch.__version__,
        "weights": f"{WEIGHTS}: moving average, at the look with the least validation loss",
    }
    return json.dumps(facts, indent=2) + "\n"


def _digest(pairs: Sequence[TextPair]) -> str:
    return _sha256("\n".join(f"{pair.source}\t{pair.target}" for pair in pairs))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
