"""Names of what a model scores: the tokens of a vocabulary, or the classes of a classifier."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from viz_transformer.errors import UserError
from viz_transformer.tracing.labels import labels_of_ids
from viz_transformer.vocabulary import Tokeniser


@dataclass(frozen=True)
class Classes:
    """What a classifier tells apart, in the order of its logits."""

    names: tuple[str, ...]


def class_names(model: Any, n_classes: int) -> Classes:
    """Return the names that a model's configuration gives its classes, or else their numbers."""
    named = getattr(getattr(model, "config", None), "id2label", None) or {}
    return Classes(tuple(str(named.get(i, i)) for i in range(n_classes)))


def token_names(namer: Any, ids: Sequence[int]) -> tuple[str, ...]:
    """Return the tokens, or the classes, of some ids; without a namer, the ids themselves as text.

    Args:
        namer: a tokenizer of Hugging Face's, a vocabulary of ours, `Classes`, or None.
        ids: [...] of any number.
    """
    if namer is None:
        return tuple(map(str, ids))
    if isinstance(namer, Classes):
        return tuple(namer.names[i] for i in ids)
    if isinstance(namer, Tokeniser):
        return namer.tokens_of(ids)
    return labels_of_ids(namer, ids).tokens


def token_id(namer: Any, token: str | int, n_scored: int) -> int:
    """Return the id of one token of a model's vocabulary, or the number of one class.

    Args:
        namer: as in `token_names`.
        token: an id, or a text that is one token: ``" Paris"``, or the token itself, ``"ĠParis"``.
        n_scored: how many tokens or classes the model scores.

    Raises:
        UserError: if it is none, or several.
    """
    one, all_of_them = ("class", "classes") if isinstance(namer, Classes) else ("token", "tokens")
    if isinstance(token, int) and not isinstance(token, bool):
        if 0 <= token < n_scored:
            return token
        raise UserError(
            f"{one} {token}, but the model scores {n_scored} {all_of_them}; give an id below {n_scored}"
        )
    if not isinstance(token, str) or namer is None:
        raise UserError(f"token {token!r:.40} is no id and has no tokenizer; give its id, or give tokenizer=")
    if isinstance(namer, Classes):
        return _class_id(namer, token)
    if isinstance(namer, Tokeniser):
        return namer.ids_of([token])[0]
    known = namer.get_vocab()
    for text in (token, token.replace("Ġ", " ")):  # as a tokenizer reads it, and as a label shows it
        pieces = namer(text, add_special_tokens=False)["input_ids"]
        if len(pieces) == 1 and pieces[0] != getattr(namer, "unk_token_id", None):
            return pieces[0]
        if token in known:
            return known[token]
    named = list(token_names(namer, pieces))
    raise UserError(
        f"{token!r:.40} is {named} to this tokenizer, and one token is needed; give one of its tokens"
    )


def _class_id(classes: Classes, name: str) -> int:
    if classes.names.count(name) == 1:
        return classes.names.index(name)
    near = difflib.get_close_matches(name, classes.names, n=3, cutoff=0.4) or [*classes.names[:3]]
    raise UserError(
        f"{name!r:.40} is not one of the {len(classes.names)} classes of this model, such as {near}; give "
        "a name as model.config.id2label has it, or its number"
    )


def target_ids(logits: Tensor, namer: Any, token: str | int | None, against: str | int | None) -> list[int]:
    """Return the ids of the token to explain and, if there is one, of the token it is compared with.

    Args:
        logits: [vocab], of the position where the token is to be written; or [class].
        namer: as in `token_names`.
        token: None takes the model's own first choice.
        against: None compares with nothing.
    """
    first = int(logits.argmax()) if token is None else token_id(namer, token, len(logits))
    return [first] if against is None else [first, token_id(namer, against, len(logits))]


def difference(logits: Tensor, ids: Sequence[int]) -> Tensor:
    """Return the logit [...] of one id, or of the first minus that of the second, of logits [..., vocab]."""
    picked = logits[..., torch.tensor(list(ids))]  # [..., 1 or 2]
    return picked[..., 0] if len(ids) == 1 else picked[..., 0] - picked[..., 1]
