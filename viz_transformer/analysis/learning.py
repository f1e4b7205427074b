"""What a training did to the heads: how broadly each looked at each moment, and which sharpened."""

from __future__ import annotations

import numpy as np

from viz_transformer.analysis.measures import Float64, head_entropy_share
from viz_transformer.errors import UserError
from viz_transformer.trace import TrainingTrace


def entropy_share_over_training(trace: TrainingTrace, sentence: int, kind: str) -> Float64:
    """Return `head_entropy_share` at every moment, ``[moment, layer, head]``.

    1 is a head that looks everywhere alike, as before training; 0 one that picks a single key.

    Args:
        trace: the training.
        sentence: index of the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if there is no such sentence or attention.
    """
    if not 0 <= sentence < len(trace.sources):
        raise UserError(
            f"sentence={sentence}, but the training was watched on {len(trace.sources)}; "
            f"choose 0 to {len(trace.sources) - 1}"
        )
    return np.stack(
        [head_entropy_share(moment.traces[sentence], kind) for moment in trace.moments]
    )  # [moment, layer, head]


def most_sharpened(trace: TrainingTrace, sentence: int, kind: str) -> tuple[int, int]:
    """Return the layer and head whose entropy fell most from the first moment to the last.

    Args:
        trace: the training.
        sentence: index of the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if there is no such sentence or attention.
    """
    share = entropy_share_over_training(trace, sentence, kind)
    fall = np.nan_to_num(share[0] - share[-1], nan=-np.inf)  # [layer, head]
    layer, head = np.unravel_index(int(fall.argmax()), fall.shape)
    return int(layer), int(head)
