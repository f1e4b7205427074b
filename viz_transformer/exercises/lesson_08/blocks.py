"""Exercises 8.4 and 8.5: a block of the paper, and three deep stacks told by their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.exercises.kinds import Exercise, Function, Mistake, Own
from viz_transformer.exercises.verdict import Check


def _some_block(rng: np.random.Generator) -> tuple[Any, Any, Any, Any, Any]:
    """Draw x and the parts of a block, both norms with a gain and a bias of their own."""
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        norms = nn.LayerNorm(8), nn.LayerNorm(8)
        for norm in norms:
            nn.init.normal_(norm.weight, 1.0, 0.4)
            nn.init.normal_(norm.bias, 0.0, 0.4)
        feed_forward = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        attention = nn.MultiheadAttention(8, 2, batch_first=True)
        x = torch.randn(2, 5, 8)
    return x, attention, norms[0], feed_forward, norms[1]


def _post_norm_block(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    looked, _ = attention(x, x, x)
    h = norm_1(x + looked)
    return norm_2(h + feed_forward(h))


def _added_tuple(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    h = norm_1(x + attention(x, x, x))
    return norm_2(h + feed_forward(h))


def _no_first_sum(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    h = norm_1(attention(x, x, x)[0])
    return norm_2(h + feed_forward(h))


def _no_second_sum(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    return norm_2(feed_forward(norm_1(x + attention(x, x, x)[0])))


def _no_sum(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    return norm_2(feed_forward(norm_1(attention(x, x, x)[0])))


def _pre_norm(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    h = norm_1(x)
    x = x + attention(h, h, h)[0]
    return x + feed_forward(norm_2(x))


def _old_x_added(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    return norm_2(x + feed_forward(norm_1(x + attention(x, x, x)[0])))


def _old_x_read(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    return norm_2(norm_1(x + attention(x, x, x)[0]) + feed_forward(x))


def _no_norm(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    h = x + attention(x, x, x)[0]
    return h + feed_forward(h)


_NAMES = ("post-norm", "pre-norm", "no sums")
_RIGHT = ["pre-norm", "no sums", "post-norm"]
_STACKS = (
    (
        ["post-norm", "no sums", "pre-norm"],
        "B is right. A and C are the wrong way round: in which of the two does the gradient grow "
        "towards the last layer? There it has faded on its way down.",
    ),
    (
        ["pre-norm", "post-norm", "no sums"],
        "A is right. In B not even a millionth of the gradient reaches the fourth layer. Can a "
        "post-norm stack of six layers lose that much? Set the view to 6 layers and look.",
    ),
    (
        ["no sums", "pre-norm", "post-norm"],
        "C is right. Without sums nearly nothing comes down to the first layer. Is that so in A, "
        "where the first layer has the largest gradient of all?",
    ),
)


def _judge_stacks(answer: Any) -> Check:
    if not isinstance(answer, list | tuple) or not all(isinstance(one, str) for one in answer):
        return Check(False, f"Give a list of three names, in the order A, B, C, out of {_NAMES}.")
    given = [one.strip().casefold() for one in answer]
    if sorted(given) != sorted(_NAMES):
        return Check(False, f"Use each of these names once: {', '.join(_NAMES)}.")
    if given == _RIGHT:
        return Check(
            True,
            "A flat line is a free road, a line that falls towards the first layer a norm on the "
            "road, and a cliff no road at all.",
        )
    for wrong, message in _STACKS:
        if given == wrong:
            return Check(False, message)
    return Check(
        False,
        "None of the three is in its place. Begin with the cliff: in which stack do the first "
        "layers get no gradient at all?",
    )


BLOCKS = (
    Exercise(
        "8.4",
        "A block, mended",
        Function(
            _post_norm_block,
            _some_block,
            (
                Mistake(
                    _added_tuple,
                    "A TypeError. Did you add all that attention(x, x, x) returns? It is a tuple "
                    "of two, the output and the weights: take the output. (If not: attention wants "
                    "three arguments, query, key and value.)",
                ),
                Mistake(
                    _no_first_sum,
                    "The sum around attention is missing: its output is to be added to x before norm_1.",
                ),
                Mistake(
                    _no_second_sum,
                    "The sum around the feed-forward network is missing: what it read is to be "
                    "added to its output before norm_2.",
                ),
                Mistake(
                    _no_sum,
                    "Both sums are missing: nothing goes around the two parts.",
                ),
                Mistake(
                    _pre_norm,
                    "This is a pre-norm block: each norm stands before its part. In the paper's "
                    "block each norm comes after the sum.",
                ),
                Mistake(
                    _old_x_added,
                    "The second sum adds the block's first x. What goes around the feed-forward "
                    "network is what went into it.",
                ),
                Mistake(
                    _old_x_read,
                    "The feed-forward network reads the block's first x, so it never hears what "
                    "attention found. It is to read what norm_1 gave.",
                ),
                Mistake(
                    _no_norm,
                    "The sums are right, but neither norm is used.",
                ),
                Mistake(
                    lambda x, attention, norm_1, feed_forward, norm_2: _post_norm_block(
                        x, attention, norm_2, feed_forward, norm_1
                    ),
                    "The two norms have changed places: norm_1 belongs to attention.",
                ),
            ),
            right="Two sums and two norms: this is the encoder block of the paper.",
        ),
        (
            "looked, weights = attention(x, x, x) takes the two things apart.",
            "First h = norm_1(x + looked). The second half is built alike, from h.",
        ),
    ),
    Exercise(
        "8.5",
        "Three stacks without names",
        Own(
            _judge_stacks,
            _RIGHT,
            (
                *(Mistake(wrong, message) for wrong, message in _STACKS),
                Mistake(
                    ["post-norm", "pre-norm", "no sums"],
                    "None of the three is in its place. Begin with the cliff: in which stack do "
                    "the first layers get no gradient at all?",
                ),
            ),
        ),
        (
            "Set the view above to 6 layers, and go through the three cases.",
            "Look at the first and the last number of each row: falling, level or rising?",
        ),
    ),
)
