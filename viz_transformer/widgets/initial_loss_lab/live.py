"""The initial loss lab: an untrained model's scores and loss by the scale of its embeddings."""

from __future__ import annotations

from collections.abc import Sequence

from viz_transformer.experiments.initial_loss import UntrainedModel
from viz_transformer.trace.arrays import given_sequence
from viz_transformer.widgets.initial_loss_lab.view import InitialLossLab

#: From a fifth of 1/√512 to twice what torch draws; 1/√512 itself is among them.
STDS = (0.005, 0.01, 0.02, 512**-0.5, 0.1, 0.2, 0.5, 1.0, 2.0)


def initial_loss_lab(
    model: UntrainedModel | None = None,
    stds: Sequence[float] = STDS,
    *,
    std: float = 1.0,
    sentence: int = 2,
    place: int = 2,
) -> InitialLossLab:
    """Return a view of an untrained model's scores and loss, measured once for each choice.

    >>> import viz_transformer as vt
    >>> view = vt.initial_loss_lab(stds=(0.02, 1.0))

    Args:
        model: the untrained model; by default one of seed 0, which takes seconds to draw.
        stds: the standard deviations of the embeddings to choose from.
        std: the first one shown.
        sentence: index of the first sentence shown, from 0.
        place: index of the word in it that was just read, from 0.

    Raises:
        UserError: if a standard deviation is not above 0, or what is chosen does not exist.
    """
    model = UntrainedModel() if model is None else model
    return InitialLossLab(
        [model.start(each) for each in given_sequence(stds)],
        model.vocabulary.tokens,
        model.read,
        model.wanted,
        model.vocabulary.pad_id,
        std=std,
        sentence=sentence,
        place=place,
    )
