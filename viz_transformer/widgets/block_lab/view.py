"""The block lab's view: one word's vector is reversed, and each part of a block shows which words move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import TEXT, Schema, whole
from viz_transformer.widgets.base.shares import Shares
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, check_index
from viz_transformer.widgets.base.view import Answer, View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ABOUT = (
    "Each column but the last is one part of an encoder block; the last, a norm over all words, is in no "
    "block and is shown for comparison. All are given the same vectors. The vector of one word is then "
    "reversed: each number is multiplied by −1. Each cell shows how far a word's output moved, and a line "
    "leads to every word that moved. Choose another word, or type another sentence."
)


class BlockLab(View):
    """Change one word of a sentence, and see which outputs move in each part of an encoder block.

    What the viewer chooses is a trait, and setting the trait moves the view.
    ``vt.block_lab(translator)`` makes one.

    >>> import viz_transformer as vt
    >>> view = vt.block_lab(vt.load_translator(), "the black cat sleeps")
    >>> view.changed = 2  # another word in place of "cat"

    Attributes:
        sentence: the words. Setting one that the model cannot read raises a UserError and changes
            nothing; if it was typed, the view explains why.
        changed: index of the word whose vector is reversed, from 0; the last is ``<eos>``.
        layer: index of the encoder's layer, from 0.
        text_size: size of all text; 1 is the usual, 2 suits a projector.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.block_lab(model, {sentence})"
    shares = Shares({"sentence": "sentence"})

    n_layers = traitlets.Int(1, help="number of the encoder's layers").tag(sync=True, content=True)
    sentence = traitlets.Unicode(help="the words that the encoder reads").tag(sync=True)
    changed = Index(0, help="the word that is changed, counted from 0").tag(sync=True)
    layer = Index(0, help="layer of the encoder, counted from 0").tag(sync=True)
    text_size = TextSize()

    def __init__(
        self, answer: Answer, sentence: str, *, changed: int = 0, layer: int = 0, n_layers: int = 1
    ) -> None:
        """Make a view of the encoder that `answer` runs.

        Args:
            answer: given ``{"sentence": str, "layer": int}``, it returns ``tokens``, the ``parts``
                of the block by name, and ``spread``, float32 [part, changed, word] as bytes: how
                far each word's output moves when one word's vector is reversed, as a share of
                its length.
            sentence: the first sentence.
            changed: the word that is changed first.
            layer: the first layer.
            n_layers: number of the encoder's layers.

        Raises:
            UserError: if the function cannot read the sentence, or there is no such word or layer.
        """
        check_index("layer", layer, n_layers, owner="the encoder has")
        self._known: dict[tuple[str, int], dict[str, Any]] = {}
        reply = self._known[sentence, layer] = answer({"sentence": sentence, "layer": layer})
        check_index("changed", changed, len(reply["tokens"]), owner="the sentence has")
        traits = {"about": _ABOUT, "n_layers": n_layers, "layer": layer, "sentence": sentence}
        super().__init__(answer=answer, traits=traits)
        self.changed = changed

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one request, as the page would get it.

        Raises:
            UserError: if the sentence cannot be read.
        """
        reply = super().answer(request)
        return {**reply, "tokens": sendable(reply["tokens"])}

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        return ({"sentence": TEXT, "layer": whole(0, self.n_layers - 1)},)

    def questions(self) -> list[dict[str, Any]]:
        """Return one request for each layer: a reply holds the spread of every word."""
        return [{"sentence": self.sentence, "layer": layer} for layer in range(self.n_layers)]

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words that the encoder reads, with their ``<eos>``."""
        return tuple(self._read(self.sentence)["tokens"])

    def spread(self) -> dict[str, NDArray[np.float32]]:
        """Return how far each word's output moves in each part of the block, [word]."""
        reply = self._read(self.sentence)
        n_parts, n_words = len(reply["parts"]), len(reply["tokens"])
        moved = np.frombuffer(reply["spread"], "<f4").reshape(n_parts, n_words, n_words)
        return dict(zip(reply["parts"], moved[:, self.changed], strict=True))

    def figure(self) -> Figure:
        """Return what the view shows now as a matplotlib figure: a table of words and parts."""
        from viz_transformer.plots.perturbation import plot_spread

        figure = plot_spread(self.tokens, self.changed, self.spread()).figure
        assert figure is not None
        return figure.figure

    def alt_text(self) -> str:
        """Return what the view shows now in words."""
        from viz_transformer.plots.perturbation import describe_spread

        return describe_spread(self.tokens, self.changed, self.spread())

    def __repr__(self) -> str:
        """Return the state in short."""
        return f"BlockLab({self.sentence!r}, changed={self.changed}, layer={self.layer})"

    def _read(self, sentence: str) -> dict[str, Any]:
        key = (sentence, self.layer)
        if key not in self._known:
            try:
                self._known = {key: super().answer({"sentence": sentence, "layer": self.layer})}
            except UserError as error:  # a TraitError, so that the old sentence stays
                raise SelectionError(str(error)) from error
        return self._known[key]

    @traitlets.validate("sentence")
    def _check_sentence(self, proposal: dict[str, Any]) -> str:
        self._read(proposal["value"])
        return proposal["value"]

    @traitlets.observe("sentence")
    def _fit_changed(self, _: object) -> None:
        self.changed = min(self.changed, len(self.tokens) - 1)

    @traitlets.validate("changed")
    def _check_changed(self, proposal: dict[str, Any]) -> int:
        check_index("changed", proposal["value"], len(self.tokens), owner="the sentence has")
        return proposal["value"]

    @traitlets.validate("layer")
    def _check_layer(self, proposal: dict[str, Any]) -> int:
        check_index("layer", proposal["value"], self.n_layers, owner="the encoder has")
        return proposal["value"]
