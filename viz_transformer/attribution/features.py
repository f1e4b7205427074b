"""What a model reads that is no text: a picture or a sound, by the names that its forward has for them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.tracing.huggingface import OUTPUT_ARGUMENTS, used_by
from viz_transformer.tracing.inputs import AXES, as_input, device_of, forward_parameters


def as_features(model: nn.Module, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return one picture or sound as a model's forward takes it.

    Args:
        model: the model.
        given: inputs by name, with the axis of the batch or without it.

    Raises:
        UserError: if the model has no such input, or they are several pictures or sounds.
    """
    names = _input_names(model)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.8)
            raise UserError(
                f"{type(model).__name__} does not read {name}=; "
                + (f"did you mean {near[0]}=?" if near else f"its forward takes {names!s:.200}")
            )
    return {name: _one(model, name, value) for name, value in given.items() if value is not None}


def _input_names(model: nn.Module) -> list[str]:
    """Return the names of what a model reads."""
    names = used_by(model) if hasattr(model, "config") else frozenset(forward_parameters(model))
    return sorted(names - OUTPUT_ARGUMENTS - {"labels", "args", "kwargs", "use_cache"})


def _one(model: nn.Module, name: str, value: Any) -> Any:
    """Return an input [1, ...]; what is no array, such as a flag, as it is."""
    device = device_of(model)
    try:
        given = as_input(name, value, device)
    except (TypeError, ValueError):  # such as rows of different lengths
        given = None
    if given is None or (name in AXES and not isinstance(given, Tensor)):
        raise UserError(
            f"{name}={value!r:.40} is no array of numbers; give what the model's processor returns: "
            'processor(..., return_tensors="pt")'
        )
    if isinstance(given, Tensor) and given.ndim > 1 and len(given) != 1:
        raise UserError(
            f"{name} has the shape {list(given.shape)}, a batch of {len(given)}; give one: {name}[:1]"
        )
    return given
