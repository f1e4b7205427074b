"""Exercises 8.1 to 8.3: LayerNorm and its axis, and whether a layer lets words meet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_transformer.exercises.kinds import Array, Exercise, Function, Mistake

_NUMBERS = np.array([3.0, 9.0, 11.0, 17.0])
_MEAN, _STD = 10.0, 5.0
_EPS = 1e-5


def _some_vectors(rng: np.random.Generator) -> tuple[Any]:
    """Draw x [batch, position, d_model], of all sizes, far from 0 and unevenly spread."""
    import torch

    shape = (int(rng.integers(2, 5)), int(rng.integers(2, 6)), int(rng.integers(4, 9)))
    x = rng.normal(rng.uniform(-3, 3), rng.uniform(0.5, 4), size=shape)
    return (torch.tensor(x, dtype=torch.float32),)


def _normalised(
    x: Any,
    axes: Any = -1,
    *,
    correction: int = 0,
    power: float = 0.5,
    centred: bool = True,
    eps: float = _EPS,
) -> Any:
    mean = x.mean(axes, keepdim=True)
    variance = x.var(axes, keepdim=True, correction=correction) + eps
    return (x - mean if centred else x) / variance**power


def _wrong_norm(**choices: Any) -> Callable[[Any], Any]:
    return lambda x: _normalised(x, **choices)


_WRONG_AXES: dict[Any, str] = {
    0: "You took the mean over axis 0, the sentences: each word now depends on its neighbours in "
    "the batch. Which axis holds the numbers of one word?",
    1: "You took the mean over axis 1, the positions: each word now knows of all words in its "
    "sentence, also of those to come. Which axis holds one word's numbers?",
    (0, 1): "This is BatchNorm: one mean for each feature, over all words of all sentences. "
    "LayerNorm has one mean for each word.",
    (1, 2): "You took one mean for a whole sentence. LayerNorm has one for each word.",
    (0, 1, 2): "You took one mean for everything; did you leave out the axis?",
}


#: Ways to take the spread: torch's correction, what is added to the variance, and what to say.
_SPREADS = (
    (0, _EPS, ""),
    (0, 0.0, " The same goes for std."),
    (1, _EPS, " (And std or var wants correction=0.)"),
    (1, 0.0, " (And std wants correction=0.)"),
)


def _some_layer(rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw a layer, which may let positions meet in one way or another, and vectors for it."""
    import torch

    size = int(rng.integers(3, 7))
    w = torch.tensor(rng.normal(size=(4, 4)), dtype=torch.float32)

    def with_neighbour(step: int) -> Callable[[Any], Any]:
        def layer(x: Any) -> Any:
            y = x.clone()
            if step > 0:
                y[:, 1:] = y[:, 1:] + x[:, :-1]
            else:
                y[:, :-1] = y[:, :-1] + x[:, 1:]
            return y

        return layer

    layers: list[Callable[[Any], Any]] = [
        lambda x: torch.relu(x @ w) @ w.T,
        lambda x: torch.nn.functional.layer_norm(x, (4,)),
        lambda x: (x @ x.transpose(1, 2)).softmax(-1) @ x,
        lambda x: x.cumsum(1),
        with_neighbour(1),
        with_neighbour(-1),
    ]
    x = torch.tensor(rng.normal(size=(2, size, 4)) + 0.3, dtype=torch.float32)
    return layers[int(rng.integers(len(layers)))], x


def _others_moved(layer: Any, x: Any, position: int) -> bool:
    """Whether any other position's output moves when one position is changed."""
    import torch

    changed = x.clone()
    changed[:, position] = changed[:, position] + 1
    others = torch.arange(x.shape[1]) != position
    return not torch.allclose(layer(x)[:, others], layer(changed)[:, others], atol=1e-5)


def _is_position_wise(layer: Any, x: Any) -> bool:
    return not any(_others_moved(layer, x, position) for position in range(x.shape[1]))


