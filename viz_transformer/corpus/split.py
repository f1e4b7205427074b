"""Split of a corpus in three parts, and checks for leaks and for sentences that are too long."""

from __future__ import annotations

import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.vocabulary import Tokeniser


class Split(NamedTuple):
    """The parts of a corpus, no sentence in two of them.

    Attributes:
        train: pairs to learn from.
        validation: pairs to choose a model by.
        test: pairs to evaluate with, once.
    """

    train: tuple[TextPair, ...]
    validation: tuple[TextPair, ...]
    test: tuple[TextPair, ...]


def split(pairs: Sequence[TextPair], n_validation: int, n_test: int) -> Split:
    """Split pairs by a fixed rule: the same pairs, in any order, give the same parts.

    Sentences are sorted by the CRC-32 of their text, ignoring case. The first go to validation, the
    next to the test. A sentence with several translations takes all of them along, so a part may
    have a few pairs more than requested.

    Args:
        pairs: the corpus.
        n_validation: how many validation pairs; may be 0.
        n_test: how many test pairs; may be 0.

    Raises:
        UserError: if a number is negative, or too few pairs are left to learn from.
    """
    if n_validation < 0 or n_test < 0:
        raise UserError(
            f"n_validation={n_validation} and n_test={n_test} must be 0 or more; give how many "
            "pairs to hold out"
        )
    by_source: dict[str, list[TextPair]] = defaultdict(list)
    for pair in pairs:
        by_source[_normal(pair.source)].append(pair)
    train: list[TextPair] = []
    validation: list[TextPair] = []
    test: list[TextPair] = []
    for source in sorted(by_source, key=_place):
        if len(validation) < n_validation:
            part = validation
        elif len(test) < n_test:
            part = test
        else:
            part = train
        part += sorted(by_source[source], key=lambda pair: (pair.source, pair.target))
    if not train:
        raise UserError(
            f"{len(pairs)} pairs with {len(by_source)} different sentences are too few to hold out "
            f"{n_validation} for validation and {n_test} for the test; hold out fewer, or give more"
        )
    return Split(tuple(train), tuple(validation), tuple(test))


def refuse_leaks(train: Sequence[TextPair], held_out: Mapping[str, Sequence[TextPair]]) -> None:
    """Check that no held-out sentence is also in training.

    Case and white space are ignored.

    Args:
        train: the pairs to learn from.
        held_out: the other parts, by name.

    Raises:
        UserError: if one does; how many of each part, and the first of them.
    """
    known = {_normal(pair.source) for pair in train}
    leaks_found, example = [], ""
    for name, pairs in held_out.items():
        leaks = [pair.source for pair in pairs if _normal(pair.source) in known]
        if leaks:
            leaks_found.append(f"{len(leaks)} of {len(pairs)} {name} sentences")
            example = example or leaks[0]
    if leaks_found:
        raise UserError(
            f"{' and '.join(leaks_found)} are also in training, such as {example!r:.60}; drop them from "
            "training with --drop-leaks (corpus.split.without_leaks)"
        )


def without_leaks(
    train: Sequence[TextPair], held_out: Mapping[str, Sequence[TextPair]]
) -> tuple[list[TextPair], int]:
    """Return the training pairs whose sentence is not held out, and how many were left out."""
    excluded = {_normal(pair.source) for pairs in held_out.values() for pair in pairs}
    kept = [pair for pair in train if _normal(pair.source) not in excluded]
    return kept, len(train) - len(kept)


def too_long(pairs: Sequence[TextPair], vocabulary: Tokeniser, max_length: int) -> list[tuple[int, int]]:
    """Return the pairs that a model cannot read, as (index, tokens of its longer side).

    The index counts from 0. A side's tokens include ``<eos>`` or ``<sos>``, as `max_length` does.

    Raises:
        UserError: if a text cannot be turned into ids.
    """
    found = []
    for index, pair in enumerate(pairs):
        source, target = vocabulary.source_ids(pair.source), vocabulary.target_ids(pair.target)
        n_tokens = max(len(source), len(target) - 1)  # the decoder never reads its last <eos>
        if n_tokens > max_length:
            found.append((index, n_tokens))
    return found


def unreadable(pair: TextPair, vocabulary: Tokeniser) -> UserError | None:
    """Return why a vocabulary cannot write a pair, such as an unknown word; None if it can."""
    try:
        vocabulary.encode(pair.source, "source")
        vocabulary.encode(pair.target, "target")
    except UserError as error:
        return error
    return None


def _place(sentence: str) -> tuple[int, str]:
    return zlib.crc32(sentence.encode("utf-8", "surrogatepass")), sentence


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
