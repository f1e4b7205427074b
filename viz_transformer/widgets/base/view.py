"""What every view has: a style, a twin on paper, its picture in words, a function to ask.

A view never sees a model. Where it needs one, it is given a function, a request in and a reply
out, by whoever builds it (see `labs`); an exported page carries some of the replies instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from viz_transformer.errors import UserError
from viz_transformer.widgets.base.static_fallback import WithStill

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A request and its reply: plain JSON values, and bytes anywhere among the reply's values.
Answer = Callable[[dict[str, Any]], dict[str, Any]]


class View(WithStill, anywidget.AnyWidget):
    """The base of all views. What the viewer chooses is a trait, and setting it moves the view.

    Attributes:
        about: what the view shows, in two sentences; told when the viewer asks.
        live: whether there is a function behind the view, so that it can answer what is new.
    """

    about = traitlets.Unicode(help="what am I looking at, in two sentences").tag(sync=True)
    live = traitlets.Bool(False, help="whether a function answers the view").tag(sync=True)

    #: Whether what changes comes from the page, which has done what follows from it by itself.
    _from_page = False

    def __init__(self, *, answer: Answer | None = None, traits: Mapping[str, Any] | None = None) -> None:
        """Make a view.

        Args:
            answer: the function to ask, or None; its errors for users are shown in the view.
            traits: the first values of the view's traits.
        """
        self._answer = answer
        super().__init__(live=answer is not None, **(traits or {}))
        self.on_msg(self._on_message)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Take what the viewer chose in the page, all of it at once."""
        self._from_page = True
        try:
            super().set_state(sync_data)
        finally:
            self._from_page = False

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request, as the page would get it.

        Raises:
            UserError: if the view has no function to ask, or the request cannot be answered.
        """
        if self._answer is None:
            raise UserError("this view has no live model behind it; make it with a lab of vt.labs")
        return self._answer(request)

    def questions(self) -> list[dict[str, Any]]:
        """Return the requests whose replies an exported page carries with it."""
        return []

    def questions_here(self) -> list[dict[str, Any]]:
        """Return the requests that this state takes in a page that was written in another one."""
        return self.questions()

    def export_bytes(self) -> int:
        """Return about how many bytes the replies to `questions` take in an exported page.

        Known without asking them, so that a page that would be too large is refused at once.
        """
        return 0

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure."""
        raise NotImplementedError

    def alt_text(self) -> str:
        """Return what the view shows now in a sentence or two, for those who cannot see it."""
        raise NotImplementedError

    def _on_message(self, _: View, content: dict[str, Any], __: list[bytes]) -> None:
        """Answer a question of the page's; the browser keeps questions and replies in order."""
        if not isinstance(content, dict) or "ask" not in content:
            return
        name = {"id": content.get("id")}
        try:
            reply, buffers = split_bytes(self.answer(content["ask"]))
        except UserError as error:
            self.send({**name, "error": str(error)})
        except Exception as error:  # the page must not wait for ever; the log has the rest
            self.send({**name, "error": f"{type(error).__name__}: {error}"})
            raise
        else:
            self.send({**name, "reply": reply}, buffers)


def split_bytes(value: Any) -> tuple[Any, list[bytes]]:
    """Return `value` with ``{"buffer": i}`` for its i-th bytes, and those bytes."""
    buffers: list[bytes] = []

    def plain(item: Any) -> Any:
        if isinstance(item, bytes | bytearray | memoryview):
            buffers.append(bytes(item))
            return {"buffer": len(buffers) - 1}
        if isinstance(item, dict):
            return {key: plain(each) for key, each in item.items()}
        if isinstance(item, list | tuple):
            return [plain(each) for each in item]
        return item

    return plain(value), buffers


def sendable(tokens: Iterable[str]) -> list[str]:
    """Return tokens as text that a message can carry.

    Half of a surrogate pair is no character, and a message that holds one cannot be encoded.
    """
    return [token.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for token in tokens]
