"""The three kinds of attention: an encoder's, a decoder's, and cross-attention between the two."""

from __future__ import annotations

from dataclasses import dataclass

from viz_transformer._shared import SHARED
from viz_transformer._text import described, quoted
from viz_transformer.errors import UserError


@dataclass(frozen=True)
class Kind:
    """One kind of attention.

    >>> from viz_transformer.trace import find_kind
    >>> find_kind("cross").label
    'cross-attention'

    Attributes:
        name: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        label: what text calls it.
        query: which tokens its queries run along, ``"source"`` or ``"target"``.
        key: which tokens its keys run along.
        field: the attribute of a trace that holds its weights.
    """

    name: str
    label: str
    query: str
    key: str
    field: str

    @property
    def title(self) -> str:
        """The label as it begins a sentence."""
        return self.label.capitalize()


#: Every kind by its name, in the order in which they are listed everywhere.
KINDS = {
    name: Kind(name, kind["label"].lower(), kind["query"], kind["key"], f"{name}_attention")
    for name, kind in SHARED["kinds"].items()
}


def find_kind(name: str) -> Kind:
    """Return the kind of that name.

    >>> from viz_transformer.trace import find_kind
    >>> find_kind("cross").query
    'target'

    Args:
        name: ``"encoder"``, ``"decoder"`` or ``"cross"``.

    Raises:
        UserError: if there is none.
    """
    if not isinstance(name, str) or name not in KINDS:
        shown = quoted(name) if isinstance(name, str) else described(name)
        raise UserError(f"unknown attention kind {shown}; choose one of {list(KINDS)}")
    return KINDS[name]
