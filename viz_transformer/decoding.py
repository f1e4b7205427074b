"""Decoding: from a model's probabilities to a translation, by greedy or by beam search.

Both work on a batch of sentences at once and read each word once, through the model's key/value
cache. ``<pad>`` and ``<sos>`` are never emitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor

from viz_transformer.errors import UserError
from viz_transformer.model import Transformer
from viz_transformer.model.cache import DecoderCache
from viz_transformer.model.interventions import Interventions
from viz_transformer.trace import Candidate, DecodeStep, DecodeTrace, Hypothesis
from viz_transformer.vocabulary import Vocabulary


def length_norm(length: int, length_penalty: float) -> float:
    """Return what a log-probability is divided by: ((5 + length) / 6) ** length_penalty.

    Source: Wu et al. 2016, section 7, equation 14; `length` counts ``<eos>``.
    """
    return ((5 + length) / 6) ** length_penalty


@torch.no_grad()
def greedy(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    vocabulary: Vocabulary,
    *,
    max_length: int | None = None,
    interventions: Interventions | None = None,
) -> list[list[int]]:
    """Translate a batch by taking the most probable word each time.

    Args:
        model: evaluated without dropout; its mode is put back.
        sources: ids of each source, ``<eos>`` at its end.
        vocabulary: names the special tokens.
        max_length: most words of a translation; by default what `default_max_length` says.
        interventions: what to switch off or replace while it translates; None changes nothing.

    Returns:
        The ids of each translation, without ``<sos>`` and ``<eos>``.

    Raises:
        UserError: as `beam_search`.
    """
    limit = _checked_max_length(model, sources, max_length)
    with _evaluating(model):
        cache = _start(model, sources, vocabulary, interventions)
        ids = torch.full((len(sources),), vocabulary.sos_id)  # [batch]
        written: list[Tensor] = []
        finished = torch.zeros(len(sources), dtype=torch.bool)
        while len(written) < limit and not finished.all():
            logits, cache = model.decode_step(ids, cache, interventions)  # [batch, vocab]
            ids = _without_specials(logits, vocabulary).argmax(-1)  # [batch]
            finished |= ids == vocabulary.eos_id
            written.append(ids)
    rows = torch.stack(written, 1).tolist()  # [batch, step]
    return [
        row[: row.index(vocabulary.eos_id)] if vocabulary.eos_id in row else row for row in rows
    ]


@torch.no_grad()
def beam_search(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    vocabulary: Vocabulary,
    *,
    beam_width: int = 4,
    length_penalty: float = 0.6,
    max_length: int | None = None,
    interventions: Interventions | None = None,
) -> list[DecodeTrace]:
    """Translate a batch, following the `beam_width` most probable beginnings of each sentence.

    A hypothesis that emits ``<eos>`` is finished: it is kept once and keeps its place in the beam,
    so the search ends as soon as `beam_width` hypotheses are finished, and width 1 is greedy
    search. At `max_length` words only ``<eos>`` may follow. The finished ones are ranked by
    log-probability divided by `length_norm`.

    Args:
        model: evaluated without dropout; its mode is put back.
        sources: ids of each source, ``<eos>`` at its end.
        vocabulary: names the tokens.
        beam_width: places in the beam, at least 1.
        length_penalty: 0 favours short translations; larger values favour longer ones.
        max_length: most words of a translation; by default what `default_max_length` says.
        interventions: what to switch off or replace while it translates; None changes nothing.

    Returns:
        One DecodeTrace per source, its hypotheses best first.

    Raises:
        UserError: if there is no source, a number is out of range, or the interventions do not
            fit the model.

    Source: Wu et al. 2016, section 7.
    """
    if not isinstance(beam_width, int) or isinstance(beam_width, bool) or beam_width < 1:
        raise UserError(f"beam_width={beam_width!r} must be a whole number of at least 1")
    if not isinstance(length_penalty, int | float) or not 0 <= length_penalty < float("inf"):
        raise UserError(f"length_penalty={length_penalty!r} must be a number of at least 0")
    limit = _checked_max_length(model, sources, max_length)
    beams = [_Beam(beam_width, length_penalty, vocabulary) for _ in sources]
    with _evaluating(model):
        cache = _start(model, sources, vocabulary, interventions)
        for step in range(limit + 1):
            live = [path for beam in beams for path in beam.live]
            if not live:
                break
            ids = torch.tensor([path.ids[-1] for path in live])  # [row]
            logits, cache = model.decode_step(ids, cache, interventions)  # [row, vocab]
            log_probs = _without_specials(logits.log_softmax(-1), vocabulary)
            if step == limit:
                log_probs = _only(log_probs, vocabulary.eos_id)
            log_probs += torch.tensor([[path.log_prob] for path in live])  # whole hypotheses
            rows: list[int] = []
            first = 0
            for beam in beams:
                last = first + len(beam.live)
                if beam.live:
                    rows += [first + row for row in beam.advance(log_probs[first:last])]
                first = last
            cache = cache.select(torch.tensor(rows, dtype=torch.long))
    return [
        beam.trace(vocabulary.tokens_of(source))
        for beam, source in zip(beams, sources, strict=True)
    ]


@dataclass(frozen=True)
class _Path:
    """A hypothesis still being written: its ids from ``<sos>`` on, and its log-probability."""

    ids: tuple[int, ...]
    log_prob: float


@dataclass
class _Beam:
    """The search over one sentence."""

    beam_width: int
    length_penalty: float
    vocabulary: Vocabulary
    live: list[_Path] = field(default_factory=list)
    finished: list[Hypothesis] = field(default_factory=list)
    steps: list[DecodeStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.live = [_Path((self.vocabulary.sos_id,), 0.0)]

    def advance(self, log_probs: Tensor) -> list[int]:
        """Keep the best continuations [live, vocab]; return the row that each kept one extends."""
        places = self.beam_width - len(self.finished)
        n_tokens = log_probs.shape[1]
        # Twice the width shows, beside what is kept, what narrowly was not.
        best = log_probs.flatten().topk(min(2 * self.beam_width, log_probs.numel()))
        parents, kept, candidates = [], [], []
        for rank, (log_prob, index) in enumerate(
            zip(best.values.tolist(), best.indices.tolist(), strict=True), start=1
        ):
            if log_prob == -float("inf"):
                break
            parent, token = divmod(index, n_tokens)
            path = _Path((*self.live[parent].ids, token), log_prob)
            score = log_prob / length_norm(len(path.ids) - 1, self.length_penalty)
            if rank > places:
                status, reason = "pruned", f"rank {rank}, and {places} places were open"
            elif token == self.vocabulary.eos_id:
                status, reason = "finished", f"rank {rank} of {places} places, and it ends here"
                self._finish(path, score)
            else:
                status, reason = "kept", f"rank {rank} of {places} places"
                parents.append(parent)
                kept.append(path)
            candidates.append(
                Candidate(
                    parent=parent,
                    token=self.vocabulary.tokens[token],
                    log_prob=log_prob,
                    score=score,
                    status=status,
                    reason=reason,
                )
            )
        self.live = kept
        self.steps.append(DecodeStep(candidates=tuple(candidates)))
        return parents

    def _finish(self, path: _Path, score: float) -> None:
        ids = path.ids[1:-1]  # without <sos> and <eos>
        tokens = self.vocabulary.tokens_of(ids)
        self.finished.append(
            Hypothesis(ids=ids, tokens=tokens, log_prob=path.log_prob, score=score)
        )

    def trace(self, source_tokens: tuple[str, ...]) -> DecodeTrace:
        """Return the search as a trace, its finished hypotheses ranked by score."""
        return DecodeTrace(
            source_tokens=source_tokens,
            hypotheses=tuple(sorted(self.finished, key=lambda h: h.score, reverse=True)),
            steps=tuple(self.steps),
        )


def default_max_length(model: Transformer, sources: Sequence[Sequence[int]]) -> int:
    """Return twice the longest source and ten words more, or what the model's positions reach."""
    return min(2 * max(map(len, sources)) + 10, model.config.max_length - 1)


