"""Conversion to `torch.nn` and back: the same weights, and so the same numbers.

`torch.nn.MultiheadAttention` stores W^Q, W^K and W^V stacked in one matrix, `in_proj_weight`.
`torch.nn.TransformerEncoder` and `torch.nn.Transformer` are the stacks of layers alone: they have
no embeddings, positions or output layer, and their masks mean the opposite of ours
(`masks.to_torch_mask`). Weights are copied, never shared.

Two things differ and are dealt with openly. Torch's Transformer adds one more LayerNorm after each
stack, which the paper has not: we leave it out with post-norm, and cannot take a model that has it.
And torch's `bias=False` also drops the biases of LayerNorm and of the feed-forward network; ours
does not.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

import torch
import torch.nn.functional as F
from torch import nn

from viz_transformer.config import Activation, ModelConfig, Norm, Pooler, Positional
from viz_transformer.errors import UserError
from viz_transformer.model.attention import MultiHeadAttention
from viz_transformer.model.families import EncoderOnly
from viz_transformer.model.layers import ACTIVATIONS, Decoder, DecoderLayer, Encoder, EncoderLayer
from viz_transformer.model.scoring import scaled_dot
from viz_transformer.model.transformer import Transformer

_Stack = Encoder | Decoder
_TorchStack = nn.TransformerEncoder | nn.TransformerDecoder
_TorchLayer = TypeVar("_TorchLayer", nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
_LAYERS: dict[type[_TorchStack], type[nn.Module]] = {
    nn.TransformerEncoder: nn.TransformerEncoderLayer,
    nn.TransformerDecoder: nn.TransformerDecoderLayer,
}


class _StackOptions(NamedTuple):
    """What all layers of torch's stacks must agree on to be ours, named as in `ModelConfig`."""

    d_model: int
    n_heads: int
    d_ff: int
    dropout: float
    norm: Norm
    activation: Activation
    bias: bool
    layer_norm_eps: float


def _read_options(positional: Positional, *stacks: tuple[nn.Module, type[_TorchStack]]) -> _StackOptions:
    """Read the sizes and choices of stacks, each given with the class that it should be."""
    if positional == "rotary":
        raise UserError(
            "positional='rotary' turns queries and keys, and torch's attention was not trained that way; "
            "use 'sinusoidal', 'sinusoidal_halves', 'learned' or 'none'"
        )
    known: list[tuple[_TorchStack, type[nn.Module]]] = []
    for stack, wanted in stacks:
        if not isinstance(stack, wanted):
            raise UserError(
                f"the stack {type(stack).__name__} cannot be mapped; use torch.nn.{wanted.__name__}"
            )
        if not len(stack.layers):
            raise UserError(f"the {wanted.__name__} has no layers; make it with at least one")
        known.append((stack, _LAYERS[wanted]))
    found = {_read_layer(layer, wanted) for stack, wanted in known for layer in stack.layers}
    if len(found) > 1:
        values = {
            name: sorted({getattr(each, name) for each in found}, key=repr) for name in _StackOptions._fields
        }
        differences = ", ".join(
            " or ".join(f"{name}={value!r}" for value in several)
            for name, several in values.items()
            if len(several) > 1
        )
        raise UserError(
            f"the layers differ from each other, {differences}; "
            "only layers of one size and kind can be mapped"
        )
    options = found.pop()
    for stack, _ in known:
        _check_final_norm(stack, options)
    return options


def _check_final_norm(stack: _TorchStack, options: _StackOptions) -> None:
    kind, norm = type(stack).__name__, stack.norm
    fits = isinstance(norm, nn.LayerNorm) if options.norm == "pre" else norm is None
    if not fits:
        mend = f"torch.nn.LayerNorm({options.d_model})" if options.norm == "pre" else None
        raise UserError(
            f"the {kind} has norm={norm}, norm_first={options.norm == 'pre'}, but a post-norm "
            "stack ends without a norm of its own, as in the paper, and a pre-norm stack with "
            f"a LayerNorm; make it as {kind}(layer, num_layers, norm={mend})"
        )
    if norm is not None and norm.eps != options.layer_norm_eps:
        raise UserError(
            f"layer_norm_eps={options.layer_norm_eps} in the layers of the {kind} and {norm.eps} in "
            "its last norm cannot be mapped; give both the same"
        )


