"""Learning-rate schedules."""

from __future__ import annotations

import math

from viz_transformer.config import TrainConfig


def learning_rate(step: int, config: TrainConfig) -> float:
    """Return the rate of a step, counted from 1: a linear warm-up to the peak, then the schedule.

    ``"cosine"`` falls to zero at the last step (Loshchilov and Hutter 2017), ``"inverse_sqrt"``
    in proportion to 1/√step, ``"constant"`` stays at the peak.

    The paper's schedule (Vaswani et al. 2017, section 5.3) is ``"inverse_sqrt"`` with the peak
    (d_model · warmup_steps)^-½: 0.0007 for its base model and 4,000 steps.

    >>> from viz_transformer.config import TrainConfig
    >>> from viz_transformer.training import learning_rate
    >>> learning_rate(100, TrainConfig(learning_rate=0.01, warmup_steps=200))  # halfway up
    0.005

    Args:
        step: counted from 1.
        config: with the peak, the warm-up and the schedule.
    """
    peak, warmup = config.learning_rate, config.warmup_steps
    if step <= warmup:
        return peak * step / warmup
    if config.schedule == "constant":
        return peak
    if config.schedule == "inverse_sqrt":
        return peak * math.sqrt(max(1, warmup) / step)
    done = (step - warmup) / max(1, config.n_steps - warmup)
    return peak * 0.5 * (1 + math.cos(math.pi * done))
