"""Parameter counts from a model's sizes alone, without building it.

The terms follow the model's parts one by one.
"""

from __future__ import annotations

from viz_transformer._bounds import memory_bytes
from viz_transformer.config.model import ModelConfig
from viz_transformer.errors import UserError


def count_parameters(config: ModelConfig) -> int:
    """Count the parameters of the model that a configuration describes.

    A matrix that is used twice (tied embeddings) counts once; fixed sinusoids do not count.

    >>> from viz_transformer.config import ModelConfig, count_parameters
    >>> count_parameters(ModelConfig.preset("gpt2"))
    124439808

    Args:
        config: of any family.

    Returns:
        The number of parameters: that of `sum(p.numel() for p in model.parameters())`.
    """
    return sum(parameter_bill(config).values())


def check_fits(config: ModelConfig, bytes_per_number: int = 4) -> None:
    """Refuse a model that this machine cannot hold, before it is built.

    Raises:
        UserError: if its parameters and its tables of positions take more than the memory there is.
    """
    tables = 4 * config.max_length * config.d_model  # sines and cosines, in double precision at first
    needed, there = bytes_per_number * (count_parameters(config) + tables), memory_bytes()
    if needed > there:
        raise UserError(
            f"a model of {count_parameters(config):,} parameters and {config.max_length:,} positions takes "
            f"{needed / 2**30:,.1f} GiB, and this machine has {there / 2**30:,.1f} GiB; give smaller sizes"
        )


def parameter_bill(config: ModelConfig) -> dict[str, int]:
    """Count the parameters part by part.

    >>> from viz_transformer.config import ModelConfig, parameter_bill
    >>> bill = parameter_bill(ModelConfig.preset("gpt2"))
    >>> bill["attention"], bill["feed-forward"]
    (28348416, 56669184)

    Args:
        config: of any family.

    Returns:
        How many parameters each sort of part has, in all layers together: ``"words"``,
        ``"positions"``, ``"segments"``, ``"attention"``, ``"feed-forward"``, ``"norms"``,
        ``"pooler"``, ``"classifier"`` and ``"output bias"``; 0 where the model has none.
    """
    d_model = config.d_model
    n_layers = config.n_encoder_layers + config.n_decoder_layers
    # In an encoder–decoder, the decoder's layers look at the source, too.
    whole = config.family == "encoder-decoder"
    n_attentions = n_layers + (config.n_decoder_layers if whole else 0)
    n_stacks = 2 if whole else 1
    n_norms = n_attentions + n_layers + config.embedding_norm
    n_norms += n_stacks if config.norm == "pre" else 0  # one at the end of each stack
    n_places = n_stacks * config.max_length if config.positional == "learned" else 0
    return {
        "words": _vocabulary_matrices(config) * d_model,
        "positions": n_places * d_model,
        "segments": config.n_segments * d_model,
        "attention": n_attentions * _attention(config),
        "feed-forward": n_layers * _feed_forward(config),
        "norms": n_norms * _norm(config),
        "pooler": _linear(d_model, d_model) if config.pooler != "none" else 0,
        "classifier": _linear(d_model, config.n_classes) if config.n_classes else 0,
        "output bias": config.output_vocab_size if config.output_bias else 0,
    }


def _vocabulary_matrices(config: ModelConfig) -> int:
    """Count the rows, each one word's vector, of all matrices that hold a row per word."""
    rows = config.vocab_size
    if config.family == "encoder-decoder" and config.has_target_embedding:
        rows += config.output_vocab_size
    writes = config.family != "encoder" or config.predicts_words
    if writes and not config.tie_embeddings:
        rows += config.output_vocab_size
    return rows


def _attention(config: ModelConfig) -> int:
    """W^Q, W^K, W^V and W^O, and in every head what additive scoring learns: W_q, W_k and v."""
    projections = 4 * _linear(config.d_model, config.d_model, config.bias)
    if config.scoring != "additive":
        return projections
    return projections + config.n_heads * (2 * config.d_head**2 + config.d_head)


def _feed_forward(config: ModelConfig) -> int:
    return _linear(config.d_model, config.d_ff) + _linear(config.d_ff, config.d_model)


def _norm(config: ModelConfig) -> int:
    return 2 * config.d_model


def _linear(inputs: int, outputs: int, bias: bool = True) -> int:
    return inputs * outputs + (outputs if bias else 0)
