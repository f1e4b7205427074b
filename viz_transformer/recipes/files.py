"""Training of a translator on anybody's sentence pairs, which can be stopped and resumed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from viz_transformer._bounds import MOMENTS, STEPS, at_most, whole_number
from viz_transformer._files import check_not_input, given_path
from viz_transformer.checkpoint import WEIGHTS, Checkpoint
from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus.batches import batches, with_piece_dropout
from viz_transformer.corpus.files import TextPair, read_table
from viz_transformer.corpus.split import refuse_leaks, too_long, unreadable
from viz_transformer.errors import UserError
from viz_transformer.model import Transformer
from viz_transformer.recipes.evaluation import validation_loss
from viz_transformer.recipes.notes import (
    MADE_BY,
    Metrics,
    provenance,
    read_metrics,
    read_provenance,
    sha256,
    write_metrics,
)
from viz_transformer.recipes.recording import Recorder
from viz_transformer.recipes.saved_trainings import TRAINING_TRACE, load_training
from viz_transformer.training import (
    Run,
    StepRecord,
    WeightAverage,
    load_state,
    make_model,
    save_state,
)
from viz_transformer.training.distributed import all_reduce_sum, rank, shard
from viz_transformer.training.terminal import interruption
from viz_transformer.vocabulary import Subwords, Tokeniser, Vocabulary, split_sentences, tokenize

#: The state that a training resumes from, and the test pairs, which it never reads.
STATE, TEST = "training.safetensors", "test.tsv"
#: How many pieces of words a vocabulary has, special tokens included, where no other number is given.
N_TOKENS = 8_000
#: How many validation sentences, of medium length, are recorded at every evaluation.
N_RECORDED = 3

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

#: Wraps the records of a training, given the steps done and those in all.
Progress = Callable[[Iterator[StepRecord], int, int], Iterable[StepRecord]]


@dataclass(frozen=True)
class TrainingResult:
    """A training that has ended, or was stopped.

    Attributes:
        folder: the checkpoint, with the weights that were best on the validation pairs.
        metrics: what each evaluation measured.
        step: optimiser steps done.
        stopped: why it ended before its last step, or "".
        n_unknown: validation pairs that were left out, because they hold words that training lacks.
    """

    folder: Path
    metrics: tuple[Metrics, ...]
    step: int
    stopped: str
    n_unknown: int = 0


def vocabulary_for(
    pairs: Sequence[TextPair],
    *,
    n_tokens: int = N_TOKENS,
    words: bool = False,
    languages: tuple[str, str] = ("source", "target"),
) -> Tokeniser:
    """Return the byte-pair pieces of a corpus, which can spell any text, or its whole words.

    Args:
        pairs: the pairs to learn from, and no held-out ones: a new text's words are unknown as well.
        n_tokens: how many pieces, special tokens included.
        words: whether to take whole words.
        languages: their names, or tags such as ``"de"``, which the views show.

    Raises:
        UserError: if there are no pairs.
    """
    if not pairs:
        raise UserError("there are no sentence pairs to learn a vocabulary from; give some")
    if words:
        source = {word for pair in pairs for word in tokenize(pair.source)}
        target = {word for pair in pairs for word in tokenize(pair.target)}
        several = any(len(split_sentences(pair.source)) > 1 for pair in pairs)
        return Vocabulary(source, target, languages=languages, several_sentences=several)
    texts = [text for pair in pairs for text in (pair.source, pair.target)]
    return Subwords.train(texts, n_tokens, languages)


def train_files(
    train: Sequence[TextPair],
    validation: Sequence[TextPair],
    folder: str | os.PathLike[str],
    *,
    test: Sequence[TextPair] | None = None,
    vocabulary: Tokeniser | None = None,
    model: ModelConfig | None = None,
    training: TrainConfig = TRAINING,
    base: str | os.PathLike[str] | None = None,
    look_every: int = 500,
    minutes: float | None = None,
    drop_long: bool = False,
    resume: bool = False,
    overwrite: bool = False,
    device: str = "cpu",
    progress: Progress | None = None,
) -> TrainingResult:
    """Train a translator, and keep the weights that are best so far at every evaluation.

    The folder is a checkpoint from the first evaluation on, usable in every view. It also holds
    the state that a stopped training resumes from, bit for bit on the same machine, the metrics,
    and the recorded heads of a few sentences (`load_training(folder)`). Ctrl-C stops after the
    current step and keeps what was learned; a second one stops at once, and the last evaluation
    remains.

    Args:
        train: the pairs to learn from.
        validation: pairs to measure with; none of them may be in `train`.
        folder: where the checkpoint goes.
        test: pairs that are only kept beside the checkpoint, for `viz-transformer evaluate`.
        vocabulary: by default that of `vocabulary_for`.
        model: sizes and choices, by default `MODEL`; the vocabulary's size is put in.
        training: steps, batches, rate and seed.
        base: a translator's checkpoint folder to begin from, in place of random weights: its weights,
            vocabulary and sizes are taken, so `vocabulary` and `model` must be left out.
        look_every: steps from one evaluation to the next.
        minutes: stop after this many minutes of this call.
        drop_long: leave out pairs that are longer than the model reads.
        resume: resume the training in `folder`.
        overwrite: start again where `folder` holds a training, whose files are then replaced.
        device: ``"cpu"``, ``"cuda"`` or ``"mps"``.
        progress: wraps the records, given the steps done and those in all.

    Raises:
        FileError: if the folder cannot be read or written.
        UserError: if the folder holds a training and neither `resume` nor `overwrite` is True, validation
            pairs are also in training or all hold unknown words, pairs are too long, there are no pieces
            to drop, a resumed training had other settings or other pairs, `base` lacks words of
            `train` or was trained beside some of them as its test, or the loss is no longer a number; the
            checkpoint of the last evaluation remains.
    """
    files = FileTraining(
        train,
        validation,
        given_path(folder),
        test=test or (),
        vocabulary=vocabulary,
        model=model,
        training=training,
        base=None if base is None else given_path(base),
        drop_long=drop_long,
        resume=resume,
        overwrite=overwrite,
        device=device,
        evaluate_every=look_every,
    )
    stopped = files.train(minutes, progress)
    return files.result(stopped)


def test_pairs(folder: Path) -> list[TextPair]:
    """Return the pairs that were held out as a test when a folder was trained; none if there are none."""
    return read_table(folder / TEST, (0, 1)) if (folder / TEST).exists() else []


class FileTraining:
    """A training on sentence pairs: prepared by `__init__`, run by `train`, kept by `evaluate`.

    Attributes:
        folder: the checkpoint.
        pairs: the pairs to learn from.
        validation: the pairs to measure with.
        vocabulary: turns them into ids.
        run: the model, its optimisers and the steps done.
        average: the moving average of its weights, which is what is evaluated and saved.
        recorder: records a few validation sentences at every evaluation.
        metrics: what each evaluation measured.
    """

    def __init__(
        self,
        train: Sequence[TextPair],
        validation: Sequence[TextPair],
        folder: Path,
        *,
        test: Sequence[TextPair],
        vocabulary: Tokeniser | None,
        model: ModelConfig | None,
        training: TrainConfig,
        base: Path | None,
        drop_long: bool,
        resume: bool,
        overwrite: bool,
        device: str,
        evaluate_every: int,
    ) -> None:
        """Check the data, make the model, and write a new checkpoint or load the one to resume."""
        whole_number("look_every", evaluate_every, STEPS)
        at_most("n_steps / look_every", training.n_steps / evaluate_every, MOMENTS)
        self.folder, self._evaluate_every = folder, evaluate_every
        if (folder / STATE).exists() and not (resume or overwrite):
            raise UserError(
                f"{str(folder)!r} holds a training already, which would be lost; go on with it with "
                "resume (--resume), replace it with overwrite (--overwrite), or give another folder"
            )
        parts = {"training": train, "validation": validation, "test": test}
        if resume:
            _refuse_other_pairs(folder, parts)
        refuse_leaks(train, {"validation": validation, "test": test})
        begun: Checkpoint[Transformer] | None = None
        if base is not None:
            check_not_input(folder, base)
            if vocabulary is not None or model is not None:
                raise UserError("base (--from) brings its own vocabulary and sizes; leave those out")
            begun = _base(base, train)
            vocabulary, model = begun.vocabulary, begun.model.config
        model = model or MODEL
        if resume:
            kept = Checkpoint.load(folder).vocabulary
            if vocabulary not in (None, kept):
                raise UserError(
                    f"the training in {str(folder)!r} was begun with another vocabulary, of {len(kept):,} "
                    "tokens; resume it with the same --tokens or --words, or start again in another folder"
                )
            vocabulary = kept
        elif vocabulary is None:
            vocabulary = vocabulary_for(train)
        with_piece_dropout(vocabulary, training.piece_dropout, Random())  # fails before writing anything
        self.vocabulary = vocabulary
        self.pairs = _short_enough(train, vocabulary, model.max_length, drop_long)
        known = _with_known_words(validation, vocabulary)
        self._n_unknown = len(validation) - len(known)
        self.validation = _short_enough(known, vocabulary, model.max_length, drop_long)
        self.run = Run(
            make_model(replace(model, vocab_size=len(vocabulary)), training.seed), training, device
        )
        if begun is not None:
            self.run.model.load_state_dict(begun.model.state_dict())
        self.average = WeightAverage(self.run.model)
        self.recorder = self._make_recorder()
        self.metrics: list[Metrics] = []
        self._data_hashes = _hashes(self.pairs, vocabulary)
        self._is_first = rank() == 0  # of processes that train together, one writes
        if resume:
            self._load()
        else:
            if self._is_first:
                self._create(parts, base)
            self.recorder.record_moment(0)
        self._start = time.monotonic()

    def train(self, minutes: float | None, progress: Progress | None) -> str:
        """Take the steps that are left; returns why it stopped before the last, or "".

        Raises:
            UserError: if the loss is no longer a number.
        """
        config, stopped = self.run.config, ""
        records = self._steps()
        try:
            with interruption() as ctrl_c:
                for record in (
                    records if progress is None else progress(records, self.run.step, config.n_steps)
                ):
                    self.average.add(self.run.model, record.step)
                    self.recorder.add_step(record)
                    stopped = self._reason_to_stop(ctrl_c.is_set(), minutes)
                    if stopped or record.step % self._evaluate_every == 0 or record.step == config.n_steps:
                        self.evaluate(record)
                    if stopped:
                        break
        except UserError as error:
            last = (
                f"the checkpoint of step {self.metrics[-1].step} is kept"
                if self.metrics
                else "no checkpoint was kept"
            )
            raise UserError(f"{error}; {last} in {str(self.folder)!r}") from error
        finally:
            records.close()
        return stopped

    def evaluate(self, record: StepRecord) -> None:
        """Measure the averaged weights after a step, and save all that was learned so far."""
        with self.average.inside(self.run.model):
            loss = validation_loss(self.run.model, self.validation, self.vocabulary, self.run.device)
            minutes = (time.monotonic() - self._start) / 60
            if self._is_first and all(loss <= earlier.validation_loss for earlier in self.metrics):
                self._checkpoint().save_weights(self.folder)
            self.recorder.record_moment(record.step)
        self.metrics.append(Metrics(record.step, record.loss, loss, minutes))
        if self._is_first:
            write_metrics(self.folder, self.metrics)
            self.recorder.trace().save(self.folder / TRAINING_TRACE)
            save_state(self.run, self.folder / STATE, self._data_hashes, self.average)

    def result(self, stopped: str) -> TrainingResult:
        """Return what came of the training."""
        return TrainingResult(self.folder, tuple(self.metrics), self.run.step, stopped, self._n_unknown)

    def _make_recorder(self) -> Recorder:
        by_length = sorted(self.validation, key=lambda pair: len(pair.source))
        n_steps = self.run.config.n_steps
        return Recorder(
            self.run.model,
            self.vocabulary,
            by_length[len(by_length) // 2 :][:N_RECORDED],
            self.folder.name,
            sorted({*range(0, n_steps, self._evaluate_every), n_steps}),
        )

    def _load(self) -> None:
        """Load the state of the training in the folder."""
        load_state(self.run, self.folder / STATE, self._data_hashes, self.average)
        self.metrics = [each for each in read_metrics(self.folder) if each.step <= self.run.step]
        self.recorder.resume(load_training(self.folder), self.run.step)

    def _create(self, parts: Mapping[str, Sequence[TextPair]], base: Path | None) -> None:
        """Write the checkpoint that training begins with, its provenance and the test pairs."""
        settings = {
            "training": asdict(self.run.config),
            "n_train": len(self.pairs),
            "n_validation": len(self.validation),
            "pairs": {name: _facts(pairs) for name, pairs in parts.items() if pairs},
            **({} if base is None else {"from": str(base)}),
        }
        weights = f"{WEIGHTS}: moving average, at the look with the least validation loss"
        notes = {MADE_BY: provenance(settings, {"weights": weights})}
        if parts["test"]:
            notes[TEST] = _table(parts["test"])
        self._checkpoint().save(self.folder, notes)

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(self.run.model, self.vocabulary)

    def _steps(self) -> Generator[StepRecord, None, None]:
        """Return the records of the steps that are left."""
        config = self.run.config
        stream = batches(
            self.pairs,
            self.vocabulary,
            config.batch_size,
            config.seed,
            batch_tokens=config.batch_tokens,
            piece_dropout=config.piece_dropout,
            start=self.run.step * config.accumulate,
        )
        return self.run.fit(map(shard, stream))

    def _reason_to_stop(self, interrupted: bool, minutes: float | None) -> str:
        """Return why to stop after this step, or ""; all processes stop together."""
        reason = "by hand" if interrupted else ""
        if minutes is not None and time.monotonic() - self._start >= 60 * minutes:
            reason = f"after {minutes:g} minutes"
        if all_reduce_sum(float(bool(reason)), self.run.device):
            return reason or "by another process"
        return ""


def _with_known_words(validation: Sequence[TextPair], vocabulary: Tokeniser) -> Sequence[TextPair]:
    """Return the pairs that a vocabulary can write; raises a UserError if it can write none of them."""
    if not isinstance(vocabulary, Vocabulary):
        return validation  # pieces spell any text
    known = [pair for pair in validation if unreadable(pair, vocabulary) is None]
    if validation and not known:
        raise UserError(
            f"each of the {len(validation)} validation pairs holds words that training lacks; pieces of "
            "words spell any text, also of a language without spaces: leave out words (--words)"
        )
    return known


def _short_enough(
    pairs: Sequence[TextPair], vocabulary: Tokeniser, max_length: int, drop: bool
) -> Sequence[TextPair]:
    """Return the pairs that the model can read; raises a UserError if some are not to be dropped."""
    long = too_long(pairs, vocabulary, max_length)
    if not long:
        return pairs
    if not drop:
        index, n_tokens = long[0]
        raise UserError(
            f"{len(long)} of {len(pairs)} pairs are longer than the {max_length} tokens that the "
            f"model reads, the first is pair {index + 1} with {n_tokens}; leave them out with "
            "drop_long (--drop-long), or give a larger max_length"
        )
    indices = {index for index, _ in long}
    return [pair for index, pair in enumerate(pairs) if index not in indices]


def _refuse_other_pairs(folder: Path, parts: Mapping[str, Sequence[TextPair]]) -> None:
    """Raise a UserError that lists what changed, if a training was begun with other pairs.

    A folder without such notes is let through; its state has a digest of the training pairs.
    """
    before = read_provenance(folder).get("pairs", {})
    changed = []
    for name, pairs in parts.items():
        then, now = before.get(name), _facts(pairs)
        if pairs and then and then != now:
            how = f"{then['n']:,} then, {now['n']:,} now" if then["n"] != now["n"] else "as many, other text"
            changed.append(f"{name} pairs ({how})")
    if changed:
        raise UserError(
            f"since the training in {str(folder)!r} was begun, these have changed: {', '.join(changed)}; "
            "resume it with the same files, or go on with these in another folder, from this model "
            f"(--from {folder})"
        )


def _base(folder: Path, train: Sequence[TextPair]) -> Checkpoint[Transformer]:
    """Return the translator that a training begins from.

    Raises:
        FileError: if the folder cannot be read.
        UserError: if it holds no translator, lacks words of the pairs, or its test pairs are in `train`.
    """
    begun = Checkpoint.load(folder, Transformer)
    if isinstance(begun.vocabulary, Vocabulary):
        reasons = [reason for pair in train if (reason := unreadable(pair, begun.vocabulary))]
        if reasons:
            raise UserError(
                f"{len(reasons):,} of {len(train):,} training pairs cannot be written with the words of "
                f"{str(folder)!r} ({reasons[0]!s:.80}); leave those pairs out, or go on from a model of "
                "pieces of words"
            )
    refuse_leaks(train, {f"{folder.name}'s test": test_pairs(folder)})
    return begun


def _facts(pairs: Sequence[TextPair]) -> dict[str, Any]:
    """Return by what pairs are recognised."""
    return {"n": len(pairs), "sha256": sha256(_table(pairs).encode("utf-8", "surrogatepass"))}


def _table(pairs: Sequence[TextPair]) -> str:
    return "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)


def _hashes(pairs: Sequence[TextPair], vocabulary: Tokeniser) -> dict[str, str]:
    """Return the SHA-256 of what a resumed training must have in common with its beginning."""
    table = "\n".join(f"{pair.source}\t{pair.target}" for pair in pairs)
    return {"data": sha256(table.encode()), "vocabulary": sha256(vocabulary.to_json().encode())}
