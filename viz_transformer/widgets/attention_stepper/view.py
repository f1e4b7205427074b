"""The attention stepper: one query of one head, worked through number by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from viz_transformer.errors import UserError
from viz_transformer.trace import AttentionSteps, ComputedHead, code_lines, compute_head
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.traits import Index, SelectionError
from viz_transformer.widgets.base.view import View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A sentence, a kind and a layer in; that layer's inputs and matrices out.
Source = Callable[[str, str, int], AttentionSteps]

_ABOUT = (
    "One word looks at others: each step computes the numbers of the next, from the words' vectors "
    "to the weights and on to what the attention says. Point at a number to see the sum that makes "
    "it, with its terms marked in the pictures beside it, and the line of code that computes it."
)
#: A page that carried more than this of other layers would be slow to open.
_MOST_CARRIED = 4 * 1024 * 1024
_ARRAYS = ("x", "memory", "w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o")
_PLACE = ("text", "kind", "layer")


class AttentionStepper(View):
    """Step through attention with its numbers: one query of one head of one layer.

    What the viewer chooses is a trait, and setting the trait moves the view. All count from 0.

    Attributes:
        step: index of the step shown, among ``view.steps.steps``.
        head: index of the head.
        query: index of the query, the word that looks.
        key: index of the key that is followed through the steps, or None.
        column: index of the number of a vector that is followed, or None.
        scale: whether the scores are divided by √d_head.
        mask: whether the mask is applied.
        temperature: the scores are divided by it too; above 0.
        text: the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer.

    `text`, `kind` and `layer` can be set where a live model stands behind the view. `scale`,
    `mask` and `temperature` change this head alone: the vectors x stay as the model made them.
    A value that does not fit raises SelectionError, a UserError, and changes nothing.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    data = traitlets.Dict(help="one layer as the page reads it; see `pack`").tag(sync=True)
    places = traitlets.List(help="the kinds and layers to choose from").tag(sync=True, content=True)
    step = Index(0, help="step, counted from 0").tag(sync=True)
    head = Index(0, help="head, counted from 0").tag(sync=True)
    query = Index(0, help="query, counted from 0").tag(sync=True)
    key = Index(None, allow_none=True, help="followed key, counted from 0").tag(sync=True)
    column = Index(None, allow_none=True, help="followed number of a vector").tag(sync=True)
    scale = traitlets.Bool(True, help="divide the scores by √d_head").tag(sync=True)
    mask = traitlets.Bool(True, help="apply the mask").tag(sync=True)
    temperature = traitlets.Float(1.0, help="divides the scores; above 0").tag(sync=True)
    text = traitlets.Unicode(help="the sentence").tag(sync=True)
    kind = traitlets.Unicode(help="encoder, decoder or cross").tag(sync=True)
    layer = Index(0, help="layer, counted from 0").tag(sync=True)

    def __init__(
        self,
        steps: AttentionSteps,
        *,
        text: str = "",
        source: Source | None = None,
        places: Sequence[tuple[str, int]] = (),
        traits: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a view of one layer.

        Args:
            steps: the layer's inputs and matrices.
            text: the sentence, as `source` takes it.
            source: what gives another sentence's or layer's steps, or None.
            places: the kinds and layers that `source` knows.
            traits: the first values of `step`, `head`, `query`, `key`, `column`, `scale`, `mask`
                or `temperature`.

        Raises:
            UserError: if `steps` is none, or a first value does not fit it.
        """
        self._steps = _checked(steps)
        self._source = source
        self._asked: tuple[tuple[Any, ...], AttentionSteps] | None = None
        self._loaded = {"text": text, "kind": steps.kind, "layer": steps.layer}
        super().__init__(
            answer=None if source is None else self._reply,
            traits={
                "about": _ABOUT,
                "scale": steps.scale,
                **self._loaded,
                "data": pack(steps, text),
                "places": [list(place) for place in places],
                **(traits or {}),
            },
        )

    @property
    def steps(self) -> AttentionSteps:
        """The layer that is worked through."""
        return self._steps

    def worked(self) -> ComputedHead:
        """Return every number of the query and head chosen, under the switches as they are."""
        return compute_head(
            self._steps,
            self.head,
            self.query,
            scale=self.scale,
            mask=self.mask,
            temperature=self.temperature,
        )

    def __repr__(self) -> str:
        """Name what is chosen: what a reader of a log sees in the view's place."""
        return (
            f"AttentionStepper(kind={self.kind!r}, layer={self.layer}, head={self.head}, "
            f"query={self.query}, step={self.step})"
        )

    def questions(self) -> list[dict[str, Any]]:
        """Ask for this sentence in every other layer, as long as the page stays small."""
        places = [place for place in self.places if place != [self.kind, self.layer]]
        if self._steps.nbytes * len(places) > _MOST_CARRIED:
            return []
        return [{"text": self.text, "kind": kind, "layer": layer} for kind, layer in places]

    def questions_here(self) -> list[dict[str, Any]]:
        """Return the request for this layer, whose numbers a page written at another lacks."""
        return [dict(self._loaded)] if self.live else []

    def figure(self) -> Figure:
        """Return the steps of the chosen query as one matplotlib figure."""
        from viz_transformer.plots import plot_attention_steps

        return plot_attention_steps(
            self._steps,
            self.head,
            self.query,
            scale=self.scale,
            mask=self.mask,
            temperature=self.temperature,
        )

    def alt_text(self) -> str:
        """Return what the chosen query looks at, in words."""
        from viz_transformer.plots import describe_steps

        return describe_steps(self._steps, self.head, self.query, self.worked())

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer the page: the same layer's bytes for another sentence, kind or layer."""
        text, kind, layer = (request.get(name, self._loaded[name]) for name in _PLACE)
        return pack(self._ask(text, kind, layer), text)

    def _ask(self, text: str, kind: str, layer: int) -> AttentionSteps:
        place = (text, kind, layer)
        if self._asked is None or self._asked[0] != place:
            if self._source is None:
                raise SelectionError(
                    f"this view shows {self._loaded}, and no live model stands behind it that "
                    "could show another; make it with vt.attention_stepper(translator, text)"
                )
            self._asked = (place, _checked(self._source(*place)))
        return self._asked[1]

    @traitlets.validate(*_PLACE)
    def _check_place(self, proposal: dict[str, Any]) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        # Together, as the page sets them, all three have their new values here; singly, one has.
        place = {each: getattr(self, each) for each in _PLACE} | {name: value}
        if place != self._loaded:
            self._show(place)
        return value

    def _show(self, place: dict[str, Any]) -> None:
        try:
            steps = self._ask(**place)
        except UserError as error:
            raise SelectionError(str(error)) from error
        # One message for all of it: the page never works new words through old matrices.
        with self.hold_sync(), self.hold_trait_notifications():
            self._steps, self._loaded = steps, place
            self.data = pack(steps, place["text"])
            self.step = min(self.step, len(steps.steps) - 1)
            self.head = min(self.head, steps.n_heads - 1)
            self.query = min(self.query, len(steps.query_tokens) - 1)
            if self.key is not None and self.key >= len(steps.key_tokens):
                self.key = None

    @traitlets.validate("step", "head", "query", "key", "column")
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        steps = self._steps
        joined = 0 if steps.w_o is None else len(steps.w_o)
        size = {
            "step": len(steps.steps),
            "head": steps.n_heads,
            "query": len(steps.query_tokens),
            "key": len(steps.key_tokens),
            "column": max(steps.x.shape[1], steps.d_head, joined),
        }[name]
        if value is not None and not 0 <= value < size:
            raise SelectionError(f"{name}={value}, but here there are {size}; choose 0 to {size - 1}")
        return value

    @traitlets.validate("temperature")
    def _check_temperature(self, proposal: dict[str, Any]) -> float:
        value = proposal["value"]
        if not 0 < value < float("inf"):
            raise SelectionError(f"temperature={value!r} must be a finite number above 0")
        return value


def pack(steps: AttentionSteps, text: str = "") -> dict[str, Any]:
    """Return what the page reads of a layer: names, sizes and lines, and arrays as bytes.

    Arrays are little-endian float32 in C order, and the mask one byte a place, so that the page
    computes from the very numbers that Python has. An array that the layer has not is None.
    """
    return {
        "text": text,
        "kind": steps.kind,
        "layer": steps.layer,
        "steps": list(steps.steps),
        "queries": sendable(steps.query_tokens),
        "keys": sendable(steps.key_tokens),
        "reads": None if steps.query_reads is None else sendable(steps.query_reads),
        "heads": steps.n_heads,
        "d_model": steps.x.shape[1],
        "d_head": steps.d_head,
        "lines": code_lines(steps),
        "mask": None if steps.mask is None else steps.mask.astype(np.uint8).tobytes(),
        **{name: _bytes(getattr(steps, name)) for name in _ARRAYS},
    }


def _bytes(array: np.ndarray | None) -> bytes | None:
    return None if array is None else array.astype("<f4").tobytes()


def _checked(steps: Any) -> AttentionSteps:
    if not isinstance(steps, AttentionSteps):
        raise UserError(
            f"the stepper shows AttentionSteps, not {type(steps).__name__}; make the view with "
            "vt.attention_stepper(translator, text), or give it AttentionSteps(...)"
        )
    return steps
