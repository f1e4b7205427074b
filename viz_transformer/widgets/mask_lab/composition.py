"""The parts of a mask, and the mask that they make, in numpy.

The page composes the same in composition.ts; the tests compare both with `model.masks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS

PAD = "<pad>"
SIDES = ("right", "left")
#: Mistakes from tutorials, by name; each keeps the parts and misuses one of them.
MISTAKES = ("none", "inverted", "causal_as_padding", "target_padding", "source_as_target")
#: The traits that make the mask, in the order of `MaskState`.
STATE = ("kind", "side", "padding", "causal", "mistake", "lengths", "painted")

BoolArray = np.ndarray
Words = Mapping[str, Sequence[Sequence[str]]]


@dataclass(frozen=True)
class MaskState:
    """The settings that a mask is made from, apart from the words: plain values, as the traits are.

    Attributes:
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        side: where the padding is, ``"right"`` or ``"left"`` of the words.
        padding: whether the mask hides the padding.
        causal: whether the mask hides what comes later.
        mistake: one of `MISTAKES`.
        lengths: tokens kept of each sentence; the rest is padding.
        painted: cells set by hand, as (sentence, query, key, may attend).
    """

    kind: str = "decoder"
    side: str = "right"
    padding: bool = True
    causal: bool = True
    mistake: str = "none"
    lengths: tuple[int, ...] = ()
    painted: tuple[tuple[int, int, int, bool], ...] = ()

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> MaskState:
        """Read the state out of settings by name.

        Raises:
            UserError: if a part is missing or has an unknown value.
        """
        try:
            state = cls(
                **{name: settings[name] for name in STATE[:5]},
                lengths=tuple(int(length) for length in settings["lengths"]),
                painted=tuple((int(b), int(q), int(k), bool(may)) for b, q, k, may in settings["painted"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{settings!r:.80} does not describe a mask; give {list(STATE)}") from error
        for name, known in (("kind", list(KINDS)), ("side", SIDES), ("mistake", MISTAKES)):
            if getattr(state, name) not in known:
                raise UserError(f"{name}={getattr(state, name)!r} is none of {list(known)}")
        return state

    def settings(self) -> dict[str, Any]:
        """Return the state as plain JSON values, which `of` reads."""
        return {
            **{name: getattr(self, name) for name in STATE[:5]},
            "lengths": list(self.lengths),
            "painted": [list(cell) for cell in self.painted],
        }


@dataclass(frozen=True, eq=False)
class MaskedBatch:
    """A batch of padded sentences and the mask over it.

    Attributes:
        mask: bool [batch, 1, query, key], True = may attend.
        queries: the query tokens, [batch][query].
        keys: the key tokens, [batch][key].
        sources: what the encoder reads, [batch][source].
        targets: what the decoder reads, [batch][target].
        written: what each query has to write, [batch][query]; None in the encoder.
        allowed: bool [batch, query, key]: which output may depend on which key, independent of the
            mask; False for all outputs of padding, which are never used.
        real: bool [batch, query], False where the query is padding.
    """

    mask: BoolArray
    queries: list[list[str]]
    keys: list[list[str]]
    sources: list[list[str]]
    targets: list[list[str]]
    written: list[list[str]] | None
    allowed: BoolArray
    real: BoolArray


def compose(words: Words, state: MaskState, extra: int = 0) -> MaskedBatch:
    """Pad the sentences and compose the mask.

    Args:
        words: tokens of each sentence: ``"source"``, ``"target"`` (what the decoder reads) and
            ``"written"`` (what it writes).
        state: the parts of the mask.
        extra: padding tokens added to those of the longest sentence. Painted cells stay with
            their words.

    Raises:
        UserError: if a causal mask is used as padding for a batch of another length.
    """
    kind = KINDS[state.kind]
    padded = _padded_sides(words, state, kind.key, extra)
    queries, keys = padded[kind.query], padded[kind.key]
    real = _real(queries)  # [batch, query]
    mask = np.ones((len(keys), len(queries[0]), len(keys[0])), bool)  # [batch, query, key]
    n_sentences, n_queries, n_keys = mask.shape
    if state.padding:
        of_target = state.mistake == "target_padding" and state.kind == "cross"
        mask &= _real(padded["target"] if of_target else keys)[:, None, :]
    if state.causal and state.mistake == "causal_as_padding":
        # As padding, row b of the look-ahead mask holds what sentence b may attend to.
        mask &= np.tri(n_sentences, n_keys, dtype=bool)[:, None, :]
    elif state.causal:
        mask &= np.tri(n_queries, n_keys, dtype=bool)[None]
    if state.mistake == "inverted":
        mask = ~mask
    shift = extra if state.side == "left" else 0
    for b, q, k, may in state.painted:
        if b < n_sentences and q + shift < n_queries and k + shift < n_keys:
            mask[b, q + shift, k + shift] = may
    return MaskedBatch(
        mask=mask[:, None],
        queries=queries,
        keys=keys,
        sources=padded["source"],
        targets=padded["target"],
        written=None if state.kind == "encoder" else padded["written"],
        allowed=_allowed(state, real, _real(keys)),
        real=real,
    )


def _padded_sides(words: Words, state: MaskState, key_side: str, extra: int) -> dict[str, list[list[str]]]:
    """Return the tokens of each side, cut to their lengths, misused as the mistake has it, padded."""
    copied = state.mistake == "source_as_target"
    sides = {
        "source": words["source"],
        "target": words["source"] if copied else words["target"],
        "written": words["source"] if copied else words["written"],
    }
    kept = {
        side: [list(tokens[:length]) for tokens, length in zip(each, state.lengths, strict=True)]
        for side, each in sides.items()
    }
    longest = {side: max(map(len, each)) + extra for side, each in kept.items()}
    if state.mistake == "target_padding":  # goes unnoticed where both sides are equally long
        longest = dict.fromkeys(longest, max(longest.values()))
    if state.mistake == "causal_as_padding":  # goes unnoticed where batch = length
        n_keys = longest[key_side]
        if extra:
            raise UserError(
                "longer sentences are refused: the look-ahead mask has "
                f"{n_keys} rows, and the batch {n_keys - extra} sentences"
            )
        kept = {side: [each[i % len(each)] for i in range(n_keys)] for side, each in kept.items()}
    return {side: [_pad(tokens, longest[side], state.side) for tokens in each] for side, each in kept.items()}


def _allowed(state: MaskState, real: BoolArray, real_keys: BoolArray) -> BoolArray:
    """Return which output may depend on which key by the task, independent of the mask."""
    allowed = real[:, :, None] & real_keys[:, None, :]  # [batch, query, key]
    if state.kind == "decoder":
        # A word may depend on the words before it. With the target shifted, the decoder reads it one
        # position later; with the source as target, at the very position where it is written.
        offset = -1 if state.mistake == "source_as_target" else 0
        _, n_queries, n_keys = allowed.shape
        allowed &= np.tri(n_queries, n_keys, offset, dtype=bool)[None]
    return allowed


def _pad(tokens: Sequence[str], length: int, side: str) -> list[str]:
    padding = [PAD] * (length - len(tokens))
    return [*padding, *tokens] if side == "left" else [*tokens, *padding]


def _real(batch: Sequence[Sequence[str]]) -> BoolArray:
    return np.array([[token != PAD for token in tokens] for tokens in batch])
