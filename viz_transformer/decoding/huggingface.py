"""Hugging Face's searches, reconstructed step by step from what ``generate`` returns; and its draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from viz_transformer._bounds import SEED, whole_number
from viz_transformer.decoding.constraints import Words, ends, is_whole
from viz_transformer.decoding.length_penalty import power_norm
from viz_transformer.decoding.recorder import Ranked, Recorder
from viz_transformer.decoding.sampling import Draws, check_filters
from viz_transformer.errors import UserError
from viz_transformer.trace import DecodeTrace, Hypothesis
from viz_transformer.trace.byte_level import shown_tokens


@dataclass(frozen=True)
class _Words:
    """What decoding asks of a vocabulary, from a tokenizer."""

    tokens: Sequence[str]
    pad_id: int
    sos_id: int
    eos_id: int
    more_ends: tuple[int, ...] = ()


@dataclass(frozen=True)
class _TheirConstraints:
    """The constraints of ``generate``: the words whose score its processors set to -inf."""

    words: Words
    scores: Sequence[Tensor]
    num_beams: int

    def why_forbidden(self, token: int, step: int, sentence: int) -> str | None:
        """Return why a word could not be written, if it could not."""
        row = self.scores[step][sentence * self.num_beams, token]
        return None if row > -torch.inf else "generate was given a constraint against it here"


def from_generate(
    output: Any,
    vocabulary: Any,
    *,
    num_beams: int,
    length_penalty: float = 1.0,
    source_ids: Tensor | None = None,
) -> list[DecodeTrace]:
    """Return the search behind the result of ``generate``, one DecodeTrace per sentence.

    Ask for it with ``model.generate(ids, num_beams=4, return_dict_in_generate=True,
    output_scores=True)``, and ``output_attentions=True`` where attention is wanted (of a model
    with ``attn_implementation="eager"``); greedy search has num_beams=1. Each step is ranked again
    from the scores that it returned, and held to the beam indices of the texts that it found. Their
    scores divide by length ** length_penalty; their texts may end at the maximum length without
    ``<eos>``.

    >>> import torch
    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> from viz_transformer.decoding import from_generate
    >>> from viz_transformer.vocabulary import Vocabulary
    >>> words = Vocabulary(["the", "cat"], ["el", "gato"])
    >>> ids = {"bos_token_id": words.sos_id, "eos_token_id": words.eos_id, "pad_token_id": words.pad_id}
    >>> model = GPT2LMHeadModel(GPT2Config(vocab_size=len(words), n_embd=8, n_layer=1, n_head=2, **ids))
    >>> asked = {"num_beams": 2, "max_new_tokens": 3, "return_dict_in_generate": True, "output_scores": True}
    >>> output = model.generate(torch.tensor([[words.sos_id]]), **asked)
    >>> (found,) = from_generate(output, words, num_beams=2)
    >>> len(found.hypotheses)
    1

    Args:
        output: what ``generate`` returned.
        vocabulary: the tokenizer, or anything with ``tokens``, ``pad_id``, ``sos_id``, ``eos_id``.
        num_beams: as given to ``generate``; 1 for greedy search.
        length_penalty: as given to ``generate``.
        source_ids: what an encoder read [sentence, source], for its tokens; None leaves them out.

    Returns:
        One DecodeTrace per sentence, recorded as far as the longest of its returned texts.

    Raises:
        UserError: if scores or beam indices are missing, or do not give the texts that were
            found: with ``do_sample`` or groups of beams there is no one ranking.
    """
    needed = ("sequences", "scores", *(("sequences_scores", "beam_indices") if num_beams != 1 else ()))
    for name in needed:
        if getattr(output, name, None) is None:
            raise UserError(
                f"the output has no {name}; call generate with return_dict_in_generate=True and "
                "output_scores=True, and give the same num_beams here"
            )
    n_rows = len(output.scores[0])
    fits = is_whole(num_beams) and num_beams >= 1 and n_rows % num_beams == 0
    if not fits or len(output.sequences) % (n_rows // num_beams):
        raise UserError(
            f"num_beams={num_beams!r} does not fit {n_rows} rows of scores and "
            f"{len(output.sequences)} texts; give the num_beams that generate was given"
        )
    n_words = output.scores[0].shape[1]
    words = vocabulary if hasattr(vocabulary, "eos_id") else words_of(vocabulary, n_words)
    if num_beams == 1:
        output = _as_beam_of_one(output, words, length_penalty)
    n_sentences = n_rows // num_beams
    n_texts = len(output.sequences) // n_sentences
    constraints = _TheirConstraints(words, output.scores, num_beams)
    return [
        _Replay(
            output,
            constraints,
            slice(place * n_texts, (place + 1) * n_texts),
            place,
            lambda length: power_norm(length, length_penalty),
        ).trace(() if source_ids is None else source_ids[place].tolist())
        for place in range(n_sentences)
    ]


class _Replay:
    """The search over one sentence, ranked again from the scores."""

    def __init__(
        self,
        output: Any,
        constraints: _TheirConstraints,
        texts: slice,
        place: int,
        norm: Callable[[int], float],
    ) -> None:
        self._output, self._constraints, self._place, self._norm = output, constraints, place, norm
        self._width, self._texts = constraints.num_beams, texts
        self._parents = output.beam_indices[texts].tolist()  # [text, step], −1 after its end
        # Where fewer texts were found than asked for, the last are empty.
        self._parents = [rows for rows in self._parents if rows[0] >= 0]
        self._lengths = [sum(row >= 0 for row in rows) for rows in self._parents]
        self._n_prompt = output.sequences.shape[1] - output.beam_indices.shape[1]
        self._ranked: list[Ranked] = []

    def trace(self, source: Sequence[int]) -> DecodeTrace:
        """Return the sentence's search."""
        words, recorder = self._constraints.words, Recorder(self._constraints, self._width, self._norm)
        first = self._place * self._width
        before = torch.zeros(1, 1)  # [sentence, hypothesis]: at first there is one
        for step in range(max(self._lengths)):
            n_live = before.shape[1]
            scores = self._output.scores[step][first : first + n_live].cpu()  # [hypothesis, vocab]
            recorder.on_logits(scores, before, [self._place], self._attention(step, n_live))
            ranked = self._rank(scores, before, step)
            recorder.on_ranked(ranked)
            self._ranked.append(ranked)
            before = ranked.kept_sums
        hypotheses = [self._hypothesis(text) for text in range(len(self._parents))]
        tokens = words.tokens
        prompt = self._output.sequences[self._texts][0, : self._n_prompt].tolist()
        return DecodeTrace(
            source_tokens=tuple(tokens[i] for i in source),
            hypotheses=tuple(hypotheses),
            steps=recorder.steps(self._place, self._place, len(source)),
            prompt_tokens=tuple(tokens[i] for i in prompt),
            end_token=tokens[words.eos_id],
            prompt_attention=self._prompt_attention(),
        )

    def _rank(self, scores: Tensor, before: Tensor, step: int) -> Ranked:
        """Rank the continuations of a step as generate did."""
        n_words = scores.shape[1]
        sums = (before.T + scores).flatten()  # [hypothesis · vocab]
        end_ids = torch.tensor([*ends(self._constraints.words)])
        best = sums.topk(min(max(2, 1 + len(end_ids)) * self._width, len(sums)))
        parents, tokens = best.indices // n_words, best.indices % n_words
        ended = torch.isin(tokens, end_ids)
        kept = ended.to(torch.int8).argsort(stable=True)[: self._width]
        kept_sums = best.values[kept].masked_fill(ended[kept], -torch.inf)
        ranked = (best.values, parents, tokens, kept, kept_sums)
        return Ranked(*(each[None] for each in ranked))

    def _hypothesis(self, text: int) -> Hypothesis:
        """Find one of the texts among the candidates of the steps."""
        length, row = self._lengths[text], self._texts.start + text
        ids = self._output.sequences[row, self._n_prompt : self._n_prompt + length].tolist()
        path = []
        for step, (token, parent) in enumerate(zip(ids, self._parents[text], strict=False)):
            ranked = self._ranked[step]
            same = (ranked.tokens[0] == token) & (ranked.parents[0] == parent - self._place * self._width)
            if not same.any():
                raise UserError(
                    f"step {step} of text {row} is not among the best continuations of that step; "
                    "only a plain beam search can be replayed: no do_sample, no groups, and the "
                    "num_beams that generate was given"
                )
            path.append(int(same.nonzero()[0]))
        words = self._constraints.words
        log_prob = self._ranked[length - 1].sums[0, path[-1]].item()
        if ids and ids[-1] in ends(words):
            ids.pop()
        return Hypothesis(
            ids=tuple(ids),
            tokens=tuple(words.tokens[i] for i in ids),
            log_prob=log_prob,
            score=self._output.sequences_scores[row].item(),
            path=tuple(path),
        )

    def _attention(self, step: int, n_live: int) -> tuple[Tensor, Tensor | None] | None:
        """Return what each hypothesis attended to [hypothesis, layer, head, key], if that was returned."""
        layers = getattr(self._output, "decoder_attentions", None)
        if layers is None:
            layers = getattr(self._output, "attentions", None)
        if layers is None or layers[step] is None or layers[step][0] is None:
            return None
        first = self._place * self._width
        rows = slice(first, first + n_live)
        own = torch.stack([layer[rows, :, -1] for layer in layers[step]], dim=1).cpu()
        cross = getattr(self._output, "cross_attentions", None)
        if cross is None:
            return own, None
        return own, torch.stack([layer[rows, :, -1] for layer in cross[step]], dim=1).cpu()

    def _prompt_attention(self) -> Any:
        """Return what all but the last token of a prompt attended to, [layer, head, query, key]."""
        layers = getattr(self._output, "attentions", None)
        if layers is None or self._n_prompt < 2 or layers[0][0] is None:
            return None
        row = self._place * self._width
        return torch.stack([layer[row, :, :-1] for layer in layers[0]]).cpu().numpy()


