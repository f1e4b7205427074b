"""What the page asks for when it is looked at: a head, several as one, a rollout, one weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.widgets.explorer.trace_view import Shown

#: The type of the weights of a large trace on their way: off by 0.00025 at most.
SENT_AS = np.dtype("<f2")


def reply(shown: Shown, version: int, request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to one request of the page's.

    A request names one thing and the version of the data that it was made from. If another trace
    is shown by now, the reply is ``{"stale": True}``: its page has the new words already on the
    way, and must not put new weights to old words.

    - ``{"head": [kind, layer, head]}``, ``{"aggregate": [kind, how, [[layer, head], …]]}`` and
    - ``{"measure": [kind]}`` gives ``{"labels": …, "entropies": …}``, float32 bytes
      ``[layer, head]``.
    - ``{"exact": [kind, layer, head, query, key]}`` gives ``{"value": …}``, one weight as it is.

    Raises:
        UserError: if the request is none of these, or the trace has not what it names.
    """
    if request.get("version") != version:
        return {"stale": True}
    for what, answer in _ANSWERS.items():
        if what in request:
            try:
                return answer(shown, *request[what])
            except (IndexError, KeyError, TypeError, ValueError) as error:
                raise UserError(
                    f"{what}={request[what]!r:.60} is not in this trace; it holds "
                    f"{ {kind: list(shown.shape(kind)) for kind in shown.kinds} }"
                ) from error
    raise UserError(f"unknown request {list(request)}; ask for one of {list(_ANSWERS)}")


def _head(shown: Shown, kind: str, layer: int, head: int) -> dict[str, Any]:
    return {"weights": sent(shown.head(kind, layer, head))}


def _heads(shown: Shown, kind: str, heads: list[list[int]]) -> dict[str, Any]:
    return {"weights": [sent(shown.head(kind, layer, head)) for layer, head in heads]}


def _aggregate(shown: Shown, kind: str, how: str, heads: list[list[int]]) -> dict[str, Any]:
    return {"weights": sent(shown.aggregate(kind, how, heads))}


def _rollout(shown: Shown, kind: str, layer: int) -> dict[str, Any]:
    return {"weights": sent(shown.rollouts(kind)[layer])}


def _measure(shown: Shown, kind: str) -> dict[str, Any]:
    return measures(shown, kind)


def _exact(shown: Shown, kind: str, layer: int, head: int, query: int, key: int) -> dict[str, Any]:
    return {"value": float(shown.head(kind, layer, head)[query, key])}


_ANSWERS: dict[str, Callable[..., dict[str, Any]]] = {
    "head": _head,
    "heads": _heads,
    "aggregate": _aggregate,
    "rollout": _rollout,
    "measure": _measure,
    "exact": _exact,
}


def sent(weights: np.ndarray) -> bytes:
    """Return weights as they travel."""
    return weights.astype(SENT_AS).tobytes()


def measures(shown: Shown, kind: str) -> dict[str, Any]:
    """Return the labels and entropies of a kind's heads, None for those of a difference."""
    if shown.signed:
        return {"labels": None, "entropies": None}
    labels, entropies = shown.measures(kind)
    return {"labels": labels, "entropies": entropies.astype("<f4").tobytes()}


def questions(shown: Shown, version: int) -> list[dict[str, Any]]:
    """Return the requests that an exported page of a large trace carries the replies to."""
    asked: list[dict[str, Any]] = []
    for kind in shown.kinds:
        n_layers, n_heads = shown.shape(kind)[:2]
        for layer in range(n_layers):
            asked += [{"head": [kind, layer, head]} for head in range(n_heads)]
            if not shown.no_rollout(kind):
                asked.append({"rollout": [kind, layer]})
        if not shown.signed:
            asked.append({"measure": [kind]})
    return [{**request, "version": version} for request in asked]