def _read_layer(layer: nn.Module, wanted: type[nn.Module]) -> _StackOptions:
    # Nor a subclass of it: what its own `forward` may do, ours would not.
    if type(layer) is not wanted or not isinstance(
        layer, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
    ):
        raise UserError(f"the layer {type(layer).__name__} cannot be mapped; use torch.nn.{wanted.__name__}")
    if layer.linear1.bias is None:
        raise UserError(
            "a layer with bias=False cannot be mapped, as our feed-forward network and LayerNorm "
            "always have biases; make it with bias=True"
        )
    attentions = [part for part in layer.modules() if isinstance(part, nn.MultiheadAttention)]
    dropouts = {part.p for part in layer.modules() if isinstance(part, nn.Dropout)}
    dropouts |= {attention.dropout for attention in attentions}
    if len(dropouts) > 1:
        raise UserError(f"a layer has the dropouts {sorted(dropouts)}; give all its parts the same one")
    epsilons = {part.eps for part in layer.modules() if isinstance(part, nn.LayerNorm)}
    if len(epsilons) != 1:
        raise UserError(
            f"a layer has norms with layer_norm_eps={sorted(epsilons)}; "
            "give all its parts torch.nn.LayerNorm with the same"
        )
    return _StackOptions(
        d_model=layer.linear1.in_features,
        n_heads=layer.self_attn.num_heads,
        d_ff=layer.linear1.out_features,
        dropout=dropouts.pop(),
        norm="pre" if layer.norm_first else "post",
        activation=_read_activation(layer.activation),
        bias=layer.self_attn.in_proj_bias is not None,
        layer_norm_eps=epsilons.pop(),
    )


def _read_activation(activation: object) -> Activation:
    """Name an activation, be it a function or a module; torch copies functions with arguments."""
    gelu_with = None
    if isinstance(activation, nn.GELU):
        gelu_with = activation.approximate
    elif isinstance(activation, partial) and activation.func is F.gelu and not activation.args:
        gelu_with = activation.keywords.get("approximate")
    if activation is F.relu or isinstance(activation, nn.ReLU):
        return "relu"
    if activation is F.gelu or gelu_with == "none":
        return "gelu"
    if gelu_with == "tanh":
        return "gelu_tanh"
    if activation is F.silu or isinstance(activation, nn.SiLU):
        return "silu"
    raise UserError(
        f"the activation {activation} cannot be mapped; make the layer with activation='relu' or 'gelu'"
    )


def to_torch_attention(attention: MultiHeadAttention) -> nn.MultiheadAttention:
    """Return a `torch.nn.MultiheadAttention` (batch first) with the weights of ours.

    Call it with `average_attn_weights=False` to see the heads one by one.

    Raises:
        UserError: if ours does not score by the scaled dot product, or has rotary positions:
            torch's has no such thing.
    """
    if attention.score is not scaled_dot or attention.rotary is not None:
        score = getattr(attention.score, "__name__", type(attention.score).__name__)
        raise UserError(
            f"an attention that scores by {score}, rotary={attention.rotary is not None} cannot "
            "be mapped to torch.nn.MultiheadAttention; make the model with scoring='scaled_dot' "
            "and without positional='rotary'"
        )
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


def _make_torch_encoder(stack: Encoder, config: ModelConfig) -> nn.TransformerEncoder:
    """Return torch's encoder (batch first) of the sizes of ours, with weights yet to be copied."""
    layer = _torch_layer(nn.TransformerEncoderLayer, config)
    # A nested tensor would leave zeros in place of the padding's vectors.
    module = nn.TransformerEncoder(layer, len(stack.layers), _torch_norm(config), enable_nested_tensor=False)
    return module.to(next(stack.parameters()))


def _make_torch_decoder(stack: Decoder, config: ModelConfig) -> nn.TransformerDecoder:
    """Return torch's decoder (batch first) of the sizes of ours, with weights yet to be copied."""
    layer = _torch_layer(nn.TransformerDecoderLayer, config)
    module = nn.TransformerDecoder(layer, len(stack.layers), _torch_norm(config))
    return module.to(next(stack.parameters()))


def _torch_norm(config: ModelConfig) -> nn.LayerNorm | None:
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_eps) if config.norm == "pre" else None


def _copy_to_torch(stack: _Stack, module: _TorchStack) -> None:
    """Copy the weights of our stack into torch's, which has its sizes."""
    for ours, theirs in _layer_pairs(stack, module):
        theirs.self_attn = to_torch_attention(ours.self_attention)
        if isinstance(ours, DecoderLayer):
            theirs.multihead_attn = to_torch_attention(ours.cross_attention)
    for part, their_part in _plain_pairs(stack, module):
        their_part.load_state_dict(part.state_dict())


def _copy_from_torch(stack: _Stack, module: _TorchStack) -> None:
    """Copy the weights of torch's stack into ours, which has its sizes."""
    for ours, theirs in _layer_pairs(stack, module):
        ours.self_attention = from_torch_attention(theirs.self_attn)
        if isinstance(ours, DecoderLayer):
            ours.cross_attention = from_torch_attention(theirs.multihead_attn)
    for part, their_part in _plain_pairs(stack, module):
        wanted, found = _shapes(part), _shapes(their_part)
        if not isinstance(their_part, type(part)) or found != wanted:
            raise UserError(
                f"the part {their_part} with the weights {found} cannot be mapped; "
                f"make it {part} with {wanted}"
            )
        part.load_state_dict(their_part.state_dict())


def _torch_layer(layer_class: type[_TorchLayer], config: ModelConfig) -> _TorchLayer:
    return layer_class(
        config.d_model,
        config.n_heads,
        config.d_ff,
        config.dropout,
        ACTIVATIONS[config.activation],
        layer_norm_eps=config.layer_norm_eps,
        batch_first=True,
        norm_first=config.norm == "pre",
    )


