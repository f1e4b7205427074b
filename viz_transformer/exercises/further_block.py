"""Exercises of The block in depth: LayerNorm, position-wise layers, residual sums, depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import Array, Choice, CustomCheck, Exercise, Function, Mistake
from viz_transformer.exercises.feedback import Check

# -- 1 and 2: LayerNorm, and whether a layer works on each position alone ----------------------------

_NUMBERS = np.array([3.0, 9.0, 11.0, 17.0])
_MEAN, _STD = 10.0, 5.0


def _some_layer(rng: np.random.Generator) -> tuple[Any, Any]:
    """Draw a layer, which may pass information between positions in some way, and vectors for it."""
    import torch

    size = int(rng.integers(3, 7))
    w = torch.tensor(rng.normal(size=(4, 4)), dtype=torch.float32)

    def with_neighbour(step: int) -> Callable[[Any], Any]:
        def reads_its_neighbour(x: Any) -> Any:
            y = x.clone()
            if step > 0:
                y[:, 1:] = y[:, 1:] + x[:, :-1]
            else:
                y[:, :-1] = y[:, :-1] + x[:, 1:]
            return y

        return reads_its_neighbour

    layers: list[Callable[[Any], Any]] = [
        lambda x: torch.relu(x @ w) @ w.T,
        lambda x: torch.nn.functional.layer_norm(x, (4,)),
        lambda x: (x @ x.transpose(1, 2)).softmax(-1) @ x,
        lambda x: x.cumsum(1),
        with_neighbour(1),
        with_neighbour(-1),
    ]
    n_sentences = int(rng.integers(1, 3))
    x = torch.tensor(rng.normal(size=(n_sentences, size, 4)) + 0.3, dtype=torch.float32)
    return layers[int(rng.integers(len(layers)))], x


def _others_moved(layer: Any, x: Any, position: int) -> bool:
    """Whether any other position's output changes when one position is changed."""
    import torch

    changed = x.clone()
    changed[:, position] = changed[:, position] + 1
    others = torch.arange(x.shape[1]) != position
    return not torch.allclose(layer(x)[:, others], layer(changed)[:, others], atol=1e-5)


def _is_position_wise(layer: Any, x: Any) -> bool:
    return not any(_others_moved(layer, x, position) for position in range(x.shape[1]))


_LAYER_NORM_AND_POSITIONS = (
    Exercise(
        "block.1",
        "Normalise one word by hand",
        Array(
            (_NUMBERS - _MEAN) / _STD,
            (
                Mistake(
                    _NUMBERS - _MEAN,
                    "You have subtracted the mean. Their standard deviation is still 5: divide by it.",
                ),
                Mistake(
                    (_NUMBERS - _MEAN) / _STD**2,
                    "You divided by the variance, 25. Divide by its square root, the standard deviation.",
                ),
                Mistake(
                    (_NUMBERS - _MEAN) / np.sqrt(100 / 3),
                    "You divided the sum of squares by 3. LayerNorm divides it by 4, the number of "
                    "numbers. (In torch: correction=0.)",
                ),
                Mistake(
                    _NUMBERS / _STD,
                    "The standard deviation is 1 now, but the mean is 2. Subtract the mean first.",
                ),
                Mistake(
                    (_NUMBERS - 3) / 14,
                    "These run from 0 to 1: you used the smallest and the largest number. "
                    "LayerNorm uses the mean and the standard deviation.",
                ),
            ),
            right="Now their mean is 0 and their standard deviation is 1.",
        ),
        (
            "The mean is 10. Subtract it from each number.",
            "The squares of the results are 49, 1, 1 and 49. Their mean is the variance.",
        ),
    ),
    Exercise(
        "block.2",
        "Test whether a layer passes information between words",
        Function(
            _is_position_wise,
            _some_layer,
            (
                Mistake(
                    lambda layer, x: not _others_moved(layer, x, 0),
                    "You change the first word only. A layer in which each word reads the next one passes "
                    "your test, because no word reads the first. Try every position.",
                ),
                Mistake(
                    lambda layer, x: not _others_moved(layer, x, x.shape[1] - 1),
                    "You change the last word only. A layer that reads from left to right passes your "
                    "test, because no word follows the last. Try every position.",
                ),
                Mistake(
                    lambda layer, x: True,
                    "It returns True for every layer. Do you change a copy? With changed = x, both names "
                    "mean the same tensor. x.clone() makes a copy.",
                ),
                Mistake(
                    lambda layer, x: False,
                    "It returns False for every layer. The output of the changed word may change. Leave "
                    "it out, and compare the others.",
                ),
                Mistake(
                    lambda layer, x: not _is_position_wise(layer, x),
                    "True and False are exchanged. Return True if no other output changes.",
                ),
            ),
            right="A feed-forward network passes this test, and attention doesn't. In the clinic you "
            "will use such instruments to find mistakes.",
        ),
        (
            "For one position: copy x, change that position in the copy, run the layer on both, "
            "and compare the outputs of all other positions with torch.allclose.",
            "Do this for every position in range(x.shape[1]). Return False as soon as another output "
            "changes.",
        ),
        lines="""def is_position_wise(layer, x):
    for position in ___:
        changed = ___
        changed[:, position] = changed[:, position] + 1
        others = torch.arange(x.shape[1]) ___ position
        if not torch.allclose(layer(x)[:, others], layer(changed)[:, others], atol=1e-5):
            return False
    return True
""",
        gaps=(
            Choice(
                "range(x.shape[1])",
                ("[0]", "range(x.shape[1])", "range(x.shape[0])"),
                (
                    Mistake("[0]", "A layer in which each word reads the next one passes that test."),
                    Mistake("range(x.shape[0])", "Axis 0 counts sentences. Axis 1 counts positions."),
                ),
            ),
            Choice(
                "x.clone()",
                ("x", "x.clone()"),
                (Mistake("x", "Then both names mean the same tensor. Change a copy."),),
            ),
            Choice(
                "!=",
                ("==", "!="),
                (
                    Mistake(
                        "==", "That compares the changed word, whose output may change. Compare the others."
                    ),
                ),
            ),
        ),
    ),
)

