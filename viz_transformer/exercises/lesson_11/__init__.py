"""Lesson 11, Decoding: the cache, a text's log-probability, the length penalty, top-p."""

from viz_transformer.exercises.lesson_11.drawing import DRAWING
from viz_transformer.exercises.lesson_11.scores import SCORES
from viz_transformer.exercises.lesson_11.texts import TEXTS

EXERCISES = (*TEXTS, *SCORES, *DRAWING)
