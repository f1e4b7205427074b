"""Exercises of the notebook that goes further on training: losses, the lowest one, the paper's rate."""

from __future__ import annotations

import math

import numpy as np

from viz_transformer.exercises.answer_types import Choice, Exercise, Function, Mistake, Number

#: What the decoder must say in the six pairs: 17 words, of which two come twice, and six ``<eos>``.
_COUNTS = (6, 2, 2, *[1] * 13)
_N_PADDING = 7
_PROBABILITIES = (0.5, 0.25, 0.8)
_OF_PADDING = 0.01
#: The four translations of "the teacher sleeps", each of four tokens; a test compares the grammar.
_OPEN = (0.43, 0.32, 0.23, 0.02)
_N_OPEN_TOKENS = 4


def _surprise(*probabilities: float) -> float:
    """Return the sum of -ln p."""
    return -sum(math.log(each) for each in probabilities)


def _entropy(*counts: int) -> float:
    """Return the entropy of shares, in nats."""
    total = sum(counts)
    return -sum(count / total * math.log(count / total) for count in counts)


def _mean_surprise(*probabilities: float) -> float:
    """Return the mean of -ln p, each p as often as it says, in nats."""
    return -sum(each * math.log(each) for each in probabilities)


def _steps(rng: np.random.Generator) -> tuple[int, int, int]:
    """Draw a step, before the peak as often as behind it, a width and a warm-up."""
    warmup = int(rng.integers(50, 4000))
    before = rng.random() < 0.5
    step = int(rng.integers(1, warmup)) if before else int(rng.integers(warmup + 1, 5 * warmup))
    return step, int(rng.choice([128, 256, 512])), warmup


def _paper_rate(step: int, d_model: int, warmup: int) -> float:
    return (d_model * max(step, warmup)) ** -0.5 * min(1.0, step / warmup)


