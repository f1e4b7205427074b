"""The attention stepper's payload: a layer as names, sizes and arrays as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.errors import UserError
from viz_transformer.trace import AttentionSteps
from viz_transformer.widgets.base.view import sendable

_ARRAYS = ("x", "memory", "w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o")


def check_steps(steps: object) -> AttentionSteps:
    """Return a layer that a view can show.

    Raises:
        UserError: if it is no AttentionSteps.
    """
    if not isinstance(steps, AttentionSteps):
        raise UserError(
            f"the stepper shows AttentionSteps, not {type(steps).__name__}; make the view with "
            "vt.attention_stepper(translator, text), or give it AttentionSteps(...)"
        )
    return steps


def layer_payload(steps: AttentionSteps, text: str = "") -> dict[str, Any]:
    """Return what the page reads of a layer: names and sizes, and arrays as bytes.

    Arrays are little-endian float32 in C order, and the mask is one byte a place, so that the page
    computes from the very numbers that Python has. An array that the layer does not have is None.
    """
    return {
        "text": text,
        "kind": steps.kind,
        "layer": steps.layer,
        "queries": sendable(steps.query_tokens),
        "keys": sendable(steps.key_tokens),
        "reads": None if steps.query_reads is None else sendable(steps.query_reads),
        "heads": steps.n_heads,
        "d_model": steps.x.shape[1],
        "d_head": steps.d_head,
        "mask": None if steps.mask is None else steps.mask.astype(np.uint8).tobytes(),
        **{name: _float32_bytes(getattr(steps, name)) for name in _ARRAYS},
        **({"normed": True} if steps.normed else {}),
        **({} if steps.divisor is None else {"divisor": steps.divisor}),
        **_turns(steps),
    }


def _turns(steps: AttentionSteps) -> dict[str, Any]:
    """What rotary positions do; empty for a layer without them."""
    if steps.cos is None:
        return {}
    turns = {name: _float32_bytes(getattr(steps, name)) for name in ("cos", "sin")}
    return {**turns, "partner": steps.partner}


def _float32_bytes(array: np.ndarray | None) -> bytes | None:
    return None if array is None else array.astype("<f4").tobytes()
