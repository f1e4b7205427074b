"""How much of its weight each head puts where a name says: the evidence behind the labels, of all heads."""

from __future__ import annotations

import numpy as np

from viz_transformer.analysis.head_patterns import head_patterns
from viz_transformer.analysis.measures import Float64, as_weights, attending, reachable_keys
from viz_transformer.trace import ForwardTrace, shares_of


def pattern_scores(trace: ForwardTrace, kind: str) -> dict[str, Float64]:
    """Return for each name the share of its weight that each head puts there.

    The shares are the evidence of `label_heads`, for the heads that have no label too. Sort a grid
    of heads by one of them: ``vt.explore(trace, scores=analysis.pattern_scores(trace, "decoder"))``.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.analysis.pattern_scores(trace, "encoder")["previous token"].shape
    (2, 4)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Returns:
        By name float64 ``[layer, head]``, from 0 to 1: a mean over the rows that can tell. A name
        that has no such row in this text, or whose keys are masked, is left out; a head that
        attends to nothing has 0.

    Raises:
        UserError: if the trace lacks the kind, or holds no attention weights there.
    """
    weights = shares_of(trace, kind)  # [layer, head, query, key]
    n_reachable = reachable_keys(weights, kind)  # [query]
    patterns = [
        pattern
        for pattern in head_patterns(trace, kind)
        if pattern.rows.any() and (pattern.keys < n_reachable[pattern.queries]).any()
    ]
    scores = {pattern.name: np.zeros(weights.shape[:2]) for pattern in patterns}  # [layer, head]
    for place in np.ndindex(weights.shape[:2]):
        head = as_weights(weights[place])  # [query, key]
        for pattern in patterns:
            on_keys = pattern.on_keys(head)[pattern.rows & attending(head)]  # [row]
            scores[pattern.name][place] = on_keys.mean() if on_keys.size else 0.0
    return scores
