"""Models inside other libraries' wrappers, known by the wrappers' own names; none is imported.

torch.compile, nnsight and TransformerLens each put a class of their own around a model. The first
two only hold it, so it is taken out. TransformerLens' models are the models, with a tokenizer and
a way to read a text of their own.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

from viz_transformer._text import shown
from viz_transformer.errors import UserError

#: What tells a model of TransformerLens how to read a text.
READING = ("prepend_bos", "padding_side")


def is_module(model: Any) -> bool:
    """Return whether a model is a torch module; where torch is not loaded, no object is one."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def unwrap(model: Any) -> tuple[Any, Any]:
    """Return the model inside a wrapper, and the tokenizer that the wrapper brings, or None.

    Raises:
        UserError: if the wrapper has no weights yet, or changes what the model computes.
    """
    if not _is_envoy(model):
        # What torch.compile wraps computes the same. What is no module may do anything when it is asked.
        return getattr(model, "_orig_mod", model) if is_module(model) else model, None
    inside, name = model._module, type(model).__name__
    if any(parameter.is_meta for parameter in inside.parameters()):
        raise UserError(
            f"this {name} of nnsight has no weights yet; load it with dispatch=True, or call its dispatch()"
        )
    if getattr(model, "_edits", None):
        raise UserError(
            f"this {name} of nnsight holds edits, which the trace would not show; call its clear_edits(), or "
            "save the weights in an nnsight trace, and give those: vt.capture(weights, tokens=[...])"
        )
    return inside, getattr(model, "tokenizer", None)


def is_hooked(model: Any) -> bool:
    """Return whether a model is one of TransformerLens: a HookedTransformer, a TransformerBridge …"""
    return is_module(model) and all(
        hasattr(model, name) for name in ("run_with_cache", "to_tokens", "hook_dict", "cfg")
    )


def hooked_encoding(model: Any, text: str, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ids [1, position] that a model of TransformerLens makes of a text, as it reads them.

    Raises:
        UserError: if the model has no tokenizer.
    """
    if getattr(model, "tokenizer", None) is None:
        raise UserError(
            f"the text {shown(text)} came without a tokenizer, and this {type(model).__name__} has none; "
            "give tokenizer=, or input_ids= and tokens="
        )
    takes = inspect.signature(model.to_tokens).parameters
    options = {name: named[name] for name in READING if name in named and name in takes}
    ids = model.to_tokens(text, **options)
    return {"input_ids": ids[0] if isinstance(ids, tuple) else ids}  # some return their masks too


def _is_envoy(model: Any) -> bool:
    """Return whether a model is nnsight's: each of its wrappers is an Envoy."""
    return any(
        each.__name__ == "Envoy" and each.__module__.partition(".")[0] == "nnsight"
        for each in type(model).__mro__
    ) and is_module(getattr(model, "_module", None))
