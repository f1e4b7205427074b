"""How a translation was found: the hypotheses of a search, step by step."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One finished translation.

    Attributes:
        ids: token ids, without ``<sos>`` and ``<eos>``.
        tokens: the same as strings.
        log_prob: natural log-probability of the tokens and the ``<eos>`` after them, in nats.
        score: `log_prob` divided by the length penalty (Wu et al. 2016, section 7).
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    log_prob: float
    score: float


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One continuation that beam search considered at a step.

    Attributes:
        parent: index, among the previous step's kept candidates, of the one that it continues.
        token: the token added.
        log_prob: natural log-probability of the whole hypothesis so far, in nats.
        score: `log_prob` divided by the length penalty.
        status: ``"kept"``, ``"finished"``, ``"pruned"`` or ``"forbidden"``.
        reason: why, in words.
    """

    parent: int
    token: str
    log_prob: float
    score: float
    status: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class DecodeStep:
    """One step of beam search: its candidates, best first."""

    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, kw_only=True)
class DecodeTrace:
    """How a translation was found: finished hypotheses, best first, and each step's candidates."""

    source_tokens: tuple[str, ...]
    hypotheses: tuple[Hypothesis, ...]
    steps: tuple[DecodeStep, ...]
