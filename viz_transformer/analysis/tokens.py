"""Special tokens and pairs of sentences, recognised by their spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Tokens for a sequence's start, end, padding and separators, as tokenizers write them. ``<unk>`` and
#: ``<mask>`` are not among them: each stands for a word.
_MARKS = frozenset(
    f"{left}{name}{right}"
    for left, right in ("<>", "[]")
    for name in ("bos", "cls", "eos", "pad", "sep", "sos")
) | {"<s>", "</s>"}
#: What encoders put between two sentences.
_BETWEEN = frozenset({"[sep]", "<sep>", "</s>"})
#: GPT-2's ``<|endoftext|>`` and its like. Full-width bars are DeepSeek's.
_BARRED = re.compile(r"<[|\uff5c][\w\u2581 ]+[|\uff5c]>")


def special_tokens(tokens: Sequence[str]) -> list[bool]:
    """Return which tokens are special rather than text, one bool a token.

    They are recognised by their spelling alone: ``<sos> <eos> <pad> [CLS] [SEP] <s> </s>
    <|endoftext|>`` and their like. ``<unk>``, ``[MASK]`` and all other words in brackets are text.

    >>> import viz_transformer as vt
    >>> vt.analysis.special_tokens(["<sos>", "el", "gato"])
    [True, False, False]

    Args:
        tokens: as the model reads them.
    """
    return [token.lower() in _MARKS or _BARRED.fullmatch(token) is not None for token in tokens]


def sentence_segments(tokens: Sequence[str]) -> list[int]:
    """Return which sentence of a pair each token belongs to, 0 or 1; an empty list for one sentence.

    Sentence B begins after the first ``[SEP]``, ``<sep>`` or ``</s>``, or after two in a row as RoBERTa
    writes them, as BERT's ``token_type_ids`` have it.

    >>> import viz_transformer as vt
    >>> vt.analysis.sentence_segments(["[CLS]", "yes", "[SEP]", "no", "[SEP]"])
    [0, 0, 0, 1, 1]

    Args:
        tokens: as the model reads them.
    """
    ends = [token.lower() in _BETWEEN for token in tokens]
    start = ends.index(True) + 1 if any(ends) else len(tokens)
    while start < len(tokens) and ends[start]:
        start += 1
    if all(special_tokens(tokens[:start])) or all(special_tokens(tokens[start:])):
        return []
    return [int(place >= start) for place in range(len(tokens))]
