"""Tokens and ids: `words` for small corpora, `subwords` for real text, `tokeniser` what both do."""

from viz_transformer.vocabulary.tokeniser import Tokeniser
from viz_transformer.vocabulary.words import (
    EOS,
    PAD,
    SOS,
    SPECIAL_TOKENS,
    Side,
    UnknownWordError,
    Vocabulary,
    tokenize,
)

__all__ = [
    "EOS",
    "PAD",
    "SOS",
    "SPECIAL_TOKENS",
    "Side",
    "Tokeniser",
    "UnknownWordError",
    "Vocabulary",
    "tokenize",
]
