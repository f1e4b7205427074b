"""BERT and DistilBERT: encoders, post-norm, with learned positions and a LayerNorm before all."""

from torch import nn

from viz_transformer.config import ModelConfig
from viz_transformer.model.huggingface.reading import (
    Reading,
    base_weights,
    check_class,
    check_options,
    layer_names,
    read_activation,
    read_config,
    rename,
)

_BERT = {
    "embeddings.word_embeddings": "embedding.words",
    "embeddings.position_embeddings": "embedding.positions.embedding",
    "embeddings.token_type_embeddings": "embedding.segments",
    "embeddings.LayerNorm": "embedding.norm",
    "pooler.dense": "pooler",
    "classifier": "classifier",
} | layer_names(
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
} | layer_names(
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


def read_bert(model: nn.Module) -> Reading:
    """Read a BertModel or a BertForSequenceClassification.

    Raises:
        UserError: if it is another class, or has an option that ours has not.
    """
    check_class(model, ("BertModel", "BertForSequenceClassification"))
    theirs = read_config(model)
    # A BERT may be told to decode, or (in older versions) to learn distances between positions.
    wanted = {"is_decoder": False, "add_cross_attention": False}
    check_options(theirs, wanted | {"position_embedding_type": "absolute"})
    weights = base_weights(model, "bert.")
    config = ModelConfig(
        family="encoder",
        vocab_size=theirs.vocab_size,
        d_model=theirs.hidden_size,
        n_heads=theirs.num_attention_heads,
        n_encoder_layers=theirs.num_hidden_layers,
        d_ff=theirs.intermediate_size,
        max_length=theirs.max_position_embeddings,
        dropout=theirs.hidden_dropout_prob,
        positional="learned",
        activation=read_activation(theirs, "hidden_act"),
        pad_id=theirs.pad_token_id,
        scale_embeddings=False,
        embedding_norm=True,
        n_segments=theirs.type_vocab_size,
        pooler="tanh" if "pooler.dense.weight" in weights else "none",
        n_classes=theirs.num_labels if "classifier.weight" in weights else 0,
        layer_norm_eps=theirs.layer_norm_eps,
    )
    return Reading(config, rename(weights, _BERT))


def read_distilbert(model: nn.Module) -> Reading:
    """Read a DistilBertModel or a DistilBertForSequenceClassification.

    Raises:
        UserError: if it is another class, or has an option that ours has not.
    """
    check_class(model, ("DistilBertModel", "DistilBertForSequenceClassification"))
    theirs = read_config(model)
    weights = base_weights(model, "distilbert.")
    config = ModelConfig(
        family="encoder",
        vocab_size=theirs.vocab_size,
        d_model=theirs.dim,
        n_heads=theirs.n_heads,
        n_encoder_layers=theirs.n_layers,
        d_ff=theirs.hidden_dim,
        max_length=theirs.max_position_embeddings,
        dropout=theirs.dropout,
        positional="learned",  # their fixed sinusoids, too, are stored as a table
        activation=read_activation(theirs, "activation"),
        pad_id=theirs.pad_token_id,
        scale_embeddings=False,
        embedding_norm=True,
        pooler="relu" if "pre_classifier.weight" in weights else "none",
        n_classes=theirs.num_labels if "classifier.weight" in weights else 0,
        layer_norm_eps=1e-12,  # not an option of theirs
    )
    return Reading(config, rename(weights, _DISTILBERT))
