"""Training runs: optimiser steps one at a time, with a record of each."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar, overload

import torch
from torch import Tensor, nn

from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus.batches import Batch, TextBatch
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.training.distributed import all_reduce_sum, data_parallel, rank, undo_average
from viz_transformer.training.loss import token_loss
from viz_transformer.training.optimisers import learning_rate, make_optimisers

Model = TypeVar("Model", bound=Transformer | DecoderOnly | EncoderOnly)


@dataclass(frozen=True)
class StepRecord:
    """What one optimiser step did, as `fit` yields it.

    >>> from viz_transformer.training import StepRecord
    >>> record = StepRecord(1, 2.3, 0.25, learning_rate=0.01, grad_norm=1.5, tokens_per_second=4000.0)
    >>> f"step {record.step}: {record.loss} nats a token, {record.token_accuracy:.0%} right"
    'step 1: 2.3 nats a token, 25% right'

    Attributes:
        step: counted from 1.
        loss: cross-entropy per token to predict, in nats, label smoothing included.
        token_accuracy: share of the tokens to predict that were right under teacher forcing, 0 to 1.
        learning_rate: the rate of this step.
        grad_norm: the gradient's norm before clipping.
        tokens_per_second: tokens to predict by the seconds that the step took.
    """

    step: int
    loss: float
    token_accuracy: float
    learning_rate: float
    grad_norm: float
    tokens_per_second: float


@overload
def make_model(config: ModelConfig, seed: int) -> Transformer: ...


@overload
def make_model(config: ModelConfig, seed: int, kind: type[Model]) -> Model: ...


def make_model(config: ModelConfig, seed: int, kind: type[nn.Module] = Transformer) -> nn.Module:
    """Build a model of a class whose initial weights are fixed by the seed; torch's own seed stays.

    >>> import torch
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.training import make_model
    >>> config = ModelConfig(vocab_size=10, d_model=8, n_heads=2, d_ff=16)
    >>> one, other = make_model(config, seed=0), make_model(config, seed=0)
    >>> all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters()))
    True

    Args:
        config: the sizes.
        seed: fixes the initial weights.
        kind: the class of the model.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind(config)


def fit(
    model: Transformer | DecoderOnly | EncoderOnly,
    batches: Iterable[Batch | TextBatch],
    config: TrainConfig,
) -> Iterator[StepRecord]:
    """Train a model in place, yielding a record after every step.

    The model reads a batch's inputs and learns to predict its labels: a decoder the text that it
    reads shifted by one (teacher forcing), a masked language model the words behind the masks. What
    was learned stays in the model whenever the caller stops asking; afterwards the model is in
    evaluation mode. To stop and go on later, bit for bit, hold the `Run` yourself.

    >>> from viz_transformer.config import ModelConfig, TrainConfig
    >>> from viz_transformer.corpus import SentencePair, vocabulary_of
    >>> from viz_transformer.corpus.batches import batches
    >>> from viz_transformer.training import fit, make_model
    >>> pair = SentencePair(("the", "cat"), ("el", "gato"), links=())
    >>> words = vocabulary_of([pair])
    >>> sizes = {"d_model": 8, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 16}
    >>> model = make_model(ModelConfig(vocab_size=len(words), **sizes), seed=0)
    >>> some = batches([pair], words, batch_size=1, seed=0)
    >>> [record.step for record in fit(model, some, TrainConfig(n_steps=3))]
    [1, 2, 3]

    Args:
        model: of any family, changed in place.
        batches: `config.n_steps` times `config.accumulate` of them, a `Batch` for an
            encoder–decoder and a `TextBatch` for the others.
        config: steps, rate, smoothing, clipping and seed.

    Raises:
        UserError: if the loss is no longer a number.
    """
    return Run(model, config).fit(batches)


