"""A question about one row of one head, answered before the picture is shown."""

from __future__ import annotations

import html

import ipywidgets
import traitlets

from viz_transformer.analysis import word_index
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.base.static_fallback import StaticFallbackMixin
from viz_transformer.widgets.box_keys import BoxKeys
from viz_transformer.widgets.explorer import AttentionExplorer, explore


class Prediction(StaticFallbackMixin, ipywidgets.VBox):
    """A question about one row of one head, answered before the picture is shown.

    Attributes:
        choice: position of the word that was chosen, or None before. Setting it answers.
        score: the weight that was chosen over the largest, 0 to 1; None before.
        explorer: the view, which is shown with the answer.
    """

    score = traitlets.Float(None, allow_none=True)
    choice = traitlets.Int(None, allow_none=True, help="position of the chosen key, from 0")

    def __init__(self, explorer: AttentionExplorer, question: str, afterwards: str = "") -> None:
        """Ask about the explorer's pinned query; labs.prediction makes one from a trace."""
        self.explorer = explorer
        self._afterwards = afterwards
        trace, kind = explorer.trace, explorer.kind
        self._keys = trace.key_tokens(kind)
        self._weights = trace.attention(kind)[explorer.layer, explorer.head, explorer.query]
        self._buttons = [
            ipywidgets.Button(description=word, layout=ipywidgets.Layout(width="auto")) for word in self._keys
        ]
        for place, button in enumerate(self._buttons):
            button.on_click(lambda _, place=place: setattr(self, "choice", place))
        asked = ipywidgets.HTML(f"<b>{html.escape(question)}</b>")
        row = ipywidgets.HBox([*self._buttons, BoxKeys()], layout=ipywidgets.Layout(flex_flow="row wrap"))
        super().__init__([asked, row])

    @traitlets.validate("choice")
    def _check_choice(self, proposal: dict) -> int:
        if self.choice is not None:
            return self.choice  # a prediction is made once
        return word_index(self._keys, proposal["value"])

    @traitlets.observe("choice")
    def _on_choice(self, _: object) -> None:
        self.score = float(self._weights[self.choice] / self._weights.max())
        for place, button in enumerate(self._buttons):
            button.disabled = True
            button.button_style = "info" if place == self.choice else ""
        told = ipywidgets.HTML(f"<p>{self._verdict()} {html.escape(self._afterwards)}</p>")
        self.children = (*self.children[:2], told, self.explorer)

    def _verdict(self) -> str:
        order = (-self._weights).argsort(kind="stable")  # positions, most looked at first
        rank = int((order == self.choice).argmax()) + 1
        chosen, most = html.escape(self._keys[self.choice]), html.escape(self._keys[order[0]])
        scored = (
            f"You chose <b>{chosen}</b>: weight {self._weights[self.choice]:.2f}, rank {rank} of "
            f"{len(self._keys)}."
        )
        if rank == 1:
            return f"{scored} That is where this head looks."
        return f"{scored} This head looks most at <b>{most}</b>: {self._weights[order[0]]:.2f}."


def prediction(
    trace: ForwardTrace,
    question: str,
    *,
    kind: str,
    layer: int,
    head: int,
    query: int | str,
    afterwards: str = "",
) -> Prediction:
    """Ask which word a query looks at most; the picture appears with the answer.

    Args:
        trace: the trace asked about.
        question: shown above the words to choose from.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer, from 0.
        head: index of the head, from 0.
        query: the word that looks, or its position.
        afterwards: told with the answer.

    Raises:
        UserError: if the trace has no such kind, layer, head or word.
    """
    place = word_index(trace.query_tokens(kind), query)
    explorer = explore(trace, kind=kind, layer=layer, head=head, query=place)
    return Prediction(explorer, question, afterwards)