def _layer_pairs(stack: _Stack, module: _TorchStack) -> Iterator[tuple[EncoderLayer | DecoderLayer, Any]]:
    """Pair our layers with torch's, whose own type says nothing about their parts."""
    layers: Iterable[EncoderLayer | DecoderLayer] = stack.layers
    return zip(layers, module.layers, strict=True)


def _plain_pairs(stack: _Stack, module: _TorchStack) -> Iterator[tuple[nn.Module, nn.Module]]:
    """Pair the modules whose weights both sides store alike: Linear and LayerNorm."""
    for ours, theirs in _layer_pairs(stack, module):
        yield ours.feed_forward.w_1, theirs.linear1
        yield ours.feed_forward.w_2, theirs.linear2
        yield ours.self_attention_residual.norm, theirs.norm1
        if isinstance(ours, DecoderLayer):
            yield ours.cross_attention_residual.norm, theirs.norm2
            yield ours.feed_forward_residual.norm, theirs.norm3
        else:
            yield ours.feed_forward_residual.norm, theirs.norm2
    if isinstance(stack.norm, nn.LayerNorm) and module.norm is not None:
        yield stack.norm, module.norm


def _shapes(module: nn.Module) -> dict[str, list[int]]:
    return {name: list(weight.shape) for name, weight in module.state_dict().items()}


def to_torch_encoder(model: EncoderOnly) -> nn.TransformerEncoder:
    """Return a `torch.nn.TransformerEncoder` (batch first) with the weights of our layers.

    The embeddings and the head stay ours. This equals `model.encode(source_ids)`:

        module(
            model.embed(source_ids),
            src_key_padding_mask=to_torch_mask(model.padding_mask(source_ids))[:, 0, 0],
        )

    In torch's mask [batch, source] True says "ignore this word". One difference remains: in a text
    that is all padding, torch's attention can be NaN.

    Raises:
        UserError: if the model does not score by the scaled dot product, or has rotary positions.
    """
    module = _make_torch_encoder(model.encoder, model.config)
    _copy_to_torch(model.encoder, module)
    return module.train(model.training)


def from_torch_encoder(
    module: nn.TransformerEncoder,
    vocab_size: int,
    *,
    max_length: int = 512,
    positional: Positional = "sinusoidal",
    pad_id: int | None = 0,
    scale_embeddings: bool = True,
    embedding_norm: bool = False,
    n_segments: int = 0,
    pooler: Pooler = "none",
    n_classes: int = 0,
) -> EncoderOnly:
    """Return an `EncoderOnly` whose layers have the weights of a `torch.nn.TransformerEncoder`.

    The sizes are read from the module. What it has not, the embeddings, the positions and the
    head, is made new after the other arguments, which are those of `ModelConfig`.

    Raises:
        UserError: if the module holds something that ours has not, such as layers of a class of
            their own, or if an argument is out of range or the positions are rotary; the message
            names it.
    """
    options = _read_options(positional, (module, nn.TransformerEncoder))
    config = ModelConfig(
        family="encoder",
        vocab_size=vocab_size,
        n_encoder_layers=len(module.layers),
        max_length=max_length,
        positional=positional,
        pad_id=pad_id,
        scale_embeddings=scale_embeddings,
        embedding_norm=embedding_norm,
        n_segments=n_segments,
        pooler=pooler,
        n_classes=n_classes,
        **options._asdict(),
    )
    model = EncoderOnly(config).to(next(module.parameters()))
    _copy_from_torch(model.encoder, module)
    return model.train(module.training)


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

    Raises:
        UserError: if the model does not score by the scaled dot product, or has rotary positions.
    """
    config = model.config
    module = nn.Transformer(
        config.d_model,
        config.n_heads,
        batch_first=True,
        custom_encoder=_make_torch_encoder(model.encoder, config),
        custom_decoder=_make_torch_decoder(model.decoder, config),
    )
    # Only now: nn.Transformer initialises all weights, also those of the stacks that it is given.
    _copy_to_torch(model.encoder, module.encoder)
    _copy_to_torch(model.decoder, module.decoder)
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
        UserError: if the module holds something that ours has not, or if the positions are
            rotary; the message names it.
    """
    stacks = (module.encoder, nn.TransformerEncoder), (module.decoder, nn.TransformerDecoder)
    options = _read_options(positional, *stacks)
    config = ModelConfig(
        vocab_size=vocab_size,
        n_encoder_layers=len(module.encoder.layers),
        n_decoder_layers=len(module.decoder.layers),
        max_length=max_length,
        positional=positional,
        tie_embeddings=tie_embeddings,
        pad_id=pad_id,
        **options._asdict(),
    )
    model = Transformer(config).to(next(module.parameters()))
    _copy_from_torch(model.encoder, module.encoder)
    _copy_from_torch(model.decoder, module.decoder)
    return model.train(module.training)
