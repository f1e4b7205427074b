"""The text of byte-level tokens, whose characters stand for bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: The bytes that GPT-2's alphabet shows as the character of the same number.
_SHOWN = (*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1))
#: Each character's byte; the bytes that cannot be shown are numbered on from 256.
_BYTE_OF = {chr(byte): byte for byte in _SHOWN} | {
    chr(256 + i): byte for i, byte in enumerate(byte for byte in range(256) if byte not in _SHOWN)
}
#: What marks a space and its kind in a token, kept so that words stay apart.
_MARKS = str.maketrans({" ": "Ġ", "\n": "Ċ", "\t": "ĉ", "\r": "č"})


def text_of_bytes(token: str) -> str:
    """Return a byte-level token as text; the bytes of a part of a character as ``<0xE4>``.

    >>> text_of_bytes("Ġä½łå¥½")
    'Ġ你好'

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.2.
    """
    if token.isascii() or not all(char in _BYTE_OF for char in token):
        return token
    data = bytes(_BYTE_OF[char] for char in token)
    text = data.decode("utf-8", errors="surrogateescape")  # a byte alone becomes U+DC80 to U+DCFF
    return "".join(
        f"<0x{ord(char) - 0xDC00:02X}>" if "\udc80" <= char <= "\udcff" else char for char in text
    ).translate(_MARKS)


def shown_tokens(tokenizer: Any, tokens: Sequence[str]) -> tuple[str, ...]:
    """Return tokens as labels: those of a byte-level tokenizer as text."""
    if "ByteLevel" not in str(getattr(getattr(tokenizer, "backend_tokenizer", None), "decoder", "")):
        return tuple(tokens)
    special = set(getattr(tokenizer, "all_special_tokens", ()))
    return tuple(token if token in special else text_of_bytes(token) for token in tokens)
