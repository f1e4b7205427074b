"""The explorer's traits: what is chosen, how it is drawn, and what of it a trace can have."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from viz_transformer.trace import KINDS
from viz_transformer.widgets.base.traits import Index, SelectionError, Share, TextSize, check_index
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.explorer.trace_view import Shown

#: What the large picture shows: one head, several as one, or the roads through all layers.
AGGREGATES = ("head", "mean", "max", "rollout")
#: What the small pictures are sorted by.
ORDERS = ("layer", "entropy", "label")

_INDICES = ("layer", "head", "query", "key")


class Selection(View):
    """What the viewer of a trace has chosen. The traits are told in AttentionExplorer."""

    _shown: Shown

    kind = traitlets.Unicode(help="encoder, decoder or cross").tag(sync=True)
    layer = Index(help="layer, counted from 0").tag(sync=True)
    head = Index(help="head, counted from 0").tag(sync=True)
    query = Index(None, allow_none=True, help="pinned query, counted from 0").tag(sync=True)
    key = Index(None, allow_none=True, help="pinned key, counted from 0").tag(sync=True)
    selected = traitlets.List(help="[layer, head] pairs that are aggregated").tag(sync=True)
    aggregate = traitlets.Unicode("head", help="head, mean, max or rollout").tag(sync=True)
    threshold = Share(0.0, help="weights below it are not drawn, 0 to 1").tag(sync=True)
    hide_special = traitlets.Bool(False, help="leave out <sos>, [CLS] …").tag(sync=True)
    merge_words = traitlets.Bool(False, help="show the pieces of a word as one").tag(sync=True)
    order = traitlets.Unicode("layer", help="layer, entropy or label").tag(sync=True)
    search = traitlets.Unicode("", help="part of a token, to find and mark").tag(sync=True)
    linked = traitlets.Bool(False, help="all kinds on one screen, pinned together").tag(sync=True)
    linked_heads = traitlets.Dict(help="{kind: [layer, head]} of the linked picture").tag(sync=True)
    text_size = TextSize()

    def _fit(self) -> None:
        """Bring what is chosen inside the trace."""
        if self.kind not in self._shown.kinds:
            self.kind = self._shown.kinds[-1]
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
            if kind in self._shown.kinds and (shape := self._shown.shape(kind))
        }
        if self.aggregate == "rollout" and self._shown.no_rollout(self.kind):
            self.aggregate = "head"

    def _sizes(self) -> dict[str, int]:
        return dict(zip(_INDICES, self._shown.shape(self._present(self.kind)), strict=True))

    def _present(self, kind: str) -> str:
        if kind not in self._shown.kinds:
            raise SelectionError(f"kind={kind!r}, but this trace holds {list(self._shown.kinds)}")
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
            n_layers, n_heads = self._shown.shape(kind)[:2]
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
        if how == "rollout" and (reason := self._shown.no_rollout(self._present(self.kind))):
            raise SelectionError(f"{reason}; choose 'head', 'mean' or 'max'")
        return how

    @traitlets.validate("order")
    def _check_order(self, proposal: dict[str, Any]) -> str:
        return _one_of("order", ORDERS, proposal["value"])

    @traitlets.observe("kind")
    def _on_kind(self, change: dict[str, Any]) -> None:
        old, new = (KINDS.get(change[when]) for when in ("old", "new"))
        if old is None:
            return
        with self.hold_sync(), self.hold_trait_notifications():
            # A pinned word stays if the new kind has it on the same axis; the page, which says
            # with the kind what is pinned of it, has its way.
            for name in ("query", "key"):
                if getattr(old, name) != getattr(new, name) and not self._from_page:
                    setattr(self, name, None)
            self._fit()


def _one_of(name: str, allowed: tuple[str, ...], value: str) -> str:
    if value not in allowed:
        raise SelectionError(f"{name}={value!r}; choose one of {list(allowed)}")
    return value