def _checked_max_length(
    model: Transformer, sources: Sequence[Sequence[int]], max_length: int | None
) -> int:
    if not sources:
        raise UserError("there is no sentence to translate; give at least one")
    most = model.config.max_length - 1  # <sos> takes a position
    if max_length is None:
        return default_max_length(model, sources)
    if (
        not isinstance(max_length, int)
        or isinstance(max_length, bool)
        or not 1 <= max_length <= most
    ):
        raise UserError(f"max_length={max_length!r} must be a whole number from 1 to {most}")
    return max_length


def _start(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    vocabulary: Vocabulary,
    interventions: Interventions | None,
) -> DecoderCache:
    """Encode the sources and return the decoder's cache."""
    rows = [torch.tensor(list(source), dtype=torch.long) for source in sources]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=vocabulary.pad_id)
    memory = model.encode(ids, interventions)
    return model.start_decoding(memory, model.padding_mask(ids, interventions))


def _without_specials(scores: Tensor, vocabulary: Vocabulary) -> Tensor:
    scores = scores.clone()  # [row, vocab]
    scores[:, [vocabulary.pad_id, vocabulary.sos_id]] = -float("inf")
    return scores


def _only(scores: Tensor, token: int) -> Tensor:
    masked = torch.full_like(scores, -float("inf"))  # [row, vocab]
    masked[:, token] = scores[:, token]
    return masked


@contextmanager
def _evaluating(model: Transformer) -> Iterator[None]:
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
