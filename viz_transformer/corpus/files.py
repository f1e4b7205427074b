"""Sentence pairs from anybody's files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TextPair:
    """A sentence and its translation, as text.

    Attributes:
        source: the sentence.
        target: its translation.
    """

    source: str
    target: str
