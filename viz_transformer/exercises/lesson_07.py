"""Exercises of lesson 7, What training minimises: cross-entropy by hand and in code, and two loss curves."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises import lent
from viz_transformer.exercises.answer_types import Exercise, Function, Mistake, Number

_VOCABULARY = 761  # of the bundled translator
_RIGHT = (0.5, 0.25, 0.8)  # the probabilities of the three words that count
_PADDING = 0.01


def _nats(*probabilities: float) -> float:
    return -sum(math.log(each) for each in probabilities)


def _logits_and_targets(rng: np.random.Generator) -> tuple[Tensor, Tensor, int]:
    """Draw logits [batch, position, vocabulary] and targets, each with padding at its end."""
    batch, n, vocabulary = (int(size) for size in rng.permutation([2, 4, 5, 6])[:3])
    pad_id = int(rng.integers(0, vocabulary))
    targets = rng.integers(0, vocabulary, size=(batch, n))
    targets[targets == pad_id] = (pad_id + 1) % vocabulary
    targets[0, -1] = pad_id  # the sentences are not equally long
    logits = rng.normal(scale=2, size=(batch, n, vocabulary))
    return torch.from_numpy(logits), torch.from_numpy(targets), pad_id


def _picked(logits: Tensor, targets: Tensor) -> Tensor:
    return logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)  # [batch, position]


def _mean_of_sentences(logits: Tensor, targets: Tensor, pad_id: int) -> Tensor:
    real, found = targets != pad_id, _picked(logits, targets)
    return -((found * real).sum(-1) / real.sum(-1)).mean()


def _raw(logits: Tensor, targets: Tensor, pad_id: int) -> Tensor:
    found = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return -found[targets != pad_id].mean()


_LOSS_MISTAKES = (
    Mistake(
        lambda logits, targets, pad_id: -_picked(logits, targets).mean(),
        "The padding counts: you took the mean over all positions. Choose those where real is True: "
        "picked[real].",
    ),
    Mistake(
        lambda logits, targets, pad_id: _picked(logits, targets)[targets != pad_id].mean(),
        "The size is right, but the sign isn't. The logarithm of a probability is below 0, and the loss is "
        "minus that logarithm.",
    ),
    Mistake(
        lambda logits, targets, pad_id: -_picked(logits, targets)[targets != pad_id].sum(),
        "You added the losses of all tokens. Take their mean, so that batches of different sizes can be "
        "compared.",
    ),
    Mistake(
        lambda logits, targets, pad_id: -(_picked(logits, targets) * (targets != pad_id)).mean(),
        "The padding adds nothing to your sum, but it still counts in the number that you divide by.",
    ),
    Mistake(
        _mean_of_sentences,
        "You took the mean of each sentence, and then the mean of those. In one mean over all tokens a long "
        "sentence counts more than a short one.",
    ),
    Mistake(
        lambda logits, targets, pad_id: -_picked(logits, targets)[targets == pad_id].mean(),
        "You chose the padding and left out the words: real is True for the tokens that count.",
    ),
    Mistake(
        lambda logits, targets, pad_id: -_picked(logits, targets).exp()[targets != pad_id].mean(),
        "You took the mean of the probabilities. Take the mean of their logarithms.",
    ),
    Mistake(
        lambda logits, targets, pad_id: -_picked(logits, targets).exp()[targets != pad_id].mean().log(),
        "You took the logarithm of the mean probability. First the logarithm of each, then the mean.",
    ),
    Mistake(
        _raw,
        "You picked logits. The loss needs logarithms of probabilities: logits.log_softmax(-1).",
    ),
    Mistake(
        lambda logits, targets, pad_id: -_picked(logits, targets)[targets != pad_id],
        "These are the losses of the single tokens. Take their mean.",
    ),
)

EXERCISES: tuple[Exercise, ...] = (
    Exercise(
        "7.1",
        "Compute the loss of one sentence",
        Number(
            _nats(*_RIGHT) / 3,
            mistakes=(
                Mistake(
                    _nats(*_RIGHT, _PADDING) / 4,
                    "You counted the padding as a fourth token. It isn't part of the sentence.",
                ),
                Mistake(_nats(*_RIGHT), "That is the sum. The loss is the mean of the three."),
                Mistake(
                    _nats(*_RIGHT) / 4,
                    "You divided by 4. Only three tokens count: the padding doesn't.",
                ),
                Mistake(
                    -_nats(*_RIGHT) / 3,
                    "The size is right, but the sign isn't. The loss is minus the logarithm.",
                ),
                Mistake(
                    -math.log(sum(_RIGHT) / 3),
                    "You took the logarithm of the mean probability. First the logarithm of each, then the "
                    "mean.",
                ),
                Mistake(sum(_RIGHT) / 3, "That is the mean probability. The loss is the mean of −ln p."),
                Mistake(
                    _nats(*_RIGHT) / 3 / math.log(2),
                    "That is the logarithm to base 2, in bits. ln is the natural logarithm, math.log.",
                ),
                Mistake(
                    _nats(*_RIGHT) / 3 / math.log(10),
                    "That is the logarithm to base 10. ln is the natural logarithm, math.log.",
                ),
            ),
            right="(0.69 + 1.39 + 0.22) / 3 = 0.77.",
        ),
        hints=(
            "−ln 0.5 = 0.69. What are the other two?",
            "Add the three and divide by 3. The padding doesn't count.",
        ),
    ),
    Exercise(
        "7.2",
        "Compute the loss of a uniform guess",
        Number(
            math.log(_VOCABULARY),
            mistakes=(
                Mistake(
                    math.log10(_VOCABULARY),
                    "That is the logarithm to base 10. ln is the natural logarithm, math.log.",
                ),
                Mistake(
                    math.log2(_VOCABULARY),
                    "That is the logarithm to base 2, in bits. ln is the natural logarithm, math.log.",
                ),
                Mistake(
                    1 / _VOCABULARY,
                    "That is the probability that each token gets. The loss is −ln of that probability.",
                ),
                Mistake(
                    -math.log(_VOCABULARY),
                    "The size is right, but the sign isn't. The logarithm of a probability is below "
                    "0, and the loss is minus that logarithm.",
                ),
                Mistake(
                    float(_VOCABULARY),
                    "That is the number of tokens. Each gets the probability 1/761. What is −ln of that?",
                ),
            ),
            right="ln 761 = 6.63. The more tokens there are, the higher the loss of a uniform guess.",
        ),
        hints=(
            "Each token gets the same probability. What is it?",
            "−ln(1/n) is ln n. In Python, math.log is ln.",
        ),
    ),
    Exercise(
        "7.3",
        "Write the loss",
        Function(
            lent.loss,
            _logits_and_targets,
            mistakes=_LOSS_MISTAKES,
            right="torch.nn.functional.cross_entropy gives the same number.",
        ),
        hints=(
            "picked[real] keeps the logarithms of the tokens that count, as one long row.",
            "Take its mean, and change the sign.",
        ),
        lines="""def loss(logits, targets, pad_id):
    log_probabilities = logits.log_softmax(-1)
    picked = log_probabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    real = targets != pad_id
    return -picked[real].mean()""",
        wrong_lines=(
            Mistake("    return -picked.mean()", "The padding counts. Keep the tokens where real is True."),
            Mistake(
                "    log_probabilities = logits.log_softmax(1)",
                "Axis 1 holds the positions. The probabilities of one position are along the last axis.",
            ),
        ),
        part="loss",
    ),
    Exercise(
        "7.4",
        "Choose when to stop",
        Number(
            200.0,
            mistakes=(
                Mistake(
                    300.0,
                    "There the training loss is lowest, on sentences of the training. Which loss measures "
                    "new sentences?",
                ),
                Mistake(
                    0.0,
                    "Before the first step both losses are highest. Where is the validation loss lowest?",
                ),
                Mistake(
                    100.0,
                    "The validation loss still falls after that step. Where is it lowest?",
                ),
            ),
            unit="steps",
            right="After 200 steps the validation loss is lowest. Keeping those parameters is called early "
            "stopping.",
        ),
        hints=("Look at one row of the table only. Which one?",),
    ),
)
