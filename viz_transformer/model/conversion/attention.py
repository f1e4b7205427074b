"""Conversion between `MultiHeadAttention` and `torch.nn.MultiheadAttention`."""

import torch
from torch import nn

from viz_transformer.errors import UserError
from viz_transformer.model.attention import MultiHeadAttention
from viz_transformer.model.scoring import scaled_dot


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
