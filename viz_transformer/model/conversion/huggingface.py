"""Conversion of Hugging Face models: BERT, DistilBERT, GPT-2 and Marian (opus-mt) as ours.

The numbers are the same: hidden states, logits and every head's weights. Only names and the way of
storing differ, and a table for each family writes those differences down. The library transformers is
not imported: a model is known by its `config` and its `state_dict()`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from torch import Tensor, nn

from viz_transformer.config import Activation, Family, ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.families import DecoderOnly, EncoderOnly
from viz_transformer.model.transformer import Transformer

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


def _read_model(model: nn.Module, prefix: str, *known: str) -> tuple[Any, dict[str, Tensor]]:
    """Return a model's configuration, whose options depend on its type, and its weights.

    Args:
        model: of one of the known classes, or of one derived from it.
        prefix: the name of an inner model, which is taken from the names of the weights.
        known: the names of the classes.
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


def _check_options(theirs: Any, wanted: Mapping[str, object]) -> None:
    """Check that a Hugging Face config has the values that ours can follow."""
    for name, value in wanted.items():
        given = getattr(theirs, name, value)
        if given != value:
            raise UserError(
                f"a {theirs.model_type} model with {name}={given!r} cannot be mapped; "
                f"use one with {name}={value!r}"
            )


def _read_activation(theirs: Any, name: str) -> Activation:
    """Return our name of the activation that the option `name` holds."""
    given = getattr(theirs, name)
    if given not in _ACTIVATIONS:
        raise UserError(
            f"a {theirs.model_type} model with {name}={given!r} cannot be mapped; "
            f"use one with one of {list(_ACTIVATIONS)}"
        )
    return _ACTIVATIONS[given]


