"""Evaluation of the two Spanish models against the grammar: free samples, gaps and heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil, log
from random import Random

from viz_transformer.analysis import HeadLabel, label_heads_together
from viz_transformer.corpus.text_batches import masked_word_batches, next_word_batches
from viz_transformer.errors import UserError
from viz_transformer.language_model import LanguageModel
from viz_transformer.masked_model import MaskedModel
from viz_transformer.recipes.head_eval import HeadLosses, head_losses_on
from viz_transformer.vocabulary import MASK, Vocabulary

_BATCH_SIZE = 100
Tokens = tuple[str, ...]


@dataclass(frozen=True)
class SampleScore:
    """How many texts that a language model draws are sentences of the grammar.

    Attributes:
        n: texts drawn.
        wrong: those that the grammar does not write.
    """

    n: int
    wrong: tuple[str, ...]

    @property
    def share(self) -> float:
        """The texts that the grammar writes, 0 to 1."""
        return 1 - len(self.wrong) / self.n


@dataclass(frozen=True)
class GapScore:
    """How near a masked-word model's words for a gap are to the grammar's.

    Attributes:
        text: the sentence with its gap.
        kl: Kullback-Leibler divergence from the grammar's distribution to the model's, in nats.
        likeliest: the grammar's likeliest word.
        found: the model's.
    """

    text: str
    kl: float
    likeliest: str
    found: str


def judge_samples(
    model: LanguageModel, is_sentence: Callable[[Sequence[str]], bool], n: int = 1000, seed: int = 0
) -> SampleScore:
    """Draw texts from nothing, and count those that are sentences.

    Args:
        model: the language model.
        is_sentence: whether the grammar writes some tokens, such as `corpus.is_spanish`.
        n: how many texts to draw.
        seed: of the draws.

    Raises:
        UserError: if `n` is below 1.
    """
    drawn = model.sample_tokens(n=n, seed=seed)
    known = {tokens: is_sentence(tokens) for tokens in set(drawn)}
    return SampleScore(n, tuple(" ".join(tokens) for tokens in drawn if not known[tokens]))


def judge_gaps(
    model: MaskedModel,
    texts: Sequence[Tokens],
    gap_words: Callable[[Sequence[str]], Mapping[str, float]],
    gap: str,
    seed: int = 0,
) -> list[GapScore]:
    """Take one word out of each text, and compare who fills the gap how.

    Args:
        model: the masked-word model.
        texts: sentences of the grammar, as words.
        gap_words: the exact distribution of a gap, such as `corpus.gap_words`.
        gap: how that function writes a gap.
        seed: of the draw of the places.

    Raises:
        UserError: if a text does not suit the model or the grammar.
    """
    rng, scores = Random(seed), []
    for tokens in texts:
        place = rng.randrange(len(tokens))
        before, after = tokens[:place], tokens[place + 1 :]
        exact = gap_words((*before, gap, *after))
        found = model.fill((*before, MASK, *after))
        kl = sum(share * (log(share) - log(found[word])) for word, share in exact.items())
        text = " ".join((*before, gap, *after))
        scores.append(GapScore(text, kl, max(exact, key=exact.__getitem__), next(iter(found))))
    return scores


def spanish_head_losses(model: LanguageModel | MaskedModel, texts: Sequence[Tokens]) -> HeadLosses:
    """Measure the loss on some texts, whole and with each head switched off alone.

    Raises:
        UserError: if there is no text, or the vocabulary lacks a word.
    """
    if not texts or not isinstance(model.vocabulary, Vocabulary):
        raise UserError("give at least one text, and a model with a vocabulary of words")
    batches = masked_word_batches if isinstance(model, MaskedModel) else next_word_batches
    epoch = islice(batches(texts, model.vocabulary, _BATCH_SIZE, 0), ceil(len(texts) / _BATCH_SIZE))
    return head_losses_on(model, list(epoch))


def label_spanish_heads(
    model: LanguageModel | MaskedModel, texts: Sequence[Tokens]
) -> tuple[tuple[HeadLabel | None, ...], ...]:
    """Name the heads that do one thing in all of these texts, ``[layer][head]``.

    Raises:
        UserError: if a text does not suit the model.
    """
    traces = [model.trace(tokens) for tokens in texts]
    (kind,) = model.config.attention_layers
    return label_heads_together(traces, kind)
