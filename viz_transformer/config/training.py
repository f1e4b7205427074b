"""How a model is trained."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer.config.checks import JsonConfig, check_int, check_real


@dataclass(frozen=True, kw_only=True)
class TrainConfig(JsonConfig):
    """How a model is trained.

    Attributes:
        n_steps: optimiser steps.
        batch_size: sentence pairs a step.
        learning_rate: the peak, reached after the warm-up.
        warmup_steps: steps of linear rise to the peak; a cosine then falls to zero.
        label_smoothing: probability mass spread over the other tokens, 0 up to but not 1.
        max_grad_norm: the gradient's norm is clipped to this.
        seed: fixes initial weights, dropout and the order of the batches.

    Raises:
        UserError: if a value is out of range.
    """

    n_steps: int = 4000
    batch_size: int = 128
    learning_rate: float = 3e-3
    warmup_steps: int = 200
    label_smoothing: float = 0.0
    max_grad_norm: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        check_int("n_steps", self.n_steps, minimum=1)
        check_int("batch_size", self.batch_size, minimum=1)
        check_int("warmup_steps", self.warmup_steps, minimum=0)
        check_int("seed", self.seed, minimum=0)
        check_real("learning_rate", self.learning_rate, minimum=0.0, below=float("inf"))
        check_real("label_smoothing", self.label_smoothing, minimum=0.0, below=1.0)
        check_real("max_grad_norm", self.max_grad_norm, minimum=0.0, below=float("inf"))
