"""The studio of a live model: its views of one sentence, each a room, as many as suit the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import FunctionType
from typing import Any

import torch
from safetensors.torch import load_file

from viz_transformer._files import bundled
from viz_transformer._text import given_text
from viz_transformer.capturing import capture
from viz_transformer.errors import UserError
from viz_transformer.huggingface_text import HuggingFaceText
from viz_transformer.interpreting import find_sites, score_parts
from viz_transformer.masked_model import MaskedModel
from viz_transformer.text_model import TextModel
from viz_transformer.trace import ForwardTrace, ScoreParts, TrainingTrace, attention_of
from viz_transformer.vocabulary import EOS, MASK, PAD, SOS
from viz_transformer.widgets.architecture.live import architecture_of_text
from viz_transformer.widgets.architecture.view import Architecture
from viz_transformer.widgets.attention_stepper.live import attention_stepper, clearest
from viz_transformer.widgets.attention_stepper.view import AttentionStepper
from viz_transformer.widgets.base.live import give_engine, reader_of, text_for
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.beam_stepper.live import beam_stepper
from viz_transformer.widgets.beam_stepper.view import BeamStepper
from viz_transformer.widgets.block_lab.live import block_lab
from viz_transformer.widgets.block_lab.view import BlockLab
from viz_transformer.widgets.embedding_map import EmbeddingMap
from viz_transformer.widgets.embedding_map.live import embedding_map
from viz_transformer.widgets.explorer import AttentionExplorer, explore, is_small, raw_trace
from viz_transformer.widgets.head_lab.live import head_lab
from viz_transformer.widgets.head_lab.view import HeadLab
from viz_transformer.widgets.mask_lab.live import batch_traits, mask_lab
from viz_transformer.widgets.mask_lab.view import MaskLab
from viz_transformer.widgets.position_clock import PositionClock
from viz_transformer.widgets.position_clock.live import position_clock, positions_of
from viz_transformer.widgets.position_lab.live import position_lab, word_traits
from viz_transformer.widgets.position_lab.view import PositionLab
from viz_transformer.widgets.studio import Room, Studio
from viz_transformer.widgets.training_scrubber import TrainingScrubber, watch_training
from viz_transformer.widgets.translation_lab.live import translation_lab
from viz_transformer.widgets.translation_lab.view import TranslationView

#: A gender decided elsewhere: *her* makes the teacher *la maestra*.
DEFAULT_TEXTS = {
    "translate": "the teacher lost her book",
    "continue": "la vaca no cruzó la calle porque estaba demasiado cansada",
    "fill": "la vaca no cruzó la calle porque estaba demasiado [?]",
}
#: By what a model does, the recorded training of the bundled one.
_RECORDED = {"translate": "en-es", "continue": "language-model", "fill": "masked-model"}


@dataclass(frozen=True)
class _Asked:
    """What a studio is made of: a model, its trace of a text, and where answers come from."""

    model: Any
    tokenizer: Any
    read: Callable[[str], ForwardTrace]
    engine: str | None
    _explored: list[str] = field(default_factory=list)  # the text that its heads are shown of

    def explored(self, text: str) -> ForwardTrace:
        """Return the trace of a text whose heads are shown; `parts` then divides scores of it."""
        self._explored[:] = [text]
        return self.read(text)

    def parts(self, **place: Any) -> ScoreParts:
        """Return the parts of a score in the text whose heads are shown."""
        (text,) = self._explored
        if not isinstance(self.model, TextModel):
            return score_parts(self.model, text, tokenizer=self.tokenizer, **place)
        prompt = self.model.ids(text) if isinstance(self.model, MaskedModel) else text
        return score_parts(self.model.model, prompt, tokenizer=self.model.vocabulary, **place)

    @cached_property
    def reader(self) -> Any:
        """The model as views take it: one of Hugging Face's with its tokenizer."""
        return self.model if self.task else reader_of(self.model, (), "a studio", self.tokenizer)

    @property
    def task(self) -> str:
        """What a model of ours does with a text; "" for any other model."""
        return self.model.task if isinstance(self.model, TextModel) else ""


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

    A door carries the sentence, the kind of attention, its layer, its head, the query and the key along.
    There is a room for each view that suits the model, made when its door is first opened.

    >>> import viz_transformer as vt
    >>> view = vt.studio(vt.load_translator(), "the teacher lost her book")
    >>> list(view.rooms)
    ['model', 'heads', 'head', 'off', 'masks', 'positions', 'writing', 'block', 'vectors', 'training']

    Args:
        model: a translator, language model or masked language model of ours; a model of Hugging Face's, which
            has the rooms that suit it: the whole model, its heads, one head by hand, heads off,
            positions, writing, vectors; or any other model that `vt.capture` reads a text with, which
            has that of its heads.
        text: the first sentence; by default, for ours only, one that suits the bundled model.
        tokenizer: of a model that is not ours, what splits its text.
        room: the key of the room that is open at first: ``"model"``, ``"heads"``, ``"head"`` …
        engine: where answers are computed: ``"page"``, ``"kernel"``, or None for the page if it can.

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
        read = _reading(model, tokenizer)
    asked = _Asked(model, tokenizer, read, engine)
    rooms = {kind.key: made for kind in _ROOMS if (made := kind.room(asked))}
    trace = read(text)
    kind = trace.kinds[-1]
    layer = len(attention_of(trace, kind)) - 1
    head, query = clearest(trace, kind, layer, without_first=not asked.task)
    state = {"sentence": text, "kind": kind, "layer": layer, "head": head, "query": query, "key": None}
    view = Studio(rooms, read, state, room=room, as_page=_as_page)
    if asked.task:
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


