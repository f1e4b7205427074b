"""The configuration of one half of an encoder–decoder, and whether a model fits into the machine."""

from dataclasses import replace

import torch

from viz_transformer.config import Family, ModelConfig
from viz_transformer.config.parameters import check_fits
from viz_transformer.errors import UserError


def check_room(config: ModelConfig) -> None:
    """Refuse a model that the machine cannot hold; on the meta device none takes any memory.

    Raises:
        UserError: if it is too large.
    """
    if torch.get_default_device().type == "cpu":
        check_fits(config, torch.get_default_dtype().itemsize)


def of_family(family: Family, config: ModelConfig) -> ModelConfig:
    """Return the config as one of the family: that of a half, from that of the whole.

    Raises:
        UserError: if the config is of the other half, or the model too large for the machine.
    """
    if config.family not in (family, "encoder-decoder"):
        raise UserError(
            f"the configuration is of the family {config.family!r} and has no {family}; "
            f"make it with family={family!r}"
        )
    if config.family != family:
        config = _half_of(family, config)
    check_room(config)
    return config


def _half_of(family: Family, config: ModelConfig) -> ModelConfig:
    vocab_size = config.vocab_size if family == "encoder" else config.output_vocab_size
    return replace(
        config,
        family=family,
        vocab_size=vocab_size,
        target_vocab_size=None,
        start_id=None,
        output_bias=False,
    )
