"""Weight averaging: an exponential moving average over the last steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """The exponential moving average of a model's weights (Polyak and Juditsky 1992).

    Late in a training the weights oscillate around a minimum, and their mean is nearer to it. The
    paper averages its last checkpoints for the same reason (Vaswani et al. 2017, section 6.1).

    >>> from viz_transformer.config import ModelConfig, TrainConfig
    >>> from viz_transformer.training import WeightAverage, make_model
    >>> sizes = {"d_model": 8, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 16}
    >>> model = make_model(ModelConfig(vocab_size=10, **sizes), seed=0)
    >>> average = WeightAverage(model)
    >>> average.add(model, step=1)

    Attributes:
        weights: by name.
        decay: how much of the average a step leaves, 0 to 1: about 1 / (1 - decay) steps count.
    """

    def __init__(self, model: nn.Module, decay: float = 0.999) -> None:
        """Begin with the weights as they are."""
        self.decay = decay
        self.weights = {name: one.detach().clone() for name, one in model.named_parameters()}

    @torch.no_grad()
    def add(self, model: nn.Module, step: int) -> None:
        """Add the weights after a step, counted from 1, to the average."""
        # At first over few steps, as the weights still change fast.
        share = max(1 - self.decay, 9 / (9 + step))
        averages = list(self.weights.values())
        now: list[Tensor] = list(model.parameters())
        torch._foreach_lerp_(averages, now, share)

    @contextmanager
    def inside(self, model: nn.Module) -> Iterator[None]:
        """Put the average into the model, and its own weights back afterwards."""
        own = {name: one.detach().clone() for name, one in model.named_parameters()}
        self._set(model, self.weights)
        try:
            yield
        finally:
            self._set(model, own)

    @staticmethod
    @torch.no_grad()
    def _set(model: nn.Module, weights: dict[str, Tensor]) -> None:
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
