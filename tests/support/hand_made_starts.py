"""An untrained model written down, for tests of the view of its starts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from viz_transformer.experiments.initial_loss import InitialLoss

TOKENS = ("<pad>", "<sos>", "<eos>", "cat", "gato", "negro")


class HandMadeStarts:
    """What `UntrainedModel` offers: six tokens, two sentences, of three and of two places."""

    vocabulary = SimpleNamespace(tokens=TOKENS, pad_id=0)
    read = np.array([[1, 4, 5], [1, 4, 2]])
    wanted = np.array([[4, 5, 2], [4, 2, 0]])  # [sentence, place]

    def start(self, std: float) -> InitialLoss:
        """Return an echo: at every place the token just read has the highest logit."""
        logits = np.linspace(-1, 1, 2 * 3 * 6, dtype=np.float32).reshape(2, 3, 6)
        own: NDArray[np.float32] = np.eye(6, dtype=np.float32)[self.read] * 50  # [sentence, place, vocab]
        return InitialLoss(std, loss=100 * std + 2, echo=0.5, logits=(logits + own) * std)


def hand_made_starts() -> HandMadeStarts:
    """Return such a model."""
    return HandMadeStarts()
