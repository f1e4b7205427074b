"""The entropy of heads over a training, and the head that sharpened most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viz_transformer._text import shown
from viz_transformer.analysis.measures import (
    Float64,
    attending,
    entropy_bits,
    mean_over,
    reachable_keys,
)
from viz_transformer.errors import UserError
from viz_transformer.trace import Snapshot, TrainingTrace, attention_of


def entropy_share_over_training(trace: TrainingTrace, sentence: int, kind: str) -> Float64:
    """Return `head_entropy_share` at every moment, ``[moment, layer, head]``.

    1 is a head that spreads evenly, as before training; 0 one that picks a single key.

    >>> import viz_transformer as vt
    >>> training = vt.load_training("en-es")
    >>> vt.analysis.entropy_share_over_training(training, 0, "cross").shape[1:]
    (2, 4)

    Args:
        trace: the training.
        sentence: index of the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if there is no such sentence or attention.
    """
    return _shares(trace, trace.moments, sentence, kind)


def most_sharpened(trace: TrainingTrace, sentence: int, kind: str) -> tuple[int, int]:
    """Return the layer and head whose entropy fell most from the first moment to the last.

    Arguments and errors are those of `entropy_share_over_training`.

    >>> import viz_transformer as vt
    >>> training = vt.load_training("en-es")
    >>> layer, head = vt.analysis.most_sharpened(training, 0, "cross")
    >>> 0 <= layer < 2, 0 <= head < 4
    (True, True)

    Args:
        trace: the training.
        sentence: index of the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
    """
    first, last = _shares(trace, (trace.moments[0], trace.moments[-1]), sentence, kind)
    fall = np.nan_to_num(first - last, nan=-np.inf)  # [layer, head]
    layer, head = np.unravel_index(int(fall.argmax()), fall.shape)
    return int(layer), int(head)


def _shares(trace: TrainingTrace, moments: Sequence[Snapshot], sentence: int, kind: str) -> Float64:
    if not isinstance(sentence, int | np.integer) or not 0 <= sentence < len(trace.sources):
        raise UserError(
            f"sentence={shown(sentence)}, but the training was watched on {len(trace.sources)}; "
            f"choose 0 to {len(trace.sources) - 1}"
        )
    # All heads of a moment at once: one by one, as of a long text, a small training took seconds.
    return np.stack(
        [_share(attention_of(moment.traces[sentence], kind), kind) for moment in moments]
    )  # [moment, layer, head]


def _share(weights: np.ndarray, kind: str) -> Float64:
    reachable = reachable_keys(weights, kind)  # [query]
    most = np.log2(np.maximum(reachable, 2))  # [query], in bits
    return mean_over(entropy_bits(weights) / most, attending(weights) & (reachable > 1))
