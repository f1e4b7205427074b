"""What a beam search considered, step by step, and what became of each candidate, in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from torch import Tensor

from viz_transformer.decoding.rules import Rules
from viz_transformer.decoding.steps import Looks
from viz_transformer.trace import Candidate, DecodeStep, Probable, running_text

_N_PROBABLE = 8  # how much of each distribution's top is kept


class _Found(NamedTuple):
    """A candidate: the whole hypothesis' log-probability, the hypothesis it continues, its word."""

    log_prob: float
    parent: int
    token: int


@dataclass(frozen=True)
class Ranked:
    """What one step of a batch came to.

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
class _Seen:
    """What went before: each hypothesis and the top of its distribution, [sentence, …]."""

    rows: dict[int, int]  # sentence → row
    before: Tensor
    log_probs: Tensor
    ids: Tensor
    looks: Looks | None


class Recorder:
    """Keeps the tensors of each step, and tells them in words when the search is over."""

    def __init__(self, rules: Rules, beam_width: int, norm: Callable[[int], float]) -> None:
        """Record a search.

        Args:
            rules: what may be written.
            beam_width: places in the beam.
            norm: what a log-probability is divided by, by length.
        """
        self._rules, self._width, self._norm = rules, beam_width, norm
        self._seen: list[_Seen] = []
        self._ranked: list[Ranked] = []

    def saw(self, log_probs: Tensor, before: Tensor, active: list[int], looks: Looks | None) -> None:
        """Keep the top of each distribution [row, vocab], before anything is barred."""
        values, ids = log_probs.topk(min(_N_PROBABLE, log_probs.shape[1]))
        rows = {place: row for row, place in enumerate(active)}
        shape = (*before.shape, -1)
        self._seen.append(_Seen(rows, before, values.view(shape), ids.view(shape), looks))

    def came_to(self, ranked: Ranked) -> None:
        """Keep the candidates of the step."""
        self._ranked.append(ranked)

    def steps(self, place: int, number: int) -> tuple[DecodeStep, ...]:
        """Return the steps of the sentence at a place of the batch; `number` names its prefix."""
        texts: list[tuple[int, ...]] = [()]
        steps = []
        for step, (seen, ranked) in enumerate(zip(self._seen, self._ranked, strict=True)):
            if place not in seen.rows:
                break
            row = seen.rows[place]
            found = [
                _Found(*each)
                for each in zip(
                    *(part[row].tolist() for part in (ranked.sums, ranked.parents, ranked.tokens)),
                    strict=True,
                )
                if each[0] > -float("inf")
            ]
            alive = ranked.kept_sums[row].isfinite()
            kept = ranked.kept[row][alive].tolist()
            told = self._told(found, kept, seen, row, step, texts)
            told += self._forbidden(found, seen, row, step, number, len(texts))
            steps.append(
                DecodeStep(
                    candidates=tuple(told),
                    probable=self._probable(seen, row, len(texts)),
                    decoder_attention=_look(seen, row, len(texts), 0),
                    cross_attention=_look(seen, row, len(texts), 1),
                )
            )
            texts = [(*texts[found[rank].parent], found[rank].token) for rank in kept]
        return tuple(steps)

    def _told(
        self,
        found: list[_Found],
        kept: list[int],
        seen: _Seen,
        row: int,
        step: int,
        texts: list[tuple[int, ...]],
    ) -> list[Candidate]:
        """What became of each candidate."""
        words, width = self._rules.words, self._width
        before = seen.before[row].tolist()
        told = []
        for rank, one in enumerate(found):
            beaten_by = margin = None
            ends = one.token == words.eos_id
            if rank in kept:
                status, reason = "kept", f"place {kept.index(rank) + 1} of {width} in the beam"
            elif ends and rank < width:
                status, reason = "finished", f"it ends here, at rank {rank + 1} of all candidates"
            else:
                status = "pruned"
                beaten_by = width - 1 if ends else kept[-1]
                winner = found[beaten_by]
                margin = winner.log_prob - one.log_prob
                ids = (*texts[winner.parent], winner.token)
                text = running_text([words.tokens[i] for i in ids])
                last = "the last that may end here" if ends else "the last that is kept"
                reason = f"{margin:.2f} nats behind {text!r}, {last}"
            told.append(
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
        return told

    def _forbidden(
        self, found: list[_Found], seen: _Seen, row: int, step: int, number: int, n_live: int
    ) -> list[Candidate]:
        """The words that would have been among the candidates, but may not be written."""
        words = self._rules.words
        allowed = {(one.parent, one.token) for one in found}
        least = found[-1].log_prob if len(found) >= self._width else -float("inf")
        told = []
        for parent in range(n_live):
            total = seen.before[row, parent].item()
            pairs = zip(seen.log_probs[row, parent].tolist(), seen.ids[row, parent].tolist(), strict=True)
            for log_prob, token in pairs:
                if (parent, token) in allowed or total + log_prob <= least:
                    continue
                why = self._rules.why_barred(token, step, number)
                if why is None:
                    continue
                told.append(
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
        return told

    def _probable(self, seen: _Seen, row: int, n_live: int) -> tuple[tuple[Probable, ...], ...]:
        tokens = self._rules.words.tokens
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


def _look(seen: _Seen, row: int, n_live: int, which: int) -> np.ndarray | None:
    """What each hypothesis of a sentence looked at, [hypothesis, layer, head, key]."""
    if seen.looks is None or seen.looks[which] is None:
        return None
    width = seen.before.shape[1]
    return seen.looks[which][row * width : row * width + n_live].numpy()
