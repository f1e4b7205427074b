"""Source positions of a sound model, named by their time."""

from __future__ import annotations

from dataclasses import replace

from viz_transformer._numbers import fixed_number
from viz_transformer.trace.forward import ForwardTrace


def with_times(trace: ForwardTrace) -> ForwardTrace:
    """Return a trace whose source tokens are their times, such as ``"1.28 s"``, if they are known."""
    if trace.seconds_per_frame is None:
        return trace
    times = [f"{fixed_number(i * trace.seconds_per_frame, 2)} s" for i in range(len(trace.source_tokens))]
    return replace(trace, source_tokens=tuple(times), source_words=None)
