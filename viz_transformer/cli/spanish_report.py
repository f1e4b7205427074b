"""The report of `evaluate` on a language model or a masked-word model of the bundled language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands import what they need when they run
    from viz_transformer.language_model import LanguageModel
    from viz_transformer.masked_model import MaskedModel

_MOST_SHOWN = 10
_N_TEXTS, _N_GAPS = 1000, 60


def print_spanish_report(folder: str) -> bool:
    """Print how a language model or a masked-word model does, if the folder holds one.

    Raises:
        FileError: if the folder is missing or damaged.
    """
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.language_model import LanguageModel
    from viz_transformer.masked_model import MaskedModel
    from viz_transformer.model import DecoderOnly, EncoderOnly

    checkpoint = Checkpoint.load(folder)
    if isinstance(checkpoint.model, DecoderOnly):
        _print_texts(LanguageModel(checkpoint.model, checkpoint.vocabulary))
    elif isinstance(checkpoint.model, EncoderOnly):
        _print_gaps(MaskedModel(checkpoint.model, checkpoint.vocabulary))
    else:
        return False
    return True


def _print_texts(model: LanguageModel) -> None:
    from viz_transformer.recipes.spanish_eval import sample_language_model

    found = sample_language_model(model, _N_TEXTS)
    share = found.n_accepted / found.n
    print(f"{found.n:,} texts drawn: the grammar writes {found.n_accepted:,} of them  {share:.2%}")
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
