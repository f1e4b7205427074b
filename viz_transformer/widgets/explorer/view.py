"""The attention explorer: a trace, or the difference of two, and what is chosen of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import traitlets

from viz_transformer.analysis.words import check_words, has_words, special_tokens
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, ForwardTrace, running_text
from viz_transformer.trace.forward import checked_seconds
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import Field, Schema, listed, optional, whole
from viz_transformer.widgets.base.shares import HEAD, PAIR, Shares
from viz_transformer.widgets.base.traits import Checked, Index, SelectionError, Share, TextSize, check_index
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.explorer.part import Packer, Part, chosen_part, coarser
from viz_transformer.widgets.explorer.payload import Head, pack_view
from viz_transformer.widgets.explorer.picture import checked_grid, packed_image, unpacked_image
from viz_transformer.widgets.explorer.requests import QUESTIONS, reply
from viz_transformer.widgets.explorer.score_parts import PartsOf, packed_parts
from viz_transformer.widgets.explorer.scores import ORDERS, fitting_scores, pack_scores
from viz_transformer.widgets.explorer.sentence_pair import PAIRS
from viz_transformer.widgets.explorer.trace_view import PARTS_OF_SCORES, TraceView

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "Each row of the large picture is a query, the token that attends; each column is a key, a "
    "token it can attend to. The stronger a cell's colour, the larger the share of its attention "
    "that the query gives to the key. A decoder's rows name the token it has just read and the one "
    "it writes next: el → gato. The small pictures are all heads of the model, one row of pictures "
    "per layer: click one to see it large."
)
_ABOUT_DIFFERENCE = (
    "Each cell is the difference of two attention weights: green where the row (the query) gives "
    "the column (the key) more of its attention in the first trace than in the second, brown "
    "where it gives less. The small pictures are all heads of the model, one row of pictures per "
    "layer: click one to see it large."
)
_ABOUT_UNNORMALISED = (
    "Each cell is the weight that the row (the query) gives the column (the key), as it was given: rows "
    "need not sum to 1. Green is above 0, brown below 0. The small pictures are all heads of the model, one "
    "row of pictures per layer: click one to see it large."
)
#: What the large picture shows: one head, several as one, or the rollout through all layers.
AGGREGATES = ("head", "mean", "max", "rollout")
#: A model of more layers, or of more heads a layer, opens with all its heads on one wall.
_MOST_LAYERS, _MOST_HEADS = 6, 16

#: What the stage shows where it is neither all heads nor the linked columns.
PICTURES = ("sentence", "matrix", "lines", "table")
COLOUR_SCALES = ("linear", "row", "log", "rest")
#: Columns of more words than this have to be scrolled.
_MOST_LINKED = 16

_HEADING = 64  # letters

_INDICES = ("layer", "head", "query", "key")


class _Picture(traitlets.Unicode):
    """The name of a picture, which a cell that sets it means to see; what a page sets, it sets as a whole."""

    def __set__(self, obj: traitlets.HasTraits, value: str) -> None:
        super().__set__(obj, value)
        obj.set_trait("linked", False)
        obj.set_trait("wall", False)


class AttentionExplorer(View):
    """See every head of a trace, choose one, and read which token attends to which.

    What the viewer chooses is a trait, and setting the trait moves the view. All count from 0, as
    the arrays of the trace do: ``view.trace.attention(view.kind)[view.layer, view.head]`` is
    what the large picture shows.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> view = vt.explore(trace)
    >>> view.layer, view.head = 1, 2
    >>> view.trace.attention(view.kind)[view.layer, view.head].shape
    (5, 5)

    Attributes:
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``; cross-attention at first, if present.
        layer: index of the layer.
        head: index of the head in that layer.
        query: index of the pinned query (the token that attends), or None.
        key: index of the pinned key (the token attended to), or None.
        selected: ``[layer, head]`` pairs of `kind` that `aggregate` takes together; none at first.
        aggregate: what the large picture shows: ``"head"``, the one that is chosen; ``"mean"`` or
            ``"max"`` of those selected, of all heads of the layer where none is; or ``"rollout"``
            from the first layer to `layer` (for cross: from source words to written ones).
        threshold: weights below it are not drawn, 0 to 1.
        hide_special: whether ``<sos>``, ``[CLS]`` and their like are left out.
        merge_words: whether the pieces of a word are shown as one word; needs the trace's word numbers.
        order: what the small pictures are sorted by: ``"layer"``, ``"entropy"``, ``"label"`` or
            the name of one of `scores`.
        wall: whether all heads fill the view, coloured by their labels, in place of one large.
        label_filter: on the wall, the labels that heads are kept of, ``""`` for those without
            one; all if empty.
        layer_filter: on the wall, the first and the last layer that are kept; all if empty.
        least_score: on the wall, the score of `order` from which heads are kept, or None.
        search: part of a token; tokens that hold it are marked.
        linked: whether the stage shows all kinds of attention as columns of words, pinned together.
        picture: otherwise what it shows: ``"matrix"``, ``"lines"`` between the words (of a vision model
            its picture), ``"table"``, or of a translation ``"sentence"``: one line above the other. Set
            in a cell, it is shown: `linked` and `wall` are then False.
        colour_scale: which colours weights have in the matrix: ``"linear"``, from 0 to 1; ``"row"``, as a
            share of the largest in each row; ``"log"``, from 0.001 to 1 by their logarithm; or ``"rest"``,
            as a share of what the first token leaves to the others.
        linked_heads: ``{kind: [layer, head]}``, the heads of the kinds beside `kind` there.
        pair: of two sentences, which attends to which: ``"all"``, ``"AA"``, ``"AB"`` (from the words
            of A to those of B), ``"BA"`` or ``"BB"``. Only these queries and keys are shown.
        segments: which sentence of a pair each token belongs to, 0 or 1; empty for one sentence.
        attends_by: of a model that adds something to its scores for positions (T5, Bloom, Swin …), by what
            its heads attend: ``"both"``, ``"content"`` alone or ``"positions"`` alone; see
            `viz_transformer.analysis.without_position_bias`.
        biased: the kinds of attention for which there is that choice.
        grid: rows and columns of the picture's patches that the keys are, the first one's position, and how
            many keys there are, of the source (0) or the target (1); or empty. Set it as in `explore`.
        image: the picture that the patches are cut from, packed for the page; or empty. Set it as in
            `explore`.
        seconds_per_frame: of a sound model, how much time each source position stands for, or None.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting one of them to what the trace does not have raises SelectionError, a UserError, and
    leaves the view unchanged. A change of `kind` or `trace` keeps as much of the selection as still fits.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.explore(trace)"
    _call_sets = ("kind", "picture", "linked", "wall")
    _only_reads = True
    shares = Shares({**HEAD, **PAIR})
    _before_about = ""

    data = traitlets.Dict(help="tokens and weights as the page reads them; see `pack`").tag(sync=True)
    kind = traitlets.Unicode(help="encoder, decoder or cross").tag(sync=True)
    layer = Index(help="layer, counted from 0").tag(sync=True)
    head = Index(help="head, counted from 0").tag(sync=True)
    query = Index(None, allow_none=True, help="pinned query, counted from 0").tag(sync=True)
    key = Index(None, allow_none=True, help="pinned key, counted from 0").tag(sync=True)
    selected: traitlets.List[Any] = traitlets.List(help="[layer, head] pairs that are aggregated").tag(
        sync=True
    )
    aggregate = traitlets.Unicode("head", help="head, mean, max or rollout").tag(sync=True)
    threshold = Share(0.0, help="weights below it are not drawn, 0 to 1").tag(sync=True)
    hide_special = traitlets.Bool(False, help="leave out <sos>, [CLS] …").tag(sync=True)
    merge_words = traitlets.Bool(False, help="show the pieces of a word as one").tag(sync=True)
    order = traitlets.Unicode("layer", help="layer, entropy, label or a score").tag(sync=True)
    picture = _Picture("matrix", help="sentence, matrix, lines or table").tag(sync=True)
    wall = traitlets.Bool(False, help="all heads in place of one").tag(sync=True)
    scores = traitlets.Dict(help="the user's own scores of heads, as bytes").tag(sync=True)
    label_filter: traitlets.List[str] = traitlets.List(
        traitlets.Unicode(), help="labels that are kept on the wall"
    ).tag(sync=True)
    layer_filter: traitlets.List[int] = traitlets.List(
        traitlets.Int(), help="first and last layer that are kept on the wall"
    ).tag(sync=True)
    least_score = traitlets.Float(None, allow_none=True, help="score from which heads are kept").tag(
        sync=True
    )
    search = traitlets.Unicode("", help="part of a token, to find and mark").tag(sync=True)
    linked = traitlets.Bool(False, help="all kinds on one screen, pinned together").tag(sync=True)
    colour_scale = traitlets.Unicode("linear", help="linear, row, log or rest").tag(sync=True)
    linked_heads = traitlets.Dict(help="{kind: [layer, head]} of the linked picture").tag(sync=True)
    pair = traitlets.Unicode("all", help="all, AA, AB, BA or BB").tag(sync=True)
    segments: traitlets.List[int] = traitlets.List(help="0 or 1 for each token of a pair").tag(sync=True)
    seconds_per_frame = traitlets.Float(None, allow_none=True, help="time of a source position").tag(
        sync=True
    )
    attends_by = traitlets.Unicode("both", help="both, content or positions").tag(sync=True)
    biased: traitlets.List[str] = traitlets.List(traitlets.Unicode(), help="kinds with a position bias").tag(
        sync=True
    )
    grid = Checked([], help="rows and columns of patches").tag(sync=True)
    image = Checked({}, help="width, height and RGB bytes of the picture").tag(sync=True)
    written = traitlets.Dict(help="the sentence, its tokens, and the likeliest words at each").tag(
        sync=True, content=True
    )
    before = traitlets.Dict(help="the same of the sentence that was shown before").tag(
        sync=True, content=True
    )
    has_parts = traitlets.Bool(False, help="whether a function divides scores").tag(sync=True, content=True)
    text_size = TextSize()

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
        linked: bool | None = None,
        picture: str | None = None,
        colour_scale: str = "linear",
        wall: bool | None = None,
        scores: Mapping[str, Any] | None = None,
        pair: str = "all",
        segments: Any = None,
        seconds_per_frame: float | None = None,
        attends_by: str = "both",
        grid: Sequence[int] | None = None,
        image: Any = None,
        score_parts: PartsOf | None = None,
    ) -> None:
        """Make a view of a trace; see `explore` for the arguments and errors."""
        _one_of("attends_by", tuple(PARTS_OF_SCORES), attends_by)
        selected = list(selected) if np.iterable(selected) else [selected]
        self._trace_view = trace_view = TraceView(trace, compare, segments, attends_by)
        self._version = 0
        self._packer: Packer | None = None
        if compare is not None:
            self._made_by = "vt.explore(trace, compare=other)"
        self._patch_labels: Sequence[str] = ()
        self._parts_of = score_parts
        kind = trace_view.kinds[-1] if kind is None else kind  # cross is last, where present
        patches = checked_grid(trace_view, kind, grid, has_image=image is not None)
        seconds = trace.seconds_per_frame if seconds_per_frame is None else checked_seconds(seconds_per_frame)
        if wall is None:
            chosen = (layer, head, query, key, selected, aggregate, linked, picture)
            wall = chosen == (0, 0, None, None, [], "head", None, None) and _is_large(trace_view)
        if linked is None:
            linked = picture is None and aggregate == "head" and not selected and _can_link(trace_view)
        if picture is None:  # of a vision model, what it has seen
            picture = "lines" if patches else "matrix"
        super().__init__(
            answer=self._reply,
            traits={
                "about": self._before_about + _about(trace_view),
                "data": pack_view(trace_view, self._version, _inside(trace_view, kind, layer, head)),
                "kind": kind,
                "layer": layer,
                "head": head,
                "query": query,
                "key": key,
                "selected": selected,
                "aggregate": aggregate,
                "threshold": threshold,
                "hide_special": hide_special,
                "merge_words": merge_words,
                "scores": pack_scores(trace_view, scores, kind),
                "segments": trace_view.segments,
                "pair": pair,
                "seconds_per_frame": seconds,
                "biased": trace_view.biased,
                "attends_by": attends_by,
                "grid": patches,
                "image": packed_image(image, patches),
                "order": order,
                "search": search,
                "picture": picture,  # before those two, which it would set
                "linked": linked,
                "colour_scale": colour_scale,
                "wall": wall,
                "has_parts": score_parts is not None,
            },
        )

    @traitlets.validate("grid")
    def _check_grid(self, proposal: Any) -> list[int]:
        try:
            return checked_grid(self._trace_view, self.kind, proposal["value"])
        except UserError as error:
            raise SelectionError(str(error)) from None

    @traitlets.validate("image")
    def _check_image(self, proposal: Any) -> dict[str, Any]:
        try:
            return packed_image(proposal["value"], self.grid)
        except UserError as error:
            raise SelectionError(str(error)) from None

    @traitlets.observe("grid")
    def _on_grid(self, change: dict[str, Any]) -> None:
        self._patch_labels = self._patches()[0] if self.grid else ()

    @property
    def trace(self) -> ForwardTrace:
        """The trace that is shown. Setting another one replaces the picture in place."""
        return self._trace_view.trace

    @trace.setter
    def trace(self, trace: ForwardTrace) -> None:
        self.show(trace, self.compare)
        if trace.seconds_per_frame is not None:
            self.seconds_per_frame = trace.seconds_per_frame

    @property
    def compare(self) -> ForwardTrace | None:
        """The trace that is subtracted, or None. Setting it replaces the picture in place."""
        return self._trace_view.compare

    @compare.setter
    def compare(self, compare: ForwardTrace | None) -> None:
        self.show(self.trace, compare)

    def __repr__(self) -> str:
        """Name the selection, for logs and for notebooks where the view is not shown."""
        chosen = ", ".join(f"{name}={getattr(self, name)!r}" for name in ("kind", *_INDICES))
        return f"AttentionExplorer({chosen})"

    def figure(self) -> Figure:
        """Return the large picture as it is now as a matplotlib figure, for slides and papers.

        It shows what is selected, with special tokens and the pieces of words as in the view. The
        pinned words, the search and the small pictures are left to the view. Of the wall, it shows
        all heads of `kind`, in the order of layers. Where `grid` is given and `query` is pinned, it shows
        this query over the picture.
        """
        import matplotlib.pyplot as plt

        from viz_transformer.plots.heads import plot_heads
        from viz_transformer.plots.matrix import draw_picture

        if self._shows_wall():
            return plot_heads(self._trace_view.traces[0], self.kind)

        if self._shows_patches():
            from viz_transformer.plots.patches import draw_patches

            axes = draw_patches(self._patch_row(), unpacked_image(self.image), None)
        else:
            axes = draw_picture(self._picture(), None)
        figure = cast("Figure", axes.figure)  # never a SubFigure
        plt.close(figure)  # returned, it is shown once by a notebook; left with pyplot, twice
        return figure

    def alt_text(self) -> str:
        """Return the large picture as it is now in words."""
        if self._shows_wall():
            n_layers, n_heads = self._trace_view.shape(self.kind)[:2]
            return (
                f"All heads of the {self.kind} attention, {n_layers} layers of {n_heads}, each a small "
                "heatmap with its label."
            )

        from viz_transformer.plots.matrix import describe_picture

        if self._shows_patches():
            from viz_transformer.plots.patches import describe_patches

            return describe_patches(self._patch_row())
        return describe_picture(self._picture())

    def _shows_wall(self) -> bool:
        """Whether the wall is shown, of one trace: a difference has no figure of all its heads."""
        return self.wall and self.compare is None

    def _shows_patches(self) -> bool:
        """Whether a figure shows the pinned query over its picture."""
        on_picture = bool(self.grid) and self.grid[4] == (KINDS[self.kind].key == "target")
        return on_picture and not self.linked and self.query is not None

    def _patch_row(self) -> Any:
        """The pinned query over its picture, a plots.patches.PatchRow."""
        from viz_transformer.plots.heads import Reading
        from viz_transformer.plots.patches import patch_row

        rows, columns, start = self.grid[:3]
        picture = self._picture(Reading(self.threshold))  # each token by itself, none hidden or merged
        return patch_row(picture, self.kind, self.query or 0, (rows, columns, start))

    def _picture(self, reading: Any = None) -> Any:
        """The large picture, a plots.matrix.Picture: plots are imported when one is drawn.

        Args:
            reading: how its words are shown, a plots.heads.Reading; None is as in the view.
        """
        from viz_transformer.plots.heads import Reading, picture_of

        heads = [(self.layer, self.head)]
        if self.aggregate in ("mean", "max"):
            n_heads = self._trace_view.shape(self.kind)[1]
            chosen = [(layer, head) for layer, head in self.selected]
            heads = chosen or [(self.layer, head) for head in range(n_heads)]
        kept = self._trace_view.kept(self.kind, "all" if self.linked else self.pair)
        merges = self.merge_words and has_words(self.trace, self.kind)  # another kind may have them
        reading = reading or Reading(self.threshold, self.hide_special, merges, kept=kept)
        traces = [replace(each, seconds_per_frame=self.seconds_per_frame) for each in self._trace_view.traces]
        picture = picture_of(traces, self.kind, heads, self.aggregate, reading)
        if self.attends_by == "both" or self.kind not in self.biased:
            return picture
        by = f"by {self.attends_by} alone"
        return replace(picture, title=f"{picture.title} · {by}", what=f"{picture.what}, {by}")

    @contextmanager
    def carrying(
        self,
        *,
        layers: Iterable[int] | None = None,
        heads: Iterable[int] | None = None,
        bits: int | None = None,
        threshold: float = 0.0,
    ) -> Iterator[None]:
        """Inside this, an exported page carries only these heads of a large trace.

        Args:
            layers: counted from 0; None is all.
            heads: of each of these layers, counted from 0; None is all.
            bits: of each weight, 16 or 8; None chooses by the size.
            threshold: smaller weights are left out.

        Raises:
            UserError: if the trace does not have them, or `bits` or `threshold` cannot be.
        """
        self._packer = Packer(self._trace_view, chosen_part(self._trace_view, layers, heads, bits, threshold))
        try:
            yield
        finally:
            self._packer = None

    def _part(self) -> Packer:
        """What makes the part that a page carries, all of the trace unless another was chosen."""
        return self._packer or Packer(self._trace_view, Part())

    def export_bytes(self) -> int:
        """Return about how many bytes the heads of a large trace take in an exported page."""
        return 0 if "traces" in self.data else self._part().n_bytes()  # else it is there whole

    def heading(self) -> str:
        """Return the sentence, its beginning if it is long."""
        tokens = self.trace.source_tokens or self.trace.target_tokens
        kept = [token for token, out in zip(tokens, special_tokens(tokens), strict=True) if not out]
        return textwrap.shorten(running_text(kept), _HEADING, placeholder=" …")

    def address(self) -> dict[str, dict[str, Any]]:
        """Return what the address of an exported page says of this view."""
        kinds = self._trace_view.kinds
        sizes = {kind: dict(zip(_INDICES, self._trace_view.shape(kind), strict=True)) for kind in kinds}
        numbers = {name: {"sizes": {kind: sizes[kind][name] for kind in kinds}} for name in _INDICES}
        flag = {"values": [False, True], "usual": False}
        return {
            "kind": {"values": [*kinds], **({"usual": kinds[0]} if len(kinds) == 1 else {})},
            **{name: {**each, **({"usual": None} if name in PAIR else {})} for name, each in numbers.items()},
            "aggregate": {"values": [*AGGREGATES], "usual": AGGREGATES[0]},
            "picture": {"values": [*PICTURES], "usual": "matrix"},
            "linked": flag,
            "wall": flag,
        }

    def page_state(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return the state for a page: of a large trace with a description of the part that it carries."""
        if "traces" in self.data:
            return state
        packer = self._part()
        kinds = [
            {**entry, "first": None, **({} if entry["signed"] else {"overview": coarser(entry["overview"])})}
            for entry in self.data["kinds"]
        ]
        if not self.wall and self.aggregate == "head":  # then it is drawn before the whole page is here
            at = {"layer": self.layer, "head": self.head}
            shown = next(entry for entry in kinds if entry["kind"] == self.kind)
            shown["first"] = {**at, **packer.head(self.kind, self.layer, self.head)}
        return {**state, "data": {**self.data, "kinds": kinds, "carried": packer.told()}}

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        place = listed(Field("a kind, a way, numbers or a list of heads", _names_heads), 5)
        asked = (*QUESTIONS, *(["parts"] if self._parts_of else []))
        return tuple({"version": optional(whole()), what: place} for what in asked)

    def questions(self) -> list[dict[str, Any]]:
        """Return the requests for the heads of a large trace that an exported page carries."""
        return [] if "traces" in self.data else self._part().requests(self._version)

    def replies(self, questions: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the replies to them as a page carries them, one head at a time."""
        return self._part().replies(questions)

    def _is_read(self, content: Any) -> bool:
        asked = content.get("ask") if isinstance(content, dict) else None
        return not (isinstance(asked, dict) and "parts" in asked)  # the model behind these waits for a cell

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        if "parts" in request and self._parts_of is not None and request.get("version") == self._version:
            return packed_parts(self.trace, self._parts_of, *request["parts"])
        return reply(self._trace_view, self._version, request)

    def adopt(self, trace: ForwardTrace, compare: ForwardTrace | None = None) -> None:
        """Take over what the page has drawn by itself, and so need not be sent: a trace, or a difference."""
        with self.hold_sync(), self.hold_trait_notifications():
            self._trace_view = TraceView(trace, compare)
            self._fit()

    def show(self, trace: ForwardTrace, compare: ForwardTrace | None = None) -> None:
        """Show another trace, or the difference of two, as `explore` does; the selection stays."""
        self._show(TraceView(trace, compare, attends_by=self.attends_by))

    def _show(self, trace_view: TraceView) -> None:
        # One message for all of it: the page never draws new words with old weights.
        with self.hold_sync(), self.hold_trait_notifications():
            self._trace_view = trace_view
            self._version += 1
            self.written = self.before = {}  # of another sentence
            self._fit()
            first = (self.kind, self.layer, self.head)
            self.data = pack_view(trace_view, self._version, first)
            self.about = self._before_about + _about(trace_view)

    def _fit(self) -> None:
        """Bring what is chosen inside the trace."""
        if self.kind not in self._trace_view.kinds:
            self.kind = self._trace_view.kinds[-1]
        sizes = self._sizes()
        for name in ("layer", "head"):
            setattr(self, name, min(getattr(self, name), sizes[name] - 1))
        for name in ("query", "key"):
            if (getattr(self, name) or 0) >= sizes[name]:
                setattr(self, name, None)
        self.selected = [
            [layer, head] for layer, head in self.selected if layer < sizes["layer"] and head < sizes["head"]
        ]
        self.linked_heads = {
            kind: [min(index, size - 1) for index, size in zip(pair, shape[:2], strict=True)]
            for kind, pair in self.linked_heads.items()
            if kind in self._trace_view.kinds and (shape := self._trace_view.shape(kind))
        }
        if self.aggregate == "rollout" and self._trace_view.no_rollout(self.kind):
            self.aggregate = "head"
        if not any(has_words(self.trace, kind) for kind in self._trace_view.kinds):
            self.merge_words = False
        self.biased, self.attends_by = self._trace_view.biased, self._trace_view.attends_by
        self.segments = self._trace_view.segments
        if not self.segments:
            self.pair = "all"
        self.scores = fitting_scores(self._trace_view, self.scores)
        if self.order not in self._orders():
            self.order = "layer"
        if self.layer_filter and self.layer_filter[-1] >= self.most_layers():
            self.layer_filter = []
        if self.grid:  # in another trace the patches may be elsewhere
            rows, columns, start, _, side = self.grid
            labels, n_keys = self._patches()
            self.grid = [rows, columns, start, n_keys, side] if labels == self._patch_labels else []

    def _patches(self) -> tuple[Sequence[str], int]:
        """Return the labels where `grid` has the patches, and how many keys there are."""
        rows, columns, start, _, side = self.grid
        trace = self._trace_view.traces[0]
        keys = trace.target_tokens if side else trace.source_tokens
        return keys[start : start + rows * columns], len(keys)

    def _sizes(self) -> dict[str, int]:
        return dict(zip(_INDICES, self._trace_view.shape(self._present(self.kind)), strict=True))

    def _present(self, kind: str) -> str:
        if kind not in self._trace_view.kinds:
            raise SelectionError(f"kind={kind!r}, but this trace holds {list(self._trace_view.kinds)}")
        return kind

    @traitlets.validate("kind")
    def _check_kind(self, proposal: dict[str, Any]) -> str:
        return self._present(proposal["value"])

    @traitlets.validate(*_INDICES)
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        owner = f"the {self.kind} attention of this trace has"
        check_index(name, value, self._sizes()[name], owner=owner)
        return value

    @traitlets.validate("selected")
    def _check_selected(self, proposal: dict[str, Any]) -> list[list[int]]:
        pairs: list[list[int]] = []
        for pair in proposal["value"]:
            whole = isinstance(pair, list | tuple | np.ndarray) and all(
                isinstance(index, int | np.integer) and not isinstance(index, bool) for index in pair
            )
            if not whole or len(pair) != 2:
                raise SelectionError(
                    f"selected holds {pair!r:.40}; give [layer, head] pairs: [[0, 1], [2, 3]]"
                )
            layer, head = map(int, pair)
            for name, index in (("layer", layer), ("head", head)):
                self._check_inside(f"selected holds [{layer}, {head}]", name, index)
            if [layer, head] not in pairs:
                pairs.append([layer, head])
        return pairs

    def _check_inside(self, given: str, name: str, index: int) -> None:
        size = self._sizes()[name]
        if not 0 <= index < size:
            unit = "" if given.startswith(name) else f" {name}s"
            raise SelectionError(
                f"{given}, but the {self.kind} attention of this trace has {size}{unit}; "
                f"choose 0 to {size - 1}"
            )

    @traitlets.validate("linked_heads")
    def _check_linked_heads(self, proposal: dict[str, Any]) -> dict[str, list[int]]:
        heads = {self._present(kind): list(pair) for kind, pair in proposal["value"].items()}
        for kind, pair in heads.items():
            n_layers, n_heads = self._trace_view.shape(kind)[:2]
            inside = len(pair) == 2 and 0 <= pair[0] < n_layers and 0 <= pair[1] < n_heads
            if not inside:
                raise SelectionError(
                    f"linked_heads[{kind!r}]={pair}; give [layer, head], at most "
                    f"[{n_layers - 1}, {n_heads - 1}]"
                )
        return heads

    @traitlets.validate("aggregate")
    def _check_aggregate(self, proposal: dict[str, Any]) -> str:
        how = _one_of("aggregate", AGGREGATES, proposal["value"])
        if how == "rollout" and (reason := self._trace_view.no_rollout(self._present(self.kind))):
            raise SelectionError(f"{reason}; choose 'head', 'mean' or 'max'")
        return how

    @traitlets.validate("merge_words")
    def _check_merge_words(self, proposal: dict[str, Any]) -> bool:
        if proposal["value"]:
            try:
                check_words(self.trace, *self._trace_view.kinds)
            except UserError as error:
                raise SelectionError(str(error)) from None
        return proposal["value"]

    @traitlets.validate("order")
    def _check_order(self, proposal: dict[str, Any]) -> str:
        order = _one_of("order", (*ORDERS, *self.scores), proposal["value"])
        if order not in self._orders():
            raise SelectionError(
                f"order={order!r} needs rows that sum to 1, and these weights are not normalised; choose "
                "'layer' or one of your scores="
            )
        return order

    def _orders(self) -> tuple[str, ...]:
        """What heads can be sorted by: weights that are not normalised have no labels and entropies."""
        return (*(ORDERS[:1] if self._trace_view.is_raw else ORDERS), *self.scores)

    @traitlets.validate("picture", "colour_scale")
    def _check_name(self, proposal: dict[str, Any]) -> str:
        name = proposal["trait"].name
        return _one_of(name, {"picture": PICTURES, "colour_scale": COLOUR_SCALES}[name], proposal["value"])

    @traitlets.validate("pair")
    def _check_pair(self, proposal: dict[str, Any]) -> str:
        pair = _one_of("pair", PAIRS, proposal["value"])
        if pair != "all" and not self._trace_view.segments:
            raise SelectionError(
                f"pair={pair!r}, but this trace holds no pair of sentences; give segments=, 0 for each "
                "token of sentence A and 1 for each of sentence B"
            )
        return pair

    @traitlets.validate("attends_by")
    def _check_attends_by(self, proposal: dict[str, Any]) -> str:
        by = _one_of("attends_by", tuple(PARTS_OF_SCORES), proposal["value"])
        if by != "both" and not self._trace_view.biased:
            raise SelectionError(
                f"attends_by={by!r}, but this trace adds no part for positions to its scores; "
                "capture a model that adds it, such as T5, Bloom or Swin"
            )
        return by

    @traitlets.validate("biased")
    def _check_biased(self, proposal: dict[str, Any]) -> list[str]:
        return self._trace_view.biased  # whatever a page sends

    @traitlets.observe("attends_by")
    def _on_attends_by(self, change: dict[str, Any]) -> None:
        if change["new"] != self._trace_view.attends_by:
            segments = self.segments or None
            self._show(TraceView(self.trace, self.compare, segments, change["new"]))

    @traitlets.validate("seconds_per_frame")
    def _check_seconds(self, proposal: dict[str, Any]) -> float | None:
        seconds = proposal["value"]
        try:
            return None if seconds is None else checked_seconds(seconds)
        except UserError as error:
            raise SelectionError(str(error)) from None

    @traitlets.validate("layer_filter")
    def _check_layer_filter(self, proposal: dict[str, Any]) -> list[int]:
        layers, most = list(proposal["value"]), self.most_layers()
        if layers and not (len(layers) == 2 and 0 <= layers[0] <= layers[1] < most):
            raise SelectionError(
                f"layer_filter={layers}; give the first and the last layer, at most [0, {most - 1}], "
                "or [] for all"
            )
        return layers

    def most_layers(self) -> int:
        """Return the number of layers of the kind that has most."""
        return max(self._trace_view.shape(kind)[0] for kind in self._trace_view.kinds)

    @traitlets.observe("kind")
    def _on_kind(self, change: dict[str, Any]) -> None:
        if change["old"] not in KINDS:
            return  # the first kind
        old, new = KINDS[change["old"]], KINDS[change["new"]]
        with self.hold_sync(), self.hold_trait_notifications():
            # A pinned token stays if the new kind has it on the same axis. The page sends its pins
            # together with the kind.
            for name in ("query", "key"):
                if getattr(old, name) != getattr(new, name) and not self._from_page:
                    setattr(self, name, None)
            self._fit()


def _inside(trace_view: TraceView, kind: str, layer: int, head: int) -> Head | None:
    """The head, if the trace has it: otherwise the validators of the traits refuse it."""
    if kind not in trace_view.kinds:
        return None
    n_layers, n_heads = trace_view.shape(kind)[:2]
    return (kind, layer, head) if layer in range(n_layers) and head in range(n_heads) else None


def _about(trace_view: TraceView) -> str:
    """What a cell is."""
    if trace_view.is_raw:
        return _ABOUT_UNNORMALISED
    return _ABOUT if trace_view.has_shares else _ABOUT_DIFFERENCE


def _is_large(trace_view: TraceView) -> bool:
    """Whether a model has more heads than a strip of small pictures can show."""
    shapes = [trace_view.shape(kind)[:2] for kind in trace_view.kinds]
    return any(layers > _MOST_LAYERS or heads > _MOST_HEADS for layers, heads in shapes)


def _can_link(trace_view: TraceView) -> bool:
    """Whether all kinds fit the stage as columns of words, joined by cross-attention."""
    if "cross" not in trace_view.kinds or len(trace_view.kinds) == 1:
        return False
    return trace_view.has_shares and max(trace_view.shape("cross")[2:]) <= _MOST_LINKED


def _one_of(name: str, allowed: tuple[str, ...], value: str) -> str:
    if value not in allowed:
        raise SelectionError(f"{name}={value!r}; choose one of {list(allowed)}")
    return value


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
    linked: bool | None = None,
    picture: str | None = None,
    colour_scale: str = "linear",
    wall: bool | None = None,
    scores: Mapping[str, Any] | None = None,
    pair: str = "all",
    segments: Any = None,
    seconds_per_frame: float | None = None,
    attends_by: str = "both",
    grid: Sequence[int] | None = None,
    image: Any = None,
    score_parts: PartsOf | None = None,
) -> AttentionExplorer:
    """Return an interactive view of a trace, which a notebook shows when it ends a cell.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> view = vt.explore(trace, kind="cross", layer=1, head=2)
    >>> view.kind, view.layer, view.head
    ('cross', 1, 2)

    Args:
        trace: what to look at; `capture` makes one of any model or weights.
        compare: another: the view shows the weights of `trace` minus those of `compare`, in colours for less
            and for more. Two sentences of equally many tokens, two checkpoints, or a model before and after
            one of its heads is taken out. The layers of a deeper or shallower model are compared at the
            same share of its depth (see `viz_transformer.analysis.match_traces`).
        kind: of attention: ``"encoder"``, ``"decoder"`` or ``"cross"``; None takes cross-attention, if
            present.
        layer: index of the layer that is shown first, from 0.
        head: index of the head in that layer.
        query: index of the pinned query, or None.
        key: index of the pinned key, or None.
        selected: ``[layer, head]`` pairs that `aggregate` takes together.
        aggregate: ``"head"``, or ``"mean"``, ``"max"`` or ``"rollout"`` of several heads.
        threshold: weights below it are not drawn, 0 to 1.
        hide_special: leave out ``<sos>``, ``[CLS]`` and their like.
        merge_words: show the pieces of a word as one word; needs the trace's word numbers, which `capture`
            takes as ``words=``.
        order: sort the small pictures by ``"layer"``, ``"entropy"``, ``"label"`` or one of `scores`.
        search: part of a token; tokens that hold it are marked.
        linked: show all kinds of attention as columns of words, pinned together; None does so where there
            is cross-attention of at most 16 words a side, and no other picture is named.
        picture: otherwise ``"matrix"``, ``"lines"`` (of a vision model its picture), ``"table"``, or of a
            translation of at most ten words ``"sentence"``; None is the matrix, or the picture of a vision
            model.
        colour_scale: colours of weights in the matrix: ``"linear"``, ``"row"``, ``"log"`` or ``"rest"``.
        wall: fill the view with all heads; None does so where the model has more than 6 layers or 16 heads
            a layer and nothing in it is selected.
        scores: your own numbers, by name: ``{"mine": array}``, an array ``[layer, head]`` of `kind`, or
            ``{"mine": {"encoder": array, …}}``. NaN is a head without a score. The heads can be sorted and
            filtered by each.
        pair: of two sentences, which attends to which: ``"all"``, ``"AA"``, ``"AB"``, ``"BA"`` or ``"BB"``.
        segments: which sentence of a pair each token belongs to, 0 or 1, such as BERT's
            ``token_type_ids``; None takes the trace's own, or finds an encoder's pair by its ``[SEP]`` or
            ``</s>``.
        seconds_per_frame: of a sound model, how much time each source position stands for: then its axes
            show the time. None takes the trace's own, which `capture` finds for Whisper.
        attends_by: of a model that adds something to its scores for positions, ``"both"``, ``"content"``
            alone or ``"positions"`` alone.
        grid: of a vision model, the rows and columns of patches, such as ``(14, 14)``: the words beside the
            large picture become these patches, as the query attends to them; other tokens are apart. Where
            it is open where the patches begin, the first one's position too: ``(14, 14, 1)``. What `capture`
            found is in ``trace.patches``.
        image: what the patches are cut from, to lie under them: an array ``[height, width, 3]`` from 0 to
            255 or from 0 to 1, before it is normalised for the model. Its grid is found where the trace
            has one picture.
        score_parts: what divides the score of a chosen weight among what its query and key were made of,
            called with kind, layer, head, query and key by name; of a model
            ``functools.partial(vt.attribution.score_parts, model, text, tokenizer=tokenizer)``.

    All but the first two can be read and set later: ``view.head = 3``.

    Raises:
        UserError: if a trace holds no attention, or not what is selected; if the two traces have nothing to
            compare; if a score does not have one number per head; or if the segments, or the grid, do not
            fit the tokens.
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
        picture=picture,
        colour_scale=colour_scale,
        wall=wall,
        scores=scores,
        pair=pair,
        segments=segments,
        seconds_per_frame=seconds_per_frame,
        attends_by=attends_by,
        grid=grid,
        image=image,
        score_parts=score_parts,
    )


def _names_heads(value: Any) -> bool:
    """Whether a value may name a kind, a layer, a head, a position or several heads."""
    return isinstance(value, str) or whole().fits(value) or listed(listed(whole(), 2), 4_096).fits(value)
