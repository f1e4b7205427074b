"""The embedding map of a live model: its table, and the language of each token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from torch import nn

from viz_transformer._text import given_texts, shown
from viz_transformer.errors import UserError
from viz_transformer.huggingface_text import HuggingFaceReader, is_huggingface
from viz_transformer.translator import load_translator
from viz_transformer.vocabulary import Vocabulary
from viz_transformer.widgets.base.live import check_suits
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.embedding_map import EmbeddingMap

_SAMPLE = 1200  # tokens of a large vocabulary
_NEAR = 8  # as `nearest` returns
_BEGINNINGS = ("Ġ", "▁")
_GROUPS = ("begins a word", "goes on within one", "special")


def embedding_map(
    model: Any = None, token: str | Sequence[str] | None = None, *, tokenizer: Any = None
) -> EmbeddingMap:
    """Return a map of a model's embedding table: each token a point, those alike in direction listed.

        vt.embedding_map(translator, "tired")
        vt.embedding_map(llama, ["Paris", "Rome", "king"], tokenizer=tokenizer)

    The padding token is left out, since no vector is learned for it. Of a Hugging Face model's vocabulary
    a sample is drawn, with the tokens given, those that are looked for, and what is nearest to them in
    all of it.

    >>> import viz_transformer as vt
    >>> view = vt.embedding_map(token="cat")

    Args:
        model: one of this package's models of text, by default the bundled translator; or a model of
            Hugging Face's that reads text.
        token: the token that is chosen first, by default ``"tired"``; or several, the first of them. A
            word may be written without its tokenizer's signs.
        tokenizer: that of a Hugging Face model.

    Raises:
        UserError: if a token is not in the model's vocabulary.
    """
    model = load_translator() if model is None else model
    words = (token,) if isinstance(token, str) else None if token is None else given_texts(token, "token")
    if words is not None and not all(map(str.strip, words)):
        raise UserError(f"token={shown(token)} holds no word; give one, or leave token= out")
    if is_huggingface(model):
        view = _map_of_theirs(HuggingFaceReader(model, tokenizer), words or ())
        view.made_with(tokenizer=tokenizer)
        return view
    check_suits(model, ("translate", "continue", "fill"), "a map of its words")
    token = words[0] if words else "tired"
    vocabulary = model.vocabulary
    kept = [index for index in range(len(vocabulary.tokens)) if index != vocabulary.pad_id]
    tokens = [vocabulary.tokens[index] for index in kept]
    if token not in tokens:
        raise UserError(
            f"{token!r:.60} is not in this model's vocabulary; choose one of its {len(tokens)} tokens"
        )
    tables = (module for module in model.model.modules() if isinstance(module, nn.Embedding))
    table = next(tables).weight
    vectors = table.detach().cpu().numpy()[kept]  # [token, d_model]
    if not isinstance(vocabulary, Vocabulary):
        return EmbeddingMap(vectors, tokens, token=token)
    source, target = vocabulary.languages
    colours = {source: "key", target: "query", f"{source} and {target}": "ink", "special": "muted"}
    groups = [_group(each, vocabulary) for each in tokens]
    return EmbeddingMap(vectors, tokens, groups, token=token, colours=colours)


class _Table:
    """The embedding table of a large vocabulary, and what is near a token in it."""

    def __init__(self, reader: HuggingFaceReader) -> None:
        weight = reader.model.get_input_embeddings().weight.detach().float().cpu().numpy()
        n_tokens = min(len(weight), len(reader.tokenizer))
        labels = sendable(reader.tokens_of(list(range(n_tokens))))
        self._tokenizer = reader.tokenizer
        self._special = set(reader.tokenizer.all_special_tokens)
        # What is learned, once under each name.
        first = {label: at for at, label in reversed([*enumerate(labels)])}
        lengths = np.linalg.norm(weight[:n_tokens], axis=1)
        self.kept = [at for label, at in sorted(first.items(), key=itemgetter(1)) if lengths[at]]
        self.labels, self.vectors = labels, weight
        self._units = weight[self.kept] / lengths[self.kept, None]  # [kept, d_model]
        self._numbers = {labels[at]: at for at in self.kept}

    def find(self, text: str) -> int:
        """Return the id of a token, given as it is called or as people write it."""
        word = text.lstrip(" ·")
        begun = [f"{mark}{word}" for mark in _BEGINNINGS]
        for name in (*begun, word) if word != text else (text, *begun):
            if name in self._numbers:
                return self._numbers[name]
        pieces = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        named = ", ".join(self.labels[piece] for piece in pieces[:8] if piece < len(self.labels))
        raise UserError(f"{text!r:.60} is not one token of this vocabulary, but {named}; choose one of these")

    def around(self, number: int) -> list[int]:
        """Return an id, and those whose vectors point most nearly as its own."""
        cosines = self._units @ self._units[self.kept.index(number)]  # [kept]
        return [number, *(self.kept[at] for at in np.argsort(-cosines, kind="stable")[1 : 1 + _NEAR])]

    def group(self, number: int) -> str:
        """Return what a token is: a beginning of a word, a part of one, or special."""
        label = self.labels[number]
        if label in self._special:
            return _GROUPS[2]
        if not self.has_marks:
            return _GROUPS[1] if label.startswith("##") else _GROUPS[0]
        return _GROUPS[0] if label.startswith(_BEGINNINGS) else _GROUPS[1]

    @cached_property
    def has_marks(self) -> bool:
        """Whether the vocabulary marks what begins a word."""
        return any(label.startswith(_BEGINNINGS) for label in self.labels)


def _map_of_theirs(reader: HuggingFaceReader, words: Sequence[str]) -> EmbeddingMap:
    """Return the map of a sample, of the words given, and of what is near them."""
    table = _Table(reader)
    chosen = [table.find(f" {word}") for word in words] or [table.kept[len(table.kept) // 2]]
    places = np.linspace(0, len(table.kept) - 1, min(_SAMPLE, len(table.kept))).astype(int)
    near = [each for number in chosen for each in table.around(number)]
    drawn = [*near, *(table.kept[at] for at in places)]
    numbers = list(dict.fromkeys(drawn))

    def parts(ids: list[int]) -> dict[str, Any]:
        return {
            "tokens": [table.labels[at] for at in ids],
            "vectors": table.vectors[ids],
            "groups": [table.group(at) for at in ids],
        }

    given = parts(numbers)
    return EmbeddingMap(
        given["vectors"],
        given["tokens"],
        given["groups"],
        token=table.labels[chosen[0]],
        colours=dict(zip(_GROUPS, ("key", "query", "muted"), strict=True)),
        answer=lambda request: parts(table.around(table.find(request["token"]))),
        n_all=len(table.kept),
    )


def _group(token: str, vocabulary: Vocabulary) -> str:
    """Return what a token belongs to: a language, both, or the special tokens."""
    if token.startswith("<") and token.endswith(">"):
        return "special"
    source, target = vocabulary.languages
    here = {source: token in vocabulary.words("source"), target: token in vocabulary.words("target")}
    return " and ".join(language for language, known in here.items() if known)
