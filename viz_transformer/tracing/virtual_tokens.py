"""Virtual tokens: the positions that prefix and prompt tuning put before a text.

Prompt tuning lets a model read further embeddings, which attend as tokens do. Prefix tuning gives
each layer further keys and values, and no queries: their rows in a map are zero.

Sources: Lester et al. 2021, "The Power of Scale for Parameter-Efficient Prompt Tuning", section 2;
Li & Liang 2021, "Prefix-Tuning", section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch.nn.functional as F
from torch import nn

from viz_transformer.errors import UserError
from viz_transformer.tracing.labels import Labels, TokenLabels


def count_virtual_tokens(model: nn.Module) -> int:
    """Return how many virtual tokens PEFT puts before what a model reads.

    Raises:
        UserError: if an encoder–decoder has some: they are before one of the two texts alone.
    """
    count = getattr(getattr(model, "active_peft_config", None), "num_virtual_tokens", None) or 0
    if count and getattr(model.config, "is_encoder_decoder", False):
        raise UserError(
            f"{type(model).__name__} puts {count} virtual tokens into an encoder–decoder, where they are not "
            "captured; give weights that it returned with output_attentions=True, of one kind: "
            "vt.capture(output.encoder_attentions, tokens=[...])"
        )
    return count


def with_zero_rows(layers: Sequence[Any], n_virtual: int) -> list[Any]:
    """Return layers [..., query, key] as square maps, where the virtual tokens are keys alone."""
    return [
        F.pad(weights, (0, 0, n_virtual, 0))  # [..., virtual + query, key]
        if weights is not None and weights.shape[-1] == weights.shape[-2] + n_virtual
        else weights
        for weights in layers
    ]


def with_virtual_names(labels: Labels, n_virtual: int, n_read: int) -> Labels:
    """Return the labels of the one sequence with those of its virtual tokens, unless they have some.

    Args:
        labels: what was given, or what a tokenizer made of a text.
        n_virtual: how many virtual tokens there are.
        n_read: how many positions the text has.
    """

    def named(side: TokenLabels | None) -> TokenLabels | None:
        if side is None:
            return None
        n_kept = n_read if side.kept is None else int(side.kept.sum())
        kept = None if side.kept is None else np.concatenate([np.ones(n_virtual, dtype=np.bool_), side.kept])
        if len(side.tokens) not in (n_read, n_kept):  # they have names, or what was given does not fit
            return replace(side, kept=kept)
        ahead = tuple(f"virtual {i}" for i in range(n_virtual))
        words = None if side.words is None else ((None,) * n_virtual + side.words)
        return TokenLabels(tokens=(*ahead, *side.tokens), words=words, kept=kept)

    return replace(
        labels, tokens=named(labels.tokens), source=named(labels.source), target=named(labels.target)
    )
