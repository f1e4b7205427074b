"""A search as a page reads it, and in words: beside greedy search, where the two part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, DecodeStep, DecodeTrace, FloatArray, Hypothesis, running_text
from viz_transformer.widgets.base.view import sendable

#: What a step's attention may be recorded of, the source first.


@dataclass(frozen=True)
class Found:
    """A search, and what greedy search writes in its place, or None if that is not known."""

    search: DecodeTrace
    greedy: Hypothesis | None = None

    @property
    def sampled(self) -> bool:
        """Whether the text was drawn."""
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
    """Whether the text was drawn, and not searched for."""
    return search.steps[0].candidates[0].share is not None


def width_of(search: DecodeTrace) -> int:
    """The most hypotheses that one step kept."""
    return max((sum(one.status == "kept" for one in step.candidates) for step in search.steps), default=1)


def texts_of(search: DecodeTrace) -> list[list[tuple[str, ...]]]:
    """Return the text of each candidate of each step, its own word last."""
    texts: list[list[tuple[str, ...]]] = []
    kept: list[tuple[str, ...]] = [()]
    for step in search.steps:
        now = [(*kept[one.parent], one.token) for one in step.candidates]
        texts.append(now)
        kept = [text for text, one in zip(now, step.candidates, strict=True) if one.status == "kept"]
    return texts


def looks_of(search: DecodeTrace) -> str | None:
    """Which attention is shown: ``"cross"``, of a decoder alone ``"decoder"``, or None."""
    for kind in (KINDS["cross"], KINDS["decoder"]):
        if all(getattr(step, kind.field) is not None for step in search.steps):
            return kind.name
    return None


def attention_of(search: DecodeTrace, step: int) -> FloatArray | None:
    """Return what each hypothesis looked at in one step, [hypothesis, layer, head, key]."""
    kind = looks_of(search)
    return None if kind is None else getattr(search.steps[step], KINDS[kind].field)


def in_words(found: Found) -> str:
    """Say what was found and what greedy search would have written, and where the two part."""
    best, greedy = found.search.hypotheses[0], found.greedy
    way = "Sampling drew" if found.sampled else "Beam search found"
    worth = "log-probability" if found.sampled else "score"
    here = f"{way} {_text(running_text(best.tokens))} ({worth} {_number(best.score)})"
    if greedy is None:
        return f"{here}."
    if greedy.tokens == best.tokens:
        return f"{here}; greedy search writes the same."
    value = greedy.log_prob if found.sampled else greedy.score
    end = found.search.end_token
    one, other = (*best.tokens, end), (*greedy.tokens, end)
    written = _text(running_text(greedy.tokens))
    told = f"Greedy search would have written {written} ({worth} {_number(value)}). "
    pairs = enumerate(zip(one, other, strict=False), start=1)
    parting = next(((step, *pair) for step, pair in pairs if pair[0] != pair[1]), None)
    if parting is None:  # one of them holds the end token as a word
        return f"{told}{here}."
    step, own, its = parting
    return (
        f"{told}{here}. They part at step {step}: greedy search writes {_text(its)}, and this "
        f"text has {_text(own)}."
    )


def pack(found: Found) -> dict[str, Any]:
    """Return a search as a page reads it: plain values, and the attention as bytes."""
    search, greedy = found.search, found.greedy
    return {
        "source": sendable(search.source_tokens),
        "prompt": sendable(search.prompt_tokens),
        "end": sendable([search.end_token])[0],
        "sampled": found.sampled,
        "hypotheses": [_hypothesis(each) for each in search.hypotheses],
        "greedy": None if greedy is None else _hypothesis(greedy),
        "steps": [_step(step) for step in search.steps],
        "attention": _attention(search),
        "says": sendable([in_words(found)])[0],
    }


def packed_bytes(search: DecodeTrace) -> int:
    """Return about how many bytes a packed search takes in a page."""
    kind = looks_of(search)
    looks = 0 if kind is None else sum(getattr(s, KINDS[kind].field).size for s in search.steps)
    return 3 * looks + 260 * sum(len(step.candidates) for step in search.steps)


def _hypothesis(each: Hypothesis) -> dict[str, Any]:
    return {
        "tokens": sendable(each.tokens),
        "log_prob": _finite(each.log_prob),
        "score": _finite(each.score),
        "path": list(each.path),
    }


def _step(step: DecodeStep) -> list[dict[str, Any]]:
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


def _attention(search: DecodeTrace) -> dict[str, Any] | None:
    """All steps' attention in one row of bytes; each step says how many hypotheses and keys."""
    kind = looks_of(search)
    if kind is None:
        return None
    each = [attention_of(search, step) for step in range(len(search.steps))]
    return {
        "kind": kind,
        "layers": each[0].shape[1],
        "heads": each[0].shape[2],
        "shapes": [[one.shape[0], one.shape[3]] for one in each],
        "dtype": "float16",
        "weights": b"".join(one.astype("<f2").tobytes() for one in each),
    }


def _finite(value: float) -> float | None:
    """A number that JSON has; what cannot be written at all, log-probability −∞, is None."""
    return float(value) if math.isfinite(value) else None


def _text(text: str) -> str:
    # Isolated, so that a right-to-left word leaves the sentence in its order.
    return f"“\u2068{text or '(nothing)'}\u2069”"


def _number(value: float) -> str:
    text = f"{abs(value):.3f}"
    return f"−{text}" if value < 0 and float(text) else text
