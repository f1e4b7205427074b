"""Sentences said twice, because somebody asks *¿cómo?* ("pardon?") and hears them again.

What comes after the question stands in the text already. A language model learns to copy it, for
which it needs an induction head and, below it, a head that attends to the previous word (Olsson et al.
2022). The sentences alone hardly repeat anything and teach a model neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

#: "Pardon?"
QUESTION = ("¿", "cómo", "?")


def say_twice(sentence: Sequence[str]) -> tuple[str, ...]:
    """Return the text of a sentence, the question and the sentence again.

    >>> from viz_transformer.corpus.said_twice import say_twice
    >>> say_twice(["duerme"])
    ('duerme', '¿', 'cómo', '?', 'duerme')
    """
    return (*sentence, *QUESTION, *sentence)


def said_once(text: Sequence[str]) -> tuple[str, ...]:
    """Return the sentence of a text that says it twice; of any other text, the text itself.

    >>> from viz_transformer.corpus.said_twice import said_once
    >>> said_once(["duerme", "¿", "cómo", "?", "duerme"]), said_once(["duerme"])
    (('duerme',), ('duerme',))
    """
    sentence = tuple(text)[: (len(text) - len(QUESTION)) // 2]
    return sentence if sentence and say_twice(sentence) == tuple(text) else tuple(text)


def say_some_twice(sentences: Sequence[Sequence[str]], share: float, seed: int) -> list[tuple[str, ...]]:
    """Return texts of these sentences, each said twice with a probability of `share`.

    >>> from viz_transformer.corpus.said_twice import say_some_twice
    >>> say_some_twice([["duerme"], ["come"]], share=0.5, seed=0)
    [('duerme',), ('come',)]
    """
    rng = Random(seed)
    return [say_twice(each) if rng.random() < share else tuple(each) for each in sentences]
