"""Why some Hugging Face models have no attention weights to trace, and what to do instead."""

from __future__ import annotations

from typing import Any

from viz_transformer.errors import UserError

_ELSE = "change a word of the input and compare the outputs, or capture a model that attends"
#: By the type in a model's configuration: why it cannot be traced, and what to do.
_REASONS = {
    "rwkv": (
        "is recurrent: it carries a state from token to token, and weighs no token against another",
        _ELSE,
    ),
    **dict.fromkeys(
        ("mamba", "mamba2", "falcon_mamba"),
        ("is a state-space model: it carries a state from token to token, and attends to none", _ELSE),
    ),
    "fnet": ("mixes positions by a Fourier transform, in the same way for every text", _ELSE),
    "cpmant": (
        "puts a prompt of its own before the text and returns its weights without it, so their rows do not "
        "sum to 1",
        "capture the same text in another model that writes, such as GPT-2",
    ),
    "yoso": (
        "weighs keys by the chance that their hashes meet the query's; these weights do not sum to 1 and are "
        "not returned",
        "capture the same text in a model with softmax attention, such as BERT",
    ),
}


def check_traceable(model: Any) -> None:
    """Raise a UserError, with the reason, for a kind of model that has no weights to trace."""
    found = _REASONS.get(getattr(model.config, "model_type", ""))
    if found is not None:
        reason, way = found
        raise UserError(f"{type(model).__name__} {reason}; {way}")
