"""The head lab of a live translator: heads switched off or scaled, and the effect on its output."""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.model import HeadChange, Interventions
from viz_transformer.translator import Translator
from viz_transformer.widgets.head_lab.view import HeadLab

#: Gender agreement at a distance: *cow*, *la vaca*, decides the ending of *cansada* nine words later.
DEFAULT_SENTENCE = "the cow did not cross the street because it was too tired"


def head_lab(translator: Translator, text: str = DEFAULT_SENTENCE) -> HeadLab:
    """Return a view in which heads of a translator are switched off and scaled.

    The head that changes the loss most when it is switched off is chosen first.

    Args:
        translator: the translator; it stays as it is.
        text: the first sentence.

    Raises:
        UserError: if the sentence cannot be translated.
    """
    return HeadLab(lambda request: ablate(translator, request), text)


def interventions_of(lab: HeadLab) -> Interventions:
    """Return the viewer's changes as `Interventions`, for ``translator.translate`` and the like."""
    return _interventions(lab.factors)


def ablate(translator: Translator, request: dict[str, Any]) -> dict[str, Any]:
    """Return what the translator does under the changes that a `HeadLab` requests."""
    sentence = request["sentence"]
    # Always the log-probabilities of the unchanged model's words, so that they can be compared.
    target = translator.translate(sentence).tokens
    if "each" in request:
        trace = translator.trace(sentence, target)
        return {
            "trace": trace,
            "log_probs": translator.log_probs(sentence, target),
            "each": {
                kind: _log_probs_by_head(translator, sentence, target, kind, weights.shape, request["each"])
                for kind in trace.kinds
                if (weights := trace.attention(kind)) is not None
            },
        }
    changes = _interventions(request["changes"])
    return {
        "translation": translator.translate(sentence, interventions=changes).tokens,
        "log_probs": translator.log_probs(sentence, target, changes),
        "trace": translator.trace(sentence, target, changes),
    }


def _log_probs_by_head(
    translator: Translator,
    sentence: str,
    target: tuple[str, ...],
    kind: str,
    shape: tuple[int, ...],
    factor: float,
) -> np.ndarray:
    """Return the log-probabilities with one head at a time changed, [layer, head, position]."""
    n_layers, n_heads, *_ = shape
    return np.array(
        [
            [
                translator.log_probs(
                    sentence,
                    target,
                    Interventions(heads=[HeadChange(kind, layer, head, factor)]),
                )
                for head in range(n_heads)
            ]
            for layer in range(n_layers)
        ]
    )


def _interventions(factors: list[dict[str, Any]]) -> Interventions:
    return Interventions(heads=[HeadChange(**factor) for factor in factors])
