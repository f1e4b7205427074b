"""How many numbers a model learns, from its sizes alone: nothing is built.

The terms follow the model's parts one by one, so the functions read as a bill.
"""

from __future__ import annotations

from viz_transformer.config.model import ModelConfig


def count_parameters(config: ModelConfig) -> int:
    """Count the parameters of the model that a configuration describes.

    A matrix that is used twice (tied embeddings) counts once; fixed sinusoids do not count.

    Args:
        config: of any family.

    Returns:
        The number of learned numbers: that of `sum(p.numel() for p in model.parameters())`.
    """
    d_model = config.d_model
    encoder_layer = _attention(config) + _feed_forward(config) + 2 * _norm(config)
    decoder_layer = encoder_layer
    if config.family == "encoder-decoder":  # the decoder looks at the source, too
        decoder_layer += _attention(config) + _norm(config)
    layers = config.n_encoder_layers * encoder_layer + config.n_decoder_layers * decoder_layer

    n_stacks = 2 if config.family == "encoder-decoder" else 1
    final_norms = n_stacks * _norm(config) if config.norm == "pre" else 0
    positions = n_stacks * config.max_length * d_model if config.positional == "learned" else 0

    segments = config.n_segments * d_model
    embedding_norm = _norm(config) if config.embedding_norm else 0
    pooler = _linear(d_model, d_model) if config.pooler != "none" else 0
    classifier = _linear(d_model, config.n_classes) if config.n_classes else 0
    output_bias = config.output_vocab_size if config.output_bias else 0
    return (
        _vocabulary_matrices(config) * d_model
        + positions
        + segments
        + embedding_norm
        + layers
        + final_norms
        + pooler
        + classifier
        + output_bias
    )


def _vocabulary_matrices(config: ModelConfig) -> int:
    """Count the rows, each one word's vector, of all matrices that hold a row per word."""
    rows = config.vocab_size
    if config.family == "encoder-decoder" and config.has_target_embedding:
        rows += config.output_vocab_size
    if config.family != "encoder" and not config.tie_embeddings:
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
