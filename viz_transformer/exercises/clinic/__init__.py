"""The repair clinic: excerpts that carry known mistakes, to be found and mended.

Easy to hard: one line, masks, modules, and training and decoding. The first mistake of each is the
excerpt as it is handed out.
"""

from viz_transformer.exercises.clinic import (
    decoding,
    heads,
    layers,
    masks,
    one_line,
    slots,
    training,
)

EXERCISES = tuple(
    exercise
    for ward in (one_line, masks, slots, heads, layers, training, decoding)
    for exercise in ward.EXERCISES
)
