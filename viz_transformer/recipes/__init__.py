"""Training a model of your own sentences, the small models of the lessons, and how models are judged.

Here corpus, training, checkpoint, translator and traces come together. `files` trains on anybody's
sentence pairs, `six_pairs` the tiny translator, and `recording` records any training; `saved_trainings` loads
what was recorded, without torch. `induction` is two layers of attention alone, `coreference` the study of
what *it* looks at. `evaluation`, `alignment_eval`, `grammar_eval` and `head_eval` judge a model. How each
bundled file was made is in the folder ``recipes`` of the repository.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from viz_transformer._lazy import make_lazy
from viz_transformer.errors import UserError

#: Each public name with the module that it comes from.
_PUBLIC = {
    "AttentionOnly": "induction",
    "BUNDLED_TRAININGS": "saved_trainings",
    "LARGE_MODEL": "six_pairs",
    "LARGE_TRAINING": "six_pairs",
    "OwnTranslator": "own_translator",
    "Recorder": "recording",
    "SIX_PAIRS_MODEL": "six_pairs",
    "SMALL_MODEL": "six_pairs",
    "SMALL_TRAINING": "six_pairs",
    "StudyRow": "coreference",
    "TRAINING_TRACE": "saved_trainings",
    "align_english_spanish": "alignment_eval",
    "coreference_model": "coreference",
    "coreference_study": "coreference",
    "coreference_trace": "coreference",
    "held_out_sets": "grammar_eval",
    "load_induction_model": "induction",
    "load_training": "saved_trainings",
    "moments_for": "recording",
    "record_training": "recording",
    "six_pairs_training": "six_pairs",
    "six_pairs_translator": "six_pairs",
    "study_table": "coreference",
    "train_six_pairs": "six_pairs",
}

#: Names of the recipes of bundled files, which a clone has in a folder beside the package.
_IN_A_CLONE = (
    *("INDUCTION_TRAINING", "LANGUAGE_MODEL", "LANGUAGE_MODEL_TRAINING", "MASKED_MODEL"),
    *("MASKED_MODEL_TRAINING", "MODEL", "POSITIONS", "POSITIONS_TRAINING", "TRAINING", "WATCHED"),
    *("spanish_vocabulary", "train_english_spanish", "train_induction_model", "train_language_model"),
    *("train_learned_positions", "train_masked_model", "write_six_pairs_trainings"),
)

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:  # what is imported when it is used, told to editors and type checkers
    from viz_transformer.recipes.alignment_eval import align_english_spanish as align_english_spanish
    from viz_transformer.recipes.coreference import StudyRow as StudyRow
    from viz_transformer.recipes.coreference import coreference_model as coreference_model
    from viz_transformer.recipes.coreference import coreference_study as coreference_study
    from viz_transformer.recipes.coreference import coreference_trace as coreference_trace
    from viz_transformer.recipes.coreference import study_table as study_table
    from viz_transformer.recipes.grammar_eval import held_out_sets as held_out_sets
    from viz_transformer.recipes.induction import AttentionOnly as AttentionOnly
    from viz_transformer.recipes.induction import load_induction_model as load_induction_model
    from viz_transformer.recipes.own_translator import OwnTranslator as OwnTranslator
    from viz_transformer.recipes.recording import Recorder as Recorder
    from viz_transformer.recipes.recording import moments_for as moments_for
    from viz_transformer.recipes.recording import record_training as record_training
    from viz_transformer.recipes.saved_trainings import BUNDLED_TRAININGS as BUNDLED_TRAININGS
    from viz_transformer.recipes.saved_trainings import TRAINING_TRACE as TRAINING_TRACE
    from viz_transformer.recipes.saved_trainings import load_training as load_training
    from viz_transformer.recipes.six_pairs import LARGE_MODEL as LARGE_MODEL
    from viz_transformer.recipes.six_pairs import LARGE_TRAINING as LARGE_TRAINING
    from viz_transformer.recipes.six_pairs import SIX_PAIRS_MODEL as SIX_PAIRS_MODEL
    from viz_transformer.recipes.six_pairs import SMALL_MODEL as SMALL_MODEL
    from viz_transformer.recipes.six_pairs import SMALL_TRAINING as SMALL_TRAINING
    from viz_transformer.recipes.six_pairs import six_pairs_training as six_pairs_training
    from viz_transformer.recipes.six_pairs import six_pairs_translator as six_pairs_translator
    from viz_transformer.recipes.six_pairs import train_six_pairs as train_six_pairs


def in_a_clone(module: str = "") -> ModuleType:
    """Return the folder ``recipes`` beside the package, or a module in it.

    Raises:
        UserError: if there is none, as where the package was installed from a wheel.
    """
    try:
        return import_module(f"recipes{module}")
    except ModuleNotFoundError as error:
        raise UserError(
            "how the bundled files were made is not in the installed package; clone the repository, install "
            "it with pip install -e ., and use `python -m recipes` there"
        ) from error


def __getattr__(name: str) -> Any:
    if name in _IN_A_CLONE:
        return getattr(in_a_clone(), name)
    raise AttributeError(name)


make_lazy(__name__)
