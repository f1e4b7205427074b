"""The part of a large trace that an exported page carries: some layers and heads, and how finely."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.errors import UserError
from viz_transformer.trace import FloatArray
from viz_transformer.widgets.explorer.requests import reply, to_bytes
from viz_transformer.widgets.explorer.sentence_pair import PAIRS, pair_kind
from viz_transformer.widgets.explorer.trace_view import TraceView

#: Weights that take more bytes than this in 16 bits are written in 8, unless the bits are named.
MOST_IN_16_BITS = 2e6

#: The most heads of a kind that are packed to find out how many bytes all of them take.
_SAMPLE = 8

#: Each row of weights in 8 bits has at least so many steps from 0 to its largest.
_LEAST_STEPS = 15


@dataclass(frozen=True)
class Part:
    """Which heads a page carries; every head for the default.

    Attributes:
        layers: counted from 0; None is all.
        heads: of each of these layers, counted from 0; None is all.
        bits: of each weight, 16 or 8; None chooses by the size.
        threshold: weights of heads that are smaller are left out.
    """

    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    bits: int | None = None
    threshold: float = 0.0


class Packer:
    """Makes what a page carries of a part of a trace, one head at a time."""

    def __init__(self, view: TraceView, part: Part) -> None:
        """Take the trace, and the part of it."""
        self._view = view
        self._part = part
        self._open: dict[str, NDArray[np.bool_]] = {}

    @cached_property
    def bits(self) -> int:
        """Of each weight, 16 or 8."""
        return self._part.bits or (16 if self._n_bytes(16) <= MOST_IN_16_BITS else 8)

    def n_bytes(self) -> int:
        """Return about how many bytes the weights take in a page, from those of a few heads."""
        return self._n_bytes(self.bits)

    def told(self) -> dict[str, Any]:
        """Return the part's bits and threshold, layers and heads."""
        part = self._part
        return {
            "bits": self.bits,
            "threshold": part.threshold,
            "layers": None if part.layers is None else [*part.layers],
            "heads": None if part.heads is None else [*part.heads],
        }

    def requests(self, version: int) -> list[dict[str, Any]]:
        """Return the requests that the page carries the replies to."""
        requests: list[dict[str, Any]] = []
        view = self._view
        for kind in view.kinds:
            for layer in self._layers_of(kind):
                requests += [{"head": [kind, layer, head]} for head in self._heads_of(kind)]
                if not view.no_rollout(kind):
                    requests.append({"rollout": [kind, layer]})
            if view.has_shares:
                requests.append({"measure": [kind]})
            if view.segments and kind == pair_kind(view.traces[0]):
                requests += [{"overview": [kind, pair]} for pair in PAIRS[1:]]
        return [{**request, "version": version} for request in requests]

    def replies(self, requests: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the reply to each request; rollouts follow one another, so that only one is in memory."""
        rollouts: dict[str, Iterator[tuple[int, FloatArray]]] = {}
        for request in requests:
            if "head" in request:
                yield self.head(*request["head"])
            elif "rollout" in request:
                kind, wanted = request["rollout"]
                by_layer = rollouts.setdefault(kind, enumerate(self._view.rollouts_by_layer(kind)))
                yield self._packed(kind, next(each for at, each in by_layer if at == wanted), 8)
            else:
                yield reply(self._view, request["version"], request)

    def head(self, kind: str, layer: int, head: int) -> dict[str, Any]:
        """Return a head as the page reads it."""
        return self._without_small(kind, self._view.head(kind, layer, head), self.bits)

    def _without_small(self, kind: str, weights: FloatArray, bits: int) -> dict[str, Any]:
        if not self._part.threshold:
            return self._packed(kind, weights, bits)
        small = np.abs(weights) < self._part.threshold
        sizes = np.abs(weights, dtype=np.float64)
        lost = float(sizes[small].sum() / (sizes.sum() or 1))
        return {**self._packed(kind, np.where(small, np.float32(0), weights), bits), "lost": lost}

    def _packed(self, kind: str, weights: FloatArray, bits: int) -> dict[str, Any]:
        """Pack weights ``[query, key]`` without the cells that are masked for all heads of a kind."""
        if kind not in self._open:
            self._open[kind] = ~self._view.masked(kind)
        cells = self._open[kind]
        is_whole = bool(weights[~cells].any())  # a rollout may reach what is masked
        packed = pack_weights(weights, None if is_whole else cells, bits, self._view.limit(kind))
        return {"weights": packed, "dtype": f"packed{bits}", **({"whole": True} if is_whole else {})}

    def _n_bytes(self, bits: int) -> int:
        total = 0.0
        for kind in self._view.kinds:
            places = [(layer, head) for layer in self._layers_of(kind) for head in self._heads_of(kind)]
            spread = np.linspace(0, len(places) - 1, min(len(places), _SAMPLE)).round().astype(int)
            sample = [places[at] for at in spread]
            sizes = [
                len(zlib.compress(self._without_small(kind, self._view.head(kind, *at), bits)["weights"]))
                for at in sample
            ]
            total += sum(sizes) / max(1, len(sizes)) * len(places)
        return round(total * 4 / 3)  # as base64, four letters for three bytes

    def _layers_of(self, kind: str) -> list[int]:
        layers = self._part.layers
        return [layer for layer in range(self._view.shape(kind)[0]) if layers is None or layer in layers]

    def _heads_of(self, kind: str) -> list[int]:
        heads = self._part.heads
        return [head for head in range(self._view.shape(kind)[1]) if heads is None or head in heads]


def coarser(overview: dict[str, Any]) -> dict[str, Any]:
    """Return thumbnails of shares in 64 levels of 256, which look the same and take fewer bytes."""
    levels = np.rint(np.frombuffer(overview["values"], np.uint8) * (63 / 255))
    return {**overview, "values": np.rint(levels * (255 / 63)).astype(np.uint8).tobytes()}


def pack_weights(
    weights: FloatArray, cells: NDArray[np.bool_] | None, bits: int, limit: float | None
) -> bytes:
    """Return weights ``[query, key]`` as bytes that can be compressed well.

    They are in the order of columns, since what one key gets from neighbouring queries is alike; of float16
    the low bytes come first, then the high ones. In 8 bits, a float32 step for each row comes first, then a
    byte for each weight, which counts steps from 0, or from 128 where there is a limit. A step is 1/255 of
    the scale, and in a faint row a share of its largest weight, so that it does not vanish. A share that is
    less than the whole stays so.

    Args:
        weights: float32.
        cells: which of them are packed; None is all.
        bits: 16 or 8.
        limit: the end of the scale; None for shares of a whole.
    """
    chosen: Callable[[NDArray[Any]], NDArray[Any]]
    chosen = np.ravel if cells is None else lambda columns: columns[cells.T]
    if bits == 16:
        halves = to_bytes(chosen(weights.T) if limit is None else chosen(weights.T) / np.float32(limit))
        return np.frombuffer(halves, np.uint8).reshape(-1, 2).T.tobytes()
    of_scale = 1 / 255 if limit is None else limit / 127
    steps = np.minimum(np.abs(weights).max(axis=1) / _LEAST_STEPS, of_scale).astype("<f4")  # [query]
    counted = np.rint(weights / np.where(steps > 0, steps, 1)[:, None])  # [query, key]
    most = np.where(weights < 1, 254, 255) if limit is None else 255
    whole = (counted + (0 if limit is None else 128)).clip(0, most).astype(np.uint8)
    return steps.tobytes() + chosen(whole.T).tobytes()


def chosen_part(
    view: TraceView,
    layers: Iterable[int] | None,
    heads: Iterable[int] | None,
    bits: int | None,
    threshold: float,
) -> Part:
    """Return the part that is named.

    Raises:
        UserError: if the trace has no such layer or head in any kind, `bits` is neither 16 nor 8, or
            `threshold` is no share.
    """
    if bits not in (8, 16, None):
        raise UserError(f"bits={bits!r:.40}; choose 16, or 8 for a smaller page, or None: by its size")
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold < 1:
        raise UserError(
            f"threshold={threshold!r:.40} is no share from 0 up to 1; weights below it are left out of the "
            "page, such as threshold=0.001"
        )
    shapes = [view.shape(kind)[:2] for kind in view.kinds]
    return Part(
        _indices("layers", layers, max(n_layers for n_layers, _ in shapes)),
        _indices("heads", heads, max(n_heads for _, n_heads in shapes)),
        bits,
        float(threshold),
    )


def _indices(name: str, given: Any, size: int) -> tuple[int, ...] | None:
    if given is None:
        return None
    whole = not isinstance(given, str) and isinstance(given, Iterable)
    listed = list(given) if whole else [given]
    if not whole or not listed or not all(_is_index(index, size) for index in listed):
        raise UserError(
            f"{name}={given!r:.60} is no list of {name} of this trace; give whole numbers from 0 to "
            f"{size - 1}, such as {name}=range({min(4, size)})"
        )
    return tuple(sorted({int(index) for index in listed}))


def _is_index(index: Any, size: int) -> bool:
    return isinstance(index, int | np.integer) and not isinstance(index, bool) and bool(0 <= index < size)
