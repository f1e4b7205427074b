"""Instruments for debugging a model that runs and is wrong.

`trace_shapes` follows the shapes through a function, `leak_meter` changes one word and sees which
outputs move, `who_learns` asks every parameter for its gradient. Each takes any function or module
of torch, runs it, and returns a table. None of them changes what it looks at.
"""

from viz_transformer.exercises.instruments.gradients import Learning, who_learns
from viz_transformer.exercises.instruments.leaks import Leaks, leak_meter
from viz_transformer.exercises.instruments.shapes import ShapeTrace, trace_shapes

__all__ = ["Leaks", "Learning", "ShapeTrace", "leak_meter", "trace_shapes", "who_learns"]
