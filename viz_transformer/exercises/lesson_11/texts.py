"""What a search does and how probable a text is: exercises 11.1 to 11.3."""

from __future__ import annotations

import math

from viz_transformer.exercises.kinds import Exercise, Mistake, Number

_STEPS = 20
#: Of *buenos*, *dias* after it, and ``<eos>`` after both, by the half-trained model.
_BUENOS_DIAS = (0.633, 0.220, 0.746)
_NATS = sum(math.log(each) for each in _BUENOS_DIAS)

TEXTS = (
    Exercise(
        "11.1",
        "What the cache saves",
        Number(
            _STEPS * (_STEPS + 1) / 2,
            (
                Mistake(
                    _STEPS**2,
                    "You counted 20 words in each of the 20 steps. In step 1 there is only one.",
                ),
                Mistake(
                    _STEPS * (_STEPS - 1) / 2,
                    "You began with a step that reads nothing. Step 1 reads <sos>, and step 20 "
                    "reads 20 tokens.",
                ),
                Mistake(
                    _STEPS,
                    "That is with the cache. Without it, step 2 reads its first word once more.",
                ),
            ),
            tolerance=1e-6,
            unit="positions",
            right="Ten times as many. With 200 steps it would be a hundred times as many.",
        ),
        (
            "Step 1 reads 1 word, step 2 reads 2, step 3 reads 3. Add them all up.",
            "sum(range(1, 21)) adds the numbers from 1 to 20.",
        ),
    ),
    Exercise(
        "11.2",
        "The log-probability of a text",
        Number(
            _NATS,
            (
                Mistake(
                    math.exp(_NATS),
                    "That is the probability, the product of the three. Its natural logarithm is asked for.",
                ),
                Mistake(
                    _NATS - math.log(_BUENOS_DIAS[2]),
                    "You left out <eos>. So far the text has only begun with buenos dias; it must "
                    "also end there.",
                ),
                Mistake(
                    _NATS / 3,
                    "That is the mean of the three logarithms. The logarithm of a product is their sum.",
                ),
                Mistake(
                    -_NATS,
                    "The size is right. A probability is below 1, so its logarithm is below 0.",
                ),
                Mistake(
                    _NATS / math.log(2),
                    "You took the logarithm to base 2. Nats need the natural one, math.log.",
                ),
                Mistake(
                    _NATS / math.log(10),
                    "You took the logarithm to base 10. Nats need the natural one, math.log.",
                ),
                Mistake(
                    math.log(sum(_BUENOS_DIAS)),
                    "You added the probabilities. One word *and* then the next: they are multiplied.",
                ),
            ),
            unit="nats",
            right="As a probability that is 0.104: about one in ten.",
        ),
        (
            "import math, and math.log(0.633) is the first of three numbers to add.",
            "The sum is between -2 and -3.",
        ),
    ),
    Exercise(
        "11.3",
        "A text that is missed",
        Number(
            0.211,
            (
                Mistake(
                    0.744,
                    "That is how far it is behind the first candidate. With a width of 2, the "
                    "second may end as well: look at the last that may.",
                ),
                Mistake(
                    -2.184,
                    "That is the log-probability of the candidate itself. How far is it behind the "
                    "last candidate that may end there?",
                ),
                Mistake(
                    0.178,
                    "That is the probability of <eos> after buenos. Choose the candidate in the "
                    "view, and read why it was pruned.",
                ),
                Mistake(
                    0.632,
                    "That is a candidate of the search with width 3: dias <eos>. Set the width to "
                    "2, and look at the <eos> after buenos.",
                ),
                Mistake(
                    -0.211,
                    "The number is right, and it is a distance: it has no sign.",
                ),
            ),
            tolerance=0.04,
            unit="nats",
            right="It misses the beam by 0.21 nats. In a search it takes little to be lost for good.",
        ),
        (
            "In the view, set the beam width to 2, go to step 2, and choose the <eos> that is "
            "marked as pruned.",
            "In Python: search.beam_width = 2; each candidate has token, status, reason and margin.",
        ),
    ),
)
