"""Lesson 9, Encoder and decoder: where they meet, what they learn, and how they are wired."""

from viz_transformer.exercises.lesson_09.meeting import MEETING
from viz_transformer.exercises.lesson_09.numbers import NUMBERS
from viz_transformer.exercises.lesson_09.wiring import WIRING

EXERCISES = (*MEETING, *NUMBERS, *WIRING)
