"""Shared parts of the readers: checks of classes and options, and the renaming of weights."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Tensor, nn

from viz_transformer.config import Activation, ModelConfig
from viz_transformer.errors import UserError

_ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}


class Reading(NamedTuple):
    """What was read: our configuration, and the weights by our names."""

    config: ModelConfig
    weights: dict[str, Tensor]


def read_model(model: nn.Module, prefix: str, *known: str) -> tuple[Any, dict[str, Tensor]]:
    """Return a model's configuration, whose options depend on its type, and its weights.

    Args:
        model: of one of the known classes, or of one derived from it.
        prefix: the name of an inner model, which is taken from the names of the weights.
        known: the names of the classes.

    Raises:
        UserError: if it is of another class: it may have a head that ours has not.
    """
    if not {parent.__name__ for parent in type(model).__mro__} & set(known):
        base = getattr(model, "base_model_prefix", "")
        inside = f"; its inner model can, as model.{base}" if hasattr(model, base) else ""
        raise UserError(
            f"a {type(model).__name__} cannot be mapped; of this type, {', '.join(known)} can{inside}"
        )
    weights = {name.removeprefix(prefix): value for name, value in model.state_dict().items()}
    # Tables that older versions of transformers stored as if they were learned.
    kept = {name: value for name, value in weights.items() if not name.endswith("position_ids")}
    return model.config, kept


def check_options(theirs: Any, wanted: Mapping[str, object]) -> None:
    """Check that a Hugging Face config has the values that ours can follow.

    Raises:
        UserError: if one differs; the message names it. An option that is not there is as wanted.
    """
    for name, value in wanted.items():
        given = getattr(theirs, name, value)
        if given != value:
            raise UserError(
                f"a {theirs.model_type} model with {name}={given!r} cannot be mapped; "
                f"use one with {name}={value!r}"
            )


def read_activation(theirs: Any, name: str) -> Activation:
    """Return our name of the activation that the option `name` holds.

    Raises:
        UserError: if ours has no such activation.
    """
    given = getattr(theirs, name)
    if given not in _ACTIVATIONS:
        raise UserError(
            f"a {theirs.model_type} model with {name}={given!r} cannot be mapped; "
            f"use one with one of {list(_ACTIVATIONS)}"
        )
    return _ACTIVATIONS[given]


def rename(weights: Mapping[str, Tensor], names: Mapping[str, str]) -> dict[str, Tensor]:
    """Give weights our names.

    Args:
        weights: by their names, such as ``encoder.layer.3.output.dense.weight``.
        names: our module's name for each of theirs; ``{}`` stands for a layer's number in both.

    Raises:
        UserError: if a weight has no name with us, and so no place.
    """
    ours = {}
    for name, value in weights.items():
        module, _, kind = name.rpartition(".")
        pattern, numbers = re.sub(r"\b\d+\b", "{}", module), re.findall(r"\b\d+\b", module)
        if pattern not in names:
            raise UserError(
                f"the model has the weight {name!r} {list(value.shape)}, for which ours has no "
                "place; give the model without this extension"
            )
        ours[f"{names[pattern].format(*numbers)}.{kind}"] = value
    return ours


def layer_names(theirs: str, ours: str, modules: Mapping[str, str]) -> dict[str, str]:
    """Return the names of a layer's modules, with both sides' names of the stack before them."""
    return {f"{theirs}.{{}}.{their}": f"{ours}.layers.{{}}.{our}" for their, our in modules.items()}