# -- 3 and 4: a block of the paper, and three deep stacks known by their gradients --------------------


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


def _weights_added(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    h = norm_1(x + attention(x, x, x)[1])
    return norm_2(h + feed_forward(h))


def _norm_before_sum(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    h = norm_1(x) + attention(x, x, x)[0]
    return norm_2(h) + feed_forward(h)


def _no_first_norm(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    h = x + attention(x, x, x)[0]
    return norm_2(h + feed_forward(h))


def _no_second_norm(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    h = norm_1(x + attention(x, x, x)[0])
    return h + feed_forward(h)


def _no_norm(x: Any, attention: Any, norm_1: Any, feed_forward: Any, norm_2: Any) -> Any:
    h = x + attention(x, x, x)[0]
    return h + feed_forward(h)


_NAMES = ("post-norm", "pre-norm", "no sums")
_RIGHT = ["pre-norm", "no sums", "post-norm"]
_WHICH = {
    "pre-norm": (
        "In A the first layer has the largest gradient. In which block does the gradient pass "
        "through unchanged?"
    ),
    "no sums": (
        "In B almost no gradient reaches the first layers. Which connection carries a gradient "
        "past the parts?"
    ),
    "post-norm": (
        "In C the gradient gets smaller towards the first layer, step by step. Which norm causes that?"
    ),
}
_STACKS = (
    (
        ["post-norm", "no sums", "pre-norm"],
        "B is right. A and C are swapped. In which of the two is the gradient much larger in the last "
        "layer than in the first?",
    ),
    (
        ["pre-norm", "post-norm", "no sums"],
        "A is right. In B, less than a millionth of the gradient reaches layer 3. Does a post-norm stack "
        "of six layers lose that much? Set the view to 6 layers and compare.",
    ),
    (
        ["no sums", "pre-norm", "post-norm"],
        "C is right. Without sums, almost no gradient reaches the decoder's first layer. In A, the first "
        "layer has the largest gradient.",
    ),
)


def _judge_stacks(answer: Any) -> Check:
    if not isinstance(answer, list | tuple) or not all(isinstance(one, str) for one in answer):
        return Check(False, f"Give a list of three names in the order A, B, C: {', '.join(_NAMES)}.")
    given = [one.strip().casefold() for one in answer]
    if sorted(given) != sorted(_NAMES):
        return Check(False, f"Use each of these names once: {', '.join(_NAMES)}.")
    if given == _RIGHT:
        return Check(
            True,
            "Pre-norm keeps the gradient level, post-norm makes it smaller towards the first layer, and "
            "without sums it never reaches the first layers.",
        )
    for wrong, message in _STACKS:
        if given == wrong:
            return Check(False, message)
    return Check(
        False,
        "None of the three is right. First look for zeros: in which stack do the first layers get no "
        "gradient at all?",
    )


_BLOCK_AND_DEPTH = (
    Exercise(
        "block.3",
        "Write the paper's block",
        Function(
            _post_norm_block,
            _some_block,
            (
                Mistake(
                    _added_tuple,
                    "A TypeError. Did you add everything that attention(x, x, x) returns? It is a tuple "
                    "of the output and the weights: take the output. (If not: attention takes three "
                    "arguments, query, key and value.)",
                ),
                Mistake(
                    _weights_added,
                    "A RuntimeError. Did you take attention(x, x, x)[1]? Those are the weights. The output "
                    "is [0].",
                ),
                Mistake(
                    _norm_before_sum,
                    "You normalise x and add afterwards. In the paper's block, the sum comes first and "
                    "the norm is taken of the sum.",
                ),
                Mistake(
                    _no_first_sum,
                    "The sum around attention is missing: add its output to x before norm_1.",
                ),
                Mistake(
                    _no_second_sum,
                    "The sum around the feed-forward network is missing: add its output to its input, "
                    "before norm_2.",
                ),
                Mistake(
                    _no_sum,
                    "Both sums are missing: the residual connections around the two parts.",
                ),
                Mistake(
                    _pre_norm,
                    "This is a pre-norm block: each norm comes before its part. In the paper's block, each "
                    "norm comes after the sum.",
                ),
                Mistake(
                    _old_x_added,
                    "The second sum adds the block's first x. Add what went into the feed-forward network.",
                ),
                Mistake(
                    _old_x_read,
                    "The feed-forward network reads the block's first x, so the output of attention is "
                    "not used. It should read the output of norm_1.",
                ),
                Mistake(_no_first_norm, "norm_1 is not used. It belongs around the first sum."),
                Mistake(_no_second_norm, "norm_2 is not used. It belongs around the second sum."),
                Mistake(
                    _no_norm,
                    "The sums are right, but neither norm is used.",
                ),
                Mistake(
                    lambda x, attention, norm_1, feed_forward, norm_2: _post_norm_block(
                        x, attention, norm_2, feed_forward, norm_1
                    ),
                    "The two norms are swapped: norm_1 belongs to attention.",
                ),
            ),
            right="Two sums and two norms: that is the paper's encoder block.",
        ),
        (
            "looked, weights = attention(x, x, x) unpacks the tuple.",
            "First h = norm_1(x + looked). The second half is built the same way, from h.",
        ),
        lines="""def post_norm_block(x, attention, norm_1, feed_forward, norm_2):
    looked = attention(x, x, x)___
    h = norm_1(___)
    return norm_2(___)
""",
        gaps=(
            Choice(
                "[0]",
                ("[0]", "[1]", ""),
                (
                    Mistake("[1]", "Those are the weights. The output is [0]."),
                    Mistake("", "That is a tuple, which can't be added to a tensor."),
                ),
            ),
            Choice(
                "x + looked",
                ("looked", "x + looked"),
                (Mistake("looked", "The sum around attention is missing."),),
            ),
            Choice(
                "h + feed_forward(h)",
                ("feed_forward(h)", "x + feed_forward(h)", "h + feed_forward(h)"),
                (
                    Mistake("feed_forward(h)", "The sum around the feed-forward network is missing."),
                    Mistake("x + feed_forward(h)", "Add what goes into the feed-forward network."),
                ),
            ),
        ),
    ),
    Exercise(
        "block.4",
        "Name three stacks by their gradients",
        CustomCheck(
            _judge_stacks,
            _RIGHT,
            (
                *(Mistake(wrong, message) for wrong, message in _STACKS),
                Mistake(
                    ["post-norm", "pre-norm", "no sums"],
                    "None of the three is right. First look for zeros: in which stack do the first "
                    "layers get no gradient at all?",
                ),
            ),
        ),
        (
            "Set the view above to 6 layers, and go through the three cases.",
            "Compare the first and the last number of each row. Do they fall, stay level or rise?",
        ),
        lines="A = ___\nB = ___\nC = ___\n",
        gaps=tuple(
            Choice(name, _NAMES, tuple(Mistake(each, _WHICH[name]) for each in _NAMES if each != name))
            for name in _RIGHT
        ),
    ),
)

EXERCISES = (*_LAYER_NORM_AND_POSITIONS, *_BLOCK_AND_DEPTH)
