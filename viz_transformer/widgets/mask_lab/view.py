"""The mask lab: compose a mask, paint it, and see what it does to a live model."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from viz_transformer.trace import KINDS
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.mask_lab.composition import (
    SIDES,
    MaskedBatch,
    MaskState,
    compose,
)
from viz_transformer.widgets.mask_lab.traits import MaskTraits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Smaller changes than this are the rounding of float32, and no leak; leak_meter.js has it.
UNMOVED = 1e-4
#: The mistakes whose presets stand beside all ways to combine the parts; see `questions`.
_MISTAKEN = (
    {"kind": "decoder", "causal": True, "mistake": "inverted"},
    {"kind": "decoder", "padding": False, "causal": True, "mistake": "causal_as_padding"},
    {"kind": "cross", "causal": False, "mistake": "target_padding"},
    {"kind": "decoder", "causal": False, "mistake": "source_as_target"},
    {"kind": "decoder", "causal": True, "mistake": "source_as_target"},
)


class MaskLab(MaskTraits):
    """Compose padding, causal and cross masks, paint cells, and see what leaks.

    What the viewer chooses is a trait; setting it moves the view. Positions count from 0.

    Attributes:
        kind: ``"encoder"``, ``"decoder"`` (self-attention) or ``"cross"``.
        side: where the padding stands, ``"right"`` or ``"left"`` of the words.
        padding: whether the mask hides padding.
        causal: whether the mask hides what comes later.
        mistake: ``"none"``; ``"inverted"``: read the wrong way round; ``"causal_as_padding"``: the
            look-ahead mask given as a padding mask, to a batch as long as its sentences;
            ``"target_padding"``: cross-attention with the padding of the target; or
            ``"source_as_target"``: the decoder reads the very words that it shall write.
        lengths: tokens kept of each sentence; the rest becomes padding.
        painted: cells set by hand, a list of [sentence, query, key, may attend]; cells that the
            mask does not have are left out.
        polarity: how the cells are written: ``"may"``: True = may attend, as here and in
            F.scaled_dot_product_attention; ``"may_not"``: True = may not, as in
            nn.MultiheadAttention; ``"additive"``: 0 and −inf.
        sentence: which of the batch is shown.
        query: row of the chosen cell, or None.
        key: column of the chosen cell, or None.
        edit: what the leak meter changes, ``"word"`` or ``"padding"``: two more padding tokens.
        edited: position of the key whose word is changed.

    Setting one of them to what there is not raises SelectionError and changes nothing.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)

    def measure(self) -> dict[str, Any]:
        """Ask the live model what leaks through the mask on screen.

        Returns:
            ``changes`` [batch, edited, query]: by how much an output changes at most when a key is
            another word; ``longer`` [batch, query]: when two padding tokens are added, or None
            where the mask would be refused then; ``allowed`` bool [batch, query, key]: which
            output may depend on which key; ``replacements`` [batch][key]: the other words.

        Raises:
            UserError: if there is no live model, or it cannot be asked.
        """
        reply = self.answer({"ask": "leaks", **self.state.request()})
        changes = np.frombuffer(reply["changes"], "<f4").reshape(reply["shape"])
        longer = reply["longer"]
        if longer is not None:
            longer = np.frombuffer(longer, "<f4").reshape(changes.shape[0], changes.shape[2])
        return {
            "changes": changes,
            "longer": longer,
            "allowed": self.batch.allowed,
            "replacements": reply["replacements"],
        }

    def questions(self) -> list[dict[str, Any]]:
        """Return what the exported page can be asked: every preset, and each part on or off.

        Painted cells and shortened sentences other than those on screen need the notebook.
        """
        lengths = {"lengths": list(self.lengths)}
        usual = {"side": "right", "padding": True, "mistake": "none", "painted": [], **lengths}
        states = [self.state.request()]
        for kind, side, padding, causal in itertools.product(KINDS, SIDES, (True, False), (True, False)):
            parts = {"kind": kind, "side": side, "padding": padding, "causal": causal}
            states.append({**usual, **parts})
        states += [{**usual, **mistaken} for mistaken in _MISTAKEN]
        unlike = [state for i, state in enumerate(states) if state not in states[:i]]
        asked = []
        for state in unlike:
            asked += [{"ask": "leaks", **state}, {"ask": "libraries", **state}]
            if not compose(self.words, MaskState.of(state)).mask.any(-1).all():
                asked.append({"ask": "eager", **state})  # it differs in fully masked rows alone
        return asked

    def figure(self) -> Figure:
        """Return the mask on screen, and what leaks if there is a model, as a figure."""
        from viz_transformer.plots.masks import plot_mask_lab

        batch, sentence = self.batch, self.sentence
        leaks = None
        if self.live:
            measured = self.measure()
            rows = measured["longer"] if self.edit == "padding" else measured["changes"]
            if rows is not None:
                moved = rows[sentence] if self.edit == "padding" else rows[sentence, self.edited]
                leaks = {
                    "changes": moved,
                    "allowed": self._may_move(batch),
                    "real": batch.real[sentence],
                    "change": self._change(measured["replacements"]),
                }
        return plot_mask_lab(
            batch.mask[sentence, 0],
            batch.queries[sentence],
            batch.keys[sentence],
            polarity=self.polarity,
            leaks=leaks,
            alt_text=self.alt_text(),
        )

    def alt_text(self) -> str:
        """Return the mask in words: its parts, how many cells it bars, and rows left with none."""
        batch = self.batch
        mask = batch.mask[self.sentence, 0]  # [query, key]
        parts = [
            *(["padding"] if self.padding else []),
            *(["causal"] if self.causal else []),
            *([] if self.mistake == "none" else [f"mistake {self.mistake!r}"]),
            *(["painted cells"] if self.painted else []),
        ]
        empty = [f"{batch.queries[self.sentence][i]} ({i})" for i in np.flatnonzero(~mask.any(-1))]
        return (
            f"Mask of {self.kind} attention for sentence {self.sentence}, made of "
            f"{', '.join(parts) or 'no part'}: {mask.shape[0]} queries, {mask.shape[1]} keys, "
            f"{int((~mask).sum())} of {mask.size} cells barred (hatched). "
            + (f"May look at nothing: {', '.join(empty)}." if empty else "Every row has a key.")
        )

    def _may_move(self, batch: MaskedBatch) -> np.ndarray:
        """Return bool [query]: which outputs may move with the edit chosen."""
        if self.edit == "padding":
            # Padding on the left moves each word to another position, which no mask can hide.
            return np.full_like(batch.real[self.sentence], self.side == "left")
        return batch.allowed[self.sentence, :, self.edited]

    def _change(self, replacements: list[list[str]]) -> str:
        if self.edit == "padding":
            return "two more padding tokens"
        word = self.batch.keys[self.sentence][self.edited]
        return f"{word} becomes {replacements[self.sentence][self.edited]}"
