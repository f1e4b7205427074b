"""The weights of `torch.nn.attention.flex_attention`, which never computes them as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

#: For each axis of the scores, the innermost first, which arguments of a score_mod or a mask_mod
#: run along it: (score, batch, head, query, key).
_AXES = (
    (0, None, None, None, 0),
    (0, None, None, 0, None),
    (0, None, 0, None, None),
    (0, 0, None, None, None),
)


def flex_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor],
    block_mask: Sequence[Any],
    scale: float,
    *_: Any,
) -> Tensor:
    """Compute the weights that `flex_attention` keeps to itself.

    Args:
        query: [batch, head, query, d_head].
        key: [batch, head, key, d_head]; one head may serve several of the query's.
        value: not used; the weights do not depend on it.
        score_mod: from a score and the indices of its batch, head, query and key to another score.
        block_mask: a block mask as a tuple, whose last entry tells of a batch, head, query and key
            whether that query may attend to that key.
        scale: factor of the dot products.

    Returns:
        weights [batch, head, query, key], at least float32; zeros where a query may attend to
        nothing.

    Source: Dong et al. 2024, *Flex Attention*, section 3.
    """
    precision = torch.promote_types(query.dtype, torch.float32)
    query, key = query.detach().to(precision), key.detach().to(precision)
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    scores = query @ key.mT * scale  # [batch, head, query, key]
    mask_mod = block_mask[-1]
    indices = [torch.arange(size, device=scores.device) for size in scores.shape]
    with _indexing():
        scores = _of_each(score_mod)(scores, *indices)
        allowed = _of_each(lambda _, *at: mask_mod(*at))(scores, *indices)  # [batch, head, query, key]
    scores = scores.masked_fill(~allowed, -torch.inf)
    empty = (scores == -torch.inf).all(dim=-1, keepdim=True)
    return scores.softmax(dim=-1).masked_fill(empty, 0.0)


def _indexing() -> AbstractContextManager[Any]:
    """Let a function that vmap runs index a tensor by its arguments, such as ``slopes[head]``."""
    # This is how flex_attention does it, which has loaded torch._dynamo before it gets here.
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    return TransformGetItemToIndex()


def _of_each(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Turn a function of one score and its indices into one of all scores."""
    for axes in _AXES:
        function = torch.vmap(function, in_dims=axes)
    return function
