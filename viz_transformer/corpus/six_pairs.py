"""Six English→Spanish sentence pairs, which a tiny model learns in a second."""

from __future__ import annotations

from viz_transformer.corpus import SentencePair

SIX_PAIRS = tuple(
    SentencePair(tuple(source.split()), tuple(target.split()), ())
    for source, target in {
        "hello world": "hola mundo",
        "i love you": "te amo",
        "the cat is black": "el gato es negro",
        "good morning": "buenos dias",
        "this is a book": "este es un libro",
        "what is your name": "como te llamas",
    }.items()
)
