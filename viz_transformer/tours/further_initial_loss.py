"""Tour of Before the first step: what an untrained model predicts, by the size of its embeddings."""

from __future__ import annotations

from viz_transformer.widgets.initial_loss_lab.live import initial_loss_lab
from viz_transformer.widgets.tour import Tour

_CAPTIONS = {
    1.0: (
        "An untrained model has read “el gato”. With PyTorch's own embeddings almost all of the "
        "probability is on “gato”, the word just read."
    ),
    0.2: (
        "Embeddings a fifth of the size: the logits and the loss are smaller, but “gato” still comes first."
    ),
    512**-0.5: (
        "1/√512 is the start that matches √d_model. The loss is still three times that of a uniform guess."
    ),
    0.02: "0.02, where GPT-2 and BERT start: the loss is close to ln 35, but “gato” still comes first.",
    0.005: "Smaller still: all logits are nearly equal, so this is a uniform guess among 35 tokens.",
}


def make() -> Tour:
    """Return the tour: one embedding table, scaled from 1 down to 0.005."""
    return Tour(
        initial_loss_lab(sentence=2, place=2),
        [
            {"caption": caption, "state": {"std": std, "sentence": 2, "place": 2}}
            for std, caption in _CAPTIONS.items()
        ],
    )
