"""Traces: numpy arrays and token labels that record what a model did.

A trace is the only bridge between models and views. Whatever made it (our model, torch's, Hugging
Face's, a hand-made array), every plot, widget and page draws from the same numbers, and a saved
trace replays without torch.

Axes are always ``[layer, head, query, key]``: the query position attends, the key position is attended
to (Vaswani et al. 2017, section 3.2).
"""

from viz_transformer.trace.attribution import LogitAttribution, LogitLens, PatchingMap, ScoreParts
from viz_transformer.trace.decode import (
    Candidate,
    DecodeStep,
    DecodeTrace,
    Hypothesis,
    Probable,
)
from viz_transformer.trace.forward import FloatArray, ForwardTrace, Patches, attention_of, shares_of
from viz_transformer.trace.kinds import KINDS, Kind, find_kind
from viz_transformer.trace.recorded import REAL_TRACES, real_next_words, real_trace
from viz_transformer.trace.steps import STEPS, AttentionSteps, ComputedHead, compute_head
from viz_transformer.trace.tasks import TASKS
from viz_transformer.trace.text import running_text
from viz_transformer.trace.training import Snapshot, TrainingTrace

__all__ = [
    "KINDS",
    "REAL_TRACES",
    "STEPS",
    "TASKS",
    "AttentionSteps",
    "Candidate",
    "ComputedHead",
    "DecodeStep",
    "DecodeTrace",
    "FloatArray",
    "ForwardTrace",
    "Hypothesis",
    "Kind",
    "LogitAttribution",
    "LogitLens",
    "Patches",
    "PatchingMap",
    "Probable",
    "ScoreParts",
    "Snapshot",
    "TrainingTrace",
    "attention_of",
    "compute_head",
    "find_kind",
    "real_next_words",
    "real_trace",
    "running_text",
    "shares_of",
]
