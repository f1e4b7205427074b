"""The masked language model: the words that fit a gap, from the words on both sides of it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from viz_transformer._files import bundled
from viz_transformer._text import given_text, given_texts
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.errors import UserError
from viz_transformer.model import EncoderOnly, TracedEncoderOnly
from viz_transformer.model.interventions import Interventions
from viz_transformer.model.threads import threads_for
from viz_transformer.text_model import TextModel, log_probs_of
from viz_transformer.trace import ForwardTrace
from viz_transformer.vocabulary import MASK, Vocabulary

#: How people write a gap.
_GAP = re.compile(r"\[\?\]|<mask>|\[mask\]|_{2,}", re.IGNORECASE)


class MaskedModel(TextModel[EncoderOnly, TracedEncoderOnly, Vocabulary]):
    """A trained encoder-only model and its vocabulary, behind calls on plain text.

    It reads the target language of its vocabulary, in both directions. A gap is written ``[?]``,
    ``<mask>`` or ``___``.

    >>> import viz_transformer as vt
    >>> model = vt.load_masked_model()
    >>> len(model.fill("la [?] perdió su libro")) > 0
    True

    Attributes:
        model: the `EncoderOnly`, in evaluation mode.
        vocabulary: its `Vocabulary` of words, which has a ``<mask>``.
    """

    name, task = "a masked language model", "fill"

    def __init__(self, model: EncoderOnly, vocabulary: Vocabulary) -> None:
        """Join a model and its vocabulary.

        Raises:
            UserError: if the model scores no words, or the vocabulary has no ``<mask>``.
        """
        if not model.config.predicts_words or vocabulary.mask_id is None:
            raise UserError(
                "a masked language model scores the words of a vocabulary with a <mask>; make them with "
                "ModelConfig(family='encoder', predicts_words=True, …) and Vocabulary(…, mask=True)"
            )
        super().__init__(model, vocabulary, TracedEncoderOnly(model.config))
        self._mask_id = vocabulary.mask_id

    @torch.no_grad()
    def fill(self, text: str | Sequence[str], interventions: Interventions | None = None) -> dict[str, float]:
        """Return the probability of each word in a text's gap, likeliest first.

        Args:
            text: a text with one gap, or its tokens, ``<mask>`` for the gap.
            interventions: what to switch off or replace in the model; None changes nothing.

        Raises:
            UnknownWordError: if a word is not in the vocabulary; nearest known ones are named.
            UserError: if the text has no gap, more than one or no word, if it is too long, or if
                the interventions do not fit the model.
        """
        ids, gap = self._with_gap(text)
        probabilities = self._logits([ids], interventions)[0, gap].softmax(-1)  # [vocab]
        order = probabilities.argsort(descending=True, stable=True).tolist()
        tokens, words = self.vocabulary.tokens, set(self.vocabulary.words("target"))
        return {tokens[index]: float(probabilities[index]) for index in order if tokens[index] in words}

    @torch.no_grad()
    def trace(self, text: str | Sequence[str], interventions: Interventions | None = None) -> ForwardTrace:
        """Return every head's attention while the model reads a text, with gaps or without.

        Raises:
            UserError: as `fill`, but for the number of gaps.
        """
        ids = self.ids(text)
        return self._trace_of(self._run(ids, interventions=interventions), ids, [], None)

    @torch.no_grad()
    def log_probs(self, text: str, interventions: Interventions | None = None) -> NDArray[np.float64]:
        """Return how probable each word of a text is where it alone is masked.

        Args:
            text: a text without a gap.
            interventions: what to switch off or replace in the model; None changes nothing.

        Returns:
            float64 [word], natural logarithms. Their sum is the text's pseudo-log-likelihood.

        Raises:
            UserError: as `fill`, or if the text has a gap.

        Source: Salazar et al. 2020, "Masked Language Model Scoring".
        """
        ids = self.ids(text)
        if self._mask_id in ids:
            raise UserError(f"{text!r:.60} has a gap; fill it, or use fill to find words for it")
        words = torch.tensor(ids[:-1])  # [word], without <eos>
        places = torch.arange(len(words))
        rows = torch.tensor(ids).repeat(len(words), 1)  # [row, position]
        rows[places, places] = self._mask_id
        return log_probs_of(self._logits(rows.tolist(), interventions)[places, places], ids[:-1])

    def answer(self, text: str, interventions: Interventions | None = None) -> tuple[str, ...]:
        """Return the tokens of the text with the likeliest word in its gap."""
        return self.vocabulary.tokens_of(self._filled(text, interventions))

    def answers(self, texts: Sequence[str]) -> list[str]:
        """Return each text with the likeliest word in its gap."""
        return [self.vocabulary.decode(self._filled(text, None)) for text in given_texts(texts, "the texts")]

    @torch.no_grad()
    def judge(
        self, text: str, answer: str | Sequence[str], interventions: Interventions | None = None
    ) -> tuple[ForwardTrace, NDArray[np.float64]]:
        """Return the `trace` of a text with a gap, and the log-probability of an answer's word.

        Args:
            text: a text with one gap.
            answer: the same text, filled.
            interventions: what to switch off or replace in the model; None changes nothing.

        Returns:
            The trace, and the log-probability of the word in the gap, float64 [1].

        Raises:
            UserError: as `fill`, or if the answer is another text.
        """
        ids, gap = self._with_gap(text)
        word = self._word_in(answer, ids, gap)
        log_probs = log_probs_of(self._logits([ids], interventions)[0, gap : gap + 1], [word])
        return self.trace(text, interventions), log_probs

    def _filled(self, text: str, interventions: Interventions | None) -> list[int]:
        """Return the ids of a text with the likeliest word in its gap, without ``<eos>``."""
        ids, gap = self._with_gap(text)
        best = int(self._logits([ids], interventions)[0, gap].argmax())
        return [*ids[:gap], best, *ids[gap + 1 : -1]]

    @torch.no_grad()
    def _logits(self, rows: Sequence[Sequence[int]], interventions: Interventions | None) -> Tensor:
        """Return the words' logits, float64 [row, position, vocab], on the processor.

        What is no word fits no gap: its logit is -inf.
        """
        with threads_for(self.config):
            ids = torch.tensor(rows, device=self._device)
            logits = self.traced_model(ids, interventions=interventions).logits
        assert logits is not None  # the model scores words
        logits = logits.cpu().double()
        words = self.vocabulary
        logits[..., [words.pad_id, words.sos_id, words.eos_id, self._mask_id]] = -torch.inf
        return logits

    def ids(self, text: str | Sequence[str]) -> list[int]:
        """Return what the model reads: the text's ids, gaps masked, then ``<eos>``.

        Args:
            text: the text, or its tokens.

        Raises:
            UserError: as `trace`.
        """
        tokens = isinstance(text, list | tuple)
        given = "".join(given_texts(text)) if tokens else given_text(text)
        if not given.strip():
            raise UserError("the text is empty; type a sentence with a gap, such as 'el [?] negro'")
        ids = self._ids_of(text if tokens else _GAP.sub(f" {MASK} ", given))
        ids.append(self.vocabulary.eos_id)
        self._check_length(ids, "text")
        return ids

    def _with_gap(self, text: str | Sequence[str]) -> tuple[list[int], int]:
        """Return what the model reads of a text with one gap, and where the gap is."""
        ids = self.ids(text)
        n_gaps = ids.count(self._mask_id)
        if n_gaps != 1:
            raise UserError(
                f"{text!r:.60} has {n_gaps or 'no'} gap{'s' * (n_gaps > 1)}, and one is needed; write it as "
                "[?], such as 'el [?] negro'"
            )
        if len(ids) == 2:
            raise UserError(f"{text!r:.60} has only a gap; put words around it, such as 'el [?] negro'")
        return ids, ids.index(self._mask_id)

    def _word_in(self, answer: str | Sequence[str], ids: list[int], gap: int) -> int:
        """Return the id of the word that an answer has in the gap."""
        filled = self.ids(answer)
        if filled[:gap] != ids[:gap] or filled[gap + 1 :] != ids[gap + 1 :] or filled == ids:
            shown = answer if isinstance(answer, str) else " ".join(answer)
            raise UserError(f"{shown!r:.60} is not the text with the gap; change only the gap")
        return filled[gap]


def load_masked_model(folder: str | os.PathLike[str] | None = None, *, checked: bool = True) -> MaskedModel:
    """Load a masked language model.

    >>> import viz_transformer as vt
    >>> vt.load_masked_model().trace("el gato [?]").kinds
    ('encoder',)

    Args:
        folder: a checkpoint folder; by default the bundled one, which reads Spanish.
        checked: whether its files must be those that were saved; False loads changed ones as they are.

    Raises:
        FileError: if the folder is missing or damaged.
        UserError: if its parts do not fit each other, or it holds a model of another kind.
    """
    place = bundled("data/masked-model") if folder is None else folder
    checkpoint = Checkpoint.load(place, EncoderOnly, checked=checked)
    if not isinstance(checkpoint.vocabulary, Vocabulary):
        raise UserError(
            f"{str(folder)!r} has pieces of words, and a gap is a whole word; train it with words"
        )
    return MaskedModel(checkpoint.model, checkpoint.vocabulary)
