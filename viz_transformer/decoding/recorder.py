"""The recorder of a beam search: each step's candidates, and what became of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from torch import Tensor

from viz_transformer.decoding.constraints import Words, ends
from viz_transformer.decoding.steps import StepAttention
from viz_transformer.trace import Candidate, DecodeStep, Probable, running_text

_N_PROBABLE = 8  # how much of each distribution's top is kept


class Forbidding(Protocol):
    """What a recorder asks of `Constraints`: the vocabulary, and why a word was forbidden."""

    @property
    def words(self) -> Words:
        """The vocabulary."""

    def why_forbidden(self, token: int, step: int, sentence: int) -> str | None:
        """Return why a word may not be written at a step; None if it may."""


class _Continuation(NamedTuple):
    """A candidate: the whole hypothesis' log-probability, the hypothesis it continues, its word."""

    log_prob: float
    parent: int
    token: int


@dataclass(frozen=True)
class Ranked:
    """The candidates of one step of a batch, ranked.

    Attributes:
        sums: log-probabilities of the candidates, best first, [sentence, candidate]; -inf where
            there is none.
        parents: which hypothesis each continues.
        tokens: the word that it adds.
        kept: which candidates go on, in their order, [sentence, hypothesis].
        kept_sums: their log-probabilities; -inf where there is none.
    """

    sums: Tensor
    parents: Tensor
    tokens: Tensor
    kept: Tensor
    kept_sums: Tensor


@dataclass(frozen=True)
class _Distributions:
    """One step's hypotheses and the top of their distributions, [sentence, hypothesis, …]."""

    rows: dict[int, int]  # sentence → row
    before: Tensor  # log-probability of each hypothesis
    log_probs: Tensor
    ids: Tensor
    attention: StepAttention | None


