"""The two bundled models that read Spanish alone: a language model and a masked language model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from recipes.recorded import BUNDLED, BUNDLED_TRAINING, Progress, train_recorded
from viz_transformer.checkpoint import check_writable
from viz_transformer.config import TrainConfig
from viz_transformer.corpus import english_spanish
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.repetition import repeat_some
from viz_transformer.corpus.text_batches import masked_word_batches, next_word_batches
from viz_transformer.model import DecoderOnly, EncoderOnly
from viz_transformer.training import make_model
from viz_transformer.vocabulary import Vocabulary

#: Learned positions: with sinusoidal ones no head attends to the previous word alone (docs/models.md).
LANGUAGE_MODEL = replace(BUNDLED, family="decoder", positional="learned")
MASKED_MODEL = replace(BUNDLED, family="encoder", predicts_words=True)
LANGUAGE_MODEL_TRAINING = MASKED_MODEL_TRAINING = BUNDLED_TRAINING
#: The share of the language model's texts that repeat their sentence.
REPEATED_SHARE = 0.6
#: Recorded while they are trained: an adjective, an agreement at a distance, a reason that decides.
_WATCHED = (
    "el gato negro duerme",
    "los billetes de Pekín a Lisboa son baratos",
    "el animal no cruzó la plaza porque estaba demasiado cansado",
    "el animal no cruzó la plaza porque era demasiado ancha",
)
#: Beginnings of these, for the language model to continue.
LANGUAGE_MODEL_WATCHED = tuple(
    TextPair(" ".join(text.split()[: max(2, len(text.split()) - 3)]), text) for text in _WATCHED
)
#: The same without a word, for the masked language model to find.
MASKED_MODEL_WATCHED = (
    TextPair("el gato [?] duerme", _WATCHED[0]),
    TextPair("los billetes de Pekín a Lisboa son [?]", _WATCHED[1]),
    TextPair("el [?] no cruzó la plaza porque estaba demasiado cansado", _WATCHED[2]),
    TextPair("el animal no cruzó la plaza porque era demasiado [?]", _WATCHED[3]),
)


def spanish_vocabulary(texts: Sequence[Sequence[str]], mask: bool = False) -> Vocabulary:
    """Return the vocabulary of some Spanish texts, given as words; with a ``<mask>`` if `mask` is set."""
    words = {word for text in texts for word in text}
    return Vocabulary(words, words, languages=("Spanish", "Spanish"), mask=mask)


def train_language_model(
    folder: str | os.PathLike[str],
    training: TrainConfig = LANGUAGE_MODEL_TRAINING,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Path:
    """Train the bundled language model on the corpus's Spanish sentences and save the checkpoint.

    60% of its texts repeat their sentence (`corpus.repetition`), so that it learns to copy. The same
    arguments give the same weights and the same training trace on one machine; they are those of
    `train_english_spanish`.

    Raises:
        FileError: if the folder cannot be written.
    """
    check_writable(folder)
    texts = repeat_some(_texts(), REPEATED_SHARE, training.seed)
    vocabulary = spanish_vocabulary(texts)
    return train_recorded(
        folder,
        make_model(replace(LANGUAGE_MODEL, vocab_size=len(vocabulary)), training.seed, DecoderOnly),
        vocabulary,
        next_word_batches(texts, vocabulary, training.batch_size, training.seed),
        training,
        LANGUAGE_MODEL_WATCHED,
        name="language-model",
        facts={"n_train": len(texts), "said_twice": REPEATED_SHARE},
        n_threads=n_threads,
        progress=progress,
    )


def train_masked_model(
    folder: str | os.PathLike[str],
    training: TrainConfig = MASKED_MODEL_TRAINING,
    *,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> Path:
    """Train the bundled masked language model on the corpus's Spanish sentences and save the checkpoint.

    Arguments, errors and what is the same twice are as in `train_language_model`.
    """
    check_writable(folder)
    texts = _texts()
    vocabulary = spanish_vocabulary(texts, mask=True)
    return train_recorded(
        folder,
        make_model(replace(MASKED_MODEL, vocab_size=len(vocabulary)), training.seed, EncoderOnly),
        vocabulary,
        masked_word_batches(texts, vocabulary, training.batch_size, training.seed),
        training,
        MASKED_MODEL_WATCHED,
        name="masked-model",
        facts={"n_train": len(texts)},
        n_threads=n_threads,
        progress=progress,
    )


def _texts() -> list[tuple[str, ...]]:
    """Return the training part's Spanish sentences as words."""
    return [pair.target for pair in english_spanish().train]
