"""The configuration of a training run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from viz_transformer._bounds import BATCH, SEED, STEPS
from viz_transformer.config.checks import JsonConfig, check_choice, check_int, check_real

Schedule = Literal["cosine", "inverse_sqrt", "constant"]
Precision = Literal["float32", "bfloat16"]
Optimiser = Literal["adam", "muon"]


@dataclass(frozen=True, kw_only=True)
class TrainConfig(JsonConfig):
    """How a model is trained.

    >>> from viz_transformer.config import TrainConfig
    >>> config = TrainConfig(n_steps=100, learning_rate=0.005)
    >>> config.optimiser, config.schedule
    ('adam', 'cosine')

    Attributes:
        n_steps: optimiser steps.
        batch_size: sentence pairs a batch, where `batch_tokens` is not given.
        batch_tokens: padded tokens a batch, of the source or of the target, whichever are more:
            the longer the sentences, the fewer of them. None: `batch_size` sentences.
        accumulate: batches a step, whose gradients are added up; more than memory would hold.
        optimiser: ``"adam"`` (the paper), or ``"muon"`` for the matrices of the layers and Adam
            for all else; see `training.optimisers`.
        learning_rate: the peak, reached after the warm-up.
        warmup_steps: steps of linear rise to the peak.
        schedule: what follows the warm-up: ``"cosine"``, ``"inverse_sqrt"`` (the paper) or
            ``"constant"``; see `training.learning_rate`.
        label_smoothing: probability mass spread over the other tokens, 0 up to but not 1.
        piece_dropout: probability of leaving out a merge while the training sentences are cut into
            pieces of words, drawn again every epoch (BPE-dropout, Provilkov et al. 2020).
        weight_decay: every step shrinks the matrices, embeddings among them, by this share
            of themselves times the learning rate (AdamW, Loshchilov and Hutter 2019).
        max_grad_norm: the gradient's norm is clipped to this.
        precision: ``"bfloat16"`` computes products of matrices in bfloat16 (autocast), faster
            where the hardware has it; weights, sums and the loss stay float32.
        fused: whether Adam updates all weights in one pass: faster, its last bits other ones.
        seed: fixes initial weights, dropout, and the order and the pieces of the batches.

    Raises:
        UserError: if a value is out of range.
    """

    n_steps: int = 4000
    batch_size: int = 128
    batch_tokens: int | None = None
    accumulate: int = 1
    optimiser: Optimiser = "adam"
    learning_rate: float = 3e-3
    warmup_steps: int = 200
    schedule: Schedule = "cosine"
    label_smoothing: float = 0.0
    piece_dropout: float = 0.0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    precision: Precision = "float32"
    fused: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        check_int("n_steps", self.n_steps, minimum=1, bound=STEPS)
        check_int("batch_size", self.batch_size, minimum=1, bound=BATCH)
        if self.batch_tokens is not None:
            check_int("batch_tokens", self.batch_tokens, minimum=1, bound=BATCH)
        check_int("accumulate", self.accumulate, minimum=1, bound=BATCH)
        check_int("warmup_steps", self.warmup_steps, minimum=0, bound=STEPS)
        check_int("seed", self.seed, minimum=0, bound=SEED)
        check_choice("optimiser", self.optimiser, get_args(Optimiser))
        check_choice("schedule", self.schedule, get_args(Schedule))
        check_choice("precision", self.precision, get_args(Precision))
        check_real("learning_rate", self.learning_rate, minimum=0.0, below=float("inf"))
        check_real("label_smoothing", self.label_smoothing, minimum=0.0, below=1.0)
        check_real("piece_dropout", self.piece_dropout, minimum=0.0, below=1.0)
        check_real("weight_decay", self.weight_decay, minimum=0.0, below=float("inf"))
        check_real("max_grad_norm", self.max_grad_norm, minimum=0.0, below=float("inf"))
