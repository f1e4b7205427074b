"""Evaluation against a grammar: hypotheses and next-word distributions beside the exact ones.

A grammar gives all translations of a sentence with their probabilities, so a model is judged by how
far its distribution is from the true one, and not by one reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer.analysis import NextWords, modes, next_words
from viz_transformer.corpus import SentencePair, english_spanish
from viz_transformer.corpus.batches import pad
from viz_transformer.errors import UserError
from viz_transformer.model.threads import threads_for
from viz_transformer.translator import Translation, Translator
from viz_transformer.vocabulary import Tokeniser

#: What a grammar gives for a sentence: its translations, as text or as tokens, and their probabilities.
Grammar = Callable[[str], Mapping[str, float] | Mapping[tuple[str, ...], float]]

_SENTENCES = 100  # translated as one batch
_BATCH_TOKENS = 8_000  # of translations that are read as one batch
#: Predictions below this are not kept for the reliability diagram: each prefix has a vocabulary of
#: words that both sides rule out.
_LEAST_PREDICTED = 0.005


@dataclass(frozen=True, eq=False)
class GrammarScore:
    """How far a translator is from the grammar.

    Attributes:
        n: sentences.
        n_allowed: sentences whose best hypothesis the grammar allows.
        n_mode: sentences whose best hypothesis is a most probable translation.
        loss: mean cross-entropy over all translations by their probability, in nats per token with
            ``<eos>``: what the held-out loss would be on endlessly many drawn translations.
        entropy: the language's own, in nats per token; no model has a lower loss.
        kl: mean divergence of the model's next-word distributions from the grammar's, in nats a
            word: loss minus entropy. Each prefix counts by its probability.
        wrong: (source, hypothesis, a mode) of the sentences whose hypothesis is not allowed.
        not_mode: the same of those whose hypothesis is allowed and not a mode.
        predicted: the model's probabilities of next words, those of at least 0.005 [prediction].
        expected: the grammar's probabilities of the same words [prediction].
        weights: the probability of each prediction's prefix [prediction].
    """

    n: int
    n_allowed: int
    n_mode: int
    loss: float
    entropy: float
    kl: float
    wrong: tuple[tuple[str, str, str], ...]
    not_mode: tuple[tuple[str, str, str], ...]
    predicted: NDArray[np.float32]
    expected: NDArray[np.float32]
    weights: NDArray[np.float32]

    @property
    def share_allowed(self) -> float:
        """Sentences whose best hypothesis the grammar allows, 0 to 1."""
        return self.n_allowed / self.n

    @property
    def share_mode(self) -> float:
        """Sentences whose best hypothesis is a most probable translation, 0 to 1."""
        return self.n_mode / self.n


def evaluate_against_grammar(
    translator: Translator,
    sentences: Sequence[str],
    translations: Grammar,
    *,
    beam_width: int = 4,
    length_penalty: float = 0.6,
) -> GrammarScore:
    """Translate sentences by free beam decoding, and read all their translations teacher-forced.

    Args:
        translator: the model.
        sentences: what to translate.
        translations: returns all translations of a sentence with their probabilities; the keys
            are texts, or tuples of tokens.
        beam_width: of the search for the best hypothesis.
        length_penalty: of the search; with 0, hypotheses are ranked by their probability alone.

    Raises:
        UserError: if there is no sentence, the grammar does not make one, or the vocabulary lacks
            a word.
    """
    if not sentences:
        raise UserError("there is no sentence to judge with; give some")
    vocabulary = translator.vocabulary
    languages = [in_tokens(translations(sentence), vocabulary) for sentence in sentences]
    cross_entropy = entropy = n_tokens = 0.0
    points: list[tuple[NDArray[np.float32], ...]] = []
    for read in _read_all(translator, sentences, languages):
        true, told, weight = read.grammar, read.model, read.weights[:, None]
        cross_entropy -= float((weight * true * told).sum())
        entropy -= float((weight * torch.special.xlogy(true, true)).sum())
        n_tokens += float(weight.sum())
        rows, words = (told >= np.log(_LEAST_PREDICTED)).nonzero(as_tuple=True)
        point = told[rows, words].exp(), true[rows, words], read.weights[rows]
        points.append(tuple(each.float().numpy() for each in point))
    predicted, expected, weights = (np.concatenate(each) for each in zip(*points, strict=True))
    found: list[Translation] = []
    for start in range(0, len(sentences), _SENTENCES):
        some = sentences[start : start + _SENTENCES]
        found += translator.translate_all(some, beam_width, length_penalty)
    wrong: list[tuple[str, str, str]] = []
    not_mode: list[tuple[str, str, str]] = []
    for sentence, translation, language in zip(sentences, found, languages, strict=True):
        best = modes(language)
        if translation.tokens not in best:
            likeliest = vocabulary.decode(vocabulary.ids_of(min(best)))
            kind = not_mode if language.get(translation.tokens) else wrong
            kind.append((sentence, translation.text, likeliest))
    return GrammarScore(
        n=len(sentences),
        n_allowed=len(sentences) - len(wrong),
        n_mode=len(sentences) - len(wrong) - len(not_mode),
        loss=cross_entropy / n_tokens,
        entropy=entropy / n_tokens,
        kl=(cross_entropy - entropy) / n_tokens,
        wrong=tuple(wrong),
        not_mode=tuple(not_mode),
        predicted=predicted,
        expected=expected,
        weights=weights,
    )


def held_out_sets(n_held_out: int = 2_000, n_of_a_kind: int = 300) -> dict[str, tuple[SentencePair, ...]]:
    """Return what training never shows, by name; the first is of any kind.

    >>> from viz_transformer.recipes import held_out_sets
    >>> sets = held_out_sets(n_held_out=20, n_of_a_kind=1)
    >>> {name: len(pairs) for name, pairs in sets.items()}
    {'held-out combinations': 20, 'held-out tired/wide': 1, 'held-out her/his': 1, 'held-out fish': 1}
    >>> "fish" in sets["held-out fish"][0].source
    True

    Args:
        n_held_out: pairs in the first set.
        n_of_a_kind: pairs in each of the others.
    """
    corpus = english_spanish(0, n_held_out, n_of_a_kind)
    return {
        "held-out combinations": corpus.held_out,
        "held-out tired/wide": corpus.held_out_reasons,
        "held-out her/his": corpus.held_out_owners,
        "held-out fish": corpus.held_out_fish,
    }


def in_tokens(
    translations: Mapping[str, float] | Mapping[tuple[str, ...], float], vocabulary: Tokeniser
) -> dict[tuple[str, ...], float]:
    """Return translations with their tokens as keys."""
    return {
        vocabulary.tokens_of(vocabulary.encode(key, "target")) if isinstance(key, str) else key: probability
        for key, probability in translations.items()
    }


class _Read(NamedTuple):
    """Next-word distributions at all prefixes of some sentences.

    `grammar` holds probabilities and `model` log-probabilities, float64 ``[prefix, vocab]``;
    `weights` the probability of each prefix ``[prefix]``.
    """

    grammar: Tensor
    model: Tensor
    weights: Tensor


def _read_all(
    translator: Translator, sentences: Sequence[str], languages: Sequence[dict[tuple[str, ...], float]]
) -> Iterator[_Read]:
    """Read all translations, many sentences in one batch; each prefix counts once."""
    model, vocabulary = translator.model, translator.vocabulary
    device = next(model.parameters()).device
    with threads_for(translator.config), torch.inference_mode():
        for numbers in _batches(languages):
            sources = [vocabulary.source_ids(sentences[number]) for number in numbers]
            rows: list[list[int]] = []
            owners: list[int] = []  # of each row, the place of its sentence in the batch
            places: list[tuple[int, int]] = []  # of each node, a row and a position
            nodes: list[NextWords] = []
            for owner, number in enumerate(numbers):
                place: dict[tuple[str, ...], tuple[int, int]] = {}  # row and position, by prefix
                for tokens in languages[number]:
                    for length in range(len(tokens) + 1):
                        place.setdefault(tokens[:length], (len(rows), length))
                    rows.append([vocabulary.sos_id, *vocabulary.ids_of(tokens)])
                    owners.append(owner)
                found = next_words(languages[number])
                nodes += found
                places += [place[node.prefix] for node in found]
            source, target = (  # [sentence, source], [translation, target]
                torch.from_numpy(pad(ids, vocabulary.pad_id)).to(device) for ids in (sources, rows)
            )
            memory, mask = model.encode(source), model.padding_mask(source)
            logits = model.decode(target, memory[owners], mask[owners])  # [translation, target, vocab]
            at_row, at_position = torch.tensor(places).T
            told = logits[at_row, at_position].cpu().double().log_softmax(-1)  # [prefix, vocab]
            true = torch.zeros_like(told)
            for index, node in enumerate(nodes):
                true[index, vocabulary.ids_of(node.words)] = torch.tensor(
                    list(node.words.values()), dtype=torch.float64
                )
            weights = torch.tensor([node.probability for node in nodes], dtype=torch.float64)
            yield _Read(true, told, weights)


def _batches(languages: Sequence[dict[tuple[str, ...], float]]) -> Iterator[list[int]]:
    """Yield the numbers of the sentences that are read together, those of similar length."""
    longest = [max(map(len, translations), default=0) + 1 for translations in languages]
    order = sorted(range(len(languages)), key=longest.__getitem__)
    batch: list[int] = []
    n_rows = 0
    for number in order:
        n_rows += len(languages[number])
        if batch and n_rows * longest[number] > _BATCH_TOKENS:
            yield batch
            batch, n_rows = [], len(languages[number])
        batch.append(number)
    yield batch
