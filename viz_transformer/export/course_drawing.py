"""The course as a drawing: the Transformer with its numbers, in which each part leads to its lesson.

The heads and the loss are those of the bundled translator, as its training recorded them.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence

import numpy as np

from viz_transformer._files import bundled
from viz_transformer.trace import ForwardTrace, TrainingTrace

_WIDTH, _HEIGHT = 960, 660
_ROW = 34  # from one lane to the next
_SOURCE_Y, _TARGET_Y = 78, 306  # of the first lanes
_ENCODER, _DECODER, _CROSS = (300, 396), (500, 580), (612, 684)  # where attention begins and ends
_FEED_FORWARD = (420, 716)
#: Encoder, decoder and cross heads of the last layer that are drawn.
_HEADS = (1, 2, 0)
_FAINT = 0.02  # weights below are not drawn

#: The door of each lesson: the circle's place, and on which side of it the title.
_PLACES = {
    1: (598, 34, "end"),
    2: (132, 34, "start"),
    3: (734, 190, "start"),
    4: (734, 224, "start"),
    5: (734, 34, "start"),
    6: (150, 474, "start"),
    7: (500, 274, "start"),
    8: (300, 274, "start"),
    9: (24, 274, "start"),
    10: (148, 624, "start"),
    11: (420, 624, "start"),
    12: (886, 274, "end"),
    13: (252, 474, "start"),
    14: (532, 474, "start"),
}


#: Of each part that can be pressed itself: left, top, width and height.
_AREAS = {
    1: (598, 56, 96, 228),
    2: (0, 62, 92, 168),
    3: (724, 108, 200, 60),
    5: (722, 54, 200, 50),
    6: (176, 58, 68, 176),
    7: (490, 288, 104, 172),
    8: (284, 56, 170, 180),
    11: (128, 524, 630, 80),
    12: (800, 290, 92, 168),
}


def course_drawing(doors: dict[int, tuple[str, str]]) -> str:
    """Return the drawing as SVG, without a style or a script of its own.

    The doors are the lessons that have a page, each with the page's name and its title.
    """
    run = TrainingTrace.load(bundled("data/en-es/training.npz"))
    trace = run.moments[-1].traces[0]
    parts = [
        *_lanes(trace),
        *_positions(),
        *_blocks(),
        *_attention(trace),
        *_one_head(trace),
        *_training(run),
    ]
    parts += [_door(lesson, *door) for lesson, door in doors.items() if lesson in _PLACES]
    said = "The Transformer, drawn; each part is a link to its lesson."
    return (
        f'<svg class="vt-course" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="group" aria-label="{said}">'
        f"{''.join(parts)}</svg>"
    )


def _door(lesson: int, page: str, title: str) -> str:
    x, y, side = _PLACES[lesson]
    text = html.escape(title.partition(" · ")[2] or title)
    away = 24 if side == "start" else -24
    area = _rect("vt-area", *_AREAS[lesson]) if lesson in _AREAS else ""
    return (
        f'<a href="{html.escape(page)}" class="vt-door vt-door-{lesson}" data-done="{html.escape(page)}" '
        f'aria-label="{html.escape(title)}">{area}<circle cx="{x}" cy="{y}" r="15"/>'
        f'<text x="{x}" y="{y + 5}" text-anchor="middle" class="vt-number">{lesson}</text>'
        f'<text x="{x + away}" y="{y + 5}" text-anchor="{side}">{text}</text></a>'
    )


def _rect(name: str, x: float, y: float, width: float, height: float, rounded: float = 12) -> str:
    return f'<rect class="{name}" x="{x}" y="{y}" width="{width}" height="{height}" rx="{rounded}"/>'


def _ys(first: int, count: int) -> list[int]:
    return [first + _ROW * place for place in range(count)]


def _lanes(trace: ForwardTrace) -> Iterator[str]:
    """Each word is a lane: read words end in cross-attention, written ones at the right."""
    written = trace.output_tokens or ()
    for tokens, first, end, name in (
        (trace.source_tokens, _SOURCE_Y, _CROSS[0], "vt-read-word"),
        (trace.target_tokens, _TARGET_Y, 800, "vt-written-word"),
    ):
        for y, token in zip(_ys(first, len(tokens)), tokens, strict=True):
            yield f'<path class="vt-lane {name}" d="M92 {y}H{end}"/>{_chip(name, 0, y, token)}'
    for y, token in zip(_ys(_TARGET_Y, len(written)), written, strict=True):
        yield _chip("vt-written-word", 800, y, token)


def _chip(name: str, x: float, y: float, token: str) -> str:
    text = {"<eos>": "end", "<sos>": "start"}.get(token, token)
    return (
        f'<g class="{name}">{_rect("vt-token", x, y - 14, 92, 28, 14)}'
        f'<text x="{x + 46}" y="{y + 5}" text-anchor="middle">{html.escape(text)}</text></g>'
    )


def _positions() -> Iterator[str]:
    """A sine and a cosine of the place of each word, in a box on both sides."""
    for first in (_SOURCE_Y, _TARGET_Y):
        ys = _ys(first, 5)
        yield _rect("vt-box", 176, ys[0] - 20, 68, ys[-1] - ys[0] + 40, 8)
        for x, wave in ((196, math.sin), (226, math.cos)):
            points = [(x + 12 * wave(place), y) for place, y in enumerate(ys)]
            yield _line("vt-wave", points)
            yield "".join(f'<circle class="vt-wave" cx="{px:.1f}" cy="{y}" r="4"/>' for px, y in points)


def _line(name: str, points: Sequence[tuple[float, float]]) -> str:
    return f'<polyline class="{name}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def _blocks() -> Iterator[str]:
    """The encoder and the decoder behind what they hold; the part that is alone in lesson 13 is dashed."""
    height = 4 * _ROW + 44
    yield _rect("vt-block", 284, _SOURCE_Y - 22, 170, height)
    yield _rect("vt-block", 484, _TARGET_Y - 22, 264, height)
    yield _rect("vt-block", 598, _SOURCE_Y - 22, 96, _TARGET_Y - _SOURCE_Y)
    yield _rect("vt-alone", 474, _TARGET_Y - 14, 284, height + 30)
    for x, first in zip(_FEED_FORWARD, (_SOURCE_Y, _TARGET_Y), strict=True):
        for y in _ys(first, 5):
            yield f'<path class="vt-hexagon" d="M{x} {y - 11}l10 6v10l-10 6l-10 -6v-10z"/>'


def _attention(trace: ForwardTrace) -> Iterator[str]:
    """One head of each kind: each weight is the width and the darkness of a line from key to query."""
    maps = (trace.encoder_attention, trace.decoder_attention, trace.cross_attention)
    starts = (_SOURCE_Y, _TARGET_Y, _SOURCE_Y)
    ends = (_SOURCE_Y, _TARGET_Y, _TARGET_Y)
    places = (_ENCODER, _DECODER, _CROSS)
    for weights, head, (left, right), key_y, query_y in zip(maps, _HEADS, places, starts, ends, strict=True):
        if weights is None:
            continue
        middle = (left + right) / 2
        for query, key in np.argwhere(weights[-1, head] > _FAINT):
            weight = float(weights[-1, head, query, key])
            look = f'stroke-width="{1 + 7 * weight:.1f}" stroke-opacity="{0.12 + 0.6 * weight:.2f}"'
            y1, y2 = key_y + _ROW * int(key), query_y + _ROW * int(query)
            yield f'<path class="vt-arc" {look} d="M{left} {y1}C{middle} {y1} {middle} {y2} {right} {y2}"/>'


def _one_head(trace: ForwardTrace) -> Iterator[str]:
    """The cross-attention heads of the last layer as small pictures, and one row of the first as bars."""
    if trace.cross_attention is None:
        return
    heads = trace.cross_attention[-1]
    yield _rect("vt-box", 712, 14, 244, 232)
    yield '<path class="vt-lens" d="M694 112L712 60M694 190L712 220"/>'
    for head, weights in enumerate(heads):
        x, y = 728 + 46 * head, 62
        yield _rect("vt-cells", x, y, 35, 35, 0)
        for query, key in np.argwhere(weights > _FAINT):
            opacity = float(weights[query, key])
            yield (
                f'<rect class="vt-cell" x="{x + 7 * int(key)}" y="{y + 7 * int(query)}" width="7" height="7" '
                f'fill-opacity="{opacity:.2f}"/>'
            )
    yield _rect("vt-chosen", 725, 59, 41, 41, 5)
    for key, weight in enumerate(heads[0, 1].tolist()):  # the row el → gato
        height = max(1, 50 * weight)
        yield _rect("vt-cell", 742 + 36 * key, 164 - height, 18, height, 2)
    yield '<path class="vt-axis" d="M732 165H912"/>'


def _training(run: TrainingTrace) -> Iterator[str]:
    """The loss of the training on a logarithmic scale; what is written goes in, better words come out."""
    yield _rect("vt-box", 128, 524, 630, 122)
    low, high = math.log(float(run.losses.min())), math.log(float(run.losses.max()))
    last = float(run.steps[-1])
    points = [
        (142 + 600 * float(step) / last, 540 + 70 * (high - math.log(float(loss))) / (high - low))
        for step, loss in zip(run.steps[::3], run.losses[::3], strict=True)
    ]
    yield _line("vt-loss", points)
    yield '<path class="vt-flow" d="M846 460V585H768M776 579l-8 6l8 6"/>'
    yield '<path class="vt-flow" d="M118 585H46V460M40 468l6 -8l6 8"/>'
