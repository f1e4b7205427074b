"""The position lab of a live translator, whose words can be reordered."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from safetensors.numpy import load_file

from viz_transformer._files import bundled
from viz_transformer.analysis.positions import ProbeHead, as_table
from viz_transformer.experiments.shift import random_head
from viz_transformer.model import Interventions
from viz_transformer.model.positional import sinusoidal_encoding
from viz_transformer.translator import Translator, load_translator
from viz_transformer.vocabulary import language_tag
from viz_transformer.widgets.base.live import check_suits, give_engine
from viz_transformer.widgets.base.view import sendable
from viz_transformer.widgets.position_lab.view import PositionLab


def position_lab(
    translator: Translator | None = None,
    sentence: str = "the dog sees the cat",
    *,
    learned: ArrayLike | None = None,
    encoding: str = "sinusoidal",
    engine: str | None = None,
) -> PositionLab:
    """Return a view of positional encodings, with a live encoder to shuffle a sentence in.

    >>> import viz_transformer as vt
    >>> view = vt.position_lab(sentence="the dog sees the cat")

    Args:
        translator: the live model; by default the bundled one, whose positions are sinusoidal.
        sentence: the sentence to shuffle, in words of the translator's vocabulary.
        learned: a learned table [position, d_model] of your own, d_model even; by default one
            that was trained with the bundled translator's corpus (see data/positions).
        encoding: the first one shown: ``"sinusoidal"``, ``"learned"``, ``"rotary"``, ``"none"``.
        engine: where answers are computed: ``"page"``, ``"kernel"``, or None for the page if it can.

    Raises:
        UserError: if the sentence cannot be translated, the table is none, the encoding unknown, or
            the page cannot run the model.
    """
    translator = load_translator() if translator is None else translator
    check_suits(
        translator,
        ("translate",),
        "a position lab",
    )
    words = translator.vocabulary.words_of(sentence)
    table, trained = _bundled_table() if learned is None else (as_table(learned, "learned"), None)
    n_positions, d_model = table.shape
    n_words = min(12, n_positions)
    head = ProbeHead(*(part.double().numpy() for part in random_head(n_words, d_model)))
    reordering = _Reordering(translator)
    language = translator.vocabulary.languages[1]
    tag = language_tag(language)
    as_written = {"words": words, "order": list(range(len(words))), "positions_on": True}
    reordering(as_written)  # raises now if it cannot
    view = PositionLab(
        sinusoidal_encoding(n_positions, d_model).numpy(),
        table,
        head,
        trained=trained,
        words=words,
        orders=_example_orders(len(words)),
        answer=reordering,
        live_encoding=translator.config.positional,
        language=language if tag else "",
        language_tag=tag,
        encoding=encoding,
    )
    return give_engine(view, "position_lab", translator, engine)


def word_traits(words: Sequence[str]) -> dict[str, Any]:
    """Return the traits of a position lab that show another sentence: its words, as written and reversed.

    Args:
        words: the words.
    """
    written = list(range(len(words)))
    orders = [written, written[::-1]] if len(words) > 1 else [written]
    return {"words": sendable(words), "orders": orders, "order": written}


def _bundled_table() -> tuple[np.ndarray, int]:
    """Return the learned table, and how many of its first positions were trained."""
    tables = load_file(bundled("data/positions/learned.safetensors"))
    moved = (tables["table"] != tables["start"]).any(axis=1)  # [position]
    return tables["table"], int(moved.sum())


def _example_orders(n_words: int) -> list[list[int]]:
    """Return two words swapped, all reversed, and two shuffles: the orders of an exported page."""
    written = list(range(n_words))
    swapped = [*written]
    if n_words > 2:
        swapped[1], swapped[-1] = swapped[-1], swapped[1]
    rng = Random(0)
    candidates = [swapped, written[::-1], *(rng.sample(written, n_words) for _ in range(2))]
    orders: list[list[int]] = []
    for order in candidates:
        if order != written and order not in orders:
            orders.append(order)
    return orders


class _Reordering:
    """How far each word's output vector moves when the words are read in another order."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return how far each word moved, in the order of the original sentence.

        `moved` is |output in the new order − output as written| / |output as written|.
        """
        order = [int(index) for index in request["order"]]
        changes = Interventions(positions=bool(request["positions_on"]))
        words = request["words"]
        written, new = " ".join(words), " ".join(words[index] for index in order)
        before = self._vectors(written, changes)  # [word, d_model]
        after = np.empty_like(before)
        # Each word's new vector, back at the word's original index.
        after[order] = self._vectors(new, changes)
        moved = np.linalg.norm(after - before, axis=-1) / np.linalg.norm(before, axis=-1)
        return {
            "moved": [float(share) for share in moved],
            "translation": self._translator.translate(new, interventions=changes).text,
            "as_written": self._translator.translate(written, interventions=changes).text,
        }

    def _vectors(self, text: str, changes: Interventions) -> np.ndarray:
        """Return the encoder's vector of each word [word, d_model]: the mean over its pieces."""
        vectors = self._translator.encode(text, changes)  # [source, d_model]
        vocabulary = self._translator.vocabulary
        numbers = vocabulary.word_numbers(vocabulary.source_ids(text))  # [source]
        if numbers is None:
            return vectors[:-1]  # without that of <eos>
        of_word = np.array([-1 if number is None else number for number in numbers])
        return np.stack([vectors[of_word == word].mean(0) for word in range(max(of_word) + 1)])
