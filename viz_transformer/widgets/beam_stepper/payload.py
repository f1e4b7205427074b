"""The beam stepper's payload: a search as plain values and bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, DecodeStep, DecodeTrace, FloatArray, Hypothesis
from viz_transformer.widgets.base.view import sendable


@dataclass(frozen=True)
class SearchResult:
    """A search, and the text of greedy search to compare it with, or None if that is not known."""

    search: DecodeTrace
    greedy: Hypothesis | None = None

    @property
    def sampled(self) -> bool:
        """Whether the text was sampled."""
        return is_sampled(self.search)


def check_search(search: object, name: str = "search") -> DecodeTrace:
    """Return a search that has steps and an end.

    Raises:
        UserError: if it is no DecodeTrace, or has no recorded step or no finished text.
    """
    if not isinstance(search, DecodeTrace):
        raise UserError(
            f"{name} is a {type(search).__name__}; give a DecodeTrace, as translator.decode(text) returns it"
        )
    if not search.steps or not search.hypotheses:
        raise UserError(
            f"{name} has {len(search.steps)} steps and {len(search.hypotheses)} finished texts; "
            "decode with beam_search(..., steps=True)"
        )
    return search


def is_sampled(search: DecodeTrace) -> bool:
    """Whether the text was sampled, and not searched for."""
    return search.steps[0].candidates[0].share is not None


def widest_step(search: DecodeTrace) -> int:
    """Return the most hypotheses that one step kept."""
    return max((sum(one.status == "kept" for one in step.candidates) for step in search.steps), default=1)


def candidate_texts(search: DecodeTrace) -> list[list[tuple[str, ...]]]:
    """Return the tokens of each candidate of each step, its own token last."""
    texts: list[list[tuple[str, ...]]] = []
    kept: list[tuple[str, ...]] = [()]
    for step in search.steps:
        extended = [(*kept[one.parent], one.token) for one in step.candidates]
        texts.append(extended)
        kept = [text for text, one in zip(extended, step.candidates, strict=True) if one.status == "kept"]
    return texts


def recorded_attention(search: DecodeTrace) -> tuple[str, list[FloatArray]] | None:
    """Return the attention that every step has recorded, and its kind, or None.

    The kind is ``"cross"``, or of a decoder alone ``"decoder"``; each step's weights are
    [hypothesis, layer, head, key].
    """
    for kind in (KINDS["cross"], KINDS["decoder"]):
        steps = [getattr(step, kind.field) for step in search.steps]
        if all(weights is not None for weights in steps):
            return kind.name, steps
    return None


def search_payload(result: SearchResult) -> dict[str, Any]:
    """Return what the page reads of a search: plain values, and the attention as bytes."""
    search, greedy = result.search, result.greedy
    return {
        "source": sendable(search.source_tokens),
        "prompt": sendable(search.prompt_tokens),
        "end": sendable([search.end_token])[0],
        "hypotheses": [_hypothesis_payload(each) for each in search.hypotheses],
        "greedy": None if greedy is None else _hypothesis_payload(greedy),
        "steps": [_step_payload(step) for step in search.steps],
        "attention": _attention_payload(search),
    }


def payload_bytes(search: DecodeTrace) -> int:
    """Return about how many bytes the payload of a search takes in a page."""
    attention = recorded_attention(search)
    weights = 0 if attention is None else sum(step.size for step in attention[1])
    return 6 * weights + 260 * sum(len(step.candidates) for step in search.steps)


def _hypothesis_payload(each: Hypothesis) -> dict[str, Any]:
    return {
        "tokens": sendable(each.tokens),
        "log_prob": _finite(each.log_prob),
        "score": _finite(each.score),
        "path": list(each.path),
    }


def _step_payload(step: DecodeStep) -> list[dict[str, Any]]:
    return [
        {
            "parent": one.parent,
            "token": sendable([one.token])[0],
            "log_prob": _finite(one.log_prob),
            "score": _finite(one.score),
            "token_log_prob": _finite(one.token_log_prob),
            "status": one.status,
            "reason": sendable([one.reason])[0],
            "share": one.share,
            "beaten_by": one.beaten_by,
        }
        for one in step.candidates
    ]


def _attention_payload(search: DecodeTrace) -> dict[str, Any] | None:
    """All steps' attention in one row of bytes; each step has its counts of hypotheses and keys."""
    attention = recorded_attention(search)
    if attention is None:
        return None
    kind, steps = attention
    return {
        "kind": kind,
        "layers": steps[0].shape[1],
        "heads": steps[0].shape[2],
        "shapes": [[step.shape[0], step.shape[3]] for step in steps],
        "dtype": "float32",
        "weights": b"".join(step.astype("<f4").tobytes() for step in steps),
    }


def _finite(value: float) -> float | None:
    """A number that JSON has: the log-probability −∞ is None."""
    return float(value) if math.isfinite(value) else None
