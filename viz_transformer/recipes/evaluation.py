"""Evaluation of a translator: BLEU, chrF and exact matches, and its validation loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from viz_transformer.corpus import SentencePair
from viz_transformer.corpus.batches import Batch, batches
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.training.loss import mean_loss
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import Tokeniser, UnknownWordError, Vocabulary, join_tokens

_BATCH_TOKENS = 8_000  # read as one batch, where a loss is measured
_SENTENCES = 32  # translated as one batch


@dataclass(frozen=True)
class Evaluation:
    """Scores of translations against their references.

    Attributes:
        bleu: BLEU of the whole (Papineni et al. 2002), 0 to 100, by sacrebleu.
        chrf: chrF2 (Popović 2015), 0 to 100, by sacrebleu.
        signatures: how sacrebleu computed both, to be reported with the numbers (Post 2018).
        n_exact: translations equal to their reference.
        n: sentences.
        translations: in the order of the pairs; "" for a sentence that holds unknown words.
        n_unknown: how many sentences do.
    """

    bleu: float
    chrf: float
    signatures: tuple[str, str]
    n_exact: int
    n: int
    translations: tuple[str, ...]
    n_unknown: int = 0


def evaluate(
    translator: Translator,
    pairs: Sequence[TextPair],
    beam_width: int = 4,
    length_penalty: float = 0.6,
) -> Evaluation:
    """Translate the sources by beam search and compare with the targets, as plain text.

    A vocabulary of words writes one spelling of each word, so with one the
    references are written in the same way. A sentence with unknown words counts as
    an empty translation: leaving it out would make the rest easier than the whole.

    Raises:
        UserError: if there are no pairs, sacrebleu is not installed, no sentence can be read, or one
            cannot be translated.
    """
    if not pairs:
        raise UserError("there are no sentence pairs to judge with; give some")
    from sacrebleu.metrics import BLEU, CHRF

    # Sentences of similar length in one batch, so that little is padding.
    order = sorted(_readable(translator, pairs), key=lambda index: len(pairs[index].source))
    found = [""] * len(pairs)
    for start in range(0, len(order), _SENTENCES):
        some = order[start : start + _SENTENCES]
        sources = [pairs[index].source for index in some]
        translations = translator.translate_all(sources, beam_width, length_penalty)
        for index, translation in zip(some, translations, strict=True):
            found[index] = translation.text
    references = [pair.target for pair in pairs]
    if isinstance(vocabulary := translator.vocabulary, Vocabulary):
        references = [join_tokens(vocabulary.words_of(reference, "target")) for reference in references]
    bleu, chrf = BLEU(), CHRF()
    scores = bleu.corpus_score(found, [references]), chrf.corpus_score(found, [references])
    return Evaluation(
        bleu=scores[0].score,
        chrf=scores[1].score,
        signatures=(str(bleu.get_signature()), str(chrf.get_signature())),
        n_exact=sum(one == other for one, other in zip(found, references, strict=True)),
        n=len(pairs),
        translations=tuple(found),
        n_unknown=len(pairs) - len(order),
    )


def _readable(translator: Translator, pairs: Sequence[TextPair]) -> list[int]:
    """Return the indices of the sentences without unknown words; raises the first error if there is none."""
    found, first_error = [], None
    for index, pair in enumerate(pairs):
        try:
            translator.vocabulary.encode(pair.source)
            found.append(index)
        except UnknownWordError as error:
            first_error = first_error or error
    if first_error and not found:
        raise first_error
    return found


def validation_loss(
    model: torch.nn.Module,
    pairs: Sequence[TextPair],
    vocabulary: Tokeniser,
    device: torch.device | str = "cpu",
) -> float:
    """Return the cross-entropy a real token over some pairs, in nats; the model's mode stays."""
    was_training = model.training
    model.eval()
    loss = mean_loss(model, one_epoch(pairs, vocabulary), vocabulary.pad_id, device)
    model.train(was_training)
    return loss


def one_epoch(pairs: Sequence[SentencePair | TextPair], vocabulary: Tokeniser) -> Iterator[Batch]:
    """Yield batches that hold every pair once."""
    n_read = 0
    for batch in batches(pairs, vocabulary, 1, 0, batch_tokens=_BATCH_TOKENS):
        yield batch
        n_read += len(batch.source)
        if n_read >= len(pairs):
            return