def _reading(model: Any, tokenizer: Any) -> Callable[[str], ForwardTrace]:
    """Return what reads a text; an encoder–decoder answers it as it does in the rooms where it writes."""
    if tokenizer is not None and getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        try:
            return HuggingFaceText(model, tokenizer).trace
        except UserError:  # it reads sound, say
            pass
    return partial(_captured, model, tokenizer)


def _captured(model: Any, tokenizer: Any, text: str) -> ForwardTrace:
    return capture(model, text, **({} if tokenizer is None else {"tokenizer": tokenizer}))


def _as_page(values: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the page sets to show another sentence; None for a trace that is sent in parts."""
    if "trace" not in values:
        return values
    return {"data": {"traces": [raw_trace(values["trace"])]}} if is_small(values["trace"]) else None


def _recorded(asked: _Asked, name: str) -> Path:
    """Return a file of the bundled model that does what this one does."""
    return bundled(f"data/{_RECORDED[asked.task]}/{name}")


def _is_recorded(asked: _Asked) -> bool:
    """Whether the model is the bundled one, whose training was recorded."""
    trained = load_file(_recorded(asked, "model.safetensors"))
    weights = asked.model.model.state_dict()
    return trained.keys() == weights.keys() and all(
        torch.equal(each, weights[name].cpu()) for name, each in trained.items()
    )


def _reads_text(asked: _Asked) -> bool:
    """Whether a model reads text behind the calls that views make."""
    try:
        return bool(asked.reader)
    except UserError:
        return False


def _can_write(asked: _Asked) -> bool:
    """Whether a model writes words, of which some could change without a head."""
    return bool(asked.task) or (_reads_text(asked) and isinstance(asked.reader, HuggingFaceText))


def _has_one_stack(asked: _Asked) -> bool:
    """Whether the whole model can be drawn: one of ours, or one with one stack of blocks."""
    if asked.task or not _reads_text(asked):
        return bool(asked.task)
    try:
        return len({site.kind for site in find_sites(asked.model)}) == 1
    except UserError:
        return False


def _batch_of(text: str) -> list[str]:
    """Return a text and its first half, which needs padding beside it."""
    words = text.split()
    return [text, " ".join(words[: (len(words) + 1) // 2])]


def _words_read(asked: _Asked, text: str) -> dict[str, Any]:
    """Return what shows a text in the position lab, once the model has read it."""
    asked.read(text)
    return word_traits(asked.model.vocabulary.words_of(text))


def _has_positions(asked: _Asked) -> bool:
    """Whether a model has a table of positions, or angles by which it turns."""
    try:
        return bool(positions_of(asked.model))
    except UserError:
        return False


def _last_word(asked: _Asked, text: str) -> str:
    """Return the last word of a text that is no mark."""
    trace = asked.read(text)
    words = [*(trace.source_tokens or trace.target_tokens)]
    marks = {PAD, SOS, EOS, MASK, *getattr(asked.tokenizer, "all_special_tokens", ())}
    return next((word for word in reversed(words) if word not in marks), words[-1])


# --- the rooms ------------------------------------------------------------------------------------

_ANY = ("translate", "continue", "fill")


@dataclass(frozen=True)
class _Kind:
    """A kind of room.

    Attributes:
        key: by which the studio has it.
        name: the text on its door.
        view: the class of its view.
        tasks: of the models that it suits; "" is any model that is not ours.
        make: makes its view of a text.
        follow: of a view that has no sentence to set, the values that show a text in it.
        suits: whether a model that has one of these tasks suits it too.
    """

    key: str
    name: str
    view: type[View]
    tasks: tuple[str, ...]
    make: Callable[[_Asked, str], View]
    follow: Callable[[_Asked, str], dict[str, Any]] | None = None
    suits: Callable[[_Asked], bool] = lambda _: True

    def room(self, asked: _Asked) -> Room | None:
        """Return such a room; None where the model does not suit it."""
        if asked.task not in self.tasks or not self.suits(asked):
            return None
        follow = partial(self.follow, asked) if self.follow else None
        return Room(self.name, self.view, partial(self.make, asked), follow)


#: The rooms in the order of their doors; another room is one more.
_ROOMS: tuple[_Kind, ...] = (
    _Kind(
        "model",
        "The whole model",
        Architecture,
        (*_ANY, ""),
        lambda asked, text: architecture_of_text(asked.reader, text, asked.engine),
        suits=_has_one_stack,
    ),
    _Kind(
        "heads",
        "Its heads",
        TranslationView,
        ("translate",),
        lambda asked, text: translation_lab(asked.model, text, asked.engine),
    ),
    _Kind(
        "heads",
        "Its heads",
        AttentionExplorer,
        ("continue", "fill", ""),
        lambda asked, text: explore(asked.explored(text), score_parts=asked.parts),
        lambda asked, text: {"trace": asked.explored(text)},
    ),
    _Kind(
        "head",
        "One head by hand",
        AttentionStepper,
        (*_ANY, ""),
        lambda asked, text: attention_stepper(asked.reader, text, engine=asked.engine),
        suits=_reads_text,
    ),
    _Kind(
        "off",
        "Heads off",
        HeadLab,
        (*_ANY, ""),
        lambda asked, text: head_lab(
            asked.model, text, asked.engine if asked.task else None, tokenizer=asked.tokenizer
        ),
        suits=_can_write,
    ),
    _Kind(
        "masks",
        "Masks",
        MaskLab,
        _ANY,
        lambda asked, text: mask_lab(asked.model, _batch_of(text), asked.engine),
        lambda asked, text: batch_traits([asked.read(each) for each in _batch_of(text)]),
    ),
    _Kind(
        "positions",
        "Positions",
        PositionLab,
        ("translate",),
        lambda asked, text: position_lab(asked.model, text, engine=asked.engine),
        _words_read,
    ),
    _Kind(
        "positions",
        "Positions",
        PositionClock,
        ("",),
        lambda asked, _: position_clock(asked.model),
        suits=_has_positions,
    ),
    _Kind(
        "writing",
        "Writing",
        BeamStepper,
        ("translate", "continue", ""),
        lambda asked, text: beam_stepper(asked.reader, text, engine=asked.engine),
        suits=_can_write,
    ),
    _Kind(
        "block",
        "A block",
        BlockLab,
        ("translate",),
        lambda asked, text: block_lab(asked.model, text, engine=asked.engine),
    ),
    _Kind(
        "vectors",
        "Vectors",
        EmbeddingMap,
        (*_ANY, ""),
        lambda asked, text: embedding_map(asked.model, _last_word(asked, text), tokenizer=asked.tokenizer),
        suits=_reads_text,
    ),
    _Kind(
        "training",
        "Training",
        TrainingScrubber,
        _ANY,
        lambda asked, _: watch_training(
            TrainingTrace.load(bundled(f"data/{_RECORDED[asked.task]}/training.npz"))
        ),
        suits=_is_recorded,
    ),
)
