"""Exercises 9.3 and 9.4: how many numbers a layer learns, and how many the whole machine does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from viz_transformer.exercises.kinds import Exercise, Function, Mistake, Number

_D_MODEL, _D_FF = 512, 2048
_EXACT = 1e-9


def _feed_forward(d_model: int, d_ff: int, biases: bool = True) -> int:
    return 2 * d_model * d_ff + (d_ff + d_model if biases else 0)


def _encoder_layer(
    *, matrices: int = 4, n_norms: int = 2, biases: bool = True, d_model: int = _D_MODEL
) -> int:
    attention = matrices * d_model * d_model
    return attention + _feed_forward(d_model, _D_FF, biases) + n_norms * 2 * d_model


def _total(
    vocab_size: int,
    d_model: int,
    d_ff: int,
    n_layers: int,
    *,
    n_attentions: int = 2,
    n_norms: int = 3,
    vocabularies: int = 1,
    extra_norms: int = 0,
    biases: bool = True,
    in_encoder: int = 1,
) -> int:
    attention, norm = 4 * d_model * d_model, 2 * d_model
    feed_forward = _feed_forward(d_model, d_ff, biases)
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = n_attentions * attention + feed_forward + n_norms * norm
    return (
        vocabularies * vocab_size * d_model
        + n_layers * (in_encoder * encoder_layer + decoder_layer)
        + extra_norms * norm
    )


def _counting(**choices: int) -> Callable[[int, int, int, int], int]:
    def count(vocab_size: int, d_model: int, d_ff: int, n_layers: int) -> int:
        return _total(vocab_size, d_model, d_ff, n_layers, **choices)

    return count


def _count_parameters(vocab_size: int, d_model: int, d_ff: int, n_layers: int) -> int:
    return _total(vocab_size, d_model, d_ff, n_layers)


def _sizes(rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Draw the sizes of a small model."""
    d_model = int(rng.integers(2, 17)) * 4
    return int(rng.integers(20, 200)), d_model, int(rng.integers(8, 200)), int(rng.integers(2, 7))


NUMBERS = (
    Exercise(
        "9.3",
        "One encoder layer of the large model",
        Number(
            _encoder_layer(),
            (
                Mistake(
                    _encoder_layer(matrices=3),
                    "Attention has a fourth matrix: W_O, which joins the heads.",
                ),
                Mistake(
                    _encoder_layer(matrices=32),
                    "You counted all four matrices once for each head. The heads share them: each "
                    "has 64 of the 512 columns.",
                ),
                Mistake(
                    _encoder_layer(biases=False),
                    "The biases of the feed-forward network are missing: one for each number that "
                    "each of its two matrices makes.",
                ),
                Mistake(
                    _encoder_layer(n_norms=0),
                    "The two LayerNorms are missing: a gain and a bias for each of the 512 numbers.",
                ),
                Mistake(
                    _encoder_layer(n_norms=1),
                    "1,024 are missing. There are two LayerNorms, and each has a gain and a bias.",
                ),
                Mistake(
                    _encoder_layer() + 4 * _D_MODEL,
                    "You gave attention biases. This model's attention has none.",
                ),
                Mistake(
                    _encoder_layer(matrices=8, n_norms=3),
                    "This is a decoder layer: it has a second attention and a third norm.",
                ),
                Mistake(
                    _encoder_layer(matrices=1),
                    "Attention has four matrices: for queries, keys, values, and to join the heads.",
                ),
            ),
            tolerance=_EXACT,
            right="1,048,576 in attention, 2,099,712 in the feed-forward network, 2,048 in the norms.",
        ),
        (
            "Attention: four matrices of 512 × 512. Feed-forward: 512 × 2048, 2048 biases, "
            "2048 × 512, 512 biases.",
            "Each of the two norms has 512 gains and 512 biases.",
        ),
    ),
    Exercise(
        "9.4",
        "The whole machine's numbers",
        Function(
            _count_parameters,
            _sizes,
            (
                Mistake(
                    _counting(n_attentions=1, n_norms=2),
                    "Your decoder layer is an encoder layer: cross-attention and its norm are missing.",
                ),
                Mistake(
                    _counting(n_norms=2),
                    "Your decoder layer has both attentions, but there are three norms: one after each part.",
                ),
                Mistake(
                    _counting(n_attentions=1),
                    "Your decoder layer has three norms, but one attention only: it has two.",
                ),
                Mistake(
                    _counting(vocabularies=2),
                    "You counted the words' vectors twice. Source, target and output share one "
                    "matrix in this model.",
                ),
                Mistake(
                    _counting(vocabularies=3),
                    "You counted the words' vectors three times. Source, target and output share "
                    "one matrix in this model.",
                ),
                Mistake(
                    _counting(vocabularies=0),
                    "The words' vectors are missing: d_model numbers for each word.",
                ),
                Mistake(
                    _counting(biases=0),
                    "The biases of the feed-forward networks are missing.",
                ),
                Mistake(
                    _counting(extra_norms=2),
                    "There is one norm too many in each stack: a post-norm stack ends without a "
                    "norm of its own.",
                ),
                Mistake(
                    _counting(in_encoder=0),
                    "The encoder is missing.",
                ),
            ),
            tolerance=_EXACT,
            right="count_parameters(35, 32, 64, 2) is 43,104, and count_parameters(35, 512, 2048, "
            "6) is 44,119,552.",
        ),
        (
            "Write attention, feed_forward and norm as three lines of their own, then both layers.",
            "A decoder layer has two attentions, one feed-forward network and three norms. Try "
            "your function with 35, 32, 64, 2 and compare each step with the table.",
        ),
    ),
)