class Recorder:
    """Keeps the tensors of each step, and turns them into a trace when the search is over."""

    def __init__(self, constraints: Forbidding, beam_width: int, norm: Callable[[int], float]) -> None:
        """Record a search.

        Args:
            constraints: what may be written.
            beam_width: places in the beam.
            norm: what a log-probability is divided by, by length.
        """
        self._constraints, self._width, self._norm = constraints, beam_width, norm
        self._distributions: list[_Distributions] = []
        self._ranked: list[Ranked] = []

    def on_logits(
        self,
        log_probs: Tensor,
        before: Tensor,
        active: list[int],
        attention: StepAttention | None,
    ) -> None:
        """Keep the top of each distribution [row, vocab], before anything is forbidden."""
        values, ids = log_probs.topk(min(_N_PROBABLE, log_probs.shape[1]))
        rows = {place: row for row, place in enumerate(active)}
        shape = (*before.shape, -1)
        self._distributions.append(
            _Distributions(rows, before, values.view(shape), ids.view(shape), attention)
        )

    def on_ranked(self, ranked: Ranked) -> None:
        """Keep the candidates of the step."""
        self._ranked.append(ranked)

    def steps(self, place: int, number: int, n_source: int) -> tuple[DecodeStep, ...]:
        """Return the steps of the sentence at a place of the batch.

        Args:
            place: of the sentence.
            number: names its prefix.
            n_source: how many tokens it has; what pads it to the longest of the batch is left out.
        """
        texts: list[tuple[int, ...]] = [()]
        steps = []
        for step, (seen, ranked) in enumerate(zip(self._distributions, self._ranked, strict=True)):
            if place not in seen.rows:
                break
            row = seen.rows[place]
            found = [
                _Continuation(*each)
                for each in zip(
                    *(part[row].tolist() for part in (ranked.sums, ranked.parents, ranked.tokens)),
                    strict=True,
                )
                if each[0] > -float("inf")
            ]
            cross = _attention_of(seen, row, len(texts), 1)
            alive = ranked.kept_sums[row].isfinite()
            kept = ranked.kept[row][alive].tolist()
            candidates = self._candidates(found, kept, seen, row, step, texts)
            candidates += self._forbidden(found, seen, row, step, number, len(texts))
            steps.append(
                DecodeStep(
                    candidates=tuple(candidates),
                    probable=self._probable(seen, row, len(texts)),
                    decoder_attention=_attention_of(seen, row, len(texts), 0),
                    cross_attention=None if cross is None else cross[..., :n_source],
                )
            )
            texts = [(*texts[found[rank].parent], found[rank].token) for rank in kept]
        return tuple(steps)

    def _candidates(
        self,
        found: list[_Continuation],
        kept: list[int],
        seen: _Distributions,
        row: int,
        step: int,
        texts: list[tuple[int, ...]],
    ) -> list[Candidate]:
        """Return each candidate with what became of it."""
        words, width = self._constraints.words, self._width
        before = seen.before[row].tolist()
        candidates = []
        for rank, one in enumerate(found):
            beaten_by = margin = None
            is_end = one.token in ends(words)
            if rank in kept:
                status, reason = "kept", f"rank {kept.index(rank) + 1} of {width} in the beam"
            elif is_end and rank < width:
                status, reason = "finished", f"it ends here, at rank {rank + 1} of all candidates"
            else:
                status = "pruned"
                beaten_by = width - 1 if is_end else kept[-1]
                winner = found[beaten_by]
                margin = winner.log_prob - one.log_prob
                ids = (*texts[winner.parent], winner.token)
                text = running_text([words.tokens[i] for i in ids])
                last = "the last one that may end here" if is_end else "the last one kept"
                reason = f"{margin:.2f} nats behind {text!r}, {last}"
            candidates.append(
                Candidate(
                    parent=one.parent,
                    token=words.tokens[one.token],
                    log_prob=one.log_prob,
                    score=one.log_prob / self._norm(step + 1),
                    status=status,
                    reason=reason,
                    token_log_prob=one.log_prob - before[one.parent],
                    beaten_by=beaten_by,
                    margin=margin,
                )
            )
        return candidates

    def _forbidden(
        self, found: list[_Continuation], seen: _Distributions, row: int, step: int, number: int, n_live: int
    ) -> list[Candidate]:
        """Return the words that would have been candidates, but may not be written."""
        words = self._constraints.words
        allowed = {(one.parent, one.token) for one in found}
        least = found[-1].log_prob if len(found) >= self._width else -float("inf")
        candidates = []
        for parent in range(n_live):
            total = seen.before[row, parent].item()
            pairs = zip(seen.log_probs[row, parent].tolist(), seen.ids[row, parent].tolist(), strict=True)
            for log_prob, token in pairs:
                if (parent, token) in allowed or total + log_prob <= least:
                    continue
                why = self._constraints.why_forbidden(token, step, number)
                if why is None:
                    continue
                candidates.append(
                    Candidate(
                        parent=parent,
                        token=words.tokens[token],
                        log_prob=total + log_prob,
                        score=(total + log_prob) / self._norm(step + 1),
                        status="forbidden",
                        reason=why,
                        token_log_prob=log_prob,
                    )
                )
        return candidates

    def _probable(self, seen: _Distributions, row: int, n_live: int) -> tuple[tuple[Probable, ...], ...]:
        tokens = self._constraints.words.tokens
        return tuple(
            tuple(
                Probable(token=tokens[token], log_prob=log_prob)
                for log_prob, token in zip(
                    seen.log_probs[row, hypothesis].tolist(),
                    seen.ids[row, hypothesis].tolist(),
                    strict=True,
                )
            )
            for hypothesis in range(n_live)
        )


def _attention_of(seen: _Distributions, row: int, n_live: int, which: int) -> np.ndarray | None:
    """Return what each hypothesis of a sentence attended to, [hypothesis, layer, head, key]."""
    weights = None if seen.attention is None else seen.attention[which]
    if weights is None:
        return None
    width = seen.before.shape[1]
    return weights[row * width : row * width + n_live].numpy()