@dataclass(frozen=True)
class _BeamOfOne:
    """What beam search of width 1 would have returned where ``generate`` searched greedily."""

    sequences: Tensor
    sequences_scores: Tensor
    scores: Sequence[Tensor]
    beam_indices: Tensor
    attentions: Any
    decoder_attentions: Any
    cross_attentions: Any


def _as_beam_of_one(output: Any, words: Words, length_penalty: float) -> _BeamOfOne:
    """Return the output of greedy search as that of a beam search: log-probabilities, and no choice."""
    scores = [each.float().log_softmax(-1) for each in output.scores]
    written = output.sequences[:, output.sequences.shape[1] - len(scores) :]  # [sentence, step]
    after = torch.isin(written, torch.tensor([*ends(words)], device=written.device)).cumsum(1).roll(1, 1)
    after[:, 0] = 0
    rows = torch.arange(len(written), device=written.device)[:, None].expand_as(written)
    each = torch.stack([step.gather(1, written[:, [i]])[:, 0] for i, step in enumerate(scores)], dim=1)
    lengths = (after == 0).sum(1)
    norms = torch.tensor([power_norm(n, length_penalty) for n in lengths.tolist()], device=each.device)
    return _BeamOfOne(
        sequences=output.sequences,
        sequences_scores=each.masked_fill(after > 0, 0.0).sum(1) / norms,
        scores=scores,
        beam_indices=rows.masked_fill(after > 0, -1),
        **{
            name: getattr(output, name, None)
            for name in ("attentions", "decoder_attentions", "cross_attentions")
        },
    )


