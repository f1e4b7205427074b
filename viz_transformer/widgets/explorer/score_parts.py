"""The parts of one score, as the explorer's page shows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace, ScoreParts
from viz_transformer.widgets.base.view import sendable

#: From a kind, a layer, a head, a query and a key, by name, to the parts of their score.
PartsOf = Callable[..., ScoreParts]
#: Parts of a side that the inspector has room for.
_MOST = 6


def packed_parts(
    trace: ForwardTrace, parts_of: PartsOf, kind: str, layer: int, head: int, query: int, key: int
) -> dict[str, Any]:
    """Return the parts of the score of one cell, the largest by name, as plain JSON.

    Args:
        trace: what is shown; its layers and heads may be some of the model's.
        parts_of: what divides a score.
        kind: of attention.
        layer: index of the layer in the trace.
        head: index of the head in the trace.
        query: the query's position.
        key: the key's.

    Raises:
        UserError: if the function cannot divide it, or reads another text than the trace.
    """
    place = {"layer": trace.layer_numbers(kind)[layer], "head": trace.head_numbers[head]}
    place |= {"query": query, "key": key}
    parts = parts_of(kind=kind, **place)
    if len(parts.key_tokens) != len(trace.key_tokens(kind)):
        raise UserError(
            f"score_parts= reads {len(parts.key_tokens)} tokens where this trace has "
            f"{len(trace.key_tokens(kind))}; give it the text of the trace"
        )
    few = parts.shortened(_MOST)
    named = ", ".join(f"{name}={value}" for name, value in {"kind": f'"{kind}"', **place}.items())
    query_token, key_token = sendable([parts.query_tokens[query], parts.key_tokens[key]])
    return {
        "score": parts.score,
        "remainder": float(np.round(parts.remainder, 6)),
        "query": query_token,
        "key": key_token,
        "of_query": [list(pair) for pair in zip(few.query_parts, few.by_query.tolist(), strict=True)],
        "of_key": [list(pair) for pair in zip(few.key_parts, few.by_key.tolist(), strict=True)],
        "raised": _tokens(parts.raised),
        "lowered": _tokens(parts.lowered),
        "code": f"vt.attribution.score_parts(model, text, {named})",
    }


def _tokens(named: tuple[tuple[str, float], ...]) -> list[list[Any]]:
    return [[*sendable([token]), value] for token, value in named]
