"""A trace at a glance: a few lines of text, or a small table with a thumbnail of each kind."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from viz_transformer._shared import SHARED
from viz_transformer.trace.kinds import KINDS

if TYPE_CHECKING:  # they import this file
    from viz_transformer.trace.decode import DecodeTrace
    from viz_transformer.trace.forward import ForwardTrace

#: What a stack of layers alone is called, by its kind.
_FAMILIES = {"encoder": "encoder-only", "decoder": "decoder-only", "cross": "cross-attention alone"}
_MOST_NUMBERS = 8
_MOST_LETTERS = 76  # of tokens in a line
_MOST_CELLS = 48  # of a thumbnail in each direction


def trace_as_text(trace: ForwardTrace) -> str:
    """Return a few lines: what kind of model it was, the arrays, the tokens, and the notes."""
    shapes = ", ".join(f"{kind} {_shape(trace, kind)}" for kind in trace.kinds)
    sort = "" if trace.normalised else ", not normalised"
    tokens = " · ".join(f"{side} {_shortened(each)}" for side, each in _sides(trace))
    return "\n".join(
        (
            f"ForwardTrace: {_model(trace)}",
            f"attention [layer, head, query, key]: {shapes or 'none'}{sort}",
            f"tokens: {tokens or 'none'}",
            *trace.notes,
        )
    )


def search_as_text(search: DecodeTrace) -> str:
    """Return a few lines: the sizes of the search, what it read, and the best text that it found."""
    n_kept = max((sum(one.status == "kept" for one in step.candidates) for step in search.steps), default=0)
    lines = [
        f"DecodeTrace: {len(search.hypotheses)} finished texts, {len(search.steps)} recorded steps "
        f"of at most {n_kept} hypotheses"
    ]
    sides = (("source", search.source_tokens), ("prompt", search.prompt_tokens))
    lines += [f"{side} ({len(tokens)}): {_shortened(tokens)}" for side, tokens in sides if tokens]
    for best in search.hypotheses[:1]:
        text = _shortened(best.tokens) or "no token"
        lines.append(f"best ({len(best.tokens)}): {text}, log-probability {best.log_prob:.3f} nats")
    return "\n".join(lines)


def trace_as_html(trace: ForwardTrace) -> str:
    """Return a table with a row for each kind, and in it a picture of the mean over all heads."""
    mean = "mean of the heads" if trace.normalised else "mean size in the heads (not normalised)"
    rows = "".join(
        f'<tr><td><img src="{_thumbnail(trace, kind)}" width="72" height="72" '
        f'alt="{KINDS[kind].label}, mean over all heads" style="image-rendering:pixelated;display:block">'
        f'</td><td style="text-align:left">{KINDS[kind].title}</td><td>{_shape(trace, kind)}</td></tr>'
        for kind in trace.kinds
    )
    tokens = "".join(
        f'<tr><th style="text-align:left">{side}</th><td colspan="2" style="text-align:left">'
        f"{html.escape(_shortened(each))}</td></tr>"
        for side, each in _sides(trace)
    )
    notes = "".join(f"<div>{html.escape(note)}</div>" for note in trace.notes)
    return (
        f'<table><caption style="text-align:left">ForwardTrace: {html.escape(_model(trace))}</caption>'
        f'<tr><th>{mean}</th><th style="text-align:left">attention</th>'
        f"<th>layer × head × query × key</th></tr>{rows}{tokens}</table>"
        f"{notes}<div>Look at every head: <code>vt.explore(trace)</code></div>"
    )


def _model(trace: ForwardTrace) -> str:
    """Describe the model that made the arrays."""
    if not trace.kinds:
        return "no attention"
    family = _FAMILIES[trace.kinds[0]] if len(trace.kinds) == 1 else "encoder–decoder"
    stacks = dict.fromkeys(_layers_and_heads(trace))
    vector = next(
        (each for each in (trace.source_positions, trace.target_positions) if each is not None), None
    )
    width = "" if vector is None else f", d_model {vector.shape[1]}"
    return f"{family}, {', '.join(stacks)}{width}"


def _layers_and_heads(trace: ForwardTrace) -> Iterator[str]:
    for kind in trace.kinds:
        weights = trace.attention(kind)
        assert weights is not None  # a kind that is present
        n_heads = weights.shape[1]
        layers, heads = trace.layer_numbers(kind), trace.head_numbers[:n_heads]
        yield f"{_counted('layer', layers)} of {_counted('head', heads)}"


def _counted(what: str, numbers: tuple[int, ...]) -> str:
    """Say how many layers or heads there are, and which, if they are not the first."""
    shown = ", ".join(map(str, numbers[:_MOST_NUMBERS])) + ", …" * (len(numbers) > _MOST_NUMBERS)
    which = "" if numbers == tuple(range(len(numbers))) else f" ({shown})"
    return f"{len(numbers)} {what}{'s' * (len(numbers) > 1)}{which}"


def _shape(trace: ForwardTrace, kind: str) -> str:
    weights = trace.attention(kind)
    assert weights is not None  # a kind that is present
    return " × ".join(map(str, weights.shape))


def _sides(trace: ForwardTrace) -> Iterator[tuple[str, tuple[str, ...]]]:
    for side, tokens in (("source", trace.source_tokens), ("target", trace.target_tokens)):
        if tokens:
            yield f"{side} ({len(tokens)})", tokens


def _shortened(tokens: tuple[str, ...]) -> str:
    """Join tokens by spaces, as many as fit in a line; what would break the line is escaped."""
    text = ""
    for token in tokens:
        shown = token if token.isprintable() else repr(token)[1:-1]
        if len(text) + len(shown) > _MOST_LETTERS:
            return f"{text} …".strip()
        text = f"{text} {shown}".strip()
    return text


def _thumbnail(trace: ForwardTrace, kind: str) -> str:
    """Return a picture of the mean over all heads, as a URI; the darker, the more weight."""
    weights = trace.attention(kind)
    assert weights is not None  # a kind that is present
    mean = (weights if trace.normalised else np.abs(weights)).mean(
        axis=(0, 1), dtype=np.float32
    )  # [query, key]
    for axis in (0, 1):
        mean = _binned(mean, axis)
    shares = mean / max(float(mean.max()), 1e-9)  # [row, column]
    stops = np.array([[*bytes.fromhex(stop[1:])] for stop in SHARED["weights"]["light"]])  # [stop, channel]
    places = np.linspace(0, 1, len(stops))
    colours = np.stack([np.interp(shares**0.5, places, each) for each in stops.T], axis=-1)
    png = _png(colours.round().astype(np.uint8))
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def _binned(values: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Make an axis no longer than a thumbnail: of neighbours the largest."""
    n = values.shape[axis]
    if n <= _MOST_CELLS:
        return values
    starts = np.arange(_MOST_CELLS) * n // _MOST_CELLS
    return np.maximum.reduceat(values, starts, axis=axis)


def _png(colours: NDArray[np.uint8]) -> bytes:
    """Return an image ``[row, column, colour]`` as a PNG file."""
    n_rows, n_columns, _ = colours.shape
    rows = b"".join(b"\0" + row.tobytes() for row in colours)  # 0: the row is stored unfiltered

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", n_columns, n_rows, 8, 2, 0, 0, 0)  # 8 bits, red green blue
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
