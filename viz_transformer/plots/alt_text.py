"""Alternative text of figures, for those who cannot see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from viz_transformer._numbers import difference_number, fixed_number
from viz_transformer.analysis.combine import SHARES, Scale, scale_of
from viz_transformer.plots.labels import label
from viz_transformer.trace import attention_of
from viz_transformer.trace.times import with_times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from viz_transformer.trace import FloatArray, ForwardTrace

_MOST_PAIRS = 3


def set_alt_text(figure: Figure, text: str) -> None:
    """Give a figure its alternative text; `save_figure` writes it into the file.

    >>> import viz_transformer as vt
    >>> axes = vt.plots.plot_probabilities({"el gato": 0.7, "la gata": 0.3})
    >>> vt.plots.set_alt_text(axes.figure, "Two translations and their probabilities")

    Args:
        figure: the figure.
        text: what it shows, in a sentence or two.
    """
    figure.alt_text = text  # type: ignore[attr-defined]  # an attribute of our own


def describe_head(trace: ForwardTrace, kind: str, layer: int, head: int) -> str:
    """Return one head in words: what it is, and its strongest weights.

    The kind, layer and head must be in the trace.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> words = vt.plots.describe_head(trace, "cross", layer=1, head=2)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: counted from 0.
        head: counted from 0.
    """
    trace = with_times(trace)
    return describe_matrix(
        attention_of(trace, kind)[layer, head],
        trace.query_tokens(kind),
        trace.key_tokens(kind),
        f"{kind} attention, layer {trace.layer_numbers(kind)[layer]}, head {trace.head_numbers[head]}",
        scale=scale_of([trace], kind),
    )


def describe_matrix(
    matrix: FloatArray,
    queries: Sequence[str],
    keys: Sequence[str],
    what: str,
    *,
    scale: Scale = SHARES,
) -> str:
    """Return a matrix in words: what it is, and its strongest weights or largest changes.

    Args:
        matrix: ``[query, key]``.
        queries: the words that look.
        keys: the words that are attended to.
        what: what it is: ``"cross attention, layer 1, head 2"``.
        scale: of the weights.
    """
    strongest = np.argsort(-np.abs(matrix), axis=None, kind="stable")[:_MOST_PAIRS]
    limit, is_difference = scale.limit, scale.is_difference

    def number(weight: float) -> str:
        if limit is None:
            return fixed_number(weight, 2)
        return difference_number(weight, limit, signed=scale.has_signs)

    pairs = [
        f"{label(queries[query])} to {label(keys[key])} {number(matrix[query, key])}"
        for query, key in zip(*np.unravel_index(strongest, matrix.shape), strict=True)
    ]
    return (
        f"Heatmap of {'the difference in ' * is_difference}{what}: {matrix.shape[0]} queries attend "
        f"to {matrix.shape[1]} keys. The largest {'changes' if is_difference else 'weights'}"
        f"{' (not normalised)' * scale.is_raw}: "
        f"{', '.join(pairs)}."
    )
