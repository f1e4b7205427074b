"""The coreference study: several seeds, equally right, that look at different words.

*the animal did not cross the street because it was too tired*: a small encoder names the noun that
*it* stands for, on combinations of animal and place that it has never read. Which road the noun's
name takes is left to the training, and each seed finds its own.

The answer is scored from the vector at the first position, ``<sos>``, as BERT scores a class, or
(`read_at="it"`) from the vector at *it*. That choice decides what a map of attention can tell:

- Read at the start, the last layer's row of *it* is part of no answer: nobody reads its result.
  It shows what a head does for other positions, done once more for *it*. Still one seed looks
  from *it* straight at the animal, and is no righter than a seed that looks nowhere.
- Read at *it*, the noun must come to *it*, and the seeds look at it far more alike. They need not:
  in layer 0 other words take the noun's name up, and *it* can have it from them.

So two columns are no pictures but experiments: how many answers stay right without the head that
looks most at the noun meant, and how many when *it* can see neither noun, in any layer.

The task names one of 23 nouns. Asked only whether *it* is an animal or a place, the model needs
nothing but the adjective, and no seed looks at the nouns.
"""

from viz_transformer.recipes.coreference.model import (
    COREFERENCE_MODEL,
    COREFERENCE_TRAINING,
    NOUNS,
    CoreferenceModel,
    ReadAt,
    coreference_model,
    coreference_trace,
)
from viz_transformer.recipes.coreference.study import (
    ItAttention,
    StudyRow,
    coreference_study,
    study_row,
    study_table,
)

__all__ = [
    "COREFERENCE_MODEL",
    "COREFERENCE_TRAINING",
    "NOUNS",
    "CoreferenceModel",
    "ItAttention",
    "ReadAt",
    "StudyRow",
    "coreference_model",
    "coreference_study",
    "coreference_trace",
    "study_row",
    "study_table",
]