VECTORS = (
    Exercise(
        "8.1",
        "One word by hand",
        Array(
            (_NUMBERS - _MEAN) / _STD,
            (
                Mistake(
                    _NUMBERS - _MEAN,
                    "You have taken the mean away, and they are around 0 now. Their spread is "
                    "still 5: divide by it.",
                ),
                Mistake(
                    (_NUMBERS - _MEAN) / _STD**2,
                    "You divided by the variance, 25. The standard deviation is its root.",
                ),
                Mistake(
                    (_NUMBERS - _MEAN) / np.sqrt(100 / 3),
                    "You divided the sum of squares by 3, one less than there are numbers. "
                    "LayerNorm divides by how many there are.",
                ),
                Mistake(
                    _NUMBERS / _STD,
                    "The spread is 1 now, but the mean is still 2. Take the mean away first.",
                ),
                Mistake(
                    (_NUMBERS - 3) / 14,
                    "These run from 0 to 1: you used the smallest and the largest number. "
                    "LayerNorm uses the mean and the standard deviation.",
                ),
            ),
            right="Their mean is 0 and their standard deviation is 1, whatever they were before.",
        ),
        (
            "The mean is 10. Now take it away from each number.",
            "The squares of what is left are 49, 1, 1, 49; their mean is the variance.",
        ),
    ),
    Exercise(
        "8.2",
        "LayerNorm for a whole batch",
        Function(
            _normalised,
            _some_vectors,
            (
                *(
                    Mistake(_wrong_norm(axes=axes, correction=correction, eps=eps), message + also)
                    for axes, message in _WRONG_AXES.items()
                    for correction, eps, also in _SPREADS
                    if eps or axes in (0, 1)  # of more numbers, no variance is that small
                ),
                Mistake(
                    _wrong_norm(axes=-1, correction=1),
                    "The axis is right, but the spread is a little too large: torch's std and var "
                    "divide by one less than the count unless you give them correction=0.",
                ),
                Mistake(
                    _wrong_norm(axes=-1, power=1.0),
                    "The axis is right, but you divided by the variance. LayerNorm divides by its "
                    "root, the standard deviation.",
                ),
                Mistake(
                    _wrong_norm(axes=-1, centred=False),
                    "You divided by the spread, but the mean is still there: take it away first.",
                ),
                Mistake(
                    lambda x: (x - x.mean()) / x.std(-1, keepdim=True, correction=0),
                    "The spread is that of each word, but you took one mean for everything; did "
                    "you leave out the axis?",
                ),
                Mistake(
                    lambda x: (x - x.mean(-1, keepdim=True)) / x.std(),
                    "The mean is that of each word, but you took one spread for everything; did "
                    "you leave out the axis?",
                ),
                Mistake(
                    lambda x: (x - x.mean(-1, keepdim=True)) / x.norm(dim=-1, keepdim=True),
                    "You divided by the length of the vector. Divide by the spread, which is "
                    "measured from the mean.",
                ),
                Mistake(
                    lambda x: x - x.mean(-1, keepdim=True),
                    "The mean is gone, but the spread is still what it was: divide by it.",
                ),
            ),
            right="The same numbers as torch.nn.functional.layer_norm gives.",
        ),
        (
            "x.mean(-1, keepdim=True) has the shape [batch, position, 1]: one mean for each word.",
            "x.std(-1, keepdim=True, correction=0) is the spread of each word's numbers.",
        ),
    ),
    Exercise(
        "8.3",
        "An instrument: does a layer let words meet?",
        Function(
            _is_position_wise,
            _some_layer,
            (
                Mistake(
                    lambda layer, x: not _others_moved(layer, x, 0),
                    "You change the first word only. A layer in which each word reads the one "
                    "after it passes your test: nobody reads the first. Try every position.",
                ),
                Mistake(
                    lambda layer, x: not _others_moved(layer, x, x.shape[1] - 1),
                    "You change the last word only. A layer that reads from left to right passes "
                    "your test: nobody stands behind the last. Try every position.",
                ),
                Mistake(
                    lambda layer, x: True,
                    "It says True of every layer. Is what you change a copy? With changed = x both "
                    "names mean the same tensor; x.clone() makes a copy.",
                ),
                Mistake(
                    lambda layer, x: False,
                    "It says False of every layer. The output of the changed word itself may move; "
                    "leave it out, and compare the others.",
                ),
                Mistake(
                    lambda layer, x: not _is_position_wise(layer, x),
                    "It is the wrong way round: True is for a layer in which no other word moves.",
                ),
            ),
            right="A feed-forward network passes this test, and attention does not. In the clinic "
            "such an instrument finds mistakes for you.",
        ),
        (
            "For one position: copy x, change that position in the copy, run the layer on both, "
            "and compare the outputs of all other positions with torch.allclose.",
            "Do so for every position in range(x.shape[1]); return False as soon as another moves.",
        ),
    ),
)
