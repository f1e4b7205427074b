"""The studio of a live model: its views of one sentence, each a room, as many as suit the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

from viz_transformer._text import given_text
from viz_transformer.errors import UserError
from viz_transformer.text_model import TextModel
from viz_transformer.trace import ForwardTrace, attention_of
from viz_transformer.tracing import capture
from viz_transformer.translator import Translator
from viz_transformer.widgets.architecture.live import architecture_of_text
from viz_transformer.widgets.attention_stepper.live import attention_stepper, clearest
from viz_transformer.widgets.base.live import give_engine, text_for
from viz_transformer.widgets.explorer import explore, is_small, raw_trace
from viz_transformer.widgets.studio import Room, Studio
from viz_transformer.widgets.translation_lab.live import translation_lab

#: A gender decided elsewhere: *her* makes the teacher *la maestra*.
DEFAULT_TEXTS = {
    "translate": "the teacher lost her book",
    "continue": "la vaca no cruzó la calle porque estaba demasiado cansada",
    "fill": "la vaca no cruzó la calle porque estaba demasiado [?]",
}
_SAME = {name: name for name in ("kind", "layer", "head", "query", "text_size")}
#: More steps than any sentence has: the last.
_END = 1_000_000


@dataclass(frozen=True)
class _Asked:
    """What a studio is made of: a model, a text, what the model makes of it, and who answers."""

    model: Any
    text: str
    trace: ForwardTrace
    engine: str | None


def studio(
    model: Any,
    text: str | None = None,
    *,
    tokenizer: Any = None,
    room: str = "heads",
    engine: str | None = None,
) -> Studio:
    """Return all views of one sentence, as rooms with doors between them.

        vt.studio(translator, "the teacher lost her book")
        vt.studio(gpt2, "The cat sat on the mat", tokenizer=tokenizer)

    A door carries the sentence, the kind of attention, its layer, its head and the query along. There is a
    room for each view that suits the model: *The whole model*, *Its heads*, *One head by hand*.

    >>> import viz_transformer as vt
    >>> view = vt.studio(vt.load_translator(), "the teacher lost her book")
    >>> list(view.rooms)
    ['model', 'heads', 'head']

    Args:
        model: a translator, language model or masked-word model of ours; or any other model that
            `vt.capture` reads a text with, of which there is the room of its heads.
        text: the first sentence; by default, for ours only, one that suits the bundled model.
        tokenizer: of a model that is not ours, what splits its text.
        room: the room that is open at first: ``"model"``, ``"heads"`` or ``"head"``.
        engine: who answers the views: ``"page"``, ``"kernel"``, or None for the page if it can.

    Raises:
        UserError: if the model cannot read the text, it has no such room, or the page cannot run it.
    """
    if isinstance(model, TextModel):
        if tokenizer is not None:
            raise UserError(f"{model.name} has its own vocabulary; leave tokenizer= out")
        text = text_for(model, text, DEFAULT_TEXTS, "a studio")
        read: Callable[[str], ForwardTrace] = model.trace
    else:
        text = _text_for_other(model, text, engine)
        read = partial(_captured, model, tokenizer)
    asked = _Asked(model, text, read(text), engine)
    rooms = {key: made for key, make in _ROOMS.items() if (made := make(asked))}
    kind = asked.trace.kinds[-1]
    layer = len(attention_of(asked.trace, kind)) - 1
    head, query = clearest(asked.trace, kind, layer)
    state = {"sentence": text, "kind": kind, "layer": layer, "head": head, "query": query}
    follows = [each for each in rooms.values() if each.follows]
    view = Studio(
        rooms, read, state, room=room, answer=(lambda request: _reply(view, request)) if follows else None
    )
    if follows and isinstance(model, TextModel):
        give_engine(view, "studio", model, engine)
    return view


def _text_for_other(model: Any, text: str | None, engine: str | None) -> str:
    """Return the text for a model that is not ours."""
    if isinstance(model, str | bytes | int | float | list | tuple | dict | FunctionType):
        raise UserError(
            f"{model!r:.60} is no model; give vt.load_translator(), vt.load_language_model(), "
            "vt.load_masked_model(), or a torch or Hugging Face model with its tokenizer="
        )
    if text is None:
        raise UserError(
            f"a {type(model).__name__} has no text of its own to begin with; give one: "
            "vt.studio(model, text, tokenizer=tokenizer)"
        )
    if engine not in ("kernel", None):
        raise UserError(f"engine={engine!r}, but only the kernel runs this model; leave engine= out")
    return given_text(text)


def _captured(model: Any, tokenizer: Any, text: str) -> ForwardTrace:
    return capture(model, text, **({} if tokenizer is None else {"tokenizer": tokenizer}))


def _reply(view: Studio, request: dict[str, Any]) -> dict[str, Any]:
    """Return the trace of a text for the room that follows; a large one is sent to it in parts."""
    trace = view.trace_of(request["text"])
    if is_small(trace):
        return {"trace": raw_trace(trace)}
    for heads in (view.rooms[key] for key, door in view.doors.items() if door["follows"]):
        heads.trace = trace
    return {"trace": None}


# --- the rooms: each returns None where the model does not suit it ---------------------------------


def _whole_model(asked: _Asked) -> Room | None:
    try:
        view = architecture_of_text(asked.model, asked.text, asked.engine)
    except UserError:
        return None
    return Room(
        "The whole model",
        view,
        {"sentence": "sentence", "place": "box", "head": "head", "query": "row", "text_size": "text_size"},
        places={
            f"{kind} {layer}": f"{'encoder' if kind == 'encoder' else 'decoder'}.{layer}.{part}"
            for kind, n_layers in asked.model.config.attention_layers.items()
            for layer in range(n_layers)
            for part in ["cross_attention" if kind == "cross" else "self_attention"]
        },
        also={"step": _END},
    )


def _heads(asked: _Asked) -> Room:
    if isinstance(asked.model, Translator):
        lab = translation_lab(asked.model, asked.text, asked.engine)
        inside = {name: f"explorer.{name}" for name in _SAME}
        return Room("Its heads", lab, {"sentence": "sentence", **inside})
    return Room("Its heads", explore(asked.trace), _SAME, follows=True)


def _one_head(asked: _Asked) -> Room | None:
    try:
        view = attention_stepper(asked.model, asked.text, engine=asked.engine)
    except UserError:
        return None
    return Room("One head by hand", view, {"sentence": "text", **_SAME})


#: The rooms in the order of their doors; another room is one more line.
_ROOMS: dict[str, Callable[[_Asked], Room | None]] = {
    "model": _whole_model,
    "heads": _heads,
    "head": _one_head,
}
