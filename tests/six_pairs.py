"""The six sentence pairs that every learner meets first, and their 35 tokens."""

from __future__ import annotations

from viz_transformer.corpus import SentencePair, vocabulary_of

SIX_PAIRS = [
    SentencePair(tuple(source.split()), tuple(target.split()), ())
    for source, target in {
        "hello world": "hola mundo",
        "i love you": "te amo",
        "the cat is black": "el gato es negro",
        "good morning": "buenos dias",
        "this is a book": "este es un libro",
        "what is your name": "como te llamas",
    }.items()
]
VOCABULARY = vocabulary_of(SIX_PAIRS)