class Run:
    """A training run: the model, its optimisers, and all else that the next step depends on.

    >>> from viz_transformer.config import ModelConfig, TrainConfig
    >>> from viz_transformer.training import Run, make_model
    >>> sizes = {"d_model": 8, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 16}
    >>> model = make_model(ModelConfig(vocab_size=10, **sizes), seed=0)
    >>> run = Run(model, TrainConfig(n_steps=3))
    >>> run.step
    0

    Attributes:
        model: the model, changed in place.
        config: how it is trained.
        step: optimiser steps done.
        optimisers: each for its own weights; see `make_optimisers`.
    """

    def __init__(
        self,
        model: Transformer | DecoderOnly | EncoderOnly,
        config: TrainConfig,
        device: str | torch.device = "cpu",
    ) -> None:
        """Prepare to train `model` on `device` (``"cpu"``, ``"cuda"``, ``"mps"``).

        Raises:
            UserError: if there is no such device.
        """
        self.device = checked_device(device)
        self.model = model.to(self.device)
        self.config = config
        self.step = 0
        fused = config.fused and self.device.type in ("cpu", "cuda")
        self.optimisers = make_optimisers(self.model, config, fused)
        with torch.random.fork_rng():
            torch.manual_seed(config.seed + rank())
            self.random_states = self._random_states()  # what dropout draws from, between steps

    def fit(self, batches: Iterable[Batch | TextBatch]) -> Generator[StepRecord, None, None]:
        """Take the steps that are left, yielding a record after each.

        Dropout draws from torch's generator, which is the run's own during a step and the
        caller's between steps. Afterwards the model is in evaluation mode.

        Args:
            batches: those of the steps that are left, `config.accumulate` a step.

        Raises:
            UserError: if the loss is no longer a number; the model is as it was a step before.
        """
        stream = iter(batches)
        model = data_parallel(self.model.train())
        try:
            while self.step < self.config.n_steps:
                some = list(islice(stream, self.config.accumulate))
                if not some:
                    return
                callers = self._random_states()
                self._set_random_states(self.random_states)
                try:
                    record = self._take_step(model, some)
                finally:
                    self.random_states = self._random_states()
                    self._set_random_states(callers)
                yield record
        finally:
            self.model.eval()

    def _random_states(self) -> dict[str, Tensor]:
        """Return the states of the generators that dropout may draw from."""
        states = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        return states

    def _set_random_states(self, states: dict[str, Tensor]) -> None:
        torch.set_rng_state(states["cpu"])
        if "cuda" in states:
            torch.cuda.set_rng_state(states["cuda"], self.device)

    def _take_step(self, model: nn.Module, some: Sequence[Batch | TextBatch]) -> StepRecord:
        start, number, config = time.perf_counter(), self.step + 1, self.config
        counts = [_n_tokens(batch, self.model.config.padding_id) for batch in some]
        n_tokens = all_reduce_sum(sum(counts), self.device)  # in all processes
        self.model.zero_grad(set_to_none=True)
        loss, accuracy = 0.0, 0.0
        for batch, n_real in zip(some, counts, strict=True):
            own_loss, own_accuracy = self._losses(model, batch)
            share = n_real / n_tokens  # so that each token weighs the same, whichever its batch
            undo_average(own_loss * share).backward()
            loss += own_loss.item() * share
            accuracy += own_accuracy.item() * share
        loss, accuracy = all_reduce_sum(loss, self.device), all_reduce_sum(accuracy, self.device)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.max_grad_norm).item()
        if not (abs(loss) < float("inf") and norm < float("inf")):  # NaN is neither
            raise UserError(
                f"the loss is {loss} and the gradient's norm {norm} at step {number}; lower "
                f"learning_rate={config.learning_rate} or raise warmup_steps={config.warmup_steps}"
            )
        rate = learning_rate(number, config)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate
            optimiser.step()
        self.step = number
        speed = n_tokens / max(time.perf_counter() - start, 1e-9)
        return StepRecord(number, loss, accuracy, rate, norm, speed)

    def _losses(self, model: nn.Module, batch: Batch | TextBatch) -> tuple[Tensor, Tensor]:
        inputs = [torch.from_numpy(ids).to(self.device) for ids in batch.inputs]  # [batch, position]
        labels = torch.from_numpy(batch.labels).to(self.device)  # [batch, position]
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"):
            logits = model(*inputs)  # [batch, position, vocab]
        pad_id, smoothing = self.model.config.padding_id, self.config.label_smoothing
        weights = (
            None if batch.weights is None else torch.from_numpy(batch.weights).to(self.device)
        )  # [batch]
        return token_loss(logits.float(), labels, pad_id, smoothing, weights)


def _n_tokens(batch: Batch | TextBatch, pad_id: int) -> float:
    """Return the number of tokens to predict, each counted by its pair's weight."""
    per_row = (batch.labels != pad_id).sum(axis=1)  # [batch]
    return float(per_row.sum() if batch.weights is None else per_row @ batch.weights)


def checked_device(name: str | torch.device) -> torch.device:
    """Return the device of that name.

    Raises:
        UserError: if torch or this machine has none.
    """
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"device={str(name)!r} cannot be used here ({str(error).splitlines()[0]:.80}); "
            "choose 'cpu', or 'cuda' or 'mps' on a machine that has it"
        ) from error
    return device
