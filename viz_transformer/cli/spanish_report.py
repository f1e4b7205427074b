"""The report of `evaluate` on a language model or a masked-word model of the generated Spanish."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands import what they need when they run
    from viz_transformer.language_model import LanguageModel
    from viz_transformer.masked_model import MaskedModel
    from viz_transformer.recipes.spanish_eval import GapScore, SampleScore

_MOST_SHOWN = 10
_N_TEXTS, _N_LABELLED = 500, 200
#: Judged where no number is given: drawing and parsing a sample is quicker than an exact gap.
_N_SAMPLES, _N_GAPS = 1000, 50


def print_spanish_report(model: LanguageModel | MaskedModel, n: int | None = None) -> None:
    """Print how far a model of Spanish is from the grammar, and which of its heads are needed.

    Args:
        model: the model.
        n: samples of a language model to judge, or gaps of held-out sentences; None: 1000, or 50.

    Raises:
        UserError: if the model was made for another vocabulary, or `n` is below 1.
    """
    from viz_transformer.corpus import english_spanish, gap_words, is_spanish
    from viz_transformer.corpus.translations import GAP
    from viz_transformer.masked_model import MaskedModel
    from viz_transformer.recipes import spanish_eval

    known = set(model.vocabulary.words("target"))
    held_out = english_spanish(n_train=0).held_out
    texts = [pair.target for pair in held_out if known.issuperset(pair.target)]
    if isinstance(model, MaskedModel):
        _print_gaps(spanish_eval.judge_gaps(model, texts[: n or _N_GAPS], gap_words, GAP))
    else:
        _print_samples(spanish_eval.judge_samples(model, is_spanish, n or _N_SAMPLES))
    losses = spanish_eval.spanish_head_losses(model, texts[:_N_TEXTS])
    labels = spanish_eval.label_spanish_heads(model, texts[:_N_LABELLED])
    print(
        f"heads: switched off alone, {losses.n_needed} of {losses.n_heads} raise the loss on "
        f"{losses.n:,} held-out sentences ({losses.loss:.4f} nats a token) by more than 0.01"
    )
    for kind, rises in losses.rises.items():
        for layer, of_layer in enumerate(rises):
            for head, rise in enumerate(of_layer):
                label = labels[layer][head]
                named = f"  {label.name}: {label.sentence}" if label else ""
                print(f"  {kind:7} layer {layer} head {head}  {rise:+.4f}{named}")


def _print_samples(score: SampleScore) -> None:
    print(f"samples: {score.n - len(score.wrong):,} of {score.n:,} are sentences ({score.share:.2%})")
    for text in score.wrong[:_MOST_SHOWN]:
        print(f"  not a sentence: {text}")


def _print_gaps(scores: Sequence[GapScore]) -> None:
    n_found = sum(score.found == score.likeliest for score in scores)
    mean = sum(score.kl for score in scores) / len(scores)
    print(f"gaps: in {n_found:,} of {len(scores):,} the likeliest word is the grammar's")
    print(f"  KL from the grammar's distribution to the model's, mean: {mean:.4f} nats")
    for score in sorted(scores, key=lambda each: -each.kl)[:_MOST_SHOWN]:
        print(f"  {score.kl:.4f}  {score.text}  (grammar {score.likeliest}, model {score.found})")
