"""What a viewer chooses of a search: the traits of `BeamStepper`, and what they may be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import traitlets

from viz_transformer.errors import UserError
from viz_transformer.widgets.base.traits import Index, SelectionError
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.beam_stepper.payload import Found, attention_of

if TYPE_CHECKING:
    from viz_transformer.trace import DecodeTrace

#: For each number that a search is made with, what it must be.
_RANGES = {
    "beam_width": (lambda value: value >= 1, "1 or more"),
    "length_penalty": (lambda value: 0 <= value < math.inf, "0 or more"),
    "temperature": (lambda value: 0 < value < math.inf, "above 0"),
    "top_k": (lambda value: value is None or value >= 1, "1 or more, or None for all"),
    "top_p": (lambda value: value is None or 0 < value <= 1, "above 0, up to 1, or None for all"),
    "seed": (lambda value: value >= 0, "0 or more"),
    "text_size": (lambda value: 0.5 <= value <= 4, "0.5 to 4, 1 for the usual"),
}
_ASKED = ("sentence", "method", *(name for name in _RANGES if name != "text_size"))


class BeamTraits(View):
    """The traits of `BeamStepper`; a value that makes no sense is refused and changes nothing."""

    sentence = traitlets.Unicode(help="what is translated").tag(sync=True)
    checkpoint = traitlets.Unicode(help="name of the search or the model").tag(sync=True)
    checkpoints = traitlets.List(traitlets.Unicode(), help="their names").tag(sync=True, content=True)
    method = traitlets.Enum(("beam", "sample"), "beam", help="way to write").tag(sync=True)
    beam_width = Index(4, help="hypotheses followed").tag(sync=True)
    length_penalty = traitlets.Float(0.6, help="of the scores, 0 or more").tag(sync=True)
    temperature = traitlets.Float(1.0, help="of sampling, above 0").tag(sync=True)
    top_k = Index(None, allow_none=True, help="words left to sample from").tag(sync=True)
    top_p = traitlets.Float(None, allow_none=True, help="probability left").tag(sync=True)
    seed = Index(0, help="of the draws").tag(sync=True)
    step = Index(help="the last step shown, counted from 0").tag(sync=True)
    chosen = Index(None, allow_none=True, help="candidate of the step").tag(sync=True)
    layer = Index(help="layer of the attention shown").tag(sync=True)
    head = Index(None, allow_none=True, help="head, or None: the mean").tag(sync=True)
    text_size = traitlets.Float(1.0, help="size of all text and pictures, 0.5 to 4").tag(sync=True)
    data = traitlets.List(help="the searches that are known").tag(sync=True)

    _ready = False  # whether a search is known: while one is made, nothing can be checked

    def _ask(self, request: dict[str, Any]) -> Found:
        """Return a search, remembered or asked for."""
        raise NotImplementedError

    def _request(self, **other: str) -> dict[str, Any]:
        """Return what the settings ask for, with another text or checkpoint if one is given."""
        raise NotImplementedError

    @property
    def search(self) -> DecodeTrace:
        """The search that is shown."""
        raise NotImplementedError

    @traitlets.validate(*_RANGES)
    def _check_range(self, proposal: dict[str, Any]) -> float | None:
        name, value = proposal["trait"].name, proposal["value"]
        fits, expected = _RANGES[name]
        if not fits(value):
            raise SelectionError(f"{name}={value!r} must be {expected}")
        self._check_asked(name, value)
        return value

    @traitlets.validate("method")
    def _check_method(self, proposal: dict[str, Any]) -> str:
        self._check_asked("method", proposal["value"])
        return proposal["value"]

    @traitlets.validate("sentence", "checkpoint")
    def _check_text(self, proposal: dict[str, Any]) -> str:
        name, value = proposal["trait"].name, proposal["value"]
        if name == "checkpoint" and value not in (self.checkpoints or [""]):
            raise SelectionError(f"checkpoint={value!r}, but there are {self.checkpoints}")
        self._check_asked(name, value)
        if self._ready and name == "sentence":
            try:
                self._ask(self._request(text=value))
            except UserError as error:  # a TraitError, so that the old sentence stays
                raise SelectionError(str(error)) from error
        return value

    @traitlets.validate("step", "chosen", "layer", "head")
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        if not self._ready or value is None:
            return value
        search = self.search
        size = {
            "step": lambda: len(search.steps),
            "chosen": lambda: len(search.steps[self.shown_step].candidates),
            "layer": lambda: self._looks()[1],
            "head": lambda: self._looks()[2],
        }[name]()
        if not 0 <= value < max(1, size):
            raise SelectionError(
                f"{name}={value}, but there are {size} of these; choose 0 to {max(0, size - 1)}"
            )
        return value

    @property
    def shown_step(self) -> int:
        """The step that is shown: a shorter search has not as many."""
        return min(self.step, len(self.search.steps) - 1)

    def _looks(self) -> tuple[int, ...]:
        looks = attention_of(self.search, 0)
        return (0, 0, 0, 0) if looks is None else looks.shape

    def _check_asked(self, name: str, value: object) -> None:
        """Refuse to change what a search was made with, where there is no model to make another."""
        if self._ready and name in _ASKED and not self.live and value != getattr(self, name):
            raise SelectionError(
                f"{name}={value!r} asks for another search, and this view was made of finished "
                "ones; make it with vt.beam_stepper(translator, text)"
            )
