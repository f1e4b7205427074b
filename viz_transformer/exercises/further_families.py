"""Exercises of Three families, which goes further."""

from __future__ import annotations

import math

import numpy as np

from viz_transformer.exercises.answer_types import Array, Choice, Exercise, Function, Mistake, Number

_IDS = np.array([[1, 7, 8, 9], [1, 7, 8, 0]])
_REAL = (_IDS != 0)[:, None, None, :]  # [batch, 1, 1, key]
_AHEAD = np.tri(4, dtype=bool)[None, None]  # [1, 1, query, key]

_BERT_BASE = 109_482_240
_WIDTH, _LAYER = 768, 7_087_872
_SEGMENTS, _POOLER = 2 * _WIDTH, _WIDTH * _WIDTH + _WIDTH
_DISTILBERT = _BERT_BASE - 6 * _LAYER - _SEGMENTS - _POOLER


def _linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def _layer(d_model: int, d_ff: int, n_square: int = 4, n_norms: int = 2) -> int:
    feed_forward = _linear(d_model, d_ff) + _linear(d_ff, d_model)
    return n_square * _linear(d_model, d_model) + feed_forward + n_norms * 2 * d_model


def _without_biases(d_model: int, d_ff: int) -> int:
    return 4 * d_model * d_model + 2 * d_model * d_ff + 4 * d_model


def _sizes(rng: np.random.Generator) -> tuple[int, int]:
    return int(rng.integers(8, 800)), int(rng.integers(8, 3000))


