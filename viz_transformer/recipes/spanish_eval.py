"""Evaluation of the two Spanish models against the grammar that their sentences come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil, log
from random import Random

from viz_transformer.analysis import HeadLabel, label_heads_together
from viz_transformer.corpus import SentencePair, gap_words, is_spanish
from viz_transformer.corpus.said_twice import said_once, say_twice
from viz_transformer.corpus.text_batches import masked_word_batches, next_word_batches
from viz_transformer.corpus.translations import GAP
from viz_transformer.errors import UserError
from viz_transformer.language_model import LanguageModel
from viz_transformer.masked_model import MaskedModel
from viz_transformer.recipes.head_eval import HeadLosses, head_losses_on
from viz_transformer.vocabulary import Vocabulary, join_tokens

_BATCH_SIZE = 100


@dataclass(frozen=True)
class SampledTexts:
    """Texts drawn from a language model.

    Attributes:
        n: how many.
        n_accepted: of how many the grammar writes the sentence, said once or twice.
        n_twice: how many of these say it twice, word for word.
        refused: the others.
    """

    n: int
    n_accepted: int
    n_twice: int
    refused: tuple[str, ...]


@dataclass(frozen=True)
class GapScore:
    """How a masked-word model fills gaps, one in each sentence.

    Attributes:
        n: sentences.
        n_mode: gaps whose likeliest word is the grammar's, too.
        kl: mean divergence of the model's distribution from the grammar's, in nats.
        entropy: the grammar's own, mean over the gaps, in nats.
        wrong: (sentence with the gap, the model's word, the grammar's) of the others.
    """

    n: int
    n_mode: int
    kl: float
    entropy: float
    wrong: tuple[tuple[str, str, str], ...]


def sample_language_model(model: LanguageModel, n: int = 1000, seed: int = 0) -> SampledTexts:
    """Draw texts from a language model and ask the grammar which of them it writes.

    Raises:
        UserError: as `LanguageModel.sample_texts`.
    """
    n_twice = 0
    refused = []
    for text in model.sample_tokens(n=n, seed=seed):
        sentence = said_once(text)
        if is_spanish(sentence):
            n_twice += len(sentence) < len(text)
        else:
            refused.append(join_tokens(text))
    return SampledTexts(n, n - len(refused), n_twice, tuple(refused))


def fill_gaps(model: MaskedModel, pairs: Sequence[SentencePair], seed: int = 0) -> GapScore:
    """Mask one word of each Spanish sentence and compare what the model and the grammar put there.

    Args:
        model: the masked-word model.
        pairs: their Spanish sides are read.
        seed: chooses the words to mask.

    Raises:
        UserError: as `MaskedModel.fill`.
    """
    rng = Random(seed)
    kl = entropy = 0.0
    wrong = []
    for pair in pairs:
        gap = rng.randrange(len(pair.target))
        tokens = [*pair.target[:gap], GAP, *pair.target[gap + 1 :]]
        text = join_tokens(tokens)
        exact, filled = gap_words(tokens), model.fill(text)
        kl += sum(share * (log(share) - log(filled[word])) for word, share in exact.items())
        entropy -= sum(share * log(share) for share in exact.values())
        guess, best = next(iter(filled)), max(exact.values())
        if exact.get(guess, 0.0) < best * (1 - 1e-9):  # a tie counts
            wrong.append((text, guess, next(iter(exact))))
    n = len(pairs)
    return GapScore(n, n - len(wrong), kl / n, entropy / n, tuple(wrong))


def spanish_head_losses(
    model: LanguageModel | MaskedModel, pairs: Sequence[SentencePair], *, twice: bool = False
) -> HeadLosses:
    """Measure the loss on the Spanish sides of some pairs, whole and with each head switched off alone.

    Args:
        model: it reads them.
        pairs: their Spanish sides are read.
        twice: whether each text says its sentence twice, as most of the language model's do.

    Raises:
        UserError: if there is no pair, the vocabulary is one of pieces, or it lacks a word.
    """
    if not pairs or not isinstance(model.vocabulary, Vocabulary):
        raise UserError("give at least one pair, and a model with a vocabulary of words")
    texts = _texts(pairs, twice)
    batches = masked_word_batches if isinstance(model, MaskedModel) else next_word_batches
    epoch = islice(batches(texts, model.vocabulary, _BATCH_SIZE, 0), ceil(len(texts) / _BATCH_SIZE))
    return head_losses_on(model, list(epoch))


def label_spanish_heads(
    model: LanguageModel | MaskedModel, pairs: Sequence[SentencePair], *, twice: bool = False
) -> tuple[tuple[HeadLabel | None, ...], ...]:
    """Name the heads that do one thing in the Spanish sides of some pairs, ``[layer][head]``.

    Args:
        model: it reads them.
        pairs: their Spanish sides are read.
        twice: as in `spanish_head_losses`.

    Raises:
        UserError: if a text does not suit the model, or there is none.
    """
    (kind,) = model.config.attention_layers
    return label_heads_together([model.trace(text) for text in _texts(pairs, twice)], kind)


def _texts(pairs: Sequence[SentencePair], twice: bool) -> list[tuple[str, ...]]:
    return [say_twice(pair.target) if twice else pair.target for pair in pairs]
