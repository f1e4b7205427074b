"""The drawings that bertviz makes: which kinds together, and the weights as bytes."""

from __future__ import annotations

import base64
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, ForwardTrace, attention_of, shares_of


@dataclass(frozen=True)
class Drawing:
    """One run of bertviz's script: the kinds that share one set of layers and heads.

    Attributes:
        trace: where the weights are.
        kinds: which kinds of attention; the viewer chooses among them by bertviz's own menu.
        layers: the layers shown, counted from 0.
        heads: the heads shown, counted from 0.
        n_layers: how many layers the kinds have.
        n_heads: how many heads a layer has.
    """

    trace: ForwardTrace
    kinds: tuple[str, ...]
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    n_layers: int
    n_heads: int

    @property
    def lengths(self) -> dict[str, tuple[int, int]]:
        """How many queries and keys each kind has."""
        return {kind: attention_of(self.trace, kind).shape[2:] for kind in self.kinds}

    @property
    def n_bytes(self) -> int:
        """How long the weights are in the page: four bytes each, and base64 adds a third."""
        weights = sum(queries * keys for queries, keys in self.lengths.values())
        return len(self.layers) * len(self.heads) * weights * 4 * 4 // 3

    def data(self) -> dict[str, Any]:
        """Return all that the script needs, as JSON's own types."""
        return {
            "layers": self.layers,
            "heads": self.heads,
            "totalHeads": self.n_heads,
            "kinds": [self._kind(kind) for kind in self.kinds],
        }

    def _kind(self, kind: str) -> dict[str, Any]:
        # [layer, head, query, key], in the order chosen
        weights = attention_of(self.trace, kind)[list(self.layers)][:, list(self.heads)]
        return {
            "name": kind,
            "left": self.trace.query_tokens(kind),
            "right": self.trace.key_tokens(kind),
            "weights": base64.b64encode(weights.astype("<f4").tobytes()).decode("ascii"),
        }


def drawings_of(
    trace: ForwardTrace,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None,
    kind: str | None,
) -> list[Drawing]:
    """Return what to draw: all kinds at once if they have the same shape, else each apart.

    bertviz takes the layers and heads of the first kind for those of every kind.
    """
    kinds = _kinds(trace, kind)
    sizes = {each: shares_of(trace, each).shape[:2] for each in kinds}
    layers = _whole_numbers("layers", layers, max(n_layers for n_layers, _ in sizes.values()))
    heads = _whole_numbers("heads", heads, max(n_heads for _, n_heads in sizes.values()))
    apart = [
        Drawing(
            trace=trace,
            kinds=(each,),
            layers=_among(layers, n_layers),
            heads=_among(heads, n_heads),
            n_layers=n_layers,
            n_heads=n_heads,
        )
        for each, (n_layers, n_heads) in sizes.items()
    ]
    shown = [each for each in apart if each.layers and each.heads]
    if not shown:
        raise UserError(
            f"no kind of attention has both layers {list(layers)} and heads {list(heads)} both; "
            "leave out layers or heads to see all"
        )
    first = shown[0]
    if any((each.n_layers, each.n_heads) != (first.n_layers, first.n_heads) for each in shown):
        return shown
    return [replace(first, kinds=tuple(kind for each in shown for kind in each.kinds))]


def _kinds(trace: ForwardTrace, kind: str | None) -> tuple[str, ...]:
    if not trace.kinds:
        raise UserError(
            "this trace has no attention to show; make one with vt.capture(model, …) or give "
            "vt.ForwardTrace an attention array"
        )
    if kind is None:
        return trace.kinds
    if kind not in trace.kinds:
        known = "is not in this trace" if kind in list(KINDS) else "is unknown"
        raise UserError(f"kind={kind!r} {known}; choose one of {list(trace.kinds)}, or None for all of them")
    return (kind,)


def _whole_numbers(name: str, given: Sequence[int] | None, most: int) -> tuple[int, ...]:
    """Return the numbers given, or all below `most`; raise unless they are different ones of it."""
    if given is None:
        return tuple(range(most))
    try:
        numbers = tuple(operator.index(number) for number in given)
    except TypeError as error:
        raise UserError(
            f"{name}={given!r:.60} is not a list of whole numbers; give one, such as {name}=[0]"
        ) from error
    fits = all(0 <= number < most for number in numbers)
    if not numbers or not fits or len(set(numbers)) != len(numbers):
        raise UserError(
            f"{name}={list(numbers)!r:.60} does not fit; give different numbers from 0 to {most - 1}"
        )
    return numbers


def _among(numbers: tuple[int, ...], n: int) -> tuple[int, ...]:
    return tuple(number for number in numbers if number < n)
