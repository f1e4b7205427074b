"""The base class of views: its traits, its static picture, and the function that answers requests.

A view never sees a model. Where it needs one, it is given a function from a request to a reply
(see `live.py` of the view); an exported page carries some of the replies instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets
from ipywidgets import widget_serialization

from viz_transformer._work import Stopped, Work
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.cell_thread import on_cell_thread
from viz_transformer.widgets.base.paced_changes import PacedChanges
from viz_transformer.widgets.base.requests import Schema, check_reply, check_request
from viz_transformer.widgets.base.shared_script import LOADER, SharedScript, shared_script
from viz_transformer.widgets.base.shares import Shares
from viz_transformer.widgets.base.static_fallback import StaticFallbackMixin
from viz_transformer.widgets.base.traits import SelectionError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A request and its reply: plain JSON values, and bytes anywhere among the reply's values.
Answer = Callable[[dict[str, Any]], dict[str, Any]]

#: The most letters of an argument that is written out in a call.
_LONGEST = 80


class View(StaticFallbackMixin, PacedChanges, anywidget.AnyWidget):
    """The base class of all views. What the viewer chooses is a trait, and setting it changes the view.

    Attributes:
        about: what the view shows, in two sentences; displayed on request.
        live: whether there is a function behind the view, so that it can answer new requests.
        engine: what answers them in the page itself, without the kernel; empty if there is none.
            See `base.live`.
    """

    about = traitlets.Unicode(help="what am I looking at, in two sentences").tag(sync=True)
    live = traitlets.Bool(False, help="whether a function answers the view").tag(sync=True)
    engine = traitlets.Dict(help="lab, models by name, context, and sentences to try").tag(
        sync=True, content=True, **widget_serialization
    )

    made = traitlets.Dict(help="how a cell makes this view: by which call, and by setting which traits").tag(
        sync=True, content=True
    )

    _esm: Any
    _css: Any
    _shared = traitlets.Instance(SharedScript, allow_none=True).tag(
        sync=True, content=True, **widget_serialization
    )

    #: The call that makes such a view, or empty; its traits in braces: ``"vt.head_lab(model, {sentence})"``.
    _made_by = ""
    #: Traits that this call may make another than they are at first.
    _call_sets: tuple[str, ...] = ()
    #: What it shares with the other views of a studio.
    shares = Shares()
    #: Whether answers only read what the view holds, so that they need not wait until a cell has ended.
    _only_reads = False
    #: Whether a change comes from the page, which has already done what follows from it.
    _from_page = False

    def __init__(self, *, answer: Answer | None = None, traits: Mapping[str, Any] | None = None) -> None:
        """Make a view.

        Args:
            answer: the function that answers requests, or None; its errors for users are shown in the view.
            traits: the first values of the view's traits.
        """
        self._answer = answer
        self._works: dict[str, Work] = {}  # what the page waits for, by the number of its request
        shared = shared_script(getattr(self, "_esm", None), getattr(self, "_css", ""))
        if shared:
            self._esm, self._css = LOADER, ""  # before anywidget makes traits of them
        made = self._how_made(traits or {})
        super().__init__(live=answer is not None, made=made, _shared=shared, **(traits or {}))
        self.on_msg(self._on_message)

    def _how_made(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return how a cell makes this view: see `base/made.ts`."""
        from viz_transformer.widgets.base.state_traits import state_traits

        if not self._made_by:
            return {}
        traits = self.traits()
        usual = {name: traits[name].default(self) for name in state_traits(self)}
        differ = [name for name in usual if name in given and given[name] != usual[name]]
        return {"by": self._made_by, "usual": usual, "always": [*{*self._call_sets, *differ}]}

    def made_with(self, **given: Any) -> None:
        """Add to the call that makes this view what it was given besides, None left out.

        Args:
            given: the arguments by name; short ones of words and whole numbers are written out, and others
                are their name.
        """
        written = [f", {name}={_written(name, value)}" for name, value in given.items() if value is not None]
        if written and self.made:
            self.made = {**self.made, "by": f"{self.made['by'][:-1]}{''.join(written)})"}

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a trait, or refuse the value in one line."""
        with _refusing():
            super().__setattr__(name, value)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Accept what the viewer chose in the page, all of it at once."""
        self._from_page = True
        try:
            with _refusing():
                super().set_state(sync_data)
        finally:
            self._from_page = False

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request, as the page gets it.

        Raises:
            UserError: if no function answers this view, or the request cannot be answered.
        """
        if self._answer is None:
            raise UserError(
                "this view has no live model behind it; make it with vt.head_lab(model) or its like"
            )
        return self._answer(request)

    def requests(self) -> tuple[Schema, ...]:
        """Return the schemas of what the page may ask; see `requests`."""
        return ()

    def questions(self) -> list[dict[str, Any]]:
        """Return the requests whose replies a page without an engine carries with it."""
        return []

    def python_questions(self) -> list[dict[str, Any]]:
        """Return those of `questions` that an engine in the page leaves to Python."""
        return []

    def carried_questions(self) -> list[dict[str, Any]]:
        """Return the requests whose replies an exported page carries, with its engine or without one."""
        return self.python_questions() if self.engine else self.questions()

    def questions_here(self) -> list[dict[str, Any]]:
        """Return the requests that this state needs in a page that was exported in another state."""
        return self.questions()

    def export_bytes(self) -> int:
        """Return about how many bytes the replies to `questions` take in an exported page.

        Computed without making the replies, so that a page that would be too large is refused at once.
        """
        return 0

    def shared_places(self) -> dict[str, str]:
        """Return where each attention is, by kind and layer: ``{"encoder 1": "encoder.1.attention"}``."""
        return {}

    def heading(self) -> str:
        """Return the text that heads an exported page of this view, or an empty text."""
        return ""

    def address(self) -> dict[str, dict[str, Any]]:
        """Return what the address of an exported page says of this view, by trait.

        ``values`` are those that the trait may have, or ``sizes`` says by the trait `kind` how many.
        Where it is as ``usual``, the address leaves it out.
        """
        return {}

    def before_export(self) -> None:
        """Get ready for a page, in which Python can no longer be asked."""

    def figure(self) -> Figure | None:
        """Return what the view shows now as a matplotlib figure; None where words say all."""
        raise NotImplementedError

    def alt_text(self) -> str:
        """Return what the view shows now in a sentence or two, as alternative text."""
        raise NotImplementedError

    def _handle_msg(self, msg: dict[str, Any]) -> None:
        """Take a change or a question in turn with the cells, and the word to stop a question at once."""
        handle = partial(super()._handle_msg, msg)
        data = msg["content"]["data"]
        content = data.get("content") if data.get("method") == "custom" else None
        if isinstance(content, dict) and isinstance(content.get("stop"), str):
            if work := self._works.get(content["stop"]):
                work.stop()
            return
        if content is not None and self._is_read(content):
            handle()
            return
        if isinstance(content, dict) and isinstance(content.get("id"), str):
            self._works.setdefault(content["id"], self._work(content["id"]))
        on_cell_thread(handle)

    def _is_read(self, content: Any) -> bool:
        """Return whether a message of the page only reads what the view holds."""
        return self._only_reads

    def _work(self, name: Any) -> Work:
        return Work(lambda words: self.send({"id": name, "words": words}))

    def _on_message(self, _: View, content: dict[str, Any], __: list[bytes]) -> None:
        """Answer a request of the page; the browser keeps requests and replies in order."""
        if not isinstance(content, dict) or "ask" not in content:
            return
        name = {"id": content.get("id")}
        work = self._works.get(str(name["id"])) or self._work(name["id"])
        try:
            if self._answer is None:
                raise UserError(
                    "this view has no live model behind it; make it with vt.head_lab(model) or its like"
                )
            check_request(content["ask"], self.requests())
            with work.under_way():
                reply, buffers = split_bytes(self.answer(content["ask"]))
            check_reply(buffers)
        except Stopped:
            self.send({**name, "error": "stopped"})
        except UserError as error:
            self.send({**name, "error": str(error)})
        except Exception as error:  # the page must not wait forever; the log has the rest
            self.send({**name, "error": f"{type(error).__name__}: {error}"})
            raise
        else:
            self.send({**name, "reply": reply}, buffers)
        finally:
            self._works.pop(str(name["id"]), None)


@contextmanager
def _refusing() -> Iterator[None]:
    """Refuse values of another type than a trait's, or beyond it, as views refuse any choice: in one line."""
    try:
        yield
    except UserError:
        raise
    except (traitlets.TraitError, OverflowError, RecursionError) as error:
        raise SelectionError(f"{error!s:.300}") from error


def _written(name: str, value: Any) -> str:
    """Return an argument as a call has it: see `View.made_with`."""
    parts = value if isinstance(value, list | tuple) else [value]
    is_plain = all(type(each) in (str, int) for each in parts) and len(repr(value)) < _LONGEST
    return repr(value).replace("{", "\\x7b") if is_plain else name  # a brace would begin a trait's name


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
    """Return tokens as text that can be sent in a message.

    Half of a surrogate pair is not a character, and a message that contains one cannot be encoded.
    """
    return [token.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for token in tokens]
