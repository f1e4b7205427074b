"""Recipes: how models are trained, evaluated and recorded.

The one place where corpus, training, checkpoint, translator and traces come together.
`english_spanish` is the bundled translator, `refinement` its second training, `spanish_models` the
language model and the masked-word model, `six_pairs` the tiny translator, `files` trains on anybody's
sentence pairs, `learned_positions` makes the position table, `induction` two layers of attention
alone with induction heads, and `recording` records any of them while it learns; `saved_trainings`
loads what was recorded, without torch. `coreference` is the study of what *it* looks at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz_transformer._lazy import make_lazy

#: Each public name with the module that it comes from.
_PUBLIC = {
    "AttentionOnly": "induction",
    "BUNDLED_TRAININGS": "saved_trainings",
    "INDUCTION_TRAINING": "induction",
    "LANGUAGE_MODEL": "spanish_models",
    "LANGUAGE_MODEL_TRAINING": "spanish_models",
    "LARGE_MODEL": "six_pairs",
    "LARGE_TRAINING": "six_pairs",
    "MASKED_MODEL": "spanish_models",
    "MASKED_MODEL_TRAINING": "spanish_models",
    "MODEL": "english_spanish",
    "POSITIONS": "learned_positions",
    "POSITIONS_TRAINING": "learned_positions",
    "Recorder": "recording",
    "SIX_PAIRS_MODEL": "six_pairs",
    "SMALL_MODEL": "six_pairs",
    "SMALL_TRAINING": "six_pairs",
    "StudyRow": "coreference",
    "TRAINING": "english_spanish",
    "TRAINING_TRACE": "saved_trainings",
    "WATCHED": "english_spanish",
    "align_english_spanish": "english_spanish",
    "coreference_model": "coreference",
    "coreference_study": "coreference",
    "coreference_trace": "coreference",
    "held_out_sets": "english_spanish",
    "load_induction_model": "induction",
    "load_training": "saved_trainings",
    "moments_for": "recording",
    "record_training": "recording",
    "six_pairs_training": "six_pairs",
    "six_pairs_translator": "six_pairs",
    "spanish_vocabulary": "spanish_models",
    "study_table": "coreference",
    "train_english_spanish": "english_spanish",
    "train_induction_model": "induction",
    "train_language_model": "spanish_models",
    "train_learned_positions": "learned_positions",
    "train_masked_model": "spanish_models",
    "train_six_pairs": "six_pairs",
    "write_six_pairs_trainings": "six_pairs",
}

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:  # what is imported when it is used, told to editors and type checkers
    from viz_transformer.recipes.coreference import StudyRow as StudyRow
    from viz_transformer.recipes.coreference import coreference_model as coreference_model
    from viz_transformer.recipes.coreference import coreference_study as coreference_study
    from viz_transformer.recipes.coreference import coreference_trace as coreference_trace
    from viz_transformer.recipes.coreference import study_table as study_table
    from viz_transformer.recipes.english_spanish import MODEL as MODEL
    from viz_transformer.recipes.english_spanish import TRAINING as TRAINING
    from viz_transformer.recipes.english_spanish import WATCHED as WATCHED
    from viz_transformer.recipes.english_spanish import align_english_spanish as align_english_spanish
    from viz_transformer.recipes.english_spanish import held_out_sets as held_out_sets
    from viz_transformer.recipes.english_spanish import train_english_spanish as train_english_spanish
    from viz_transformer.recipes.induction import INDUCTION_TRAINING as INDUCTION_TRAINING
    from viz_transformer.recipes.induction import AttentionOnly as AttentionOnly
    from viz_transformer.recipes.induction import load_induction_model as load_induction_model
    from viz_transformer.recipes.induction import train_induction_model as train_induction_model
    from viz_transformer.recipes.learned_positions import POSITIONS as POSITIONS
    from viz_transformer.recipes.learned_positions import POSITIONS_TRAINING as POSITIONS_TRAINING
    from viz_transformer.recipes.learned_positions import train_learned_positions as train_learned_positions
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
    from viz_transformer.recipes.six_pairs import write_six_pairs_trainings as write_six_pairs_trainings
    from viz_transformer.recipes.spanish_models import LANGUAGE_MODEL as LANGUAGE_MODEL
    from viz_transformer.recipes.spanish_models import LANGUAGE_MODEL_TRAINING as LANGUAGE_MODEL_TRAINING
    from viz_transformer.recipes.spanish_models import MASKED_MODEL as MASKED_MODEL
    from viz_transformer.recipes.spanish_models import MASKED_MODEL_TRAINING as MASKED_MODEL_TRAINING
    from viz_transformer.recipes.spanish_models import spanish_vocabulary as spanish_vocabulary
    from viz_transformer.recipes.spanish_models import train_language_model as train_language_model
    from viz_transformer.recipes.spanish_models import train_masked_model as train_masked_model

make_lazy(__name__)
