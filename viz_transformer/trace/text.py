"""Tokens as running text."""

from __future__ import annotations

from collections.abc import Sequence

from viz_transformer._text import join_tokens

#: What tokenizers put before a piece that begins a word: SentencePiece's mark, and GPT-2's.
_MARKS = ("▁", "Ġ")


def running_text(tokens: Sequence[str]) -> str:
    """Return tokens as readable text: pieces of words joined, words separated by spaces.

    Pieces are recognised by the marks before tokens that begin a word; without any such mark,
    every token is a word or a punctuation mark. A special token such as ``<eos>`` is kept apart.

    >>> from viz_transformer.trace import running_text
    >>> running_text(("▁Ein", "▁Lie", "ge", "stuhl", "<eos>"))
    'Ein Liegestuhl <eos>'

    The views do the same in widgets/base/text.ts.

    Args:
        tokens: as the model reads them.
    """
    if not any(token.startswith(_MARKS) for token in tokens):
        return join_tokens(tokens)
    text = ""
    for token in tokens:
        begins = token.startswith(_MARKS)
        apart = begins or (token.startswith("<") and token.endswith(">") and token[1:3] != "0x")
        text += (" " if text and apart else "") + (token[1:] if begins else token)
    return text
