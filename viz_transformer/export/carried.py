"""The part of large traces that a page carries: some layers and heads, and how finely."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.export.page_parts import expected_bytes

#: What a page takes besides, in megabytes.
_SCRIPTS = 0.3


@contextmanager
def carried_part(
    widgets: Iterable[Any],
    *,
    layers: Iterable[int] | None = None,
    heads: Iterable[int] | None = None,
    bits: int | None = None,
    threshold: float = 0.0,
) -> Iterator[None]:
    """Inside this, each explorer among some widgets carries this part of its trace.

    Raises:
        UserError: if there is none, or its trace does not have these layers or heads.
    """
    asked = {"layers": layers, "heads": heads, "bits": bits, "threshold": threshold}
    explorers = _explorers(widgets)
    if not explorers and asked != {"layers": None, "heads": None, "bits": None, "threshold": 0.0}:
        raise UserError(
            "layers=, heads=, bits= and threshold= choose what a page carries of an explorer's trace, and "
            "there is no explorer here; leave them out"
        )
    kept = {name: list(each) if isinstance(each, Iterator) else each for name, each in asked.items()}
    with ExitStack() as stack:
        for explorer in explorers:
            stack.enter_context(explorer.carrying(**kept))
        yield


def smaller_part(widgets: Iterable[Any], max_megabytes: float) -> str:
    """Return which part of the widgets' traces fits a page, as arguments: "bits=8, layers=range(6)".

    An empty text if there is no explorer, or not even one layer of it fits.
    """
    listed = list(widgets)
    n_layers = max((explorer.most_layers() for explorer in _explorers(listed)), default=0)
    if not n_layers:
        return ""

    def megabytes(count: int) -> float:
        with carried_part(listed, layers=range(count), bits=8):
            return _SCRIPTS + sum(map(expected_bytes, listed)) / 1e6

    count = n_layers
    while count and (size := megabytes(count)) > max_megabytes:
        count = min(count - 1, int(count * max_megabytes / size))  # nearly as many as fit
    if not count:
        return ""
    part = "bits=8" if count == n_layers else f"layers=range({count}), bits=8"
    return f"{part} (about {size:.1f} MB)"


def _explorers(widgets: Iterable[Any]) -> list[Any]:
    return [widget for widget in widgets if callable(getattr(widget, "carrying", None))]
