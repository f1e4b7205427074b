"""Tour of lesson 7: the loss of the bundled translator while it is trained."""

from __future__ import annotations

from viz_transformer._files import bundled
from viz_transformer.trace import TrainingTrace
from viz_transformer.widgets.tour import Tour
from viz_transformer.widgets.training_scrubber import watch_training

#: A caption for the moment at each step of the training.
_CAPTIONS = {
    0: "Step 0: the loss is 7.02 nats per token. A uniform guess on all 761 tokens costs ln 761 = 6.63.",
    50: "Step 50: 5.17. The frequent tokens have become more probable. The model still writes no word.",
    131: "Step 131: 2.18. So the right token has the probability e^−2.18 = 0.11, as a geometric mean.",
    264: "Step 264: 0.38, and the probability is 0.68. Only the colour is wrong: “blanco”.",
    358: "Step 358: 0.28. The translation of this sentence is right, and its own loss is 0.04.",
    828: "Step 828: 0.50. Each step sees other sentences, so the training loss goes up and down as it falls.",
    8000: "Step 8,000: 0.07. It cannot fall to 0 on new sentences: a language leaves some choices open.",
}


def make() -> Tour:
    """Return the tour: one curve, from a uniform guess to probabilities near 1."""
    run = TrainingTrace.load(bundled("data/en-es/training.npz"))
    steps = [moment.step for moment in run.moments]
    return Tour(
        watch_training(run),
        [
            {"caption": caption, "state": {"moment": steps.index(step), "sentence": 0, "kind": "cross"}}
            for step, caption in _CAPTIONS.items()
        ],
    )
