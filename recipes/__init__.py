"""How each file in `data/` was made: trained, and judged against the grammar that it learned.

This folder stands beside the package in a clone and is in no wheel. ``python -m recipes NAME --out DIR``
makes the files again, and ``python -m recipes evaluate DIR`` judges one of the three bundled models.
`english_spanish` is the translator, `spanish_models` the language model and the masked language model,
`single_files` the trainings on six pairs, the position table and the model of attention alone.
"""

from recipes.english_spanish import MODEL as MODEL
from recipes.english_spanish import TRAINING as TRAINING
from recipes.english_spanish import WATCHED as WATCHED
from recipes.english_spanish import train_english_spanish as train_english_spanish
from recipes.single_files import INDUCTION_TRAINING as INDUCTION_TRAINING
from recipes.single_files import POSITIONS as POSITIONS
from recipes.single_files import POSITIONS_TRAINING as POSITIONS_TRAINING
from recipes.single_files import train_induction_model as train_induction_model
from recipes.single_files import train_learned_positions as train_learned_positions
from recipes.single_files import write_six_pairs_trainings as write_six_pairs_trainings
from recipes.spanish_models import LANGUAGE_MODEL as LANGUAGE_MODEL
from recipes.spanish_models import LANGUAGE_MODEL_TRAINING as LANGUAGE_MODEL_TRAINING
from recipes.spanish_models import MASKED_MODEL as MASKED_MODEL
from recipes.spanish_models import MASKED_MODEL_TRAINING as MASKED_MODEL_TRAINING
from recipes.spanish_models import spanish_vocabulary as spanish_vocabulary
from recipes.spanish_models import train_language_model as train_language_model
from recipes.spanish_models import train_masked_model as train_masked_model
