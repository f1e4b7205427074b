"""Figures of the bundled models that need the grammar: samples, gaps and heads over many sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil, log
from random import Random

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis import HeadLabel, entropy_nats, label_heads_together, next_words
from viz_transformer.corpus import SentencePair, gap_words, is_spanish
from viz_transformer.corpus.batches import as_text
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.repetition import repeat, without_repetition
from viz_transformer.corpus.text_batches import masked_word_batches, next_word_batches
from viz_transformer.corpus.translations import GAP
from viz_transformer.errors import UserError
from viz_transformer.language_model import LanguageModel
from viz_transformer.masked_model import MaskedModel
from viz_transformer.recipes.grammar_eval import Grammar, in_tokens
from viz_transformer.recipes.head_eval import HeadLosses, head_losses_on
from viz_transformer.trace import KINDS
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import Vocabulary, join_tokens

_BATCH_SIZE = 100
_N_SIMULATED = 10_000  # samples of the grammar itself, beside which one of the model is judged


@dataclass(frozen=True)
class SampleCheck:
    """Texts drawn from the model for one sentence, beside the grammar's probabilities.

    Attributes:
        source: the sentence.
        n: texts drawn.
        n_allowed: how many of them the grammar allows.
        shares: (translation, probability, share of the draws), the most probable first.
        largest: the largest difference of a share from its probability p, in standard errors
            sqrt(p (1 − p) / n).
        p_value: how often `n` draws from the grammar itself differ as much, by simulation. Of 20
            perfect models, about one has less than 0.05.
    """

    source: str
    n: int
    n_allowed: int
    shares: tuple[tuple[str, float, float], ...]
    largest: float
    p_value: float


@dataclass(frozen=True)
class SampledTexts:
    """Texts drawn from a language model.

    Attributes:
        n: how many.
        n_accepted: how many hold a sentence that the grammar makes, once or repeated.
        n_twice: how many of these repeat it, word for word.
        refused: the others.
    """

    n: int
    n_accepted: int
    n_twice: int
    refused: tuple[str, ...]


@dataclass(frozen=True)
class GapScore:
    """How a masked language model fills gaps, one in each sentence.

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


def check_vocabulary(translator: Translator, pairs: Sequence[SentencePair]) -> None:
    """Refuse a translator that was made for another language than that of these pairs.

    Raises:
        UserError: if its vocabulary lacks words of theirs.
    """
    known = set(translator.vocabulary.tokens)
    missing = {word for pair in pairs for word in (*pair.source, *pair.target)} - known
    if missing:
        named = ", ".join(map(repr, sorted(missing)[:3]))
        raise UserError(
            f"this checkpoint lacks {len(missing):,} words of the language ({named} …), so it was made "
            "with another vocabulary; train one with `python -m recipes en-es --out DIR`, or "
            "give pairs of its own with --pairs FILE"
        )


def open_sentences(sentences: Sequence[str], translations: Grammar, n: int) -> list[str]:
    """Choose `n` sentences with more than one translation, from the least open to the most.

    They are evenly spaced in the order of their entropy; fewer, where there are fewer. The first
    and the last of that order are among them.
    """
    entropies = {
        sentence: entropy_nats(found)
        for sentence in dict.fromkeys(sentences)
        if len(found := translations(sentence)) > 1
    }
    order = sorted(entropies, key=lambda sentence: (entropies[sentence], sentence))
    places = np.linspace(0, len(order) - 1, min(n, len(order)))
    return [order[place] for place in places.round().astype(int)]


def check_samples(
    translator: Translator, sentence: str, translations: Grammar, n: int = 1000, seed: int = 0
) -> SampleCheck:
    """Draw `n` translations of a sentence and compare their shares with the grammar.

    Raises:
        UserError: as `evaluate_against_grammar`.
    """
    vocabulary = translator.vocabulary
    language = in_tokens(translations(sentence), vocabulary)
    next_words(language)  # refuses what is no distribution
    counts = Counter(translator.sample_texts(sentence, n, seed=seed))
    ranked = sorted(language.items(), key=lambda each: -each[1])
    names = [vocabulary.decode(vocabulary.ids_of(tokens)) for tokens, _ in ranked]
    probabilities = np.array([probability for _, probability in ranked])  # [translation]
    own = np.array([counts[name] for name in names])  # [translation]
    simulated = np.random.default_rng(seed).multinomial(n, probabilities / probabilities.sum(), _N_SIMULATED)
    largest = float(_largest_difference(own, probabilities, n))
    as_large = _largest_difference(simulated, probabilities, n) >= largest - 1e-9  # [simulation]
    return SampleCheck(
        source=sentence,
        n=n,
        n_allowed=int(own.sum()),
        shares=tuple(zip(names, probabilities.tolist(), (own / n).tolist(), strict=True)),
        largest=largest,
        p_value=float((as_large.sum() + 1) / (_N_SIMULATED + 1)),
    )


def _largest_difference(
    counts: NDArray[np.int64], probabilities: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Return the largest difference of the shares from the probabilities, in standard errors.

    Args:
        counts: of `n` draws, ``[..., translation]``.
        probabilities: ``[translation]``. One of 0 or 1 has no standard error: what differs from it
            is endlessly far.
        n: draws.
    """
    difference = np.abs(counts / n - probabilities)  # [..., translation]
    error = np.sqrt(probabilities * (1 - probabilities) / n)  # [translation]
    endless = np.where(difference > 1e-9, np.inf, 0.0)
    return np.divide(difference, error, out=endless, where=error > 0).max(axis=-1)


def sample_language_model(model: LanguageModel, n: int = 1000, seed: int = 0) -> SampledTexts:
    """Draw texts from a language model and ask the grammar which of them it writes.

    Raises:
        UserError: as `LanguageModel.sample_texts`.
    """
    n_twice = 0
    refused = []
    for text in model.sample_tokens(n=n, seed=seed):
        sentence = without_repetition(text)
        if is_spanish(sentence):
            n_twice += len(sentence) < len(text)
        else:
            refused.append(join_tokens(text))
    return SampledTexts(n, n - len(refused), n_twice, tuple(refused))


def fill_gaps(model: MaskedModel, pairs: Sequence[SentencePair], seed: int = 0) -> GapScore:
    """Mask one word of each Spanish sentence and compare what the model and the grammar put there.

    Args:
        model: the masked language model.
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
        twice: whether each text repeats its sentence, as most of the language model's do.

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


def label_translator_heads(
    translator: Translator, pairs: Sequence[SentencePair | TextPair]
) -> dict[str, tuple[tuple[HeadLabel | None, ...], ...]]:
    """Name the heads that do one thing in all of these pairs, for each kind ``[layer][head]``.

    Raises:
        UserError: as `head_losses`.
    """
    if not pairs:
        raise UserError("there are no sentence pairs to judge heads with; give some")
    traces = []
    for pair in pairs:
        target = pair.target if isinstance(pair, TextPair) else list(pair.target)
        traces.append(translator.trace(as_text(pair.source), target))
    return {kind: label_heads_together(traces, kind) for kind in KINDS}


def _texts(pairs: Sequence[SentencePair], twice: bool) -> list[tuple[str, ...]]:
    return [repeat(pair.target) if twice else pair.target for pair in pairs]
