"""The head card's view: where a head looks, how often its label holds, examples, and all heads beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from viz_transformer.analysis import HeadCard
from viz_transformer.analysis.head_card import TENTHS
from viz_transformer.trace import KINDS
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import Schema, one_of, whole
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: From a layer and a head to its card.
CardOf = Callable[[int, int], HeadCard]
_ABOUT = (
    "One attention head over many texts. Bars: the share of its weight at each distance before or after "
    "the query; dotted, the share with equal weights. Rows: examples, from those that follow the pattern "
    "most to those that do not. Points: all heads; choose one to see its card."
)
#: A page carries so many examples' keys at most: a window around the query and what it looks at.
_MOST_KEYS = 60


class HeadCardView(View):
    """See what a head does over many texts; ``vt.head_card(model)`` makes one.

    What the viewer chooses is a trait, and setting the trait moves the view.

    >>> import viz_transformer as vt
    >>> view = vt.head_card(vt.load_language_model(), ["el gato duerme"], layer=0, head=3)
    >>> view.card.n_texts
    1

    Attributes:
        layer: the layer's number, as the model counts.
        head: the head's.
        example: which tenth's example is chosen: 9 puts 90 to 100% of its weight in the pattern's place.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting one of them to what it cannot be raises SelectionError, a UserError, and leaves it unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.head_card(model, texts, layer={layer}, head={head})"
    _call_sets = ("example",)

    data = traitlets.Dict(help="the kind of attention, and the first card").tag(sync=True, content=True)
    layer = Index(help="the layer's number").tag(sync=True)
    head = Index(help="the head's number").tag(sync=True)
    example = Index(help="the tenth whose example is chosen").tag(sync=True)
    text_size = TextSize()

    def __init__(self, card_of: CardOf, layer: int, head: int) -> None:
        """Make a view.

        Args:
            card_of: from a layer and a head to its card.
            layer: the first.
            head: the first.
        """
        self._card_of = card_of
        card = card_of(layer, head)
        self._cards = {(layer, head): card}
        self._layers, self._n_heads = card.layers, card.scores.shape[1]
        super().__init__(
            answer=lambda request: _payload(self._card(request["layer"], request["head"])),
            traits={
                "about": _ABOUT,
                "data": {"kind": KINDS[card.kind].label, "first": _payload(card)},
                "layer": layer,
                "head": head,
                "example": int(np.flatnonzero(card.tenths)[-1]) if card.tenths.any() else 0,
            },
        )

    @property
    def card(self) -> HeadCard:
        """The numbers of the head that is shown."""
        return self._card(self.layer, self.head)

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        return ({"layer": one_of(self._layers), "head": whole(0, self._n_heads - 1)},)

    def questions(self) -> list[dict[str, Any]]:
        """Return a request for each head that has been looked at."""
        return [{"layer": layer, "head": head} for layer, head in self._cards]

    def figure(self) -> Figure:
        """Return the card shown now as a matplotlib figure."""
        from viz_transformer.plots.head_card import plot_head_card

        return plot_head_card(self.card)

    def alt_text(self) -> str:
        """Return the card in words."""
        from viz_transformer.plots.head_card import describe_head_card

        return describe_head_card(self.card)

    def __repr__(self) -> str:
        """Return what is shown in short."""
        card = self.card
        name = "no label" if card.label is None else card.label.name
        place = f"{card.kind!r}, layer={self.layer}, head={self.head}"
        return f"HeadCardView({place}, {card.n_texts} texts, {name})"

    def _card(self, layer: int, head: int) -> HeadCard:
        if (layer, head) not in self._cards:
            self._cards[layer, head] = self._card_of(layer, head)
        return self._cards[layer, head]

    @traitlets.validate("layer")
    def _check_layer(self, proposal: dict[str, Any]) -> int:
        if proposal["value"] not in self._layers:
            raise SelectionError(f"layer={proposal['value']!r}; choose one of {[*self._layers]}")
        return proposal["value"]

    @traitlets.validate("head")
    def _check_head(self, proposal: dict[str, Any]) -> int:
        check_index("head", proposal["value"], self._n_heads, owner="a layer has")
        return proposal["value"]

    @traitlets.validate("example")
    def _check_example(self, proposal: dict[str, Any]) -> int:
        check_index("example", proposal["value"], TENTHS, owner="examples are of the tenths below")
        return proposal["value"]


def _payload(card: HeadCard) -> dict[str, Any]:
    """Return a card as plain JSON."""
    losses = None
    if card.losses is not None and card.losses_without is not None and card.mean_losses is not None:
        whole, without = card.mean_losses
        losses = {
            "whole": whole,
            "without": without,
            "worse": int((card.losses_without > card.losses).sum()),
        }
    return {
        "layer": card.layer,
        "head": card.head,
        "n_texts": card.n_texts,
        "label": None if card.label is None else asdict(card.label),
        "pattern": card.pattern,
        "where": card.where,
        "held": card.held,
        "n_told": card.n_told,
        "tenths": card.tenths.tolist(),
        "examples": [None if each is None else _example(each, card.kind) for each in card.examples],
        "offsets": card.offsets.tolist(),
        "weights": _rounded(card.weight_by_offset),
        "even": _rounded(card.even_by_offset),
        "layers": [*card.layers],
        "scores": _rounded(card.scores),
        "entropies": _rounded(np.nan_to_num(card.entropies)),
        "losses": losses,
    }


def _example(example: Any, kind: str) -> dict[str, Any]:
    """Return an example, of a long text the keys around the query and what it looks at most."""
    n_keys = len(example.key_tokens)
    is_self = kind != "cross"
    if kind == "decoder" and not example.weights[example.query + 1 :].any():
        n_keys = example.query + 1  # what comes later is masked
    middle = int((example.weights.argmax() + (example.query if is_self else example.weights.argmax())) // 2)
    start = max(0, min(middle - _MOST_KEYS // 2, n_keys - _MOST_KEYS))
    kept = slice(start, min(start + _MOST_KEYS, n_keys))
    own = example.query - start if is_self and start <= example.query < start + _MOST_KEYS else None
    return {
        "keys": sendable(example.key_tokens[kept]),
        "weights": _rounded(example.weights[kept]),
        "query": sendable([example.query_tokens[example.query]])[0],
        "own": own,
        "is_cut": [start > 0, start + _MOST_KEYS < n_keys],
        "score": example.score,
    }


def _rounded(numbers: Any) -> Any:
    return np.round(np.asarray(numbers, dtype=float), 5).tolist()