class Drawing:
    """What lets ``generate`` draw as `sample` does: give it as ``logits_processor=[drawing]``.

    ``generate`` must search greedily: each time, this leaves it nothing to write but the word drawn,
    among those that the processors before it allow.

    Source: as of `sample`.
    """

    def __init__(
        self, words: Words, temperature: float, top_k: int | None, top_p: float | None, seed: int
    ) -> None:
        """Begin to draw.

        Args:
            words: the vocabulary, as `words_of` returns it.
            temperature: as in `sample`.
            top_k: as in `sample`.
            top_p: as in `sample`.
            seed: as in `sample`.

        Raises:
            UserError: if a number is out of range.
        """
        check_filters(temperature, top_k, top_p)
        whole_number("seed", seed, SEED, least=0)
        self._scores: list[Tensor] = []
        allowed = _TheirConstraints(words, self._scores, 1)
        self._draws = Draws(allowed, [0], temperature, top_k, top_p, [seed])

    def __call__(self, _: Tensor, scores: Tensor) -> Tensor:
        """Return scores [1, vocab] in which only the word drawn is possible."""
        on_processor = scores.float().cpu()
        self._scores.append(on_processor)
        (drawn,) = self._draws.draw(len(self._scores) - 1, on_processor, on_processor)
        only = torch.full_like(scores, -torch.inf)
        only[:, drawn] = 0.0
        return only

    def trace(self, source_tokens: tuple[str, ...], prompt_tokens: tuple[str, ...]) -> DecodeTrace:
        """Return what was drawn."""
        return self._draws.trace(0, source_tokens, prompt_tokens)


def words_of(tokenizer: Any, n_words: int, end_ids: Sequence[int] | None = None) -> Words:
    """Read a Hugging Face tokenizer, for a model that gives scores to `n_words` words.

    Args:
        tokenizer: of the model.
        n_words: how many scores the model gives.
        end_ids: the ids that end a text; by default the tokenizer's own.

    Raises:
        UserError: if it is none.
    """
    try:
        named = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
        end = tokenizer.eos_token_id
    except (AttributeError, TypeError) as error:
        raise UserError(
            f"{tokenizer!r:.60} is neither a tokenizer nor a vocabulary; give the model's tokenizer"
        ) from error
    # A vocabulary may be padded to a round size with ids that no token has.
    named += [None] * (n_words - len(named))
    tokens = shown_tokens(tokenizer, [f"<{i}>" if token is None else token for i, token in enumerate(named)])
    if end_ids is None:
        end_ids = [] if end is None else [end]
    end_ids = [each for each in end_ids if each < n_words]  # a configuration may name an id of other words
    if not end_ids:  # a text then ends at its maximum length alone
        end_ids, tokens = [len(tokens)], (*tokens, "<end>")
    pad = end_ids[0] if tokenizer.pad_token_id is None else tokenizer.pad_token_id
    start = tokenizer.bos_token_id
    return _Words(tokens, pad, pad if start is None else start, end_ids[0], tuple(end_ids[1:]))