def _rename(weights: Mapping[str, Tensor], names: Mapping[str, str]) -> dict[str, Tensor]:
    """Give weights our names.

    Args:
        weights: by their names, such as ``encoder.layer.3.output.dense.weight``.
        names: our module's name for each of theirs; ``{}`` stands for a layer's number in both.
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


def _layer_names(theirs: str, ours: str, modules: Mapping[str, str]) -> dict[str, str]:
    """Return the names of a layer's modules, with both sides' names of the stack before them."""
    return {f"{theirs}.{{}}.{their}": f"{ours}.layers.{{}}.{our}" for their, our in modules.items()}


#: BERT and DistilBERT: encoders, post-norm, with learned positions and a LayerNorm before all.
_BERT = {
    "embeddings.word_embeddings": "embedding.words",
    "embeddings.position_embeddings": "embedding.positions.embedding",
    "embeddings.token_type_embeddings": "embedding.segments",
    "embeddings.LayerNorm": "embedding.norm",
    "pooler.dense": "pooler",
    "classifier": "classifier",
} | _layer_names(
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
} | _layer_names(
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
    theirs, weights = _read_model(model, "bert.", "BertModel", "BertForSequenceClassification")
    # A BERT may be told to decode, or (in older versions) to learn distances between positions.
    wanted = {"is_decoder": False, "add_cross_attention": False}
    _check_options(theirs, wanted | {"position_embedding_type": "absolute"})
    config = replace(
        _shared_config(theirs, weights),
        d_ff=theirs.intermediate_size,
        dropout=theirs.hidden_dropout_prob,
        activation=_read_activation(theirs, "hidden_act"),
        n_segments=theirs.type_vocab_size,
        pooler="tanh" if "pooler.dense.weight" in weights else "none",
        layer_norm_eps=theirs.layer_norm_eps,
    )
    return Reading(config, _rename(weights, _BERT))


def read_distilbert(model: nn.Module) -> Reading:
    """Read a DistilBertModel or a DistilBertForSequenceClassification.

    Raises:
        UserError: if it is another class, or has an option that ours has not.
    """
    known = ("DistilBertModel", "DistilBertForSequenceClassification")
    theirs, weights = _read_model(model, "distilbert.", *known)
    config = replace(
        _shared_config(theirs, weights),
        d_ff=theirs.hidden_dim,
        dropout=theirs.dropout,
        activation=_read_activation(theirs, "activation"),
        pooler="relu" if "pre_classifier.weight" in weights else "none",
        layer_norm_eps=1e-12,  # not an option of theirs
    )
    return Reading(config, _rename(weights, _DISTILBERT))


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


#: GPT-2: a decoder, pre-norm, with learned positions, tied embeddings and one matrix for Q, K, V, which is
#: stored the other way round, [inputs, outputs], as all its matrices are.
_GPT2 = {
    "wte": "embedding.words",
    "wpe": "embedding.positions.embedding",
    "ln_f": "decoder.norm",
    "lm_head": "output",
} | _layer_names(
    "h",
    "decoder",
    {
        "ln_1": "self_attention_residual.norm",
        "attn.w_q": "self_attention.w_q",
        "attn.w_k": "self_attention.w_k",
        "attn.w_v": "self_attention.w_v",
        "attn.c_proj": "self_attention.w_o",
        "ln_2": "feed_forward_residual.norm",
        "mlp.c_fc": "feed_forward.w_1",
        "mlp.c_proj": "feed_forward.w_2",
    },
)


def read_gpt2(model: nn.Module) -> Reading:
    """Read a GPT2Model or a GPT2LMHeadModel.

    Raises:
        UserError: if it is another class, or has an option that ours has not.
    """
    theirs, weights = _read_model(model, "transformer.", "GPT2Model", "GPT2LMHeadModel")
    wanted = {"scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False}
    _check_options(theirs, wanted)
    tied = theirs.tie_word_embeddings or "lm_head.weight" not in weights
    config = ModelConfig(
        family="decoder",
        vocab_size=theirs.vocab_size,
        d_model=theirs.n_embd,
        n_heads=theirs.n_head,
        n_decoder_layers=theirs.n_layer,
        d_ff=theirs.n_inner or 4 * theirs.n_embd,
        max_length=theirs.n_positions,
        dropout=theirs.resid_pdrop,
        norm="pre",
        positional="learned",
        scoring="scaled_dot" if theirs.scale_attn_weights else "dot",
        activation=_read_activation(theirs, "activation_function"),
        tie_embeddings=tied,
        pad_id=_pad_id(theirs),
        scale_embeddings=False,
        layer_norm_eps=theirs.layer_norm_epsilon,
    )
    if tied:
        weights.pop("lm_head.weight", None)
    return Reading(config, _rename(_split(weights), _GPT2))


def _pad_id(theirs: Any) -> int | None:
    """Return the id of a token that is padding and nothing else, if there is one.

    GPT-2 has none, and is often given its end-of-text token, which also separates real texts.
    Behind a causal mask, padding on the right needs no hiding.
    """
    marks_ends = theirs.pad_token_id in (theirs.bos_token_id, theirs.eos_token_id)
    return None if marks_ends else theirs.pad_token_id


def _split(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Turn the matrices of the layers, and take Q, K and V out of the one that holds them."""
    split: dict[str, Tensor] = {}
    for name, value in weights.items():
        if name.endswith((".attn.bias", ".attn.masked_bias")):
            continue  # the causal mask, which older versions of transformers stored
        if ".c_attn." in name:
            for part, third in zip(("w_q", "w_k", "w_v"), value.chunk(3, dim=-1), strict=True):
                split[name.replace("c_attn", part)] = third.T if third.ndim == 2 else third
        elif ".c_" in name and value.ndim == 2:
            split[name] = value.T  # [inputs, outputs] -> [outputs, inputs]
        else:
            split[name] = value
    return split


def _marian_attention(theirs: str, ours: str) -> dict[str, str]:
    parts = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o"}
    names = {f"{theirs}.{their}": f"{ours}.{our}" for their, our in parts.items()}
    return names | {f"{theirs}_layer_norm": f"{ours}_residual.norm"}


_ENCODER_LAYER = _marian_attention("self_attn", "self_attention") | {
    "fc1": "feed_forward.w_1",
    "fc2": "feed_forward.w_2",
    "final_layer_norm": "feed_forward_residual.norm",
}
_DECODER_LAYER = _ENCODER_LAYER | _marian_attention("encoder_attn", "cross_attention")
#: Marian: translators, post-norm, with sines and cosines in two halves. Every target starts with Marian's
#: padding token, and every word has a bias on its logit.
_MARIAN = {
    "encoder.embed_tokens": "source_embedding",
    "decoder.embed_tokens": "target_embedding",
    "lm_head": "output",
}
_MARIAN |= _layer_names("encoder.layers", "encoder", _ENCODER_LAYER)
_MARIAN |= _layer_names("decoder.layers", "decoder", _DECODER_LAYER)


