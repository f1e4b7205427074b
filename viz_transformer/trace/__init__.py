"""Traces: what a model did, as numpy arrays and token labels.

A trace is the only bridge between models and views. Whatever made it (our model, torch's, Hugging
Face's, a hand-made array), every plot, widget and page draws from the same numbers, and a saved
trace replays without torch.

Axes are always ``[layer, head, query, key]``: the query position looks, the key position is looked
at (Vaswani et al. 2017, section 3.2).
"""

from viz_transformer.trace.decode import (
    Candidate,
    DecodeStep,
    DecodeTrace,
    Hypothesis,
    Probable,
)
from viz_transformer.trace.forward import FloatArray, ForwardTrace
from viz_transformer.trace.kinds import KINDS, Kind, find_kind
from viz_transformer.trace.lines import code_lines
from viz_transformer.trace.steps import STEPS, AttentionSteps, WorkedHead, work_through
from viz_transformer.trace.text import running_text
from viz_transformer.trace.training import Moment, TrainingTrace

__all__ = [
    "KINDS",
    "STEPS",
    "AttentionSteps",
    "Candidate",
    "DecodeStep",
    "DecodeTrace",
    "FloatArray",
    "ForwardTrace",
    "Hypothesis",
    "Kind",
    "Moment",
    "Probable",
    "TrainingTrace",
    "WorkedHead",
    "code_lines",
    "find_kind",
    "running_text",
    "work_through",
]
