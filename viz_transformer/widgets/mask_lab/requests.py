"""What a mask lab asks: the padded tokens and the mask over them, as plain values.

A request holds the batch as it was composed, so that whatever answers it composes nothing. The page
makes the same requests in requests.ts, and a test holds the two equal.
"""

from __future__ import annotations

from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.widgets.mask_lab.composition import MaskedBatch, MaskState, Words, compose

#: What can be asked: what leaks, and what the formula, torch and Hugging Face make of a row.
ASKS = ("leaks", "formulas", "libraries", "eager")
_EXTRA = 2  # padding tokens added, to see whether anything moves


def mask_request(words: Words, state: MaskState, ask: str) -> dict[str, Any]:
    """Return the request that asks about a mask.

    Args:
        words: tokens of each sentence, as for `compose`.
        state: the parts of the mask.
        ask: one of `ASKS`.

    Returns:
        ``kind`` and ``batch``: the tokens of ``sources`` and ``targets`` and the ``mask``, 1 where a
        query may attend to a key, [batch][query][key]. With ``"leaks"`` also ``vocabulary``, the side
        whose words replace others, and ``longer``: the batch with two more padding tokens, in which
        the tokens begin at position ``first`` on; None if the mask would then be refused.
    """
    request = {"ask": ask, "kind": state.kind, "batch": _plain(compose(words, state))}
    if ask != "leaks":
        return request
    of_source = state.kind != "decoder" or state.mistake == "source_as_target"
    return {**request, "vocabulary": "source" if of_source else "target", "longer": _longer(words, state)}


def _longer(words: Words, state: MaskState) -> dict[str, Any] | None:
    try:
        batch = compose(words, state, _EXTRA)
    except UserError:
        return None
    return {**_plain(batch), "first": _EXTRA if state.side == "left" else 0}


def _plain(batch: MaskedBatch) -> dict[str, Any]:
    return {
        "sources": batch.sources,
        "targets": batch.targets,
        "mask": batch.mask[:, 0].astype(int).tolist(),  # [batch, query, key]
    }
