"""What a page asks a view, and what it says that the viewer chose."""

from __future__ import annotations

import reprlib
from functools import cache
from random import Random
from typing import Any

from tests.support.fuzz.campaign import Drawn
from tests.support.fuzz.values import json_value, mutated
from tests.support.ui_views import EVERY_VIEW
from viz_transformer.widgets.base.view import View

#: A reply of more bytes than this is one that no page can want.
_MOST_BYTES = 20_000_000
#: Requests that the pages send beside those of `questions`.
_MORE: dict[str, list[dict[str, Any]]] = {
    "explorer": [{"head": ["cross", 0, 0]}, {"rollout": ["encoder", 1]}, {"exact": ["cross", 0, 0, 1, 2]}],
}


class UnboundedReplyError(AssertionError):
    """A reply is larger than any page can want."""


@cache
def _view(name: str) -> View:
    return EVERY_VIEW[name]()


@cache
def _requests(name: str) -> list[dict[str, Any]]:
    view = _view(name)
    return [*view.questions()[:20], *view.questions_here()[:5], *_MORE.get(name, []), {}]


def message(rng: Random) -> Drawn:
    """Draw a request that is nearly one, and see that one answer comes back, of a bounded size."""
    name = rng.choice(list(EVERY_VIEW))
    content: Any = {"id": 1, "ask": mutated(rng, rng.choice(_requests(name)))}
    if rng.random() < 0.1:
        content = mutated(rng, content)
    return f"{name} {str(content)[:300]!r}", lambda: _send(_view(name), content)


def state(rng: Random) -> Drawn:
    """Draw what a page says that the viewer chose, which is taken or refused, and describe what is shown."""
    name = rng.choice(list(EVERY_VIEW))
    view = EVERY_VIEW[name]()
    shown = view.trait_names(content=True)
    trait = rng.choice([key for key in view.keys if not key.startswith("_") and key not in shown])
    value = rng.choice([lambda: json_value(rng), lambda: mutated(rng, view.get_state(trait)[trait])])()

    def call() -> None:
        view.set_state({trait: value})
        view.alt_text()

    return f"{name}.{trait}={reprlib.repr(value)}", call


def _send(view: View, content: Any) -> None:
    sent: list[tuple[Any, Any]] = []
    view.send = lambda reply, buffers=(): sent.append((reply, buffers))  # type: ignore[method-assign]
    view._on_message(view, content, [])
    if any(sum(map(len, buffers)) + len(str(reply)) > _MOST_BYTES for reply, buffers in sent):
        raise UnboundedReplyError("a reply of over 20 MB")
    assert len(sent) <= 1
