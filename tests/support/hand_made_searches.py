"""Beam searches made by hand."""

from __future__ import annotations

import numpy as np

from viz_transformer.trace import Candidate, DecodeStep, DecodeTrace, Hypothesis


def candidate(parent: int, token: str, status: str, log_prob: float = -1.0) -> Candidate:
    return Candidate(
        parent=parent,
        token=token,
        log_prob=log_prob,
        score=log_prob / 2,
        status=status,
        reason=f"{token!r} is why",
        token_log_prob=log_prob,
    )


def hand_made(tokens: tuple[str, ...], *, attention: bool = True) -> DecodeTrace:
    """A search of two places over any tokens, each step's second candidate pruned."""
    steps = []
    for number, token in enumerate(tokens):
        shape = (1, 1, 2, len(tokens))
        steps.append(
            DecodeStep(
                candidates=(
                    candidate(0, token, "kept", -0.5 * number),
                    candidate(0, tokens[-1 - number], "pruned", -2.0),
                ),
                cross_attention=np.full(shape, 1 / len(tokens), np.float32) if attention else None,
            )
        )
    steps.append(DecodeStep(candidates=(candidate(0, "<eos>", "finished"),)))
    if attention:
        last = np.full((1, 1, 2, len(tokens)), 1 / len(tokens), np.float32)
        steps[-1] = DecodeStep(candidates=steps[-1].candidates, cross_attention=last)
    best = Hypothesis(
        ids=tuple(range(len(tokens))),
        tokens=tokens,
        log_prob=-1.0,
        score=-0.5,
        path=(0,) * len(steps),
    )
    return DecodeTrace(source_tokens=tokens, hypotheses=(best,), steps=tuple(steps))
