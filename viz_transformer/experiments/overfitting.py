"""Training and validation loss of a small model, by the number of sentence pairs that it is trained on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import torch
from torch import nn

from viz_transformer._bounds import SEED, Bound, whole_number
from viz_transformer.corpus import SentencePair, draw, vocabulary_of
from viz_transformer.corpus.batches import Batch, batches
from viz_transformer.model.threads import threads
from viz_transformer.recipes.six_pairs import SMALL_MODEL, SMALL_TRAINING
from viz_transformer.training import fit, make_model, token_loss

#: How many pairs are kept for validation: they are never trained on.
N_VALIDATION = 100
#: A loss is measured every so many steps.
EVERY = 10
_N_STEPS, _BATCH_SIZE, _LONGEST = 300, 32, 6
_MOST_PAIRS = Bound(1_000, "there are no more short pairs for it")


@dataclass(frozen=True)
class TwoLosses:
    """The loss on the pairs of a training and on others, in nats per token.

    >>> from viz_transformer.experiments import TwoLosses
    >>> found = TwoLosses((0, 10, 20), training=(7, 3, 1), validation=(7, 5, 6), even_bet=6.5)
    >>> found.best_step  # where the validation loss is lowest
    10

    Attributes:
        steps: how many steps had been taken, from 0.
        training: the loss on the pairs that were trained on, at each of these steps.
        validation: the loss on pairs that were not.
        even_bet: the loss of a model that gives each token the same probability.
    """

    steps: tuple[int, ...]
    training: tuple[float, ...]
    validation: tuple[float, ...]
    even_bet: float

    @property
    def best_step(self) -> int:
        """The step at which the validation loss is lowest."""
        return self.steps[min(range(len(self.steps)), key=self.validation.__getitem__)]


def pairs_for(n_pairs: int) -> tuple[list[SentencePair], list[SentencePair]]:
    """Return pairs of short, different sentences to train on, and others for validation."""
    by_source = {pair.source: pair for pair in islice(draw(seed=3), 3_000) if len(pair.source) <= _LONGEST}
    pairs = list(by_source.values())
    return pairs[:n_pairs], pairs[-N_VALIDATION:]


def losses_by_data(n_pairs: int, *, n_steps: int = _N_STEPS, seed: int = 0) -> TwoLosses:
    """Train a small model on some pairs, and measure both losses on the way.

    >>> from viz_transformer.experiments.overfitting import losses_by_data
    >>> losses_by_data(20, n_steps=10).steps
    (0, 10)

    Args:
        n_pairs: how many pairs it is trained on.
        n_steps: how long.
        seed: of the parameters and the order of the pairs.

    Raises:
        UserError: if a number is out of range.
    """
    whole_number("n_pairs", n_pairs, _MOST_PAIRS)
    whole_number("seed", seed, SEED, least=0)
    training, validation = pairs_for(n_pairs)
    vocabulary = vocabulary_of([*pairs_for(_MOST_PAIRS.most)[0], *validation])
    size = min(_BATCH_SIZE, n_pairs)
    config = replace(SMALL_TRAINING, n_steps=n_steps, batch_size=size, learning_rate=3e-3, warmup_steps=10)
    model = make_model(replace(SMALL_MODEL, vocab_size=len(vocabulary)), seed)
    kinds = training[:N_VALIDATION], validation
    measured = [next(batches(each, vocabulary, len(each), seed=0)) for each in kinds]
    with threads(1):
        found = [(0, *_losses(model, measured))]
        for record in fit(model, batches(training, vocabulary, size, seed=seed), config):
            if record.step % EVERY == 0:
                found.append((record.step, *_losses(model, measured)))
    steps, train_losses, validation_losses = zip(*found, strict=True)
    return TwoLosses(steps, train_losses, validation_losses, even_bet=math.log(len(vocabulary)))


@torch.no_grad()
def _losses(model: nn.Module, measured: Sequence[Batch]) -> Iterator[float]:
    """Yield the loss on each batch."""
    model.eval()
    for batch in measured:
        logits = model(*map(torch.from_numpy, batch.inputs))
        yield token_loss(logits, torch.from_numpy(batch.labels), 0)[0].item()
    model.train()
