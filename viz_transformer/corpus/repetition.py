"""Texts that repeat their sentence after the question *¿cómo?* ("pardon?").

A language model learns to copy the sentence. For this it needs an induction head and, below it, a head
that attends to the previous word (Olsson et al. 2022). Single sentences hardly repeat a word, so a model
that is trained on them alone develops neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

#: "Pardon?"
QUESTION = ("¿", "cómo", "?")


def repeat(sentence: Sequence[str]) -> tuple[str, ...]:
    """Return the text of a sentence, the question and the sentence again.

    >>> from viz_transformer.corpus.repetition import repeat
    >>> repeat(["duerme"])
    ('duerme', '¿', 'cómo', '?', 'duerme')
    """
    return (*sentence, *QUESTION, *sentence)


def without_repetition(text: Sequence[str]) -> tuple[str, ...]:
    """Return the sentence of a text that repeats it; any other text unchanged.

    >>> from viz_transformer.corpus.repetition import without_repetition
    >>> without_repetition(["duerme", "¿", "cómo", "?", "duerme"]), without_repetition(["duerme"])
    (('duerme',), ('duerme',))
    """
    sentence = tuple(text)[: (len(text) - len(QUESTION)) // 2]
    return sentence if sentence and repeat(sentence) == tuple(text) else tuple(text)


def repeat_some(sentences: Sequence[Sequence[str]], share: float, seed: int) -> list[tuple[str, ...]]:
    """Return texts of these sentences, each repeated with a probability of `share`.

    >>> from viz_transformer.corpus.repetition import repeat_some
    >>> repeat_some([["duerme"], ["come"]], share=0.5, seed=0)
    [('duerme',), ('come',)]
    """
    rng = Random(seed)
    return [repeat(each) if rng.random() < share else tuple(each) for each in sentences]
