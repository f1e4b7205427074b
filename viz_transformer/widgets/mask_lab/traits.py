"""The mask lab's traits: what the viewer chooses, and the mask that it makes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS
from viz_transformer.widgets.base.traits import Index, SelectionError
from viz_transformer.widgets.base.view import Answer, View, sendable
from viz_transformer.widgets.mask_lab.composition import (
    MISTAKES,
    SIDES,
    STATE,
    MaskedBatch,
    MaskState,
    compose,
)

POLARITIES = ("may", "may_not", "additive")
EDITS = ("word", "padding")
_ABOUT = (
    "Each row is a word that looks (query) and each column a word that it may look at (key); the "
    "mask bars the hatched cells. Change one word, and the leak meter shows which outputs of a "
    "live model move: what is barred must not move them."
)


class MaskTraits(View):
    """What the viewer of a mask chooses, and the mask that it makes; see `MaskLab`."""

    words = traitlets.Dict(help="tokens of the batch: source, target (read) and written").tag(
        sync=True, content=True
    )
    kind = traitlets.Unicode("decoder", help="encoder, decoder or cross").tag(sync=True)
    side = traitlets.Unicode("right", help="where the padding stands, right or left").tag(sync=True)
    padding = traitlets.Bool(True, help="hide padding").tag(sync=True)
    causal = traitlets.Bool(True, help="hide what comes later").tag(sync=True)
    mistake = traitlets.Unicode("none", help="a mistake to look at").tag(sync=True)
    lengths = traitlets.List(help="tokens kept of each sentence").tag(sync=True)
    painted = traitlets.List(help="cells set by hand").tag(sync=True)
    polarity = traitlets.Unicode("may", help="may, may_not or additive").tag(sync=True)
    sentence = Index(help="sentence shown, counted from 0").tag(sync=True)
    query = Index(None, allow_none=True, help="chosen query, counted from 0").tag(sync=True)
    key = Index(None, allow_none=True, help="chosen key, counted from 0").tag(sync=True)
    edit = traitlets.Unicode("word", help="word or padding").tag(sync=True)
    edited = Index(help="key whose word is changed, counted from 0").tag(sync=True)

    def __init__(
        self,
        source: Sequence[Sequence[str]],
        target: Sequence[Sequence[str]],
        written: Sequence[Sequence[str]],
        *,
        answer: Answer | None = None,
    ) -> None:
        """Make a view of a batch; `labs.mask_lab` makes one with a live model.

        Args:
            source: tokens that the encoder reads, for each sentence, without padding.
            target: tokens that the decoder reads.
            written: tokens that it writes, as many as it reads.
            answer: what answers the view, as `labs.masks.MaskTester.answer`.

        Raises:
            UserError: if the sentences do not match, or one is empty.
        """
        words = {
            name: [sendable(tokens) for tokens in each]
            for name, each in (("source", source), ("target", target), ("written", written))
        }
        sizes = {name: [len(tokens) for tokens in each] for name, each in words.items()}
        if (
            sizes["target"] != sizes["written"]
            or len(sizes["source"]) != len(sizes["target"])
            or not all(itertools.chain([sizes["source"]], *sizes.values()))
        ):
            raise UserError(
                f"the sentences have {sizes['source']} tokens to read, {sizes['target']} of the "
                f"target to read and {sizes['written']} to write; give each sentence at least one "
                "of each, and as many to write as the decoder reads"
            )
        self._longest = [max(pair) for pair in zip(sizes["source"], sizes["target"], strict=True)]
        first = {"words": words, "lengths": self._longest, "about": _ABOUT}
        super().__init__(answer=answer, traits={**first, "edited": len(words["target"][0]) // 2})

    @property
    def state(self) -> MaskState:
        """What the mask is made of."""
        return MaskState.of({name: getattr(self, name) for name in STATE})

    @property
    def batch(self) -> MaskedBatch:
        """The padded words and the mask, as they are on screen."""
        return compose(self.words, self.state)

    @property
    def mask(self) -> np.ndarray:
        """The mask on screen, bool [batch, 1, query, key], True = may attend, for `attend`.

        Setting it paints the cells that differ from what the parts make.

        Raises:
            UserError: if what is set is not boolean, or does not broadcast to this shape.
        """
        return self.batch.mask

    @mask.setter
    def mask(self, mask: Any) -> None:
        unpainted = {**self.state.request(), "painted": ()}
        plain = compose(self.words, MaskState.of(unpainted)).mask
        given = np.asarray(mask)
        fits = given.ndim == 4 and all(
            have in (1, want) for have, want in zip(given.shape, plain.shape, strict=True)
        )
        if given.dtype != bool or not fits:
            raise UserError(
                f"the mask given is {given.dtype} of shape {list(given.shape)}, but here it is "
                f"bool {list(plain.shape)}, [batch, 1, query, key], or of length 1 on some axes; "
                "compare to make one, and give it its missing axes, such as mask[:, None]"
            )
        wanted = np.broadcast_to(given, plain.shape)
        cells = np.argwhere(wanted != plain)  # [cell, axis]
        self.painted = [[int(b), int(q), int(k), bool(wanted[b, 0, q, k])] for b, _, q, k in cells]

    def _sizes(self) -> dict[str, int]:
        sentences, _, queries, keys = self.mask.shape
        return {"sentence": sentences, "query": queries, "key": keys, "edited": keys}

    @traitlets.validate("kind", "side", "mistake", "polarity", "edit")
    def _check_name(self, proposal: dict[str, Any]) -> str:
        name, value = proposal["trait"].name, proposal["value"]
        known = {
            "kind": KINDS,
            "side": SIDES,
            "mistake": MISTAKES,
            "polarity": POLARITIES,
            "edit": EDITS,
        }[name]
        if value not in known:
            raise SelectionError(f"{name}={value!r} is none of {list(known)}")
        return value

    @traitlets.validate("lengths")
    def _check_lengths(self, proposal: dict[str, Any]) -> list[int]:
        lengths = list(proposal["value"])
        fits = len(lengths) == len(self._longest) and all(
            isinstance(length, int | np.integer) and 1 <= length <= most
            for length, most in zip(lengths, self._longest, strict=False)
        )
        if not fits:
            raise SelectionError(
                f"lengths={lengths}, but the sentences have {self._longest} tokens; give as many "
                "lengths, each from 1 to that"
            )
        return [int(length) for length in lengths]

    @traitlets.validate("painted")
    def _check_painted(self, proposal: dict[str, Any]) -> list[list[Any]]:
        try:
            cells = [(int(b), int(q), int(k), bool(may)) for b, q, k, may in proposal["value"]]
        except (TypeError, ValueError) as error:
            raise SelectionError(
                f"painted={proposal['value']!r:.60} is no list of [sentence, query, key, may]"
            ) from error
        if any(min(cell) < 0 for cell in cells):
            raise SelectionError(f"painted={cells!r:.60} holds a place below 0; count from 0")
        return [list(cell) for cell in cells]

    @traitlets.validate("sentence", "query", "key", "edited")
    def _check_index(self, proposal: dict[str, Any]) -> int | None:
        name, value = proposal["trait"].name, proposal["value"]
        size = self._sizes()[name]
        if value is not None and not 0 <= value < size:
            raise SelectionError(f"{name}={value}, but this mask has {size}; choose 0 to {size - 1}")
        return value

    @traitlets.observe("kind", "side", "mistake", "lengths")
    def _on_state(self, change: dict[str, Any]) -> None:
        if change["old"] in ("", [], traitlets.Undefined):
            return
        sizes = self._sizes()
        with self.hold_sync(), self.hold_trait_notifications():
            for name in ("query", "key"):
                if (getattr(self, name) or 0) >= sizes[name]:
                    setattr(self, name, None)
            for name in ("sentence", "edited"):
                setattr(self, name, min(getattr(self, name), sizes[name] - 1))
