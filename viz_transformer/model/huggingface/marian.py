"""Marian (opus-mt): translators, post-norm, with sines and cosines in two halves.

Every target starts with Marian's padding token, and every word has a bias on its logit.
"""

from torch import nn

from viz_transformer.config import ModelConfig
from viz_transformer.model.huggingface import reading


def _attention(theirs: str, ours: str) -> dict[str, str]:
    parts = {"q_proj": "w_q", "k_proj": "w_k", "v_proj": "w_v", "out_proj": "w_o"}
    names = {f"{theirs}.{their}": f"{ours}.{our}" for their, our in parts.items()}
    return names | {f"{theirs}_layer_norm": f"{ours}_residual.norm"}


_ENCODER_LAYER = _attention("self_attn", "self_attention") | {
    "fc1": "feed_forward.w_1",
    "fc2": "feed_forward.w_2",
    "final_layer_norm": "feed_forward_residual.norm",
}
_DECODER_LAYER = _ENCODER_LAYER | _attention("encoder_attn", "cross_attention")
_MARIAN = {
    "encoder.embed_tokens": "source_embedding",
    "decoder.embed_tokens": "target_embedding",
    "lm_head": "output",
}
_MARIAN |= reading.layer_names("encoder.layers", "encoder", _ENCODER_LAYER)
_MARIAN |= reading.layer_names("decoder.layers", "decoder", _DECODER_LAYER)


def read_marian(model: nn.Module) -> reading.Reading:
    """Read a MarianModel or a MarianMTModel.

    Raises:
        UserError: if it is another class, or has an option that ours has not.
    """
    theirs, weights = reading.read_model(model, "model.", "MarianModel", "MarianMTModel")
    same_on_both_sides = {
        "decoder_attention_heads": theirs.encoder_attention_heads,
        "decoder_ffn_dim": theirs.encoder_ffn_dim,
    }
    reading.check_options(theirs, same_on_both_sides)
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
        activation=reading.read_activation(theirs, "activation_function"),
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
    ours = reading.rename(kept, _MARIAN)
    if bias is not None:
        ours["output_bias"] = bias[0]  # [vocab]
    return reading.Reading(config, ours)
