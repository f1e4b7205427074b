"""Figures of attributions: a logit lens, the parts of a logit and of a score, and patching maps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.errors import UserError
from viz_transformer.plots.colour import COLOURS, ink_in, signed_colormap, word_colormap
from viz_transformer.plots.figures import new_axes, without_frame
from viz_transformer.plots.labels import label, label_style
from viz_transformer.plots.matrix import SLANTED
from viz_transformer.trace import KINDS, LogitAttribution, LogitLens, PatchingMap, ScoreParts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

_MOST_TEXTS = 900  # cells; more have no room for text
_NARROW, _NAMEDEVERY = 0.08, 7  # inches of a column without texts; every how many has a name
_LONGEST = 8  # characters of a token in a cell
_NAMED = 3  # strongest cells named in the alternative text


def plot_logit_lens(lens: LogitLens, ax: Axes | None = None, *, show: str = "top") -> Axes:
    """Draw what a model would predict after each layer: layers down the side, the prompt along the top.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> lens = vt.attribution.logit_lens(model.model, "el gato", tokenizer=model.vocabulary)
    >>> axes = vt.plots.plot_logit_lens(lens)

    Args:
        lens: what `vt.attribution.logit_lens` returned.
        ax: where to draw; a new figure if None.
        show: ``"top"`` writes the likeliest token into each cell, bold where it is the answer, and
            colours it by its probability; ``"answer"`` writes the answer's rank, and colours by the
            answer's probability.

    Returns:
        The axes. Their image holds the probabilities, ``[row, position]``, coloured from 0 to 1.

    Raises:
        UserError: if `show` is unknown.
    """
    is_answer = lens.answer_ranks == 1
    if show == "top":
        values = lens.top_probabilities[..., 0]
        texts = np.vectorize(_short, otypes=[object])(lens.top_tokens[..., 0])
        title, meaning = "What it would say after", "probability of the token shown\n(bold: the answer)"
    elif show == "answer":
        values, texts = lens.answer_probabilities, lens.answer_ranks.astype(str).astype(object)
        title, meaning = "Rank of the answer after", "probability of the answer (in the cells: its rank)"
    else:
        raise UserError(f"show={show!r}; choose 'top' (the likeliest tokens) or 'answer' (its rank)")
    if ax is None:
        _, height = _size(values)
        width = 2.6 + max(_width(values, 0.66), 2.64)
        ax = new_axes(width, height + _room_for(lens.tokens), describe_logit_lens(lens), close=True)
    image = _draw(ax, values, word_colormap(), (0.0, 1.0), texts, bold=is_answer)
    _name_axes(ax, lens.tokens, lens.rows, "the model reads →")
    below = ax.secondary_xaxis("bottom")
    named = _named_columns(values.shape)
    below.set_xticks(named, [_short(lens.answers[i]) for i in named], **label_style())
    below.set_xlabel("the answer", color=COLOURS["muted"], loc="left")
    without_frame(below)
    ax.set_title(f"{title} each layer", loc="left", weight="bold")
    _add_bar(ax, image, meaning)
    return ax


def describe_logit_lens(lens: LogitLens) -> str:
    """Return a lens in words: from which layer on each position has its answer.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> lens = vt.attribution.logit_lens(model.model, "el gato", tokenizer=model.vocabulary)
    >>> words = vt.plots.describe_logit_lens(lens)

    Args:
        lens: what `vt.attribution.logit_lens` returned.
    """
    said = []
    for position, (token, answer) in enumerate(zip(lens.tokens, lens.answers, strict=True)):
        others = np.flatnonzero(lens.answer_ranks[:, position] != 1)
        since = 0 if not len(others) else int(others[-1]) + 1
        where = f"from {lens.rows[since]} on" if since < len(lens.rows) else "never first"
        said.append(f"after {label(token)}: {label(answer)}, {where}")
    return f"Logit lens over {len(lens.rows)} rows and {len(lens.tokens)} positions. {'; '.join(said)}."


def plot_attribution(parts: LogitAttribution, ax: Axes | None = None) -> Axes:
    """Draw what each head and each feed-forward network adds to a logit: a row for each layer.

    The line below the title has the whole sum. Brown lowers the logit, green raises it.

    >>> import viz_transformer as vt
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import DecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16, norm="pre")
    >>> parts = vt.attribution.direct_logit_attribution(DecoderOnly(config), [1, 5, 7])
    >>> axes = vt.plots.plot_attribution(parts)

    Args:
        parts: what `vt.attribution.direct_logit_attribution` returned.
        ax: where to draw; a new figure if None.

    Returns:
        The axes. Their image holds the shares, ``[layer, head]``, behind a gap those of the heads of
        cross-attention, if there is any, and of the networks; the scale has 0 in its middle.
    """
    n_layers = len(parts.heads)
    gap = np.full((n_layers, 1), np.nan, dtype=np.float32)
    attentions = [parts.heads, *([] if parts.cross_heads is None else [parts.cross_heads])]
    blocks = [part for heads in attentions for part in (heads, gap)]
    values = np.hstack([*blocks, parts.mlps[:, None]])  # [layer, the heads of each attention + 1, network]
    columns = [name for heads in attentions for name in (*map(str, range(heads.shape[1])), "")]
    what = "head" if parts.cross_heads is None else "head of the self-attention, then of the cross-attention"
    if ax is None:
        ax = new_axes(*_size(values), describe_attribution(parts), close=True)
    image = _draw_signed(ax, values)
    rows = [f"layer {layer}" for layer in range(n_layers)]
    _name_axes(ax, [*columns, "network"], rows, what)
    ax.set_title(f"{_whole(parts)}\n{_sum(parts)}", loc="left", weight="bold", parse_math=False)
    _add_bar(ax, image, "added to the logit")
    return ax


def describe_attribution(parts: LogitAttribution) -> str:
    """Return in words what the strongest parts add.

    >>> import viz_transformer as vt
    >>> from viz_transformer.config import ModelConfig
    >>> from viz_transformer.model import DecoderOnly
    >>> config = ModelConfig(family="decoder", vocab_size=10, d_model=8, n_heads=2, d_ff=16, norm="pre")
    >>> parts = vt.attribution.direct_logit_attribution(DecoderOnly(config), [1, 5, 7])
    >>> words = vt.plots.describe_attribution(parts)

    Args:
        parts: what `vt.attribution.direct_logit_attribution` returned.
    """
    names = [f"layer {layer} head {head}" for layer, head in np.ndindex(parts.heads.shape)]
    names += [f"the network of layer {layer}" for layer in range(len(parts.mlps))]
    shares = np.concatenate([parts.heads.ravel(), parts.mlps])
    if parts.cross_heads is not None:
        names += [
            f"layer {layer} cross-attention head {head}"
            for layer, head in np.ndindex(parts.cross_heads.shape)
        ]
        shares = np.concatenate([shares, parts.cross_heads.ravel()])
    return f"Direct logit attribution. {_whole(parts)}: {_sum(parts)}. {_strongest(names, shares)}"


def plot_patching(found: PatchingMap, ax: Axes | None = None) -> Axes:
    """Draw how much of the clean answer each part brings back: 0 is the corrupted run, 1 the clean one.

    Rows are layers; columns are heads, or the positions of the prompt, "clean|corrupted" where the two
    differ. Brown leads away from the clean answer, green towards it.

    >>> import viz_transformer as vt
    >>> model, prompts = vt.load_language_model(), ("el gato", "la vaca")
    >>> options = {"metric": "duerme", "tokenizer": model.vocabulary}
    >>> found = vt.attribution.patching(model.model, *prompts, **options)
    >>> axes = vt.plots.plot_patching(found)

    Args:
        found: what `vt.attribution.patching` returned.
        ax: where to draw; a new figure if None.

    Returns:
        The axes. Their image holds `found.restored`; the scale has 0 in its middle.
    """
    values = found.restored
    if ax is None:
        width, height = _size(values)
        ax = new_axes(width, height + _room_for(found.columns), describe_patching(found), close=True)
    image = _draw_signed(ax, values)
    rows = [f"layer {layer}" for layer in range(len(values))]
    stream = f"position, in the {found.kind}'s stream before the layer →"
    what = f"head of the {KINDS[found.kind].label}" if found.what == "heads" else stream
    _name_axes(ax, found.columns, rows, what)
    ax.set_title(_ends(found), loc="left", weight="bold", parse_math=False)
    _add_bar(ax, image, "share brought back")
    return ax


def describe_patching(found: PatchingMap) -> str:
    """Return in words which parts bring back most.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> options = {"metric": "duerme", "tokenizer": model.vocabulary}
    >>> found = vt.attribution.patching(model.model, "el gato", "la vaca", **options)
    >>> words = vt.plots.describe_patching(found)

    Args:
        found: what `vt.attribution.patching` returned.
    """
    part = "head" if found.what == "heads" else "position"
    names = [
        f"layer {layer} {part} {column}" + ("" if part == "head" else f" ({label(found.columns[column])})")
        for layer, column in np.ndindex(found.values.shape)
    ]
    where = KINDS[found.kind].label if found.what == "heads" else f"{found.kind}'s stream"
    strongest = _strongest(names, found.restored.ravel())
    return f"Activation patching of {found.what} in the {where}. {_ends(found)}. {strongest}"


def _whole(parts: LogitAttribution) -> str:
    after = f"at {label(parts.tokens[parts.position])}"
    against = "" if parts.against is None else f" − {label(parts.against)}"
    return f"logit of {label(parts.token)}{against} {after} = {_number(parts.logit)}"


def _sum(parts: LogitAttribution) -> str:
    named = {
        "heads": parts.heads.sum() + (0 if parts.cross_heads is None else parts.cross_heads.sum()),
        "networks": parts.mlps.sum(),
        "embedding": parts.embedding,
        "bias": parts.bias,
    }
    return "= " + " ".join(f"{_signed(share)} {name}" for name, share in named.items())


def _ends(found: PatchingMap) -> str:
    return f"{found.metric}: {_number(found.corrupted)} corrupted, {_number(found.clean)} clean"


def _strongest(names: Sequence[str], values: NDArray[np.floating]) -> str:
    order = np.argsort(-np.abs(values), kind="stable")[:_NAMED]
    return f"The strongest: {', '.join(f'{names[i]} {_signed(values[i])}' for i in order)}."


def _number(value: float) -> str:
    return f"{value:z.2f}".replace("-", "−")


def _signed(value: float) -> str:
    text = f"{value:+z.2f}".replace("-", "−")
    return "0.00" if text == "+0.00" else text


def _short(token: str) -> str:
    text = label(token)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _size(values: NDArray[np.floating]) -> tuple[float, float]:
    """Return the width and height of a new figure of signed cells, in inches."""
    n_rows = len(values)
    return 2.6 + max(_width(values, 0.46), 4.0), 1.9 + 0.3 * max(n_rows, 4)


def _width(values: NDArray[np.floating], of_text: float) -> float:
    """Return the width of all columns, in inches; without texts in the cells they are narrow."""
    return values.shape[1] * (of_text if values.size <= _MOST_TEXTS else _NARROW)


def _named_columns(shape: tuple[int, ...]) -> range:
    """Return the columns that have room for a name: all, or every so many where they are narrow."""
    return range(0, shape[1], 1 if np.prod(shape) <= _MOST_TEXTS else _NAMEDEVERY)


def _room_for(columns: Sequence[str]) -> float:
    """Return the height that slanted names need, in inches."""
    return 0.05 * max(len(label(column)) for column in columns)


def _draw_signed(ax: Axes, values: NDArray[np.floating]) -> AxesImage:
    """Draw numbers on a scale with 0 in its middle."""
    limit = float(np.nanmax(np.abs(values))) or 1.0
    texts = np.vectorize(lambda value: "" if np.isnan(value) else _signed(value), otypes=[object])(values)
    return _draw(ax, values, signed_colormap(), (-limit, limit), texts)


def _draw(
    ax: Axes,
    values: NDArray[np.floating],
    colours: Any,
    limits: tuple[float, float],
    texts: NDArray[np.object_],
    bold: NDArray[np.bool_] | None = None,
) -> AxesImage:
    """Draw cells with their colours and texts."""
    image = ax.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(1, values.shape[1]) - 0.5, minor=True)
    ax.set_yticks(np.arange(1, len(values)) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1)
    ax.tick_params(which="both", length=0)
    if values.size > _MOST_TEXTS:
        return image
    for row, column in np.argwhere(~np.isnan(values)):
        weight = "bold" if bold is not None and bold[row, column] else "normal"
        ink = ink_in(image, values[row, column])
        style = label_style(weight)
        ax.text(column, row, texts[row, column], ha="center", va="center", color=ink, **style)
    return image


def _name_axes(ax: Axes, columns: Sequence[str], rows: Sequence[str], what: str) -> None:
    named = _named_columns((len(rows), len(columns)))
    names = [label(columns[i]) if columns[i] else "" for i in named]
    slanted = any(len(one) + len(next_to) > 12 for one, next_to in pairwise(names))
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set_xticks(named, names, **label_style(), **(SLANTED if slanted else {}))
    ax.set_yticks(range(len(rows)), list(rows))
    ax.tick_params(which="both", length=0)
    ax.set_xlabel(what, color=COLOURS["muted"], loc="left", labelpad=6)


def _add_bar(ax: Axes, image: AxesImage, meaning: str) -> None:
    bar = ax.figure.colorbar(image, ax=[ax], shrink=0.7, aspect=22, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(meaning, color=COLOURS["ink"])


_MOST_PARTS = 9  # parts of a side
_FAINTEST = 0.02  # of the strongest pair; fainter ones have no line


def plot_score_parts(parts: ScoreParts, ax: Axes | None = None) -> Axes:
    """Draw the parts of a query at the left, those of a key at the right, and what each pair adds.

    A line is as wide as what its pair adds to the score: green raises it, brown lowers it. Beside each part
    is what it adds with all of the other side. Small parts are drawn as one.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> options = {"tokenizer": model.vocabulary, "layer": 1, "head": 0}
    >>> parts = vt.attribution.score_parts(model.model, "el gato duerme", query=3, key=2, **options)
    >>> axes = vt.plots.plot_score_parts(parts)

    Args:
        parts: what `vt.attribution.score_parts` returned.
        ax: where to draw; a new figure if None.

    Returns:
        The axes. The gid of each line names its pair: ``"network 0 × word"``.
    """
    few = parts.shortened(_MOST_PARTS)
    if ax is None:
        ax = new_axes(7.5, 1.6 + 0.36 * max(few.values.shape), describe_score_parts(parts), close=True)
    heights = [np.linspace(1, 0, n) if n > 1 else np.array([0.5]) for n in few.values.shape]
    strongest = float(np.abs(few.values).max()) or 1.0
    for i, j in np.argwhere(np.abs(few.values) >= _FAINTEST * strongest):
        value = float(few.values[i, j])
        ax.plot(
            [0, 1],
            [heights[0][i], heights[1][j]],
            color=COLOURS["above" if value > 0 else "below"],
            linewidth=12 * abs(value) / strongest,
            alpha=0.6,
            solid_capstyle="butt",
            gid=f"{few.query_parts[i]} × {few.key_parts[j]}",
        )
    sides = ((0, "right", -0.03, few.query_parts, few.by_query), (1, "left", 1.03, few.key_parts, few.by_key))
    for side, align, x, names, sums in sides:
        for name, total, y in zip(names, sums, heights[side], strict=True):
            text = f"{name}  {_signed(total)}" if side == 0 else f"{_signed(total)}  {name}"
            ax.text(x, y, text, ha=align, va="center", color=COLOURS["ink"], parse_math=False)
        token = (parts.query_tokens[parts.query], parts.key_tokens[parts.key])[side]
        ink = COLOURS[("query", "key")[side]]
        ax.text(x, 1.13, label(token), ha=align, va="bottom", color=ink, **label_style("bold"))
    ax.set(xlim=(-0.5, 1.5), ylim=(-0.08, 1.25))
    ax.axis("off")
    ax.set_title(_score_sentence(parts), loc="left", weight="bold", parse_math=False)
    return ax


def describe_score_parts(parts: ScoreParts) -> str:
    """Return a score and its largest pairs in words.

    >>> import viz_transformer as vt
    >>> model = vt.load_language_model()
    >>> options = {"tokenizer": model.vocabulary, "layer": 1, "head": 0}
    >>> parts = vt.attribution.score_parts(model.model, "el gato duerme", query=3, key=2, **options)
    >>> words = vt.plots.describe_score_parts(parts)

    Args:
        parts: what `vt.attribution.score_parts` returned.
    """
    order = np.argsort(-np.abs(parts.values), axis=None, kind="stable")[:_NAMED]
    pairs = [
        f"{parts.query_parts[i]} with {parts.key_parts[j]} {_signed(parts.values[i, j])}"
        for i, j in zip(*np.unravel_index(order, parts.values.shape), strict=True)
    ]
    return f"Parts of a score. {_score_sentence(parts)}. Of the query with the key: {', '.join(pairs)}."


def _score_sentence(parts: ScoreParts) -> str:
    query, key = label(parts.query_tokens[parts.query]), label(parts.key_tokens[parts.key])
    most = int(np.argmax(np.abs(parts.by_key)))
    whole = f"head {parts.layer}·{parts.head}: the score of {key} for {query} is {_signed(parts.score)}"
    return f"{whole},\n{_signed(parts.by_key[most])} of it with the {parts.key_parts[most]} at {key}"
