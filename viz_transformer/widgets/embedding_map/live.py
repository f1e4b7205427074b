"""The embedding map of a live model: its table, and the language of each token."""

from __future__ import annotations

from torch import nn

from viz_transformer.errors import UserError
from viz_transformer.text_model import TextModel
from viz_transformer.translator import load_translator
from viz_transformer.vocabulary import Vocabulary
from viz_transformer.widgets.embedding_map import EmbeddingMap


def embedding_map(model: TextModel | None = None, token: str = "tired") -> EmbeddingMap:
    """Return a map of a model's embedding table: each token a point, those alike in direction listed.

    The padding token is left out, since no vector is learned for it.

    >>> import viz_transformer as vt
    >>> view = vt.embedding_map(token="cat")

    Args:
        model: one of this package's models of text; by default the bundled translator.
        token: the token that is chosen first.

    Raises:
        UserError: if the model does not know the token.
    """
    model = load_translator() if model is None else model
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


def _group(token: str, vocabulary: Vocabulary) -> str:
    """Return what a token belongs to: a language, both, or the special tokens."""
    if token.startswith("<") and token.endswith(">"):
        return "special"
    source, target = vocabulary.languages
    here = {source: token in vocabulary.words("source"), target: token in vocabulary.words("target")}
    return " and ".join(language for language, known in here.items() if known)
