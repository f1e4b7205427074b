"""Vocabularies: `words` for small corpora, `subwords` for real text, `tokeniser` their interface.

`spelling` is how typed text becomes words.
"""

import json

from viz_transformer._text import join_tokens
from viz_transformer.errors import UserError
from viz_transformer.vocabulary.languages import language_tag
from viz_transformer.vocabulary.spelling import split_sentences, tokenize
from viz_transformer.vocabulary.subwords import Subwords
from viz_transformer.vocabulary.tokeniser import EOS, MASK, PAD, SOS, SPECIAL_TOKENS, Side, Tokeniser
from viz_transformer.vocabulary.words import SeveralSentencesError, UnknownWordError, Vocabulary

__all__ = [
    "EOS",
    "MASK",
    "PAD",
    "SOS",
    "SPECIAL_TOKENS",
    "SeveralSentencesError",
    "Side",
    "Subwords",
    "Tokeniser",
    "UnknownWordError",
    "Vocabulary",
    "from_json",
    "join_tokens",
    "language_tag",
    "split_sentences",
    "tokenize",
]


def from_json(text: str) -> Vocabulary | Subwords:
    """Read the vocabulary that `Vocabulary.to_json` or `Subwords.to_json` wrote.

    >>> from viz_transformer.vocabulary import Vocabulary, from_json
    >>> words = Vocabulary(["cat"], ["gato"])
    >>> from_json(words.to_json()).tokens == words.tokens
    True

    Args:
        text: what it wrote.

    Raises:
        UserError: if the text is neither.
    """
    try:
        read = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"the vocabulary is not JSON ({error}); copy its file again, or write it again"
        ) from error
    if isinstance(read, dict) and "merges" in read:
        return Subwords.from_json(text)
    if isinstance(read, dict) and "source_words" in read:
        return Vocabulary.from_json(text)
    raise UserError(
        "the vocabulary holds neither source_words nor merges, so neither Vocabulary.to_json nor "
        "Subwords.to_json wrote it; write it again"
    )
