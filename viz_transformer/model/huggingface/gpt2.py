"""GPT-2: a decoder, pre-norm, with learned positions, tied embeddings and one matrix for Q, K, V.

Its matrices are stored transposed, [inputs, outputs].
"""

from typing import Any

from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.model.huggingface import reading

_GPT2 = {
    "wte": "embedding.words",
    "wpe": "embedding.positions.embedding",
    "ln_f": "decoder.norm",
    "lm_head": "output",
} | reading.layer_names(
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


def read_gpt2(model: nn.Module) -> reading.Reading:
    """Read a GPT2Model or a GPT2LMHeadModel.

    Raises:
        UserError: if it is another class, or has an option that ours has not.
    """
    theirs, weights = reading.read_model(model, "transformer.", "GPT2Model", "GPT2LMHeadModel")
    wanted = {"scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False}
    reading.check_options(theirs, wanted)
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
        activation=reading.read_activation(theirs, "activation_function"),
        tie_embeddings=tied,
        pad_id=_pad_id(theirs),
        scale_embeddings=False,
        layer_norm_eps=theirs.layer_norm_epsilon,
    )
    if tied:
        weights.pop("lm_head.weight", None)
    return reading.Reading(config, reading.rename(_split(weights), _GPT2))


def _pad_id(theirs: Any) -> int | None:
    """Return the id of a token that is padding and nothing else, if there is one.

    GPT-2 has none, and is often given its end-of-text token, which is also between real texts.
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
