"""A stack of layers, of either kind: made for torch, and its weights copied there and back."""

from collections.abc import Iterator

from torch import nn

from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.conversion.attention import from_torch_attention, to_torch_attention
from viz_transformer.model.layers import ACTIVATIONS, DecoderLayer
from viz_transformer.model.stacks import Decoder, Encoder

Stack = Encoder | Decoder
TorchStack = nn.TransformerEncoder | nn.TransformerDecoder
_TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


def make_torch_stack(stack: Stack, config: ModelConfig) -> TorchStack:
    """Return torch's stack (batch first) of the sizes of ours, with weights yet to be copied."""
    n_layers, norm = len(stack.layers), None
    if config.norm == "pre":
        norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
    module: TorchStack
    if isinstance(stack, Encoder):
        # A nested tensor would leave zeros in place of the padding's vectors.
        layer = _torch_layer(nn.TransformerEncoderLayer, config)
        module = nn.TransformerEncoder(layer, n_layers, norm, enable_nested_tensor=False)
    else:
        layer = _torch_layer(nn.TransformerDecoderLayer, config)
        module = nn.TransformerDecoder(layer, n_layers, norm)
    return module.to(next(stack.parameters()))


def copy_to_torch(stack: Stack, module: TorchStack) -> None:
    """Copy the weights of our stack into torch's, which has its sizes.

    Raises:
        UserError: as `to_torch_attention`.
    """
    for ours, theirs in zip(stack.layers, module.layers, strict=True):
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
    for ours, theirs in zip(stack.layers, module.layers, strict=True):
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


def _plain_pairs(stack: Stack, module: TorchStack) -> Iterator[tuple[nn.Module, nn.Module]]:
    """Pair the modules whose weights both sides store alike: Linear and LayerNorm."""
    for ours, theirs in zip(stack.layers, module.layers, strict=True):
        yield ours.feed_forward.w_1, theirs.linear1
        yield ours.feed_forward.w_2, theirs.linear2
        yield ours.self_attention_residual.norm, theirs.norm1
        if isinstance(ours, DecoderLayer):
            yield ours.cross_attention_residual.norm, theirs.norm2
            yield ours.feed_forward_residual.norm, theirs.norm3
        else:
            yield ours.feed_forward_residual.norm, theirs.norm2
    if isinstance(stack.norm, nn.LayerNorm):
        yield stack.norm, module.norm


def _shapes(module: nn.Module) -> dict[str, list[int]]:
    return {name: list(weight.shape) for name, weight in module.state_dict().items()}
