"""Requests of the page, and their replies: a head, several as one, a rollout, one exact weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.widgets.explorer.trace_view import TraceView

#: The type in which the weights of a large trace are sent: off by 0.00025 at most.
SENT_AS = np.dtype("<f2")


def reply(view: TraceView, version: int, request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to one request of the page's.

    A request names one thing and the version of the data that it was made from. If another trace
    is shown by now, the reply is ``{"stale": True}``: the new tokens are already being sent to the page,
    and it must not show new weights with old tokens.

    - ``{"head": [kind, layer, head]}``, ``{"aggregate": [kind, how, [[layer, head], …]]}`` and
      ``{"rollout": [kind, layer]}`` give ``{"weights": …}``, float16 bytes ``[query, key]``;
      those of a scale with a limit as shares of it.
    - ``{"heads": [kind, [[layer, head], …]]}`` gives a list of them.
    - ``{"overview": [kind, pair]}`` gives the thumbnails of what two sentences attend to: ``{"rows": …,
      "cols": …, "values": …}``, see `TraceView.overview`.
    - ``{"measure": [kind]}`` gives ``{"labels": …, "entropies": …}``, float32 bytes
      ``[layer, head]``.
    - ``{"exact": [kind, layer, head, query, key]}`` gives ``{"value": …}``, one weight as it is.

    Raises:
        UserError: if the request is none of these, or the trace does not have what it names.
    """
    if request.get("version") != version:
        return {"stale": True}
    for what, answer in _ANSWERS.items():
        if what in request:
            try:
                return answer(view, *request[what])
            except (IndexError, KeyError, TypeError, ValueError) as error:
                raise UserError(
                    f"{what}={request[what]!r:.60} is not in this trace; it holds "
                    f"{ {kind: list(view.shape(kind)) for kind in view.kinds} }"
                ) from error
    raise UserError(f"unknown request {list(request)}; ask for one of {list(_ANSWERS)}")


def _head(view: TraceView, kind: str, layer: int, head: int) -> dict[str, Any]:
    return {"weights": sent_weights(view, kind, view.head(kind, layer, head))}


def _heads(view: TraceView, kind: str, heads: list[list[int]]) -> dict[str, Any]:
    return {"weights": [sent_weights(view, kind, view.head(kind, *each)) for each in heads]}


def _aggregate(view: TraceView, kind: str, how: str, heads: list[list[int]]) -> dict[str, Any]:
    return {"weights": sent_weights(view, kind, view.aggregate(kind, how, heads))}


def _rollout(view: TraceView, kind: str, layer: int) -> dict[str, Any]:
    return {"weights": sent_weights(view, kind, view.rollouts(kind)[layer])}


def _measure(view: TraceView, kind: str) -> dict[str, Any]:
    return measures(view, kind)


def _exact(view: TraceView, kind: str, layer: int, head: int, query: int, key: int) -> dict[str, Any]:
    return {"value": float(view.head(kind, layer, head)[query, key])}


def _overview(view: TraceView, kind: str, pair: str) -> dict[str, Any]:
    return view.overview(kind, pair)


_ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {
    "head": _head,
    "heads": _heads,
    "aggregate": _aggregate,
    "rollout": _rollout,
    "measure": _measure,
    "overview": _overview,
    "exact": _exact,
}

#: What can be asked.
QUESTIONS = tuple(_ANSWERS)


def to_bytes(weights: np.ndarray) -> bytes:
    """Return weights as they are sent: rounded to float16 as numpy does it, in a fifth of its time.

    Numpy rounds number by number; a page of 1,000 heads would wait seconds for it.
    """
    weights = np.ascontiguousarray(weights, dtype=np.float32)
    bits = weights.view(np.uint32)
    size = np.abs(weights)
    # Half to even in the ten bits that stay; 112 is what the two formats' exponents differ by.
    normal = ((bits & 0x7FFFFFFF) + 0xFFF + ((bits >> 13) & 1) >> 13) - (112 << 10)
    small = np.rint(np.minimum(size, 1) * np.float32(2**24)).astype(np.uint32)  # without an exponent
    halves = np.where(size < np.float32(2**-14), small, normal) | ((bits >> 16) & 0x8000)
    return halves.astype("<u2").tobytes()


def sent_weights(view: TraceView, kind: str, weights: np.ndarray) -> bytes:
    """Return weights of a kind as they are sent: as shares of their scale's limit, if it has one."""
    limit = view.limit(kind)
    return to_bytes(weights if limit is None else weights / np.float32(limit))


def measures(view: TraceView, kind: str) -> dict[str, Any]:
    """Return the labels and entropies of a kind's heads, None where the weights are no shares."""
    if not view.has_shares:
        return {"labels": None, "entropies": None}
    labels, entropies = view.measures(kind)
    return {"labels": labels, "entropies": entropies.astype("<f4").tobytes()}
