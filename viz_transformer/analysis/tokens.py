"""Special tokens, recognised by their spelling."""

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
#: GPT-2's ``<|endoftext|>`` and its like. Full-width bars are DeepSeek's.
_BARRED = re.compile(r"<[|\uff5c][\w\u2581 ]+[|\uff5c]>")


def special_tokens(tokens: Sequence[str]) -> list[bool]:
    """Return which tokens are special rather than text, one bool a token.

    They are recognised by their spelling alone: ``<sos> <eos> <pad> [CLS] [SEP] <s> </s>
    <|endoftext|>`` and their like. ``<unk>``, ``[MASK]`` and all other words in brackets are text.
    """
    return [token.lower() in _MARKS or _BARRED.fullmatch(token) is not None for token in tokens]
