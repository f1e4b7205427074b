"""Byte-pair encoding: merges learned from texts, and words segmented by them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

from viz_transformer._text import given_text
from viz_transformer.errors import UserError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: Stands before the first piece of a word.
MARK = "\N{LOWER ONE EIGHTH BLOCK}"
#: No piece crosses the border between letters, digits and other signs: *street.* is not a word of
#: its own, and no piece can be spelled like ``<eos>`` or ``<0xC3>``. An apostrophe after one or two
#: letters stays with them: *l'*, *d'*, *qu'*.
_RUNS = (
    f"{MARK}?(?:"
    r"\p{L}\p{M}*(?:\p{L}\p{M}*)?['’](?=\p{L})|"
    r"\p{L}[\p{L}\p{M}]*|\p{N}+|"
    rf"[^\p{{L}}\p{{N}}{MARK}]+)|{MARK}"
)
#: A pair of pieces, or a character, that occurs less often gets no piece of its own.
_LEAST = 2


def normalised(text: str) -> str:
    """Return text as it is encoded: composed characters (NFC), one space between words.

    Case is kept. The mark of a word's beginning becomes ``_``.

    Raises:
        UserError: if it is no text.
    """
    return " ".join(unicodedata.normalize("NFC", given_text(text)).replace(MARK, "_").split())


def learn_merges(texts: Iterable[str], n_pieces: int) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the single characters and the merges of some texts, the same for the same texts.

    Args:
        texts: sentences.
        n_pieces: how many pieces to make, characters and `MARK` included; fewer if the texts have
            not as many that occur twice. At most half of them are single characters.

    Raises:
        UserError: if there is no text, or the library is missing.
    """
    texts = [text for text in map(normalised, texts) if text]
    if not texts:
        raise UserError("there is no text to learn pieces from; give some sentences")
    characters = _frequent_characters(texts, n_pieces // 2)
    rare = re.compile(f"[^{re.escape(''.join(characters))} ]+")
    library = _library()
    learner = library.Tokenizer(library.models.BPE())
    _set_borders(learner)
    trainer = library.trainers.BpeTrainer(
        vocab_size=n_pieces, min_frequency=_LEAST, show_progress=False, initial_alphabet=[MARK]
    )
    learner.train_from_iterator((rare.sub(" ", text) for text in texts), trainer)
    merges = json.loads(learner.to_str())["model"]["merges"]
    return characters, [(first, second) for first, second in merges]


def make_segmenter(
    ids: Mapping[str, int], merges: Sequence[tuple[str, str]]
) -> Callable[[str], tuple[int, ...]]:
    """Return a function that segments a word, which holds no white space, into ids.

    It finds the tokens of `ids` and no others in a word.

    Raises:
        UserError: if the library is missing.
    """
    library = _library()
    encoder = library.Tokenizer(library.models.BPE(dict(ids), list(merges), byte_fallback=True))
    _set_borders(encoder)

    # Text repeats its words, and looking one up takes a tenth of the time of segmenting it.
    @lru_cache(maxsize=2**16)
    def segment(word: str) -> tuple[int, ...]:
        return tuple(encoder.encode(word).ids)

    return segment


def make_dropout_segmenter(
    ids: Mapping[str, int], merges: Sequence[tuple[str, str]], dropout: float, rng: Random
) -> Callable[[str], tuple[int, ...]]:
    """Return a function that segments a word into ids, differently each time (BPE-dropout).

    Whenever two pieces could be merged, each place where that could be is left out with the
    probability `dropout`. A character that is no piece is its bytes, as in `make_segmenter`.

    Raises:
        UserError: if the library is missing.

    Source: Provilkov, Emelianenko and Voita 2020, algorithm 1.
    """
    borders = _library().Tokenizer(_library().models.BPE())
    _set_borders(borders)
    ranks = {pair: rank for rank, pair in enumerate(merges)}

    @lru_cache(maxsize=2**16)
    def runs(word: str) -> list[tuple[str, ...]]:
        return [tuple(run) for run, _ in borders.pre_tokenizer.pre_tokenize_str(word)]

    # The same words pass the same stages in every epoch; without the cache it takes twice as long.
    @lru_cache(maxsize=2**17)
    def after_a_merge(pieces: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return the pieces after each merge that could be made, the first learned first."""
        found = sorted((ranks[pair], at) for at, pair in enumerate(pairwise(pieces)) if pair in ranks)
        return [(*pieces[:at], pieces[at] + pieces[at + 1], *pieces[at + 2 :]) for _, at in found]

    def merged(pieces: tuple[str, ...]) -> tuple[str, ...]:
        while True:
            for after in after_a_merge(pieces):
                if rng.random() >= dropout:
                    pieces = after
                    break
            else:
                return pieces

    @lru_cache(maxsize=2**17)
    def known(pieces: tuple[str, ...]) -> list[int]:
        return [
            index
            for piece in pieces
            for index in ([ids[piece]] if piece in ids else [ids[f"<0x{one:02X}>"] for one in piece.encode()])
        ]

    def segment(word: str) -> tuple[int, ...]:
        return tuple(index for run in runs(word) for index in known(merged(run)))

    return segment


def _frequent_characters(texts: Iterable[str], most: int) -> list[str]:
    """Return the characters that occur often enough, at most so many, sorted."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    del counts[" "]
    ranked = sorted(counts, key=lambda character: (-counts[character], character))
    return sorted(each for each in ranked[:most] if counts[each] >= _LEAST)


def _set_borders(tokenizer: Tokenizer) -> None:
    pre = _library().pre_tokenizers
    runs = pre.Split(_library().Regex(_RUNS), "isolated")
    tokenizer.pre_tokenizer = pre.Sequence([pre.Metaspace(MARK), runs])


def _library() -> Any:
    """Import tokenizers, which only this vocabulary needs.

    Raises:
        UserError: if it is not installed.
    """
    import tokenizers
    import tokenizers.models
    import tokenizers.pre_tokenizers
    import tokenizers.trainers

    return tokenizers
