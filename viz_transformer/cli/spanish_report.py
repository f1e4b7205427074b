"""The report of `evaluate` on a language model or a masked-word model of the bundled language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands import what they need when they run
    from viz_transformer.language_model import LanguageModel
    from viz_transformer.masked_model import MaskedModel

_MOST_SHOWN = 10
_N_TEXTS, _N_GAPS = 1000, 60
#: Held-out sentences that heads are judged by: the loss with one switched off, and their names.
_N_SENTENCES, _N_LABELLED = 500, 200


def print_spanish_report(folder: str) -> bool:
    """Print how a language model or a masked-word model does, if the folder holds one.

    Raises:
        FileError: if the folder is missing or damaged.
    """
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.corpus.said_twice import QUESTION
    from viz_transformer.language_model import load_language_model
    from viz_transformer.masked_model import load_masked_model

    model: LanguageModel | MaskedModel
    family = Checkpoint.load(folder).model.config.family
    if family == "decoder":
        model = load_language_model(folder)
        _print_texts(model)
        _print_heads(model)
        if set(QUESTION) <= set(model.vocabulary.tokens):
            _print_heads(model, twice=True)
    elif family == "encoder":
        model = load_masked_model(folder)
        _print_gaps(model)
        _print_heads(model)
    else:
        return False
    return True


def _print_texts(model: LanguageModel) -> None:
    from viz_transformer.recipes.spanish_eval import sample_language_model

    found = sample_language_model(model, _N_TEXTS)
    share = found.n_accepted / found.n
    print(f"{found.n:,} texts drawn: the grammar allows {found.n_accepted:,} of them  {share:.2%}")
    print(f"    {found.n_twice:,} of these ask ¿cómo? and say their sentence a second time, word for word")
    for text in found.refused[:_MOST_SHOWN]:
        print(f"    not: {text}")


def _print_gaps(model: MaskedModel) -> None:
    from viz_transformer.corpus import english_spanish
    from viz_transformer.recipes.spanish_eval import fill_gaps

    score = fill_gaps(model, english_spanish(n_train=0).held_out[:_N_GAPS])
    print(f"{score.n} held-out sentences with one gap")
    print(f"  the likeliest word is the grammar's  {score.n_mode} of {score.n}")
    print(f"  KL from the grammar's distribution   {score.kl:.4f} nats")
    print(f"  the gap's own entropy                {score.entropy:.4f}")
    for text, guess, best in score.wrong[:_MOST_SHOWN]:
        print(f"    {text}: {guess!r}, and the grammar's is {best!r}")


def _print_heads(model: LanguageModel | MaskedModel, *, twice: bool = False) -> None:
    from viz_transformer.corpus import english_spanish
    from viz_transformer.recipes.head_eval import NEEDED
    from viz_transformer.recipes.spanish_eval import label_spanish_heads, spanish_head_losses

    pairs = english_spanish(n_train=0).held_out
    losses = spanish_head_losses(model, pairs[:_N_SENTENCES], twice=twice)
    labels = label_spanish_heads(model, pairs[:_N_LABELLED], twice=twice)
    print(
        f"heads: switched off one at a time, {losses.n_needed} of {losses.n_heads} raise the loss on "
        f"{losses.n:,} held-out sentences{' said twice' if twice else ''} "
        f"({losses.loss:.4f} nats per word to find) by more than {NEEDED:g}"
    )
    for kind, rises in losses.rises.items():
        for layer, of_layer in enumerate(rises):
            for head, rise in enumerate(of_layer):
                label = labels[layer][head]
                named = f"  {label.name}: {label.sentence}" if label else ""
                print(f"  {kind:7} layer {layer} head {head}  {rise:+.4f}{named}")
