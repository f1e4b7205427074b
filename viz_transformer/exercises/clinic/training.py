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
    """The right one; the wrong ones change the table's start, or a scale."""

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


class _Loud(_Tied):
    def start(self) -> None:
        pass


class _LoudUnscaled(_Loud):
    def embed(self, ids: Tensor) -> Tensor:
        return self.table(ids)


class _Faint(_Tied):
    def embed(self, ids: Tensor) -> Tensor:
        return self.table(ids)


class _LoudInside(_Loud):
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
    """Return the loss of a model that knows nothing: any vector, and any word that is wanted.

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


def _as_loud_as_positions(make: _Make) -> bool:
    spread = build_module(make, _VOCAB, _WIDTH).embed(torch.arange(_VOCAB)[None]).std().item()
    return 0.5 < spread < 2


def _one_table(make: _Make) -> bool:
    module = build_module(make, _VOCAB, _WIDTH)
    return sum(each.numel() for each in module.parameters()) == _VOCAB * _WIDTH


TIED = HiddenTests(
    (
        Property(
            "the start loss is near ln V",
            _starts_low,
            "The start loss is still far above ln V: each number of the table is drawn from "
            "N(0, 1), so a logit, a sum of d_model products, spreads by √d_model. Which spread of "
            "the table would make that 1?",
        ),
        Property(
            "words are as loud as positions",
            _as_loud_as_positions,
            "The logits are right, but the words that go in are far too small: positions are "
            "numbers between −1 and 1, and beside them the words are lost. Which factor brings "
            "them back to size?",
        ),
        Property(
            "one table",
            _one_table,
            "The output has parameters of its own now: that lowers the loss by giving up what was "
            "wanted, one table for both ends.",
        ),
    ),
    _Tied,
    (
        WrongAnswer("the start loss is near ln V", _Loud),
        WrongAnswer(
            "the start loss is near ln V",
            _LoudUnscaled,
            "The factor √d_model is gone on the way in, where it does no harm to the loss: the "
            "logits come from the table as it is. Look at its spread.",
        ),
        WrongAnswer("words are as loud as positions", _Faint),
        WrongAnswer(
            "words are as loud as positions",
            _LoudInside,
            "The logits are divided by √d_model, so the loss is right. But the words go in "
            "multiplied by it, with a spread of 16: the positions, between −1 and 1, drown in "
            "them.",
        ),
        WrongAnswer("one table", _Untied),
    ),
    "One number, the spread at the start. × √d_model brings the words back to size on the way in.",
    lambda make: build_module(make, _VOCAB, _WIDTH).embed(torch.arange(9)[None]),
)

EXERCISES = (
    Exercise(
        "clinic.13",
        "One table, two jobs",
        TIED,
        (
            "A logit is a sum of d_model products. If one product has the variance 1, what "
            "variance has their sum, and what spread?",
            "nn.init.normal_(self.table.weight, std=…), with the std that undoes √d_model.",
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
