"""BERT and DistilBERT: encoders, post-norm, with learned positions and a LayerNorm before all."""

from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.model.huggingface import reading

_BERT = {
    "embeddings.word_embeddings": "embedding.words",
    "embeddings.position_embeddings": "embedding.positions.embedding",
    "embeddings.token_type_embeddings": "embedding.segments",
    "embeddings.LayerNorm": "embedding.norm",
    "pooler.dense": "pooler",
    "classifier": "classifier",
} | reading.layer_names(
    "encoder.layer",
    "encoder",
    {
        "attention.self.query": "self_attention.w_q",
        "attention.self.key": "self_attention.w_k",
        "attention.self.value": "self_attention.w_v",
        "attention.output.dense": "self_attention.w_o",
        "attention.output.LayerNorm": "self_attention_residual.norm",
        "intermediate.dense": "feed_forward.w_1",
        "output.dense": "feed_forward.w_2",
        "output.LayerNorm": "feed_forward_residual.norm",
    },
)

_DISTILBERT = {
    "embeddings.word_embeddings": "embedding.words",
    "embeddings.position_embeddings": "embedding.positions.embedding",
    "embeddings.LayerNorm": "embedding.norm",
    "pre_classifier": "pooler",
    "classifier": "classifier",
} | reading.layer_names(
    "transformer.layer",
    "encoder",
    {
        "attention.q_lin": "self_attention.w_q",
        "attention.k_lin": "self_attention.w_k",
        "attention.v_lin": "self_attention.w_v",
        "attention.out_lin": "self_attention.w_o",
        "sa_layer_norm": "self_attention_residual.norm",
        "ffn.lin1": "feed_forward.w_1",
        "ffn.lin2": "feed_forward.w_2",
        "output_layer_norm": "feed_forward_residual.norm",
    },
)


def read_bert(model: nn.Module) -> reading.Reading:
    """Read a BertModel or a BertForSequenceClassification.

    Raises:
        UserError: if it is another class, or has an option that ours has not.
    """
    theirs, weights = reading.read_model(model, "bert.", "BertModel", "BertForSequenceClassification")
    # A BERT may be told to decode, or (in older versions) to learn distances between positions.
    wanted = {"is_decoder": False, "add_cross_attention": False}
    reading.check_options(theirs, wanted | {"position_embedding_type": "absolute"})
    config = replace(
        _shared_config(theirs, weights),
        d_ff=theirs.intermediate_size,
        dropout=theirs.hidden_dropout_prob,
        activation=reading.read_activation(theirs, "hidden_act"),
        n_segments=theirs.type_vocab_size,
        pooler="tanh" if "pooler.dense.weight" in weights else "none",
        layer_norm_eps=theirs.layer_norm_eps,
    )
    return reading.Reading(config, reading.rename(weights, _BERT))


def read_distilbert(model: nn.Module) -> reading.Reading:
    """Read a DistilBertModel or a DistilBertForSequenceClassification.

    Raises:
        UserError: if it is another class, or has an option that ours has not.
    """
    known = ("DistilBertModel", "DistilBertForSequenceClassification")
    theirs, weights = reading.read_model(model, "distilbert.", *known)
    config = replace(
        _shared_config(theirs, weights),
        d_ff=theirs.hidden_dim,
        dropout=theirs.dropout,
        activation=reading.read_activation(theirs, "activation"),
        pooler="relu" if "pre_classifier.weight" in weights else "none",
        layer_norm_eps=1e-12,  # not an option of theirs
    )
    return reading.Reading(config, reading.rename(weights, _DISTILBERT))


def _shared_config(theirs: Any, weights: dict[str, Tensor]) -> ModelConfig:
    """Return what both read alike: DistilBERT's configuration answers to BERT's names of the sizes."""
    return ModelConfig(
        family="encoder",
        vocab_size=theirs.vocab_size,
        d_model=theirs.hidden_size,
        n_heads=theirs.num_attention_heads,
        n_encoder_layers=theirs.num_hidden_layers,
        max_length=theirs.max_position_embeddings,
        positional="learned",  # DistilBERT's fixed sinusoids, too, are stored as a table
        pad_id=theirs.pad_token_id,
        scale_embeddings=False,
        embedding_norm=True,
        n_classes=theirs.num_labels if "classifier.weight" in weights else 0,
    )
