"""Heads of a live translator switched off and scaled, and what that does to its translation."""

from __future__ import annotations

from typing import Any

import numpy as np

from viz_transformer.model import HeadChange, Interventions
from viz_transformer.trace import ForwardTrace
from viz_transformer.translator import Translator
from viz_transformer.widgets.head_lab.view import HeadLab

#: Gender at a distance: *cow*, *la vaca*, decides the ending of *cansada* nine words later.
_SENTENCE = "the cow did not cross the street because it was too tired"


def head_lab(translator: Translator, text: str = _SENTENCE) -> HeadLab:
    """Return a view in which heads of a translator are switched off and scaled.

    The head chosen first is the one that changes the loss most when it is switched off.

    Args:
        translator: the translator; it stays as it is.
        text: the first sentence.

    Raises:
        UserError: if the sentence cannot be translated.
    """
    return HeadLab(lambda request: _answer(translator, request), text)


def interventions_of(lab: HeadLab) -> Interventions:
    """Return what the viewer has changed, to give to ``translator.translate`` and its like."""
    return _interventions(lab.factors)


def _answer(translator: Translator, request: dict[str, Any]) -> dict[str, Any]:
    """Do what `HeadLab` asks of its function."""
    sentence = request["sentence"]
    # Always judged by the words that the unchanged model writes, so that numbers can be compared.
    target = translator.translate(sentence).tokens
    if "each" in request:
        trace = translator.trace(sentence, target)
        return {
            "trace": trace,
            "log_probs": translator.log_probs(sentence, target),
            "each": {
                kind: _each_head(translator, sentence, target, trace, kind, request["each"])
                for kind in trace.kinds
            },
        }
    changes = _interventions(request["changes"])
    return {
        "translation": translator.translate(sentence, interventions=changes).tokens,
        "log_probs": translator.log_probs(sentence, target, changes),
        "trace": translator.trace(sentence, target, changes),
    }


def _each_head(
    translator: Translator,
    sentence: str,
    target: tuple[str, ...],
    trace: ForwardTrace,
    kind: str,
    factor: float,
) -> np.ndarray:
    """Return the log-probabilities under each head's change alone, [layer, head, position]."""
    n_layers, n_heads = trace.attention(kind).shape[:2]
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


def _interventions(factors: list[dict[str, Any]]) -> Interventions | None:
    return Interventions(heads=[HeadChange(**factor) for factor in factors])
