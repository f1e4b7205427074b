"""Lesson 8, The block: LayerNorm and its axis, each position alone, the two sums, three depths."""

from viz_transformer.exercises.lesson_08.blocks import BLOCKS
from viz_transformer.exercises.lesson_08.vectors import VECTORS

EXERCISES = (*VECTORS, *BLOCKS)
