"""Conversion of one stack of layers: torch's stack of the same sizes, weights copied both ways."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from torch import nn

from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.conversion.attention import from_torch_attention, to_torch_attention
from viz_transformer.model.layers import ACTIVATIONS, DecoderLayer, EncoderLayer
from viz_transformer.model.stacks import Decoder, Encoder

Stack = Encoder | Decoder
TorchStack = nn.TransformerEncoder | nn.TransformerDecoder
_TorchLayer = TypeVar("_TorchLayer", nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


def make_torch_encoder(stack: Encoder, config: ModelConfig) -> nn.TransformerEncoder:
    """Return torch's encoder (batch first) of the sizes of ours, with weights yet to be copied."""
    layer = _torch_layer(nn.TransformerEncoderLayer, config)
    # A nested tensor would leave zeros in place of the padding's vectors.
    module = nn.TransformerEncoder(layer, len(stack.layers), _torch_norm(config), enable_nested_tensor=False)
    return module.to(next(stack.parameters()))


def make_torch_decoder(stack: Decoder, config: ModelConfig) -> nn.TransformerDecoder:
    """Return torch's decoder (batch first) of the sizes of ours, with weights yet to be copied."""
    layer = _torch_layer(nn.TransformerDecoderLayer, config)
    module = nn.TransformerDecoder(layer, len(stack.layers), _torch_norm(config))
    return module.to(next(stack.parameters()))


def _torch_norm(config: ModelConfig) -> nn.LayerNorm | None:
    return nn.LayerNorm(config.d_model, eps=config.layer_norm_eps) if config.norm == "pre" else None


def copy_to_torch(stack: Stack, module: TorchStack) -> None:
    """Copy the weights of our stack into torch's, which has its sizes.

    Raises:
        UserError: as `to_torch_attention`.
    """
    for ours, theirs in _layer_pairs(stack, module):
        theirs.self_attn = to_torch_attention(ours.self_attention)
        if isinstance(ours, DecoderLayer):
            theirs.multihead_attn = to_torch_attention(ours.cross_attention)
    for part, their_part in _plain_pairs(stack, module):
        their_part.load_state_dict(part.state_dict())


def copy_from_torch(stack: Stack, module: TorchStack) -> None:
    """Copy the weights of torch's stack into ours, which has its sizes.

    Raises:
        UserError: as `from_torch_attention`, or if a Linear or LayerNorm is something else there.
    """
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


def _layer_pairs(stack: Stack, module: TorchStack) -> Iterator[tuple[EncoderLayer | DecoderLayer, Any]]:
    """Pair our layers with torch's, whose own type says nothing about their parts."""
    layers: Iterable[EncoderLayer | DecoderLayer] = stack.layers
    return zip(layers, module.layers, strict=True)


def _plain_pairs(stack: Stack, module: TorchStack) -> Iterator[tuple[nn.Module, nn.Module]]:
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
