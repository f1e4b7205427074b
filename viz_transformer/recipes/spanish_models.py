"""Training of the two bundled models that read Spanish alone: a language model, a masked-word model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from viz_transformer.checkpoint import check_writable
from viz_transformer.config import TrainConfig
from viz_transformer.corpus import english_spanish
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.said_twice import say_some_twice
from viz_transformer.corpus.text_batches import masked_word_batches, next_word_batches
from viz_transformer.model import DecoderOnly, EncoderOnly
from viz_transformer.recipes.recorded import Progress, train_recorded
from viz_transformer.recipes.two_layers import BUNDLED, BUNDLED_TRAINING
from viz_transformer.training import make_model
from viz_transformer.vocabulary import Vocabulary

#: Learned positions: with sinusoidal ones no head attends to the previous word alone (docs/models.md).
LANGUAGE_MODEL = replace(BUNDLED, family="decoder", positional="learned")
MASKED_MODEL = replace(BUNDLED, family="encoder", predicts_words=True)
LANGUAGE_MODEL_TRAINING = MASKED_MODEL_TRAINING = BUNDLED_TRAINING
#: How many of the language model's texts say their sentence twice.
SAID_TWICE = 0.6
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
#: The same without a word, for the masked-word model to find.
MASKED_MODEL_WATCHED = (
    TextPair("el gato [?] duerme", _WATCHED[0]),
    TextPair("los billetes de Pekín a Lisboa son [?]", _WATCHED[1]),
    TextPair("el [?] no cruzó la plaza porque estaba demasiado cansado", _WATCHED[2]),
    TextPair("el animal no cruzó la plaza porque era demasiado [?]", _WATCHED[3]),
)


def spanish_vocabulary(texts: Sequence[Sequence[str]], mask: bool = False) -> Vocabulary:
    """Return the vocabulary of some Spanish texts.

    >>> from viz_transformer.recipes import spanish_vocabulary
    >>> words = spanish_vocabulary([["el", "gato", "duerme"], ["el", "perro"]], mask=True)
    >>> words.tokens_of(words.encode("el perro duerme"))
    ('el', 'perro', 'duerme')

    Args:
        texts: their words.
        mask: whether it has a ``<mask>``, for a masked-word model.
    """
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

    Of its texts 60% say their sentence twice (`corpus.said_twice`), so that it learns to copy.

    The same arguments give the same weights and the same training trace on one machine.

    It takes minutes; ``viz-transformer train language-model --out language-model`` does the same with a
    progress bar.

    >>> from viz_transformer.recipes import load_training, train_language_model
    >>> folder = train_language_model("language-model")  # doctest: +SKIP
    >>> learned = load_training("language-model")  # the package's; of yours, load_training(folder)
    >>> first, last = learned.moments[0], learned.moments[-1]
    >>> [round(moment.losses[0]) for moment in (first, last)]  # nats a token of "el gato negro duerme"
    [7, 3]

    Args:
        folder: where the checkpoint goes.
        training: steps, rate and seed.
        n_threads: torch's threads while training; their number decides the order of sums.
        progress: shows how far training is.

    Raises:
        FileError: if the folder cannot be written.
    """
    check_writable(folder)
    texts = say_some_twice(_texts(), SAID_TWICE, training.seed)
    vocabulary = spanish_vocabulary(texts)
    config = replace(LANGUAGE_MODEL, vocab_size=len(vocabulary))
    return train_recorded(
        folder,
        make_model(config, training.seed, DecoderOnly),
        vocabulary,
        next_word_batches(texts, vocabulary, training.batch_size, training.seed),
        training,
        LANGUAGE_MODEL_WATCHED,
        command="language-model",
        facts={"n_train": len(texts), "said_twice": SAID_TWICE},
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
    """Train the bundled masked-word model on the corpus's Spanish sentences and save the checkpoint.

    The same arguments give the same weights and the same training trace on one machine.

    It takes minutes; ``viz-transformer train masked-model --out masked-model`` does the same with a
    progress bar.

    >>> from viz_transformer.recipes import load_training, train_masked_model
    >>> folder = train_masked_model("masked-model")  # doctest: +SKIP
    >>> learned = load_training("masked-model")  # the package's; of yours, load_training(folder)
    >>> learned.sources[1], learned.moments[-1].translations[1]
    ('los billetes de Pekín a Lisboa son [?]', 'los billetes de Pekín a Lisboa son baratos')

    Args:
        folder: where the checkpoint goes.
        training: steps, rate and seed.
        n_threads: torch's threads while training; their number decides the order of sums.
        progress: shows how far training is.

    Raises:
        FileError: if the folder cannot be written.
    """
    check_writable(folder)
    texts = _texts()
    vocabulary = spanish_vocabulary(texts, mask=True)
    config = replace(MASKED_MODEL, vocab_size=len(vocabulary))
    return train_recorded(
        folder,
        make_model(config, training.seed, EncoderOnly),
        vocabulary,
        masked_word_batches(texts, vocabulary, training.batch_size, training.seed),
        training,
        MASKED_MODEL_WATCHED,
        command="masked-model",
        facts={"n_train": len(texts)},
        n_threads=n_threads,
        progress=progress,
    )


def _texts() -> list[tuple[str, ...]]:
    """Return the training part's Spanish sentences as words."""
    return [pair.target for pair in english_spanish().train]
