"""One attention head computed in five ways from the same queries, keys, values and mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.model.attention import attend
from viz_transformer.model.masks import to_torch_mask

_N_FEATURES = 4  # numbers of each output that are sent; the rest follow the same rule


class HeadInputs(NamedTuple):
    """Queries, keys and values of one head, each [batch, 1, position, d_head]."""

    query: Tensor
    key: Tensor
    value: Tensor


class Library(NamedTuple):
    """A way to compute attention.

    Attributes:
        name: its full name.
        short: its name in a narrow column.
        takes: how a mask in which True means "may attend" is given to it.
        compute: from a head's inputs and a mask [batch, 1, query, key] to the output
            [batch, 1, query, d_head] and the weights [batch, 1, query, key].
    """

    name: str
    short: str
    takes: str
    compute: Callable[[HeadInputs, Tensor], tuple[Tensor, Tensor]]


def run_library(library: Library, head: HeadInputs, mask: Tensor) -> dict[str, Any]:
    """Return a library's weights and output as bytes, or the error that it raised."""
    named = {"name": library.name, "short": library.short, "takes": library.takes}
    reply: dict[str, Any] = {**named, "error": ""}
    try:
        output, weights = library.compute(head, mask)
    except (UserError, RuntimeError, ImportError) as error:
        return {**reply, "error": str(error)}
    output = output[:, 0, :, :_N_FEATURES]  # [batch, query, feature]
    return {
        **reply,
        "weights": float32_bytes(weights[:, 0]),
        "output": float32_bytes(output),
        "shapes": [list(weights[:, 0].shape), list(output.shape)],
    }


def torch_sdpa(head: HeadInputs, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Call torch's function. It returns no weights; unit vectors as values make them its output."""
    n_keys = head.key.shape[-2]
    units = torch.eye(n_keys).expand(*head.key.shape[:-2], n_keys, n_keys)
    return (
        F.scaled_dot_product_attention(*head, attn_mask=mask),
        F.scaled_dot_product_attention(head.query, head.key, units, attn_mask=mask),
    )


def torch_multihead(head: HeadInputs, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Call torch's module with identity projections, so that it uses the vectors as they are."""
    width = head.query.shape[-1]
    attention = nn.MultiheadAttention(width, 1, bias=False, batch_first=True).eval()
    attention.in_proj_weight.copy_(torch.eye(width).repeat(3, 1))
    attention.out_proj.weight.copy_(torch.eye(width))
    output, weights = attention(*(each[:, 0] for each in head), attn_mask=to_torch_mask(mask[:, 0]))
    return output[:, None], weights[:, None]


def masked_softmax(head: HeadInputs, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the printed formula: scores of −inf where the mask is False, then softmax."""
    scores = head.query @ head.key.transpose(-1, -2) / head.query.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)  # [batch, 1, query, key]
    return weights @ head.value, weights


def huggingface_eager(head: HeadInputs, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Call the "eager" attention of Hugging Face's models with the additive mask that they build."""
    from transformers.models.bart.modeling_bart import eager_attention_forward

    lowest = torch.finfo(head.query.dtype).min
    added = torch.zeros(mask.shape).masked_fill(~mask, lowest)  # [batch, 1, query, key]
    output, weights = eager_attention_forward(nn.Module().eval(), *head, added)
    return output.transpose(1, 2), weights  # theirs is [batch, query, head, d_head]


#: The ways to compute attention by the question that asks for them, in the order shown. The formulas are
#: those that the engine in a page knows too; Hugging Face's stands apart, as its import takes seconds.
LIBRARIES = {
    "formulas": (
        Library("viz_transformer.attend", "attend", "mask", lambda head, mask: attend(*head, mask)),
        Library("softmax by hand, with −inf", "by hand", "scores.masked_fill(~mask, −inf)", masked_softmax),
    ),
    "libraries": (
        Library("F.scaled_dot_product_attention", "F.sdpa", "attn_mask=mask", torch_sdpa),
        Library("nn.MultiheadAttention", "nn.MHA", "attn_mask=~mask", torch_multihead),
    ),
    "eager": (
        Library("Hugging Face, eager", "HF eager", "scores + finfo.min where ~mask", huggingface_eager),
    ),
}


def float32_bytes(x: Tensor) -> bytes:
    """Return an array as little-endian float32 in C order."""
    return x.numpy().astype(np.dtype("<f4")).tobytes()
