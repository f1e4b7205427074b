"""The six sentence pairs that every learner meets first, and their 35 tokens."""

from __future__ import annotations

from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.six_pairs import SIX_PAIRS

VOCABULARY = vocabulary_of(SIX_PAIRS)

__all__ = ["SIX_PAIRS", "VOCABULARY"]
