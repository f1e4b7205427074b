"""Texts that a model has no room for: ids beyond its vocabulary, and more positions than it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from viz_transformer.errors import UserError


@contextmanager
def within_sizes(model: Any, *read: Any) -> Iterator[None]:
    """Say which size of a model was passed, where torch only says that an index is out of range.

    Args:
        model: what runs inside the ``with`` block.
        read: the token ids that it reads, each [batch, position]; what is none is not looked at.

    Raises:
        UserError: if an id is beyond the vocabulary, or a text is longer than the model's positions.
    """
    try:
        yield
    except (IndexError, RuntimeError) as error:
        message = _too_large(
            model, [each for each in read if isinstance(each, Tensor) and each.ndim == 2], error
        )
        if message is None:
            raise
        raise UserError(message) from error


def _too_large(model: Any, read: list[Tensor], error: Exception) -> str | None:
    """Return which size the error is about, if it is about one."""
    name, is_index = type(model).__name__, "index out of range in self" in str(error)
    embeddings = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    n_tokens = getattr(embeddings, "num_embeddings", None)
    room = n_positions = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    if room is not None:
        positions = [module for path, module in model.named_modules() if "position" in path]
        padding = [each.padding_idx for each in positions if getattr(each, "padding_idx", None) is not None]
        room -= max(padding, default=-1) + 1  # RoBERTa counts positions from behind the number of padding
    for ids in read:
        if is_index and n_tokens is not None and ids.numel():
            wrong = [i for i in (int(ids.min()), int(ids.max())) if not 0 <= i < n_tokens]
            if wrong:
                return (
                    f"the ids hold {wrong[-1]}, and {name} knows {n_tokens} tokens; give ids from 0 to "
                    f"{n_tokens - 1}, made by its own tokenizer"
                )
        if room is not None and ids.shape[1] > room and (is_index or str(n_positions) in str(error)):
            return f"the text has {ids.shape[1]} tokens, and {name} reads at most {room}; give a shorter text"
    if room is None or not is_index:
        return None
    return f"{name} has room for {room} tokens, read and written; give a shorter text, or write less"
