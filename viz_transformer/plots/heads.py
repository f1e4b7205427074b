"""Heatmaps of attention: one head, several combined, the difference of two traces, or all heads small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from viz_transformer._text import shown
from viz_transformer.analysis.combine import combine_heads, masked_cells, scale_of, strongest
from viz_transformer.analysis.rollout import output_rollout, rollout
from viz_transformer.analysis.words import (
    WordAxis,
    between_words,
    check_words,
    join_pieces,
    key_words,
    query_words,
    special_tokens,
    word_axis,
)
from viz_transformer.errors import UserError
from viz_transformer.plots.colour import ScaleChoice, colour_scale
from viz_transformer.plots.figures import new_axes, without_frame
from viz_transformer.plots.labels import label, label_style
from viz_transformer.plots.matrix import Picture, draw_picture
from viz_transformer.trace import KINDS, FloatArray, ForwardTrace, attention_of
from viz_transformer.trace.arrays import given_sequence
from viz_transformer.trace.times import with_times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NAMED = 6  # heads named one by one


@dataclass(frozen=True)
class Reading:
    """How the words and weights of a matrix are shown; the names are those of `plot_head`."""

    threshold: float = 0.0
    hide_special: bool = False
    merge_words: bool = False
    scale: ScaleChoice = None
    #: Which queries and which keys are shown; all if None.
    kept: tuple[Sequence[bool] | None, Sequence[bool] | None] = (None, None)

    def __post_init__(self) -> None:
        """Check the threshold, and make a number of torch's one of Python's."""
        object.__setattr__(self, "threshold", float(self.threshold))
        if not 0 <= self.threshold <= 1:
            raise UserError(f"threshold={shown(self.threshold)}; give a share from 0 to 1")


def plot_head(
    trace: ForwardTrace,
    kind: str,
    layer: int,
    head: int,
    ax: Axes | None = None,
    *,
    threshold: float = 0.0,
    hide_special: bool = False,
    merge_words: bool = False,
    scale: ScaleChoice = None,
) -> Axes:
    """Draw one head's weights as a heatmap: queries down the side, keys along the top.

    Cells that no head gives any weight are hatched (see `viz_transformer.analysis.masked_cells`).

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> axes = vt.plots.plot_head(trace, "cross", 1, 0)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer, from 0.
        head: index of the head, from 0.
        ax: where to draw; a new figure if None.
        threshold: weights below it are left blank, 0 to 1.
        hide_special: whether ``<sos>``, ``[CLS]`` and their like are left out.
        merge_words: whether the pieces of a word are one row and one column; needs the trace's
            word numbers, `source_words` or `target_words`, which `capture` takes as ``words=``.
        scale: of the colours; None for 0 to 1. ``"row"``: each row up to its largest weight. ``"log"``:
            logarithmic, from the power of ten below the smallest weight (at most six below the end). A
            pair such as ``(0, 0.2)``: those limits, and what lies beyond has the colour of the end.

    Returns:
        The axes. Their image holds the weights, ``[query, key]``, coloured from 0 to 1; weights that are not
        normalised up to the largest of all heads, those below 0 in brown. With ``scale="row"`` it holds
        their shares of the largest in its row.

    Raises:
        UserError: if the trace has no such attention, layer or head, or there is no such `scale`; or if words
            that are not known should be merged.
    """
    reading = Reading(threshold, hide_special, merge_words, scale)
    return draw_picture(picture_of([trace], kind, [(layer, head)], "head", reading), ax)


def plot_aggregate(
    trace: ForwardTrace,
    kind: str,
    heads: Sequence[Sequence[int]] | None = None,
    how: str = "mean",
    ax: Axes | None = None,
    *,
    layer: int | None = None,
    compare: ForwardTrace | None = None,
    threshold: float = 0.0,
    hide_special: bool = False,
    merge_words: bool = False,
    scale: ScaleChoice = None,
) -> Axes:
    """Draw several heads as one matrix, or the rollout of all layers up to one.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> axes = vt.plots.plot_aggregate(trace, "encoder", how="rollout")
    >>> axes.images[0].get_array().shape  # [query, key]
    (5, 5)

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        heads: ``[layer, head]`` pairs; all heads of `layer` if None or empty. Not for rollout.
        how: ``"mean"``, ``"max"``, or ``"rollout"`` (Abnar & Zuidema 2020), which for cross leads
            from the source words to the written ones.
        ax: where to draw; a new figure if None.
        layer: whose heads, or up to which layer; the last if None.
        compare: another trace of the same shape, whose weights are subtracted; or None.
        threshold: as in `plot_head`.
        hide_special: as in `plot_head`.
        merge_words: as in `plot_head`.
        scale: as in `plot_head`.

    Returns:
        The axes. Their image holds the matrix, ``[query, key]``.

    Raises:
        UserError: if the trace has no such attention, layer or head; if there is no such `how`; or
            if there is no rollout of it.
    """
    weights = attention_of(trace, kind)
    layer = weights.shape[0] - 1 if layer is None else layer
    if how not in ("mean", "max", "rollout"):
        raise UserError(f"how={how!r}; choose 'mean', 'max' or 'rollout'")
    given = [] if heads is None else list(heads)
    if any(len(pair) != 2 for pair in given):
        raise UserError(f"heads={shown(heads)}; give [layer, head] pairs: [[0, 1], [2, 3]]")
    pairs = [(int(one), int(other)) for one, other in given]
    if how == "rollout" or not pairs:
        pairs = [(layer, head) for head in range(weights.shape[1])]
    traces = [trace] if compare is None else [trace, compare]
    reading = Reading(threshold, hide_special, merge_words, scale)
    return draw_picture(picture_of(traces, kind, pairs, how, reading), ax)


def plot_difference(
    trace: ForwardTrace,
    other: ForwardTrace,
    kind: str,
    layer: int,
    head: int,
    ax: Axes | None = None,
    *,
    threshold: float = 0.0,
    hide_special: bool = False,
    merge_words: bool = False,
    scale: ScaleChoice = None,
) -> Axes:
    """Draw one head's weights in `trace` minus those in `other`: green is more, brown is less.

    All heads of the kind share one scale, so that two of these pictures can be compared. Where the
    words differ, both are named: ``it|she``.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> other = vt.load_translator().trace("the white cat sleeps")
    >>> axes = vt.plots.plot_difference(trace, other, "cross", 1, 0)

    Args:
        trace: the trace.
        other: another of the same shape.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: counted from 0.
        head: counted from 0.
        ax: where to draw; a new figure if None.
        threshold: as in `plot_head`.
        hide_special: as in `plot_head`.
        merge_words: as in `plot_head`.
        scale: as in `plot_head`.

    Returns:
        The axes. Their image holds the difference, ``[query, key]``.

    Raises:
        UserError: if a trace has no such attention, layer or head, or their shapes differ.
    """
    reading = Reading(threshold, hide_special, merge_words, scale)
    return draw_picture(picture_of([trace, other], kind, [(layer, head)], "head", reading), ax)


def picture_of(
    traces: Sequence[ForwardTrace],
    kind: str,
    heads: Sequence[tuple[int, int]],
    how: str,
    reading: Reading,
) -> Picture:
    """Return a picture and its words without drawing it.

    Of two traces the difference is shown, the first minus the second; they must have one shape. `how` is
    ``"head"``, ``"mean"``, ``"max"`` or ``"rollout"``, for which the layer of the first pair counts.
    """
    traces = [with_times(each) for each in traces]
    trace = traces[0]
    _check_heads(traces, kind, heads)
    if reading.merge_words:
        check_words(trace, kind)
    queries, keys = (
        word_axis(
            _merge_names(traces, names, kind),
            words(trace, kind),
            special=special_tokens(names(trace, kind)),
            hide_special=reading.hide_special,
            merge_words=reading.merge_words,
            keep=keep,
        )
        for names, words, keep in (
            (ForwardTrace.query_tokens, query_words, reading.kept[0]),
            (ForwardTrace.key_tokens, key_words, reading.kept[1]),
        )
    )
    if how == "rollout":
        matrices = [_rollout(each, kind, heads[0][0]) for each in traces]
        weights = matrices[0] if len(traces) == 1 else matrices[0] - matrices[1]
    else:
        chosen = (_head_weights(traces, kind, layer, head) for layer, head in heads)
        weights = combine_heads(chosen, "mean" if how == "head" else how)
    masked = np.logical_and.reduce([masked_cells(each, kind) for each in traces])
    if len(queries.groups) < queries.n_tokens or len(keys.groups) < keys.n_tokens:
        weights = between_words(weights, queries, keys)
        masked = between_words((~masked).astype(np.float32), queries, keys) == 0
    said = _describe_heads(heads, how, traces[0], kind)
    scale = scale_of(traces, kind)
    return Picture(
        weights=weights,
        queries=queries.names,
        keys=keys.names,
        masked=masked,
        reads=_reads(traces, kind, queries),
        title=f"{KINDS[kind].title} · {said}" + (" · difference" if scale.is_difference else ""),
        what=f"{kind} attention, {said.replace(' · ', ', ')}",
        scale=scale,
        threshold=reading.threshold,
        merged=any(len(group) > 1 for group in (*queries.groups, *keys.groups)),
        colours=reading.scale,
    )


def _reads(traces: Sequence[ForwardTrace], kind: str, queries: WordAxis) -> list[str] | None:
    """Return what a decoder had read when it wrote each of its words, where that is known."""
    if KINDS[kind].query == "source" or any(trace.output_tokens is None for trace in traces):
        return None
    tokens = _merge_names(traces, lambda trace, _: trace.target_tokens, kind)
    return [join_pieces([tokens[place] for place in group]) for group in queries.groups]


def _check_heads(traces: Sequence[ForwardTrace], kind: str, heads: Sequence[tuple[int, int]]) -> None:
    shapes = [list(attention_of(trace, kind).shape) for trace in traces]
    if shapes[0] != shapes[-1]:
        raise UserError(
            f"the {kind} attention of the traces is {shapes[0]} and {shapes[1]} as [layer, head, "
            "query, key]; compare traces of equal shapes"
        )
    for layer, head in heads:
        for name, index, size in (("layer", layer, shapes[0][0]), ("head", head, shapes[0][1])):
            if not 0 <= index < size:
                raise UserError(
                    f"{name}={index}, but the {kind} attention of this trace has {size}; "
                    f"choose 0 to {size - 1}"
                )


def _head_weights(traces: Sequence[ForwardTrace], kind: str, layer: int, head: int) -> FloatArray:
    first, *rest = (attention_of(trace, kind)[layer, head] for trace in traces)
    return first - rest[0].astype(np.float32, copy=False) if rest else first


def _rollout(trace: ForwardTrace, kind: str, layer: int) -> FloatArray:
    rolled = output_rollout(trace).source if kind == "cross" else rollout(trace, kind)
    return rolled[layer].astype(np.float32)


def _merge_names(
    traces: Sequence[ForwardTrace], names: Callable[..., tuple[str, ...]], kind: str
) -> list[str]:
    pairs = zip(*(names(trace, kind) for trace in traces), strict=True)
    return ["|".join(dict.fromkeys(pair)) for pair in pairs]


def _describe_heads(heads: Sequence[tuple[int, int]], how: str, trace: ForwardTrace, kind: str) -> str:
    """What is shown, in words, with the model's own numbers of layers and heads."""
    n_heads = attention_of(trace, kind).shape[1]
    layers, numbers = trace.layer_numbers(kind), trace.head_numbers[:n_heads]
    heads = [(layers[layer], numbers[head]) for layer, head in heads]
    (layer, head), *others = heads
    if how == "head":
        return f"layer {layer} · head {head}"
    if how == "rollout":
        return f"rollout of layers 0 to {layer}" if layer else "rollout of layer 0"
    name = {"mean": "mean", "max": "maximum"}[how]
    if heads == [(layer, each) for each in numbers]:
        return f"{name} of all {n_heads} heads of layer {layer}"
    named = ", ".join(f"{one}·{other}" for one, other in heads[:_MOST_NAMED])
    more = f" and {len(heads) - _MOST_NAMED} more" if len(heads) > _MOST_NAMED else ""
    return f"{name} of {len(heads)} head{'s' if others else ''}: {named}{more}"


