"""Batches in which a sentence comes with all its translations, each weighted by its probability.

A training pair tells one translation, drawn at random; a model has to see many before it knows how
likely each is. The grammar knows the probabilities. With all translations in the batch, the loss is the
mean over endlessly many draws, and only the sentences are left to chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from viz_transformer._bounds import SENTENCES, whole_number
from viz_transformer.corpus import draw
from viz_transformer.corpus.batches import Batch, as_text, group_by_length, pad
from viz_transformer.corpus.translations import translation_tokens
from viz_transformer.vocabulary import Tokeniser

_Words = tuple[str, ...]
#: So many sentences are drawn for one that is chosen: only among many are there enough rare ones.
_DRAWN_FOR_ONE = 7


def chosen_sentences(n: int, seed: int) -> list[_Words]:
    """Draw English sentences without a held-out combination: half as they come, half to show what is rare.

    The second half are different sentences. Long ones are chosen more often, and those in which one
    word decides over another far away: *fish*, and *you* and *your* together.

    Args:
        n: how many.
        seed: fixes the choice.
    """
    whole_number("n", n, SENTENCES)
    allowed = (pair.source for pair in draw(seed) if not pair.held_out)
    drawn = list(islice(allowed, _DRAWN_FOR_ONE * n))
    different = list(dict.fromkeys(drawn))
    odds = np.array([_odds(sentence) for sentence in different])
    rare = np.random.default_rng(seed).choice(len(different), n // 2, replace=False, p=odds / odds.sum())
    return drawn[: n - n // 2] + [different[index] for index in rare]


def _odds(sentence: _Words) -> float:
    """How often a sentence is chosen to show what is rare, beside others."""
    has_fish = 4 if "fish" in sentence else 1
    has_you_twice = 8 if sum(word in ("you", "your") for word in sentence) > 1 else 1
    return len(sentence) * has_fish * has_you_twice


def soft_target_batches(
    sentences: Sequence[_Words], vocabulary: Tokeniser, batch_size: int, seed: int
) -> Iterator[Batch]:
    """Yield batches without end, every sentence once an epoch with all its translations.

    Args:
        sentences: English words; a sentence that comes twice counts twice.
        vocabulary: turns words into ids.
        batch_size: sentences per batch, which has a row for each of their translations.
        seed: fixes the order.

    Raises:
        UserError: if the grammar does not make a sentence, or the vocabulary lacks a word.
    """
    rng = np.random.default_rng(seed)
    known = {words: _encoded(words, vocabulary) for words in dict.fromkeys(sentences)}
    rows = [known[words] for words in sentences]
    lengths = np.array([len(source) + len(targets[0]) for source, targets, _ in rows])
    while True:
        batches = group_by_length(rng.permutation(len(rows)), lengths, batch_size)
        for number in rng.permutation(len(batches)):
            some = [rows[index] for index in batches[number]]
            yield Batch(
                pad([source for source, targets, _ in some for _ in targets], vocabulary.pad_id),
                pad([target for _, targets, _ in some for target in targets], vocabulary.pad_id),
                np.concatenate([weights for *_, weights in some]),
            )


def _encoded(words: _Words, vocabulary: Tokeniser) -> tuple[list[int], list[list[int]], NDArray[np.float32]]:
    """Return a sentence's ids, those of all its translations, and their probabilities."""
    text = as_text(words)
    found = translation_tokens(text)
    targets = [[vocabulary.sos_id, *vocabulary.ids_of(each), vocabulary.eos_id] for each in found]
    return list(vocabulary.source_ids(text)), targets, np.array(list(found.values()), dtype=np.float32)
