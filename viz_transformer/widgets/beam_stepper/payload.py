"""The beam stepper's payload: a search as plain values and bytes, and its description in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, DecodeStep, DecodeTrace, FloatArray, Hypothesis, running_text
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


def describe_search(result: SearchResult) -> str:
    """Say what was found and what greedy search would have written, and where the two part."""
    best, greedy = result.search.hypotheses[0], result.greedy
    method = "Sampling drew" if result.sampled else "Beam search found"
    measure = "log-probability" if result.sampled else "score"
    outcome = f"{method} {_quoted(running_text(best.tokens))} ({measure} {_decimals(best.score)})"
    if greedy is None:
        return f"{outcome}."
    if greedy.tokens == best.tokens:
        return f"{outcome}; greedy search writes the same."
    value = greedy.log_prob if result.sampled else greedy.score
    written = _quoted(running_text(greedy.tokens))
    instead = f"Greedy search would have written {written} ({measure} {_decimals(value)}). "
    end = result.search.end_token
    pairs = zip((*best.tokens, end), (*greedy.tokens, end), strict=False)
    for step, (own, other) in enumerate(pairs, start=1):
        if own != other:
            return (
                f"{instead}{outcome}. They part at step {step}: greedy search writes {_quoted(other)}, "
                f"and this text has {_quoted(own)}."
            )
    return f"{instead}{outcome}."  # one of them holds the end token as a word


def search_payload(result: SearchResult) -> dict[str, Any]:
    """Return what the page reads of a search: plain values, and the attention as bytes."""
    search, greedy = result.search, result.greedy
    return {
        "source": sendable(search.source_tokens),
        "prompt": sendable(search.prompt_tokens),
        "end": sendable([search.end_token])[0],
        "sampled": result.sampled,
        "hypotheses": [_hypothesis_payload(each) for each in search.hypotheses],
        "greedy": None if greedy is None else _hypothesis_payload(greedy),
        "steps": [_step_payload(step) for step in search.steps],
        "attention": _attention_payload(search),
        "says": sendable([describe_search(result)])[0],
    }


def payload_bytes(search: DecodeTrace) -> int:
    """Return about how many bytes the payload of a search takes in a page."""
    attention = recorded_attention(search)
    weights = 0 if attention is None else sum(step.size for step in attention[1])
    return 3 * weights + 260 * sum(len(step.candidates) for step in search.steps)


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
        "dtype": "float16",
        "weights": b"".join(step.astype("<f2").tobytes() for step in steps),
    }


def _finite(value: float) -> float | None:
    """A number that JSON has: the log-probability −∞ is None."""
    return float(value) if math.isfinite(value) else None


def _quoted(text: str) -> str:
    # Isolated, so that a right-to-left word leaves the sentence in its order.
    return f"“\u2068{text or '(nothing)'}\u2069”"


def _decimals(value: float) -> str:
    text = f"{abs(value):.3f}"
    return f"−{text}" if value < 0 and float(text) else text
