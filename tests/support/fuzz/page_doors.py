"""What a page sends to a view: requests, and the state that the viewer chose."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from tests.support.fuzz.values import json_value, mutated
from tests.support.ui_views import EVERY_VIEW
from viz_transformer.widgets.base.view import View

#: A reply of more bytes than this is one that no page can want.
_MOST_BYTES = 20_000_000
#: Requests that the pages send beside those of `questions`.
_MORE: dict[str, list[dict[str, Any]]] = {
    "explorer": [{"head": ["cross", 0, 0]}, {"rollout": ["encoder", 1]}, {"exact": ["cross", 0, 0, 1, 2]}],
}
#: What ipywidgets keeps in every widget's state.
_NOT_OURS = ("layout", "comm", "tabbable", "tooltip")


class UnboundedReplyError(AssertionError):
    """A reply is larger than any page can want."""


@cache
def _view(name: str) -> View:
    return EVERY_VIEW[name]()


@cache
def _requests(name: str) -> list[dict[str, Any]]:
    view = _view(name)
    return [*view.questions()[:20], *view.questions_here()[:5], *_MORE.get(name, []), {}]


def message(rng: Random) -> tuple[str, Callable[[], Any]]:
    """Draw a request that is nearly one, and see that one answer comes back, of a bounded size."""
    name = rng.choice(list(EVERY_VIEW))
    content: Any = {"id": 1, "ask": mutated(rng, rng.choice(_requests(name)))}
    if rng.random() < 0.1:
        content = mutated(rng, content)
    return f"{name} {str(content)[:300]!r}", lambda: _send(_view(name), content)


def _send(view: View, content: Any) -> None:
    sent: list[tuple[Any, Any]] = []
    view.send = lambda reply, buffers=(): sent.append((reply, buffers))  # type: ignore[method-assign]
    view._on_message(view, content, [])
    if any(sum(map(len, buffers)) + len(str(reply)) > _MOST_BYTES for reply, buffers in sent):
        raise UnboundedReplyError("a reply of over 20 MB")
    assert len(sent) <= 1


def state(rng: Random) -> tuple[str, Callable[[], Any]]:
    """Draw a state that the page never sends; the view keeps its own, and can still be exported."""
    name = rng.choice(list(EVERY_VIEW))
    view = _view(name)
    names = [
        each for each in view.keys if not each.startswith("_") and each not in ("layout", "comm", "tabbable")
    ]
    chosen = {
        each: mutated(rng, view.get_state(each)[each]) if rng.random() < 0.5 else json_value(rng)
        for each in rng.sample(names, k=min(len(names), rng.choice([1, 1, 2])))
    }
    return f"{name} {str(chosen)[:300]!r}", lambda: _choose(view, chosen)


def _choose(view: View, chosen: dict[str, Any]) -> None:
    logged: list[str] = []
    view.log.warning = lambda *said: logged.append(" ".join(map(str, said))[:300])
    view._handle_msg(
        {"content": {"data": {"method": "update", "state": chosen, "buffer_paths": []}}, "buffers": []}
    )
    assert not logged, logged[0]
    view.alt_text()
    view.get_state()
    view.carried_questions()
    view.export_bytes()
