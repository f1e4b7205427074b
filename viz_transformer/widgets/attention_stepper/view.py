"""The attention stepper's view: one query of one head, worked through number by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from viz_transformer.errors import UserError
from viz_transformer.trace import AttentionSteps, ComputedHead, compute_head
from viz_transformer.widgets.attention_stepper.payload import check_steps, layer_payload
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import TEXT, Schema, one_of, optional, whole
from viz_transformer.widgets.base.shares import HEAD, PAIR, Shares
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: From a sentence, a kind and a layer to that layer's inputs and matrices.
Source = Callable[[str, str, int], AttentionSteps]

_ABOUT = (
    "One word attends to others, in steps: each computes the numbers of the next, from the words' "
    "vectors to the weights and then to the result. Point at a number to see the sum that makes it, "
    "with its terms marked in the pictures beside it, and the line of code that computes it."
)
#: A page that carries more than this of other layers is slow to open.
_MAX_CARRIED_BYTES = 4 * 1024 * 1024
_PLACE = ("text", "kind", "layer")


class AttentionStepper(View):
    """Step through attention with its numbers: one query of one head of one layer.

    What the viewer chooses is a trait, and setting the trait moves the view. All count from 0.

    >>> import viz_transformer as vt
    >>> stepper = vt.thinking_machines()
    >>> stepper.step = 4
    >>> stepper.kind, stepper.query
    ('encoder', 0)

    Attributes:
        step: index of the step shown, among ``view.steps.steps``.
        head: index of the head.
        query: index of the query, the word that attends.
        key: index of the key that is followed through the steps, or None.
        column: index of the number of a vector that is followed, or None.
        scale: whether the scores are divided by √d_head.
        mask: whether the mask is applied.
        temperature: the scores are divided by it too; above 0.
        text: the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer.
        text_size: size of all text; 1 is the usual, 2 suits a projector.

    `text`, `kind` and `layer` can be set where the view has a live model. `scale`,
    `mask` and `temperature` change this head alone: the vectors x stay as the model made them.
    A value that does not fit raises SelectionError, a UserError, and leaves the view unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.attention_stepper(model, {text})"
    _call_sets = ("layer", "head", "query")
    shares = Shares({"sentence": "text", **HEAD, **PAIR})

    data = traitlets.Dict(help="one layer as the page reads it; see `layer_payload`").tag(
        sync=True, content=True
    )
    places: traitlets.List[Any] = traitlets.List(help="the kinds and layers to choose from").tag(
        sync=True, content=True
    )
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
    text_size = TextSize()

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
            places: the kinds and layers that `source` has.
            traits: the first values of `step`, `head`, `query`, `key`, `column`, `scale`, `mask`
                or `temperature`.

        Raises:
            UserError: if `steps` is none, or a first value does not fit it.
        """
        self._steps = check_steps(steps)
        self._source = source
        self._fetched: tuple[tuple[Any, ...], AttentionSteps] | None = None
        self._loaded = {"text": text, "kind": steps.kind, "layer": steps.layer}
        super().__init__(
            answer=None if source is None else self._reply,
            traits={
                "about": _ABOUT,
                "scale": steps.scale,
                **self._loaded,
                "data": layer_payload(steps, text),
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
        return compute_head(self._steps, **self._choice())

    def __repr__(self) -> str:
        """Return what is chosen, for a log or a page that cannot show the view."""
        return (
            f"AttentionStepper(kind={self.kind!r}, layer={self.layer}, head={self.head}, "
            f"query={self.query}, step={self.step})"
        )

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        kinds = {kind for kind, _ in self.places}
        return (
            {"text": optional(TEXT), "kind": optional(one_of(kinds)), "layer": optional(whole(0, 1_000))},
        )

    def questions(self) -> list[dict[str, Any]]:
        """Return requests for this sentence in every other layer, if the page stays small."""
        places = [place for place in self.places if place != [self.kind, self.layer]]
        if self._steps.nbytes * len(places) > _MAX_CARRIED_BYTES:
            return []
        return [{"text": self.text, "kind": kind, "layer": layer} for kind, layer in places]

    def questions_here(self) -> list[dict[str, Any]]:
        """Return the request for this layer, whose numbers a page written at another lacks."""
        return [dict(self._loaded)] if self.live else []

    def figure(self) -> Figure:
        """Return the steps of the chosen query as one matplotlib figure."""
        from viz_transformer.plots import plot_attention_steps

        return plot_attention_steps(self._steps, **self._choice())

    def alt_text(self) -> str:
        """Return what the chosen query looks at, in words."""
        from viz_transformer.plots import describe_steps

        return describe_steps(self._steps, self.head, self.query, self.worked())

    def _choice(self) -> dict[str, Any]:
        """The head, the query and the switches: what the numbers are computed for."""
        names = ("head", "query", "scale", "mask", "temperature")
        return {name: getattr(self, name) for name in names}

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the payload of another sentence, kind or layer."""
        text, kind, layer = (request.get(name, self._loaded[name]) for name in _PLACE)
        return layer_payload(self._fetch(text, kind, layer), text)

    def _fetch(self, text: str, kind: str, layer: int) -> AttentionSteps:
        place = (text, kind, layer)
        if self._fetched is None or self._fetched[0] != place:
            if self._source is None:
                raise SelectionError(
                    f"this view shows {self._loaded} and has no live model for another; "
                    "make it with vt.attention_stepper(translator, text)"
                )
            self._fetched = (place, check_steps(self._source(*place)))
        return self._fetched[1]

    @traitlets.validate(*_PLACE)
    def _check_place(self, proposal: dict[str, Any]) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        # The page sets all three at once, and then all have their new values here; otherwise one has.
        place = {each: getattr(self, each) for each in _PLACE} | {name: value}
        if place != self._loaded:
            self._load(place)
        return value

    def _load(self, place: dict[str, Any]) -> None:
        try:
            steps = self._fetch(**place)
        except UserError as error:
            raise SelectionError(str(error)) from error
        # One message for all of it, so that the page never works new words through old matrices.
        with self.hold_sync(), self.hold_trait_notifications():
            self._steps, self._loaded = steps, place
            self.data = layer_payload(steps, place["text"])
            self.step = min(self.step, len(steps.steps) - 1)
            self.head = min(self.head, steps.n_heads - 1)
            self.query = min(self.query, len(steps.query_tokens) - 1)
            if self.key is not None and self.key >= len(steps.key_tokens):
                self.key = None

    @traitlets.validate("step", "head", "query", "key", "column")
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        steps = self._steps
        concatenated = 0 if steps.w_o is None else len(steps.w_o)
        size = {
            "step": len(steps.steps),
            "head": steps.n_heads,
            "query": len(steps.query_tokens),
            "key": len(steps.key_tokens),
            "column": max(steps.x.shape[1], steps.d_head, concatenated),
        }[name]
        check_index(name, value, size)
        return value

    @traitlets.validate("temperature")
    def _check_temperature(self, proposal: dict[str, Any]) -> float:
        value = proposal["value"]
        if not 0 < value < float("inf"):
            raise SelectionError(f"temperature={value!r} must be a finite number above 0")
        return value
