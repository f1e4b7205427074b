"""The configuration of one half of an encoder–decoder."""

from dataclasses import replace

from viz_transformer.config import Family, ModelConfig
from viz_transformer.errors import UserError


def of_family(family: Family, config: ModelConfig) -> ModelConfig:
    """Return the config as one of the family: that of a half, from that of the whole.

    Raises:
        UserError: if the config is of the other half.
    """
    if config.family == family:
        return config
    if config.family != "encoder-decoder":
        raise UserError(
            f"the configuration is of the family {config.family!r} and has no {family}; "
            f"make it with family={family!r}"
        )
    vocab_size = config.vocab_size if family == "encoder" else config.output_vocab_size
    return replace(
        config,
        family=family,
        vocab_size=vocab_size,
        target_vocab_size=None,
        start_id=None,
        output_bias=False,
    )
