"""The training scrubber's view: one recorded training, or two side by side, moment by moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import traitlets

from viz_transformer.analysis.measures import most_sharpened
from viz_transformer.trace import TrainingTrace, attention_of
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import Schema, whole
from viz_transformer.widgets.base.shares import HEAD, Shares
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.training_scrubber.payload import (
    check_runs,
    kinds_of,
    sentence_bytes,
    sentence_payload,
    sentences_sent,
    training_payload,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "A model as it was at chosen moments of its training. Drag the handle along the loss: the loss falls, "
    "the text becomes right, and the weights of the heads, nearly equal at first, become sharper. The "
    "pictures above the loss are one head at some of the moments, each above its step. The decoder's "
    "input is always the right text, so its words are the same at every moment. Choose a cell to follow "
    "its weight."
)
_ABOUT_TWO = (
    " Two runs are shown side by side: on the right is the moment of the second whose step is nearest."
)


class TrainingScrubber(View):
    """Drag through a training; with a second one, see both side by side.

    What the viewer chooses is a trait, and setting the trait moves the view; all count from 0.
    ``view.trace.moments[view.moment]`` is what is shown.

    >>> import viz_transformer as vt
    >>> view = vt.watch_training(vt.load_training("en-es"))
    >>> view.moment = 0  # before the first step

    Attributes:
        moment: index of the moment, among ``view.trace.moments``.
        sentence: index of the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``: whose heads are shown.
        layer: layer of the head that is shown large.
        head: its index in the layer.
        other_layer: the same of the second run, or None where there is none.
        other_head: the same.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting one of them to what the training does not have raises SelectionError, a UserError, and
    leaves the view unchanged. A change of `kind` keeps as much of the selection as still fits.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.watch_training(training)"
    _only_reads = True
    shares = Shares(HEAD)

    data = traitlets.Dict(help="the runs as the page reads them; see `training_payload`").tag(
        sync=True, content=True
    )
    moment = Index(0, help="the moment, counted from 0").tag(sync=True)
    sentence = Index(0, help="the sentence, counted from 0").tag(sync=True)
    kind = traitlets.Unicode(help="encoder, decoder or cross").tag(sync=True)
    layer = Index(0, help="layer of the chosen head, counted from 0").tag(sync=True)
    head = Index(0, help="the chosen head, counted from 0").tag(sync=True)
    other_layer = Index(None, allow_none=True, help="the same of the second run").tag(sync=True)
    other_head = Index(None, allow_none=True, help="the same of the second run").tag(sync=True)
    text_size = TextSize()

    def __init__(
        self,
        trace: TrainingTrace,
        other: TrainingTrace | None = None,
        *,
        traits: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a view of one training or of two, at the moment from which the text is right.

        The head that sharpened most is chosen.

        Args:
            trace: the training.
            other: another on the same sentences, of any size of model; or None.
            traits: the first values of traits by name.

        Raises:
            UserError: if these are no trainings, were watched on different sentences, take too
                many bytes, or do not have what is selected.
        """
        self._runs = runs = check_runs(trace, other)
        if other is not None:
            self._made_by = "vt.watch_training(training, other)"
        chosen = dict(traits or {})
        kinds = kinds_of(runs)
        kind = chosen.setdefault("kind", kinds[-1])  # cross is last, where present
        sentence = chosen.get("sentence", 0)
        # What does not fit is refused by the validators.
        self._first = sentence if sentence in range(len(trace.sources)) else 0
        chosen.setdefault("moment", _first_right(trace, self._first))
        if kind in kinds:
            chosen = {**self._sharpest(kind), **chosen}
        super().__init__(
            answer=self._reply,
            traits={
                "about": _ABOUT + (_ABOUT_TWO if other is not None else ""),
                "data": training_payload(runs, self._first),
                **chosen,
            },
        )

    @property
    def trace(self) -> TrainingTrace:
        """The training that is shown."""
        return self._runs[0]

    @property
    def other(self) -> TrainingTrace | None:
        """The training beside it, or None."""
        return self._runs[1] if len(self._runs) > 1 else None

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        return ({"sentence": whole(0, len(self.trace.sources) - 1)},)

    def questions(self) -> list[dict[str, Any]]:
        """Return requests for the heads of every sentence that is not sent with the view."""
        sent = sentences_sent(self._runs, self._first)
        every = range(len(self.trace.sources))
        return [{"sentence": each} for each in every if each not in sent]

    def export_bytes(self) -> int:
        """Return about how many bytes these heads take, as base64."""
        asked = (request["sentence"] for request in self.questions())
        return sum(sentence_bytes(self._runs, each) for each in asked) * 4 // 3

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure."""
        from viz_transformer.plots.training import plot_training

        return plot_training(self.trace, self.other, **self._chosen())

    def alt_text(self) -> str:
        """Return what the view shows now in words."""
        from viz_transformer.plots.training import describe_training

        return describe_training(self.trace, self.other, **self._chosen())

    def __repr__(self) -> str:
        """Return what is chosen, for a log or a page that cannot show the view."""
        chosen = ", ".join(f"{name}={value!r}" for name, value in self._chosen().items())
        return f"TrainingScrubber({self.trace.name!r}, {chosen})"

    def _chosen(self) -> dict[str, Any]:
        names = ("moment", "sentence", "kind", "layer", "head", "other_layer", "other_head")
        return {name: getattr(self, name) for name in names}

    def _sharpest(self, kind: str) -> dict[str, int]:
        traits = {}
        for run, prefix in zip(self._runs, ("", "other_"), strict=False):
            traits[f"{prefix}layer"], traits[f"{prefix}head"] = most_sharpened(run, self._first, kind)
        return traits

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the heads of another sentence."""
        sentence = -1 if request.get("sentence") is None else request["sentence"]
        check_index("sentence", sentence, len(self.trace.sources))
        return sentence_payload(self._runs, sentence)

    def _head_counts(self, run: int) -> tuple[int, int]:
        """The sizes of the chosen kind in a run: layers, heads."""
        n_layers, n_heads, _, _ = attention_of(self._runs[run].moments[0].traces[0], self.kind).shape
        return n_layers, n_heads

    @traitlets.validate("moment", "sentence")
    def _check_place(self, proposal: dict[str, Any]) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        size = len(self.trace.moments if name == "moment" else self.trace.sources)
        check_index(name, value, size)
        return value

    @traitlets.validate("kind")
    def _check_kind(self, proposal: dict[str, Any]) -> str:
        kinds = kinds_of(self._runs)
        if proposal["value"] not in kinds:
            raise SelectionError(f"kind={proposal['value']!r}, but this training holds {list(kinds)}")
        return proposal["value"]

    @traitlets.validate("layer", "head", "other_layer", "other_head")
    def _check_head(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        run = int(name.startswith("other_"))
        if run == len(self._runs):
            if value is not None:
                raise SelectionError(f"{name}={value}, but there is no second run; give other=")
            return value
        check_index(name, value, self._head_counts(run)[name.endswith("head")])
        return value

    @traitlets.observe("kind")
    def _fit_head(self, _: object) -> None:
        for run, before in zip(range(len(self._runs)), ("", "other_"), strict=False):
            for name, size in zip(("layer", "head"), self._head_counts(run), strict=True):
                chosen = getattr(self, before + name)
                if chosen is not None and chosen >= size:
                    setattr(self, before + name, size - 1)


def _first_right(trace: TrainingTrace, sentence: int) -> int:
    """Return the moment at which a text is first written as it should be, or the last one."""
    reference = trace.references[sentence].split()
    written = (moment.translations[sentence].split() for moment in trace.moments)
    return next((at for at, words in enumerate(written) if words == reference), len(trace.moments) - 1)


def watch_training(
    trace: TrainingTrace,
    other: TrainingTrace | None = None,
    *,
    moment: int | None = None,
    sentence: int = 0,
    kind: str | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> TrainingScrubber:
    """Return a view to drag through a training, or through two beside each other.

    >>> import viz_transformer as vt
    >>> view = vt.watch_training(vt.load_training("en-es"))

    Args:
        trace: the training.
        other: another on the same sentences, such as another seed or a larger model; or None.
        moment: index of the first moment shown; that at which the text is first right if None, or the last.
        sentence: index of the sentence.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``; the last that there is if None.
        layer: layer of the head shown large; that of the head that sharpened most if None.
        head: the same for its index.

    Raises:
        UserError: as `TrainingScrubber`.
    """
    given = {"moment": moment, "kind": kind, "layer": layer, "head": head}
    chosen = {name: value for name, value in given.items() if value is not None}
    return TrainingScrubber(trace, other, traits={"sentence": sentence, **chosen})
