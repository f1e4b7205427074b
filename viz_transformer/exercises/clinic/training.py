"""Section 4, training: a tied embedding table whose loss starts far too high."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.exercises.answer_types import Exercise
from viz_transformer.exercises.clinic.checks import build_module, random_vectors
from viz_transformer.exercises.clinic.hidden_tests import HiddenTests, Property, WrongAnswer

# -- 13: the start loss ----------------------------------------------------------------------------


class _Tied(nn.Module):
    """The right one; the wrong ones change the table's initial values, or a scale."""

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.table = nn.Embedding(vocab_size, d_model)
        self.start()

    def start(self) -> None:
        nn.init.normal_(self.table.weight, std=self.d_model**-0.5)

    def embed(self, ids: Tensor) -> Tensor:
        return self.table(ids) * math.sqrt(self.d_model)

    def logits(self, x: Tensor) -> Tensor:
        return x @ self.table.weight.T


class _Large(_Tied):
    def start(self) -> None:
        pass


class _LargeUnscaled(_Large):
    def embed(self, ids: Tensor) -> Tensor:
        return self.table(ids)


class _Small(_Tied):
    def embed(self, ids: Tensor) -> Tensor:
        return self.table(ids)


class _LargeEmbeddings(_Large):
    def logits(self, x: Tensor) -> Tensor:
        return x @ self.table.weight.T / math.sqrt(self.d_model)


class _Untied(_Tied):
    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__(vocab_size, d_model)
        self.output = nn.Linear(d_model, vocab_size)

    def logits(self, x: Tensor) -> Tensor:
        return self.output(x)


_VOCAB, _WIDTH = 1000, 256
_Make = Callable[[int, int], Any]


def start_loss(logits: Callable[[Tensor], Tensor], vocab_size: int = _VOCAB, d_model: int = _WIDTH) -> float:
    """Return the loss of an untrained model: random vectors, and random target words.

    Args:
        logits: from vectors [batch, position, d_model] to numbers [batch, position, vocab].
        vocab_size: number of words.
        d_model: width of the vectors, which are as a LayerNorm gives them.

    Returns:
        The cross-entropy in nats; ln(vocab_size) if every word gets the same share.
    """
    x = F.layer_norm(random_vectors(1, 400, d_model), (d_model,))  # [batch, position, d_model]
    wanted = torch.from_numpy(np.random.default_rng(0).integers(0, vocab_size, 400))
    with torch.no_grad():
        return F.cross_entropy(logits(x)[0], wanted).item()


def _starts_low(make: _Make) -> bool:
    return start_loss(build_module(make, _VOCAB, _WIDTH).logits) < math.log(_VOCAB) + 1


def _as_large_as_positions(make: _Make) -> bool:
    spread = build_module(make, _VOCAB, _WIDTH).embed(torch.arange(_VOCAB)[None]).std().item()
    return 0.5 < spread < 2


def _one_table(make: _Make) -> bool:
    module = build_module(make, _VOCAB, _WIDTH)
    return sum(each.numel() for each in module.parameters()) == _VOCAB * _WIDTH


TIED = HiddenTests(
    (
        Property(
            "the initial loss is near ln V",
            _starts_low,
            "The loss is still far above ln V: each number of the table is drawn from N(0, 1), so a "
            "logit, a sum of d_model products, has a standard deviation of √d_model. Which standard "
            "deviation of the table makes it 1?",
        ),
        Property(
            "words and positions have similar sizes",
            _as_large_as_positions,
            "The logits are right, but the embeddings are far too small: positions are numbers between −1 "
            "and 1, and dominate the sum. Which factor makes the embeddings as large?",
        ),
        Property(
            "one table",
            _one_table,
            "The output has parameters of its own now. That lowers the loss, but both must use the same "
            "table.",
        ),
    ),
    _Tied,
    (
        WrongAnswer("the initial loss is near ln V", _Large),
        WrongAnswer(
            "the initial loss is near ln V",
            _LargeUnscaled,
            "You removed the factor √d_model from the embeddings, where it does not change the loss: the "
            "logits are computed from the table itself. Look at its standard deviation.",
        ),
        WrongAnswer("words and positions have similar sizes", _Small),
        WrongAnswer(
            "words and positions have similar sizes",
            _LargeEmbeddings,
            "The logits are divided by √d_model, so the loss is right. But the embeddings are multiplied "
            "by it and have a standard deviation of 16, far more than the positions, between −1 and 1.",
        ),
        WrongAnswer("one table", _Untied),
    ),
    "Only the initial standard deviation had to change. With the factor √d_model the embeddings are as "
    "large as the positions.",
    lambda make: build_module(make, _VOCAB, _WIDTH).embed(torch.arange(9)[None]),
)

EXERCISES = (
    Exercise(
        "clinic.13",
        "One table, two uses",
        TIED,
        (
            "A logit is a sum of d_model products. If one product has the variance 1, what variance and "
            "what standard deviation has their sum?",
            "nn.init.normal_(self.table.weight, std=…), with the std that compensates √d_model.",
        ),
        repairs={
            "        self.table = nn.Embedding(vocab_size, d_model)": (
                "        self.table = nn.Embedding(vocab_size, d_model)\n"
                "        nn.init.normal_(self.table.weight, std=1 / d_model)",
                "        self.table = nn.Embedding(vocab_size, d_model)\n"
                "        nn.init.normal_(self.table.weight, std=d_model**-0.5)",
            ),
            "        return self.table(ids) * math.sqrt(self.d_model)": ("        return self.table(ids)",),
            "        return x @ self.table.weight.T": (
                "        return x @ self.table.weight.T / math.sqrt(self.d_model)",
            ),
        },
    ),
)
