"""Tour of lesson 10: the heads of the bundled translator while it learns."""

from __future__ import annotations

from viz_transformer._files import bundled
from viz_transformer.trace import TrainingTrace
from viz_transformer.widgets.tour import Tour
from viz_transformer.widgets.training_scrubber import watch_training

#: A caption for the moment at each step of the training.
_CAPTIONS = {
    0: (
        "Step 0: every parameter is random, so each head has nearly equal weights. The output is “esas "
        "esas esas”."
    ),
    86: "Step 86: the heads are still broad, and the output is a frequent word: “el el el”.",
    131: "Step 131: “el gato”. The heads become sharper.",
    189: "Step 189: “el gato negro negro”. The adjective now follows the noun.",
    264: "Step 264: “el gato blanco duerme”. Only the colour is wrong.",
    358: "Step 358: “el gato negro duerme” is right for the first time.",
    8000: (
        "Step 8,000: the same words, and much sharper heads. No training data shows where a head should "
        "attend."
    ),
}


def make() -> Tour:
    """Return the tour: one sentence, from random words to the right ones."""
    run = TrainingTrace.load(bundled("data/en-es/training.npz"))
    steps = [moment.step for moment in run.moments]
    return Tour(
        watch_training(run),
        [
            {"caption": caption, "state": {"moment": steps.index(step), "sentence": 0, "kind": "cross"}}
            for step, caption in _CAPTIONS.items()
        ],
    )
