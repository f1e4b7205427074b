"""To `torch.nn` and back: the same weights, and so the same numbers.

`torch.nn.MultiheadAttention` stores W^Q, W^K and W^V stacked in one matrix, `in_proj_weight`.
`torch.nn.Transformer` is the two stacks alone: it has no embeddings, positions or output layer, and
its masks mean the opposite of ours (`masks.to_torch_mask`). Weights are copied, never shared.

Two things differ and are dealt with openly. Torch adds one more LayerNorm after each stack, which
the paper has not: we leave it out with post-norm, and cannot take a model that has it. And torch's
`bias=False` also drops the biases of LayerNorm and of the feed-forward network; ours does not.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from viz_transformer.config import ModelConfig, Positional
from viz_transformer.errors import UserError
from viz_transformer.model.attention import MultiHeadAttention
from viz_transformer.model.layers import ACTIVATIONS, DecoderLayer, EncoderLayer
from viz_transformer.model.transformer import Transformer

_ACTIVATIONS = {F.relu: "relu", F.gelu: "gelu"}

_Layer = EncoderLayer | DecoderLayer
_TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


def to_torch_attention(attention: MultiHeadAttention) -> nn.MultiheadAttention:
    """Return a `torch.nn.MultiheadAttention` (batch first) with the weights of ours.

    Call it with `average_attn_weights=False` to see the heads one by one.
    """
    d_model, bias = attention.w_o.in_features, attention.w_o.bias is not None
    module = nn.MultiheadAttention(
        d_model, attention.n_heads, attention.dropout, bias=bias, batch_first=True
    ).to(attention.w_o.weight)
    projections = (attention.w_q, attention.w_k, attention.w_v)
    with torch.no_grad():
        # [3 * d_model, d_model]
        module.in_proj_weight.copy_(torch.cat([linear.weight for linear in projections]))
        if bias:
            module.in_proj_bias.copy_(torch.cat([linear.bias for linear in projections]))
    module.out_proj.load_state_dict(attention.w_o.state_dict())
    return module.train(attention.training)


def from_torch_attention(module: nn.MultiheadAttention) -> MultiHeadAttention:
    """Return a `MultiHeadAttention` with the weights of torch's; ours is always batch first.

    Raises:
        UserError: if the module has keys or values of another width (kdim, vdim), or adds keys of
            its own (add_bias_kv, add_zero_attn): ours has no such thing.
    """
    if module.in_proj_weight is None or module.bias_k is not None or module.add_zero_attn:
        raise UserError(
            f"a torch.nn.MultiheadAttention with kdim={module.kdim}, vdim={module.vdim}, "
            f"add_bias_kv={module.bias_k is not None}, add_zero_attn={module.add_zero_attn} cannot "
            f"be mapped; make it with kdim=vdim={module.embed_dim} and without the other two"
        )
    bias = module.in_proj_bias is not None
    attention = MultiHeadAttention(module.embed_dim, module.num_heads, module.dropout, bias)
    attention.to(module.in_proj_weight)
    projections = (attention.w_q, attention.w_k, attention.w_v)
    with torch.no_grad():
        for linear, weight in zip(projections, module.in_proj_weight.chunk(3), strict=True):
            linear.weight.copy_(weight)
        if bias:
            for linear, values in zip(projections, module.in_proj_bias.chunk(3), strict=True):
                linear.bias.copy_(values)
    attention.w_o.load_state_dict(module.out_proj.state_dict())
    return attention.train(module.training)


def to_torch_transformer(model: Transformer) -> nn.Transformer:
    """Return a `torch.nn.Transformer` (batch first) with the weights of our two stacks.

    Embeddings and logits stay ours. With `source_mask = model.padding_mask(source_ids)` and
    `ignore = to_torch_mask(source_mask)[:, 0, 0]`, this equals `model(source_ids, target_ids)`:

        model.logits(
            module(
                model.embed_source(source_ids),
                model.embed_target(target_ids),
                tgt_mask=to_torch_mask(causal_mask(target_ids.shape[1]))[0, 0],
                src_key_padding_mask=ignore,
                tgt_key_padding_mask=to_torch_mask(model.padding_mask(target_ids))[:, 0, 0],
                memory_key_padding_mask=ignore,
            )
        )

    One difference remains: where a query may attend to nothing, torch's attention can be NaN.
    """
    config = model.config

    def norm() -> nn.LayerNorm | None:
        return nn.LayerNorm(config.d_model) if config.norm == "pre" else None

    encoder_layer, decoder_layer = (
        layer_class(
            config.d_model,
            config.n_heads,
            config.d_ff,
            config.dropout,
            ACTIVATIONS[config.activation],
            layer_norm_eps=config.layer_norm_eps,
            batch_first=True,
            norm_first=config.norm == "pre",
        )
        for layer_class in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
    )
    module = nn.Transformer(
        config.d_model,
        config.n_heads,
        batch_first=True,
        custom_encoder=nn.TransformerEncoder(
            encoder_layer, config.n_encoder_layers, norm(), enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(decoder_layer, config.n_decoder_layers, norm()),
    ).to(model.source_embedding.weight)
    for ours, theirs in _layer_pairs(model, module):
        theirs.self_attn = to_torch_attention(ours.self_attention)
        if isinstance(ours, DecoderLayer):
            theirs.multihead_attn = to_torch_attention(ours.cross_attention)
    for ours, theirs in _plain_pairs(model, module):
        theirs.load_state_dict(ours.state_dict())
    return module.train(model.training)


def from_torch_transformer(
    module: nn.Transformer,
    vocab_size: int,
    *,
    max_length: int = 512,
    positional: Positional = "sinusoidal",
    tie_embeddings: bool = True,
    pad_id: int = 0,
) -> Transformer:
    """Return a `Transformer` whose two stacks have the weights of a `torch.nn.Transformer`.

    The sizes are read from the module. What it has not, the embeddings, the positions and the
    output layer, are made new after the other arguments, which are those of `ModelConfig`.

    Raises:
        UserError: if the module holds something that ours has not; the message names it.
    """
    facts = _read_facts(module)
    config = ModelConfig(
        vocab_size=vocab_size,
        d_model=facts.d_model,
        n_heads=facts.n_heads,
        n_encoder_layers=len(module.encoder.layers),
        n_decoder_layers=len(module.decoder.layers),
        d_ff=facts.d_ff,
        max_length=max_length,
        dropout=facts.dropout,
        norm="pre" if facts.norm_first else "post",
        positional=positional,
        activation=facts.activation,
        bias=facts.bias,
        tie_embeddings=tie_embeddings,
        pad_id=pad_id,
    )
    model = Transformer(config).to(next(module.parameters()))
    for ours, theirs in _layer_pairs(model, module):
        ours.self_attention = from_torch_attention(theirs.self_attn)
        if isinstance(ours, DecoderLayer):
            ours.cross_attention = from_torch_attention(theirs.multihead_attn)
    for ours, theirs in _plain_pairs(model, module):
        ours.load_state_dict(theirs.state_dict())
    return model.train(module.training)


def _layer_pairs(
    model: Transformer, module: nn.Transformer
) -> Iterator[tuple[_Layer, _TorchLayer]]:
    yield from zip(model.encoder.layers, module.encoder.layers, strict=True)
    yield from zip(model.decoder.layers, module.decoder.layers, strict=True)


def _plain_pairs(
    model: Transformer, module: nn.Transformer
) -> Iterator[tuple[nn.Module, nn.Module]]:
    """Pair the modules whose weights both sides store alike: Linear and LayerNorm."""
    for ours, theirs in _layer_pairs(model, module):
        yield ours.feed_forward.w_1, theirs.linear1
        yield ours.feed_forward.w_2, theirs.linear2
        yield ours.self_attention_residual.norm, theirs.norm1
        if isinstance(ours, DecoderLayer):
            yield ours.cross_attention_residual.norm, theirs.norm2
            yield ours.feed_forward_residual.norm, theirs.norm3
        else:
            yield ours.feed_forward_residual.norm, theirs.norm2
    if model.config.norm == "pre":
        yield model.encoder.norm, module.encoder.norm
        yield model.decoder.norm, module.decoder.norm


class _Facts(NamedTuple):
    """What all layers of a torch.nn.Transformer must agree on to be one of ours."""

    d_model: int
    n_heads: int
    d_ff: int
    dropout: float
    activation: str
    norm_first: bool
    bias: bool


def _read_facts(module: nn.Transformer) -> _Facts:
    """Read a module's sizes and choices, or raise a UserError that names what has no match."""
    stacks = (module.encoder, module.decoder)
    for stack, wanted in zip(stacks, (nn.TransformerEncoder, nn.TransformerDecoder), strict=True):
        if not isinstance(stack, wanted):
            raise UserError(
                f"the stack {type(stack).__name__} cannot be mapped; use torch.nn.{wanted.__name__}"
            )
    found = {_read_layer(layer) for stack in stacks for layer in stack.layers}
    if len(found) != 1:
        raise UserError(
            f"the layers differ from each other, {sorted(map(repr, found))}; "
            "only layers of one size and kind can be mapped"
        )
    facts = found.pop()
    epsilons = {norm.eps for norm in module.modules() if isinstance(norm, nn.LayerNorm)}
    if epsilons != {1e-5}:
        raise UserError(f"layer_norm_eps={sorted(epsilons)} cannot be mapped; use 1e-5")
    for stack in stacks:
        if facts.norm_first != isinstance(stack.norm, nn.LayerNorm):
            kind = type(stack).__name__
            raise UserError(
                f"the {kind} has norm={stack.norm}, norm_first={facts.norm_first}, but a post-norm "
                "stack ends without a norm of its own, as in the paper, and a pre-norm stack with "
                f"a LayerNorm; pass torch.nn.Transformer a stack of that kind, such as "
                f"{kind}(layer, num_layers, norm=None)"
            )
    return facts


def _read_layer(layer: _TorchLayer) -> _Facts:
    if layer.linear1.bias is None:
        raise UserError(
            "a layer with bias=False cannot be mapped, as our feed-forward network and LayerNorm "
            "always have biases; make it with bias=True"
        )
    if layer.activation not in _ACTIVATIONS:
        raise UserError(
            f"the activation {layer.activation} cannot be mapped; "
            "make the layer with activation='relu' or 'gelu'"
        )
    attentions = [part for part in layer.modules() if isinstance(part, nn.MultiheadAttention)]
    dropouts = {part.p for part in layer.modules() if isinstance(part, nn.Dropout)}
    dropouts |= {attention.dropout for attention in attentions}
    if len(dropouts) > 1:
        raise UserError(f"a layer drops with {sorted(dropouts)}; give all its parts one dropout")
    return _Facts(
        d_model=layer.linear1.in_features,
        n_heads=layer.self_attn.num_heads,
        d_ff=layer.linear1.out_features,
        dropout=dropouts.pop(),
        activation=_ACTIVATIONS[layer.activation],
        norm_first=layer.norm_first,
        bias=layer.self_attn.in_proj_bias is not None,
    )