EXERCISES = (
    Exercise(
        "training.1",
        "Compute the loss of one sentence",
        Number(
            _surprise(*_PROBABILITIES) / 3,
            (
                Mistake(
                    _surprise(*_PROBABILITIES, _OF_PADDING) / 4,
                    "You counted the padding. It is not a target, and here it more than doubles the loss.",
                ),
                Mistake(
                    _surprise(*_PROBABILITIES) / 4,
                    "You left out the padding's loss, but you still divided by four positions. How many "
                    "tokens are real?",
                ),
                Mistake(
                    _surprise(*_PROBABILITIES),
                    "That is the sum over the three tokens. The loss is counted per token, so that long "
                    "and short sentences can be compared.",
                ),
                Mistake(
                    -_surprise(*_PROBABILITIES) / 3,
                    "The size is right, but the sign isn't. The logarithm of a probability is below 0; a "
                    "loss is not.",
                ),
                Mistake(
                    _surprise(*_PROBABILITIES) / 3 / math.log(2),
                    "That is in bits: you took the logarithm to base 2. For nats, use math.log.",
                ),
                Mistake(
                    _surprise(*_PROBABILITIES) / 3 / math.log(10),
                    "You took the logarithm to base 10. For nats, use math.log.",
                ),
                Mistake(
                    -math.log(sum(_PROBABILITIES) / 3),
                    "You took the logarithm of the mean probability. First take the logarithms, then "
                    "their mean.",
                ),
                Mistake(
                    sum(_PROBABILITIES) / 3,
                    "That is the mean probability. The loss is the mean of -ln p.",
                ),
            ),
            unit="nats per token",
            right="The least probable token, with 0.25, causes more than half of the loss.",
        ),
        (
            "There are three real tokens: hola, mundo and <eos>.",
            "-math.log(0.5) is 0.693. Do the same with the other two, add up, divide by three.",
        ),
    ),
    Exercise(
        "training.2",
        "Find the loss of a model without any input",
        Number(
            _entropy(*_COUNTS),
            (
                Mistake(
                    math.log(35),
                    "That is a uniform guess among all 35 tokens. <eos> comes most often, and English "
                    "words never come.",
                ),
                Mistake(
                    math.log(len(_COUNTS)),
                    "You gave each of the 16 tokens that occur the same probability. But <eos> is in "
                    "every sentence, so it has a larger share.",
                ),
                Mistake(
                    _entropy(*_COUNTS, _N_PADDING),
                    "You counted the padding as a token. Only the 23 real ones count.",
                ),
                Mistake(
                    _entropy(*_COUNTS[1:]),
                    "You left out <eos>. The decoder must predict it too, once in each sentence.",
                ),
                Mistake(
                    _entropy(*_COUNTS) / math.log(2),
                    "That is in bits: you took the logarithm to base 2. For nats, use math.log.",
                ),
                Mistake(
                    -math.log(_COUNTS[0] / sum(_COUNTS)),
                    "That is the loss at one position where <eos> is right. Take the mean over all 23 "
                    "positions.",
                ),
            ),
            unit="nats per token",
            right="A model whose loss stays there has learned only how frequent each token is.",
        ),
        (
            "Six of the 23 are <eos>, es and te come twice, and thirteen words come once.",
            "A token that comes n times gets the probability n/23, and is right n times. Add up n/23 · "
            "-ln(n/23) over the 16 tokens.",
        ),
    ),
    Exercise(
        "training.3",
        "Find the step at which a sentence is learned",
        Number(
            16,
            (
                Mistake(
                    13,
                    "At step 13 “the cat is black” and three others are right, but the translation of "
                    "“what is your name” is only “te”. Have you chosen the sentence?",
                ),
                Mistake(
                    10,
                    "At step 10 the translation is “te te”. If you took 10 from watch.moment: that counts "
                    "the moments, and each moment has its own step.",
                ),
                Mistake(
                    19,
                    "At step 19 it is right, but it was right before that. Drag further back.",
                ),
                Mistake(
                    35,
                    "That is the large model. The exercise is about the small one.",
                ),
            ),
            tolerance=1e-6,
            unit="steps",
            right="At that step all six are right for the first time, although the heads are only half as "
            "sharp as at the end.",
        ),
        (
            "Choose the sentence in the view, drag to the end, and then slowly back.",
            "In Python: watch.sentence = 5, and watch.trace.moments[n].translations[5] for each n.",
        ),
    ),
    Exercise(
        "training.4",
        "Write the paper's learning rate",
        Function(
            _paper_rate,
            _steps,
            (
                Mistake(
                    lambda step, d_model, warmup: (d_model * step) ** -0.5,
                    "It falls as it should, but there is no warm-up: step 1 has the highest rate of all. "
                    "Up to the peak it should rise in a straight line.",
                ),
                Mistake(
                    lambda step, d_model, warmup: (
                        (d_model * warmup) ** -0.5
                        * (step / warmup if step <= warmup else (step - warmup) ** -0.5 * warmup**0.5)
                    ),
                    "After the peak, count the steps from the start of the training, not from the peak.",
                ),
                Mistake(
                    lambda step, d_model, warmup: (d_model * warmup) ** -0.5 * step / warmup,
                    "It rises as it should, but does not fall after the peak. From there it should fall "
                    "in proportion to 1/√step.",
                ),
                Mistake(
                    lambda step, d_model, warmup: (d_model * warmup) ** -0.5 * min(1.0, step / warmup),
                    "It rises as it should, but then it stays at the peak. From there it should fall in "
                    "proportion to 1/√step.",
                ),
                Mistake(
                    lambda step, d_model, warmup: max(step**-0.5, step * warmup**-1.5) * d_model**-0.5,
                    "You took the larger of the two, so the rate falls first and then rises. Take the "
                    "smaller.",
                ),
                Mistake(
                    lambda step, d_model, warmup: min(step**-0.5, step * warmup**-1.5),
                    "The shape is right, but d_model is missing: wider models take smaller steps.",
                ),
                Mistake(
                    lambda step, d_model, warmup: (
                        (d_model * warmup) ** -0.5 * (step / warmup if step <= warmup else step**-0.5)
                    ),
                    "There is a jump after the peak. At step = warmup, the falling part has to be as high "
                    "as the peak.",
                ),
                Mistake(
                    lambda step, d_model, warmup: (
                        (d_model * warmup) ** -0.5 * min(step / warmup, warmup / step)
                    ),
                    "After the peak, yours falls in proportion to 1/step. In proportion to 1/√step, it "
                    "falls more slowly.",
                ),
                Mistake(
                    lambda step, d_model, warmup: (
                        1 / (d_model * warmup) * min(1.0, step / warmup)
                        if step <= warmup
                        else 1 / (d_model * step)
                    ),
                    "The root is missing: the peak is 1 / √(d_model · warmup).",
                ),
            ),
            tolerance=1e-9,  # absolute too, and rates are small
            right="With d_model 512 and 4,000 steps of warm-up the peak is 0.0007.",
        ),
        (
            "Use two cases: step <= warmup, and what comes after.",
            "Up to the peak it is peak · step / warmup. After it, it is d_model^-½ · step^-½, which at "
            "step = warmup is the peak.",
        ),
        lines="""def paper_rate(step, d_model, warmup):
    rising = step * ___
    falling = ___
    return d_model**-0.5 * ___(rising, falling)
""",
        gaps=(
            Choice(
                "warmup**-1.5",
                ("1 / warmup", "warmup**-0.5", "warmup**-1.5"),
                (
                    Mistake(
                        "1 / warmup",
                        "At step = warmup this is 1, which is not the start of the falling part.",
                    ),
                    Mistake(
                        "warmup**-0.5",
                        "At step = warmup this is √warmup. There it has to be as high as the falling part.",
                    ),
                ),
            ),
            Choice(
                "step**-0.5",
                ("1 / step", "step**-0.5", "(step - warmup) ** -0.5"),
                (
                    Mistake("1 / step", "In proportion to 1/√step, it falls more slowly."),
                    Mistake(
                        "(step - warmup) ** -0.5",
                        "Count the steps from the start of the training, not from the peak.",
                    ),
                ),
            ),
            Choice(
                "min",
                ("max", "min"),
                (
                    Mistake(
                        "max",
                        "With the larger of the two, the rate falls first and then rises. Take the smaller.",
                    ),
                ),
            ),
        ),
    ),
    Exercise(
        "training.5",
        "Find the lowest loss",
        Number(
            _mean_surprise(*_OPEN) / _N_OPEN_TOKENS,
            (
                Mistake(
                    _mean_surprise(*_OPEN),
                    "That is the entropy of the whole sentence. The loss is counted per token, and the "
                    "sentence has four.",
                ),
                Mistake(
                    _mean_surprise(*_OPEN) / (_N_OPEN_TOKENS - 1),
                    "You divided by the three words. The model has to predict <eos> too, so there are "
                    "four tokens.",
                ),
                Mistake(
                    math.log(len(_OPEN)) / _N_OPEN_TOKENS,
                    "That is the loss of a model that gives all four translations the same probability. "
                    "With their true probabilities the loss is lower.",
                ),
                Mistake(
                    -math.log(_OPEN[0]) / _N_OPEN_TOKENS,
                    "That is the loss when “la maestra duerme” is in the batch. The other three come up "
                    "too, and their loss is higher.",
                ),
                Mistake(
                    _surprise(*_OPEN) / len(_OPEN) / _N_OPEN_TOKENS,
                    "You counted the four translations equally. A translation with the probability 0.02 "
                    "counts less: weight each -ln p by its p.",
                ),
                Mistake(
                    _mean_surprise(*_OPEN) / _N_OPEN_TOKENS / math.log(2),
                    "That is in bits: you took the logarithm to base 2. For nats, use math.log.",
                ),
                Mistake(
                    -_mean_surprise(*_OPEN) / _N_OPEN_TOKENS,
                    "The size is right, but the sign isn't. The logarithm of a probability is below 0; a "
                    "loss is not.",
                ),
                Mistake(
                    0.0,
                    "It would be 0 if there were only one translation. With four, no model can be certain "
                    "which one comes.",
                ),
            ),
            unit="nats per token",
            right="vt.analysis.lowest_loss does the same for as many sentences as you like.",
        ),
        (
            "-0.43 · math.log(0.43) is 0.363. Do the same with the other three probabilities, and add up.",
            "The sum is the mean loss of the whole sentence, which has four tokens.",
        ),
    ),
)
