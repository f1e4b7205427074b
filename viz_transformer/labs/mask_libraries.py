"""One attention in five libraries: the same queries, keys, values and mask, each asked live."""

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

_SHOWN = 4  # numbers of each output that are sent; the rest follows the same rule


class Heads(NamedTuple):
    """Queries, keys and values of one head, each [batch, 1, position, d_head]."""

    query: Tensor
    key: Tensor
    value: Tensor


class Library(NamedTuple):
    """A way to compute attention.

    Attributes:
        name: how it is called.
        short: the same in a word.
        takes: how it wants a mask that says True for "may attend".
        compute: from heads and mask [batch, 1, query, key] to the output [batch, 1, query, d_head]
            and the weights [batch, 1, query, key].
    """

    name: str
    short: str
    takes: str
    compute: Callable[[Heads, Tensor], tuple[Tensor, Tensor]]


def ask_library(library: Library, heads: Heads, mask: Tensor) -> dict[str, Any]:
    """Return a library's weights and output as bytes, or the error that it raised."""
    named = {"name": library.name, "short": library.short, "takes": library.takes}
    reply: dict[str, Any] = {**named, "error": ""}
    try:
        output, weights = library.compute(heads, mask)
    except (UserError, RuntimeError, ImportError) as error:
        return {**reply, "error": str(error)}
    output = output[:, 0, :, :_SHOWN]  # [batch, query, feature]
    return {
        **reply,
        "weights": _bytes(weights[:, 0]),
        "output": _bytes(output),
        "shapes": [list(weights[:, 0].shape), list(output.shape)],
    }


def fused(heads: Heads, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Call torch's function; it returns no weights, so they are read off with unit vectors."""
    n_keys = heads.key.shape[-2]
    units = torch.eye(n_keys).expand(*heads.key.shape[:-2], n_keys, n_keys)
    return (
        F.scaled_dot_product_attention(*heads, attn_mask=mask),
        F.scaled_dot_product_attention(heads.query, heads.key, units, attn_mask=mask),
    )


def module(heads: Heads, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Call torch's module with identity matrices, so that it sees the vectors as they are."""
    width = heads.query.shape[-1]
    attention = nn.MultiheadAttention(width, 1, bias=False, batch_first=True).eval()
    attention.in_proj_weight.copy_(torch.eye(width).repeat(3, 1))
    attention.out_proj.weight.copy_(torch.eye(width))
    output, weights = attention(*(each[:, 0] for each in heads), attn_mask=to_torch_mask(mask[:, 0]))
    return output[:, None], weights[:, None]


def naive(heads: Heads, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the formula as it is printed: −inf where nothing may be looked at, then softmax."""
    scores = heads.query @ heads.key.transpose(-1, -2) / heads.query.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)  # [batch, 1, query, key]
    return weights @ heads.value, weights


def eager(heads: Heads, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Call the "eager" attention of Hugging Face's models with the mask that they make."""
    try:
        from transformers.models.bart.modeling_bart import eager_attention_forward
    except ImportError as error:
        raise ImportError("transformers is not installed here") from error
    lowest = torch.finfo(heads.query.dtype).min
    added = torch.zeros(mask.shape).masked_fill(~mask, lowest)  # [batch, 1, query, key]
    output, weights = eager_attention_forward(nn.Module().eval(), *heads, added)
    return output.transpose(1, 2), weights  # theirs is [batch, query, head, d_head]


#: The libraries, in the order shown. Hugging Face's stands apart: its import takes seconds.
LIBRARIES = (
    Library("viz_transformer.attend", "attend", "mask", lambda heads, mask: attend(*heads, mask)),
    Library("F.scaled_dot_product_attention", "F.sdpa", "attn_mask=mask", fused),
    Library("nn.MultiheadAttention", "nn.MHA", "attn_mask=~mask", module),
    Library("softmax by hand, with −inf", "by hand", "scores.masked_fill(~mask, −inf)", naive),
)
EAGER = (Library("Hugging Face, eager", "HF eager", "scores + finfo.min where ~mask", eager),)


def _bytes(x: Tensor) -> bytes:
    return x.numpy().astype(np.dtype("<f4")).tobytes()