EXERCISES = (
    Exercise(
        "families.1",
        "Make the mask of a padded decoder-only batch",
        Array(
            _REAL & _AHEAD,
            mistakes=(
                Mistake(
                    ~(_REAL & _AHEAD),
                    "This is the opposite: here True means “may attend”, as in padding_mask and causal_mask.",
                ),
                Mistake(
                    np.broadcast_to(_AHEAD, (2, 1, 4, 4)),
                    "Later tokens are hidden but the padding isn't: the last column of the second text "
                    "must be False.",
                ),
                Mistake(
                    _AHEAD,
                    "This is the causal mask alone. It does not hide the padding, which differs from text "
                    "to text.",
                ),
                Mistake(
                    _REAL,
                    "This is the padding mask alone, as in an encoder-only model. A decoder-only model "
                    "also needs the causal mask.",
                ),
                Mistake(
                    _REAL | _AHEAD,
                    "With |, a cell is True if either mask allows it. Both must allow it: join them with &.",
                ),
            ),
            right="Padding and causal together: the mask of every decoder in this course.",
        ),
        hints=(
            "padding_mask(batch_ids, pad_id=0) is [batch, 1, 1, key], causal_mask(4) is [1, 1, query, key].",
            "Join them with &: a cell is True where both are True, and axes of length 1 are broadcast.",
        ),
    ),
    Exercise(
        "families.2",
        "Name the shape that a classifier returns",
        Array(
            (8, 3),
            mistakes=(
                Mistake(
                    (8, 20, 768),
                    "Those are the encoder's vectors. The classifier comes after them.",
                ),
                Mistake(
                    (8, 20, 3),
                    "That would be a class for each word. The classifier reads one position of each text.",
                ),
                Mistake(
                    (8, 768),
                    "That is what the classifier reads: one vector per text. What does it return?",
                ),
                Mistake((3, 8), "The batch is the first axis."),
                Mistake(
                    (8,),
                    "One number per text would be the class itself. The model gives a score for every class.",
                ),
            ),
            right="One row of scores per text; length and width are gone.",
        ),
        hints=(
            "The last cell above did it with 1 text and 2 classes.",
            "Which of 8, 20, 768 and 3 remain when each text gets one score for each class?",
        ),
    ),
    Exercise(
        "families.3",
        "Find the lowest loss without the mask",
        Number(
            math.log(15) / 8,
            mistakes=(
                Mistake(
                    0,
                    "At the last of the 8 positions, the next word isn't in what the model reads. "
                    "There it has to guess.",
                ),
                Mistake(
                    math.log(15),
                    "That is a guess at every position. At 7 of the 8 the answer can be copied.",
                ),
                Mistake(
                    math.log(15) * 7 / 8,
                    "You exchanged the two: at 7 positions the answer can be copied, with a loss of 0, "
                    "and at 1 it has to be guessed.",
                ),
                Mistake(
                    math.log(15) / 9,
                    "A text has 9 words, but the model predicts at 8 positions: those that it reads.",
                ),
            ),
            unit="nats per token",
            right="The curve in the picture comes close to it, but never below.",
        ),
        hints=(
            "At how many of the 8 positions is the next word part of the model's input, and what is the "
            "loss there?",
            "At 7 positions the loss is 0, and at the last it is that of a guess among 15 words.",
        ),
    ),
    Exercise(
        "families.4",
        "Count an encoder layer",
        Function(
            _layer,
            _sizes,
            mistakes=(
                Mistake(
                    _without_biases,
                    "The biases are missing: a matrix from a to b components has b of them.",
                ),
                Mistake(
                    lambda d_model, d_ff: _layer(d_model, d_ff, n_norms=0),
                    "The two LayerNorms are missing: each has a scale and a shift for every component.",
                ),
                Mistake(
                    lambda d_model, d_ff: _layer(d_model, d_ff, n_norms=1),
                    "One LayerNorm is missing: there is one after attention and one after the "
                    "feed-forward network.",
                ),
                Mistake(
                    lambda d_model, d_ff: _layer(d_model, d_ff, n_square=3),
                    "Query, key and value are three; after the heads are joined, the output matrix "
                    "is the fourth.",
                ),
                Mistake(
                    lambda d_model, d_ff: _layer(d_model, d_ff) - _linear(d_ff, d_model),
                    "The feed-forward network has two matrices: to d_ff, and back to the width.",
                ),
            ),
            tolerance=1e-12,
            right="For width 768 and d_ff 3072 it is 7,087,872: one layer of BERT-Base.",
        ),
        hints=(
            "Attention is 4 · (d_model · d_model + d_model). Write the two matrices of the "
            "feed-forward network in the same way.",
            "Each of the two LayerNorms has 2 · d_model parameters.",
        ),
        lines="""def layer_parameters(d_model, d_ff):
    attention = ___ * (d_model * d_model + d_model)
    feed_forward = ___
    norms = ___ * d_model
    return attention + feed_forward + norms
""",
        gaps=(
            Choice(
                "4",
                ("1", "3", "4"),
                (
                    Mistake("1", "Query, key, value and output each have a matrix of their own."),
                    Mistake(
                        "3",
                        "Query, key and value are three; after the heads are joined, the output matrix is "
                        "the "
                        "fourth.",
                    ),
                ),
            ),
            Choice(
                "d_model * d_ff + d_ff + d_ff * d_model + d_model",
                (
                    "d_model * d_ff + d_ff",
                    "2 * d_model * d_ff",
                    "d_model * d_ff + d_ff + d_ff * d_model + d_model",
                ),
                (
                    Mistake(
                        "d_model * d_ff + d_ff",
                        "The feed-forward network has two matrices: to d_ff, and back to the width.",
                    ),
                    Mistake(
                        "2 * d_model * d_ff",
                        "The biases are missing: a matrix from a to b components has b of them.",
                    ),
                ),
            ),
            Choice(
                "2 * 2",
                ("1", "2", "2 * 2"),
                (
                    Mistake(
                        "1", "A LayerNorm has a scale and a shift for every component, and there are two."
                    ),
                    Mistake(
                        "2",
                        "That is one LayerNorm: there is one after attention and one after the feed-forward "
                        "network.",
                    ),
                ),
            ),
        ),
    ),
    Exercise(
        "families.5",
        "Count DistilBERT to the last parameter",
        Number(
            _DISTILBERT,
            mistakes=(
                Mistake(
                    _BERT_BASE // 2,
                    "That halves everything, words and positions too. Only the layers are halved.",
                ),
                Mistake(
                    _DISTILBERT + _SEGMENTS,
                    "The segments are still in it: DistilBERT has none.",
                ),
                Mistake(
                    _DISTILBERT + _POOLER,
                    "The pooler is still in it: DistilBERT has none.",
                ),
                Mistake(
                    _DISTILBERT + _SEGMENTS + _POOLER,
                    "You removed six layers. Remove the segments and the pooler too: each has its own "
                    "line in the table.",
                ),
                Mistake(
                    6 * _LAYER,
                    "Those are the six layers alone. Add the words, the positions and the LayerNorm "
                    "after them.",
                ),
                Mistake(
                    _DISTILBERT - 2 * _WIDTH,
                    "One LayerNorm is missing: BERT has 24 of them in its layers and one more "
                    "after the embeddings, which stays.",
                ),
            ),
            tolerance=1e-9,
            right="66,362,880 is the published count, and you computed it from the sizes alone.",
        ),
        hints=(
            "Start from 109,482,240 and take away what DistilBERT doesn't have.",
            "Six layers of 7,087,872, and the two lines segments and pooler of the table.",
        ),
    ),
)
