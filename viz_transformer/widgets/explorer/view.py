"""The attention explorer itself: a trace, or the difference of two, and what is chosen of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.explorer.payload import Head, is_whole, pack_shown
from viz_transformer.widgets.explorer.requests import SENT_AS, questions, reply
from viz_transformer.widgets.explorer.trace_view import Shown
from viz_transformer.widgets.explorer.traits import Selection

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "Each row of the large picture is a word that looks (the query) and each column a word that is "
    "looked at (the key); the stronger a cell's colour, the larger the share of its attention that "
    "the row's word gives to the column's. The small pictures are all heads of the model, a row "
    "for each layer: choose one to see it large."
)
_ABOUT_DIFFERENCE = (
    "Each cell is the difference of two attention weights: blue where the row's word (the query) "
    "gives the column's (the key) more of its attention in the first trace than in the second, "
    "orange where it gives less. The small pictures are all heads of the model, a row for each "
    "layer: choose one to see it large."
)
_NAMED = ("kind", "layer", "head", "query", "key")


class AttentionExplorer(Selection):
    """See every head of a trace, choose one, and read who looks at whom.

    What the viewer chooses is a trait, and setting the trait moves the view. All count from 0, as
    the arrays of the trace do: ``view.trace.attention(view.kind)[view.layer, view.head]`` is
    what the large picture shows.

    Attributes:
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``; cross-attention at first, if present.
        layer: index of the layer.
        head: index of the head in that layer.
        query: index of the pinned query (the word that looks), or None.
        key: index of the pinned key (the word looked at), or None.
        selected: ``[layer, head]`` pairs of `kind` that `aggregate` takes together; none at first.
        aggregate: what the large picture shows: ``"head"``, the one that is chosen; ``"mean"`` or
            ``"max"`` of those selected, of all heads of the layer where none is; or ``"rollout"``
            from the first layer to `layer` (for cross: from source words to written ones).
        threshold: weights below it are not drawn, 0 to 1.
        hide_special: whether ``<sos>``, ``[CLS]`` and their like are left out.
        merge_words: whether the pieces of a word are shown as one word.
        order: what the small pictures are sorted by: ``"layer"``, ``"entropy"`` or ``"label"``.
        search: part of a token; tokens that hold it are marked.
        linked: whether all kinds stand on one screen and are pinned together.
        linked_heads: ``{kind: [layer, head]}``, the heads of the kinds beside `kind` there.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting one of them to what the trace does not have raises SelectionError, a UserError, and
    changes nothing. A change of `kind` or `trace` keeps as much of the selection as still fits.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    data = traitlets.Dict(help="tokens and weights as the page reads them; see `pack`").tag(sync=True)

    def __init__(
        self,
        trace: ForwardTrace,
        *,
        compare: ForwardTrace | None = None,
        kind: str | None = None,
        layer: int = 0,
        head: int = 0,
        query: int | None = None,
        key: int | None = None,
        selected: Sequence[Sequence[int]] = (),
        aggregate: str = "head",
        threshold: float = 0.0,
        hide_special: bool = False,
        merge_words: bool = False,
        order: str = "layer",
        search: str = "",
        linked: bool = False,
    ) -> None:
        """Make a view of `trace`, or of `trace` minus `compare`; the rest is the first selection.

        Args:
            trace: the trace.
            compare: another of the same shape: the view shows the weights of `trace` minus those
                of `compare`, in colours for less and for more. Two sentences of equally many
                tokens, two checkpoints, or a model before and after one of its heads is taken out.
            kind: and the others: the traits of these names.

        Raises:
            UserError: if a trace holds no attention, or not what is selected; or if the traces
                differ in shape.
        """
        self._shown = shown = Shown(trace, compare)
        self._version = 0
        kind = shown.kinds[-1] if kind is None else kind  # cross is last, where present
        super().__init__(
            answer=self._reply,
            traits={
                "about": _ABOUT_DIFFERENCE if shown.signed else _ABOUT,
                "data": pack_shown(shown, self._version, _inside(shown, kind, layer, head)),
                "kind": kind,
                "layer": layer,
                "head": head,
                "query": query,
                "key": key,
                "selected": list(selected),
                "aggregate": aggregate,
                "threshold": threshold,
                "hide_special": hide_special,
                "merge_words": merge_words,
                "order": order,
                "search": search,
                "linked": linked,
            },
        )

    @property
    def trace(self) -> ForwardTrace:
        """The trace shown. Setting another one replaces the picture in place."""
        return self._shown.trace

    @trace.setter
    def trace(self, trace: ForwardTrace) -> None:
        self._show(Shown(trace, self.compare))

    @property
    def compare(self) -> ForwardTrace | None:
        """The trace that is subtracted, or None. Setting it replaces the picture in place."""
        return self._shown.compare

    @compare.setter
    def compare(self, compare: ForwardTrace | None) -> None:
        self._show(Shown(self.trace, compare))

    def __repr__(self) -> str:
        """Name the selection: what a reader without the view, or of a log, sees in its place."""
        chosen = ", ".join(f"{name}={getattr(self, name)!r}" for name in _NAMED)
        return f"AttentionExplorer({chosen})"

    def figure(self) -> Figure:
        """Return the large picture as it is now as a matplotlib figure, for slides and papers.

        It shows what is selected, with special tokens and the pieces of words as in the view. The
        pinned words, the search and the small pictures are left to the view.
        """
        import matplotlib.pyplot as plt

        from viz_transformer.plots.matrix import draw_picture

        figure = draw_picture(self._picture(), None).figure
        plt.close(figure)  # returned, it is shown once by a notebook; left with pyplot, twice
        return figure

    def alt_text(self) -> str:
        """Return the large picture as it is now in words."""
        from viz_transformer.plots.matrix import describe_picture

        return describe_picture(self._picture())

    def _picture(self) -> Any:
        """The large picture, a plots.matrix.Picture: plots are imported when one is drawn."""
        from viz_transformer.plots.heads import Reading, picture_of

        heads = [(self.layer, self.head)]
        if self.aggregate in ("mean", "max"):
            n_heads = self._shown.shape(self.kind)[1]
            chosen = [(layer, head) for layer, head in self.selected]
            heads = chosen or [(self.layer, head) for head in range(n_heads)]
        reading = Reading(self.threshold, self.hide_special, self.merge_words)
        return picture_of(self._shown.traces, self.kind, heads, self.aggregate, reading)

    def export_bytes(self) -> int:
        """Return about how many bytes the heads of a large trace take in an exported page."""
        if is_whole(self._shown):
            return 0
        matrices = sum(
            n_layers * (n_heads + 1) * n_queries * n_keys
            for n_layers, n_heads, n_queries, n_keys in map(self._shown.shape, self._shown.kinds)
        )
        return matrices * SENT_AS.itemsize * 4 // 3  # base64 writes three bytes as four letters

    def questions(self) -> list[dict[str, Any]]:
        """Return the requests for all heads of a large trace: an exported page carries them."""
        return [] if is_whole(self._shown) else questions(self._shown, self._version)

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        return reply(self._shown, self._version, request)

    def _show(self, shown: Shown) -> None:
        # One message for all of it: the page never draws new words with old weights.
        with self.hold_sync(), self.hold_trait_notifications():
            self._shown = shown
            self._version += 1
            self._fit()
            first = (self.kind, self.layer, self.head)
            self.data = pack_shown(shown, self._version, first)
            self.about = _ABOUT_DIFFERENCE if shown.signed else _ABOUT