_MOST_TOKENS = 16  # a small matrix has no room for the names of more tokens
_SLIDE = (13.3, 7.5)  # inches, 16:9 as PowerPoint and Keynote have it
_MOST_CELLS = 96  # of a small matrix a side: a picture has no more pixels for it


def plot_heads(
    trace: ForwardTrace,
    kind: str,
    ax: Axes | None = None,
    *,
    layers: Sequence[int] | None = None,
    scale: ScaleChoice = None,
) -> Figure:
    """Draw all the heads of one kind, small: rows are layers, columns are heads.

    A head of more than 96 tokens is drawn as 96 × 96 cells, each the strongest weight in it.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> figure = vt.plots.plot_heads(trace, "cross")

    Args:
        trace: the trace.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        ax: where to draw; a new figure if None.
        layers: indices of the layers to draw, from 0, in this order. A new figure of them is as large as a
            slide holds, at most 13.3 by 7.5 inches. None draws all, however high that becomes.
        scale: of the colours, as in `plot_head`.

    Returns:
        The figure. The image on its first axes holds the weights of all heads beside each other,
        NaN between them.

    Raises:
        UserError: if the trace has no such attention or layers, or there is no such `scale`.
    """
    weights = attention_of(trace, kind)
    chosen: Sequence[int] = range(len(weights))
    if layers is not None:
        chosen = _chosen_layers(layers, len(weights))
        weights = weights[list(chosen)]  # [chosen layer, head, query, key]
    n_layers, n_heads, n_queries, n_keys = weights.shape
    named = max(n_queries, n_keys) <= _MOST_TOKENS and n_heads <= 8
    # In inches; a cell is side / n_keys high, and a name needs a sixth.
    side = max(1.7, n_keys / 6) if named else max(0.55, min(1.4, 14 / n_heads))
    letters = size = 10.0  # points, of a token's name and of all else
    if layers is not None:
        side = min((_SLIDE[0] - 2.2) / n_heads, (_SLIDE[1] - 1.6) / n_layers * n_keys / n_queries)
        letters = min(14.0, 0.72 * 72 * side / n_keys)
        named, size = letters >= 9.4, 14.0  # 13 pixels at 100 dots an inch
    if ax is None:
        ax = new_axes(
            2.2 + side * n_heads,
            1.6 + side * n_layers * n_queries / n_keys,
            f"{KINDS[kind].title}: {n_layers} layers of {n_heads} heads, each a small heatmap of "
            f"{n_queries} queries and {n_keys} keys.",
            close=True,
        )
    colours = colour_scale(weights, scale_of([trace], kind), scale)
    small = np.stack([strongest(layer, _MOST_CELLS) for layer in colours.values])
    sheet, rows, cols = _mosaic(small)
    image = ax.imshow(sheet, cmap=colours.colormap, norm=colours.norm, interpolation="nearest")
    ax.spines[:].set_visible(False)
    height, width = small.shape[2:]
    if named:
        trace = with_times(trace)
        names = [label(token) for token in trace.key_tokens(kind)]
        turn: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        ax.set_xticks(_cells_after(cols, width), names * n_heads, **label_style(size=letters), **turn)
        names = [label(token) for token in trace.query_tokens(kind)]
        ax.set_yticks(_cells_after(rows, height), names * n_layers, **label_style(size=letters))
    else:
        ax.set(xticks=[], yticks=[])
    top, right = ax.secondary_xaxis("top"), ax.secondary_yaxis("right")
    numbers, numbers_of_layers = trace.head_numbers[:n_heads], trace.layer_numbers(kind)
    heads = [f"head {each}" if n_heads <= 8 or i == 0 else str(each) for i, each in enumerate(numbers)]
    top.set_xticks(cols + (width - 1) / 2, heads, size=size)
    right.set_yticks(rows + (height - 1) / 2, [f"layer {numbers_of_layers[i]}" for i in chosen], size=size)
    for each in (ax, top, right):
        without_frame(each)
    ax.set_title(KINDS[kind].title, loc="left", weight="bold", size=size + 2)
    colours.draw(ax, image, pad=0.02, size=size)
    return cast("Figure", ax.figure)


def _chosen_layers(layers: Any, n_layers: int) -> tuple[int, ...]:
    """Return the layers that were chosen, which must be there, each once."""
    chosen = given_sequence(layers)
    there = all(type(each) is int and 0 <= each < n_layers for each in chosen)
    if not chosen or not there or len(set(chosen)) != len(chosen):
        raise UserError(
            f"layers={shown(layers)}; give different layers from 0 to {n_layers - 1}, such as layers=[0]"
        )
    return chosen


def _mosaic(
    small: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Lay matrices ``[layer, head, query, key]`` out; also where each row and column begins."""
    n_layers, n_heads, height, width = small.shape
    gap = max(1, round(max(height, width) / 14))
    rows, cols = np.arange(n_layers) * (height + gap), np.arange(n_heads) * (width + gap)
    sheet = np.full((rows[-1] + height, cols[-1] + width), np.nan, dtype=np.float32)
    for layer, top in enumerate(rows):
        for head, left in enumerate(cols):
            sheet[top : top + height, left : left + width] = small[layer, head]
    return sheet, rows, cols


def _cells_after(starts: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The places of `count` cells after each start."""
    return (starts[:, None] + np.arange(count)).ravel()
