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
    except IndexError as error:
        ids = [each for each in read if isinstance(each, Tensor) and each.ndim == 2]
        message = _too_large(model, ids)
        if message is None or "index out of range in self" not in str(error):
            raise
        raise UserError(message) from error


def _too_large(model: Any, read: list[Tensor]) -> str | None:
    name = type(model).__name__
    embeddings = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    n_tokens = getattr(embeddings, "num_embeddings", None)
    room = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    for ids in read:
        if n_tokens is not None and ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < n_tokens:
            wrong = int(ids.max()) if int(ids.max()) >= n_tokens else int(ids.min())
            return (
                f"the ids hold {wrong}, and {name} knows {n_tokens} tokens; give ids from 0 to "
                f"{n_tokens - 1}, made by its own tokenizer"
            )
        if room is not None and ids.shape[1] > room:
            return f"the text has {ids.shape[1]} tokens, and {name} reads at most {room}; give a shorter text"
    if room is None:
        return None
    return f"{name} has room for {room} tokens, read and written; give a shorter text, or write less"