def _inside(shown: Shown, kind: str, layer: int, head: int) -> Head | None:
    """The head, if there is one: what is not there is refused where the traits are set."""
    if kind not in shown.kinds:
        return None
    n_layers, n_heads = shown.shape(kind)[:2]
    return (kind, layer, head) if 0 <= layer < n_layers and 0 <= head < n_heads else None


def explore(
    trace: ForwardTrace,
    *,
    compare: ForwardTrace | None = None,
    kind: str | None = None,
    layer: int = 0,
    head: int = 0,
    query: int | None = None,
    key: int | None = None,
    selected: Sequence[Sequence[int]] = (),
    aggregate: str = "head",
    threshold: float = 0.0,
    hide_special: bool = False,
    merge_words: bool = False,
    order: str = "layer",
    search: str = "",
    linked: bool = False,
) -> AttentionExplorer:
    """Return an interactive view of a trace, which a notebook shows when it ends a cell.

    The arguments and errors are those of AttentionExplorer.
    """
    return AttentionExplorer(
        trace,
        compare=compare,
        kind=kind,
        layer=layer,
        head=head,
        query=query,
        key=key,
        selected=selected,
        aggregate=aggregate,
        threshold=threshold,
        hide_special=hide_special,
        merge_words=merge_words,
        order=order,
        search=search,
        linked=linked,
    )