def read_marian(model: nn.Module) -> Reading:
    """Read a MarianModel or a MarianMTModel.

    Raises:
        UserError: if it is another class, or has an option that ours has not.
    """
    theirs, weights = _read_model(model, "model.", "MarianModel", "MarianMTModel")
    same_on_both_sides = {
        "decoder_attention_heads": theirs.encoder_attention_heads,
        "decoder_ffn_dim": theirs.encoder_ffn_dim,
    }
    _check_options(theirs, same_on_both_sides)
    tied = theirs.tie_word_embeddings or "lm_head.weight" not in weights
    shared = theirs.share_encoder_decoder_embeddings
    bias = weights.pop("final_logits_bias", None)  # [1, vocab]
    config = ModelConfig(
        vocab_size=theirs.vocab_size,
        target_vocab_size=None if shared else theirs.decoder_vocab_size,
        d_model=theirs.d_model,
        n_heads=theirs.encoder_attention_heads,
        n_encoder_layers=theirs.encoder_layers,
        n_decoder_layers=theirs.decoder_layers,
        d_ff=theirs.encoder_ffn_dim,
        max_length=theirs.max_position_embeddings,
        dropout=theirs.dropout,
        positional="sinusoidal_halves",
        activation=_read_activation(theirs, "activation_function"),
        tie_embeddings=tied,
        pad_id=theirs.pad_token_id,
        start_id=theirs.decoder_start_token_id,
        scale_embeddings=theirs.scale_embedding,
        output_bias=bias is not None,
    )
    unused = {  # stored more than once, or computed
        "shared.weight",
        "encoder.embed_positions.weight",
        "decoder.embed_positions.weight",
    }
    if tied:
        unused.add("lm_head.weight")
    if not config.has_target_embedding:
        unused.add("decoder.embed_tokens.weight")
    kept = {name: value for name, value in weights.items() if name not in unused}
    ours = _rename(kept, _MARIAN)
    if bias is not None:
        ours["output_bias"] = bias[0]  # [vocab]
    return Reading(config, ours)


_READERS: dict[str, Callable[[nn.Module], Reading]] = {
    "bert": read_bert,
    "distilbert": read_distilbert,
    "gpt2": read_gpt2,
    "marian": read_marian,
}
_FAMILIES: dict[Family, type[Transformer | EncoderOnly | DecoderOnly]] = {
    "encoder-decoder": Transformer,
    "encoder": EncoderOnly,
    "decoder": DecoderOnly,
}


def from_huggingface(model: nn.Module) -> Transformer | EncoderOnly | DecoderOnly:
    """Return our own model with the weights of a Hugging Face model.

        from_huggingface(BertModel(config))                                   # random weights
        from_huggingface(AutoModel.from_pretrained("bert-base-uncased"))      # needs the network
        from_huggingface(AutoModelForSeq2SeqLM.from_pretrained("Helsinki-NLP/opus-mt-en-es"))

    Padding is told by `config.pad_id`, so what they take as `attention_mask`, ours finds itself. A
    traced twin is made as for any other model: `TracedEncoderOnly(ours.config)` and then
    `load_state_dict(ours.state_dict())`. Weights are copied, never shared; dtype, device and mode
    (training or evaluation) are kept. Ours has one dropout rate, that of their hidden layers.

    >>> import transformers
    >>> import viz_transformer as vt
    >>> sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    >>> theirs = transformers.BertModel(transformers.BertConfig(vocab_size=20, **sizes))
    >>> type(vt.from_huggingface(theirs)).__name__
    'EncoderOnly'

    Args:
        model: a BertModel, BertForSequenceClassification, DistilBertModel,
            DistilBertForSequenceClassification, GPT2Model, GPT2LMHeadModel, MarianModel or
            MarianMTModel.

    Returns:
        EncoderOnly for BERT and DistilBERT (its result is their `last_hidden_state`, or the logits
        of their classification head), DecoderOnly for GPT-2 and Transformer for Marian (logits).

    Raises:
        UserError: if the model is of another type, or has an option that ours has not; the message
            names it.
    """
    model_type = getattr(getattr(model, "config", None), "model_type", None)
    if not isinstance(model, nn.Module) or model_type is None:
        raise UserError(
            f"{model!r:.60} is not a Hugging Face model; give the model itself, such as "
            "AutoModel.from_pretrained('bert-base-uncased')"
        )
    if model_type not in _READERS:
        raise UserError(
            f"a Hugging Face model of the type {model_type!r} ({type(model).__name__}) cannot be "
            f"mapped; the types that can be are {list(_READERS)}"
        )
    config, weights = _READERS[model_type](model)
    ours = _FAMILIES[config.family](config).to(next(iter(weights.values())))
    ours.load_state_dict(weights)
    return ours.train(model.training)
