"""The coreference study: several seeds, equally right, that look at different words.

*the animal did not cross the street because it was too tired*: a small encoder names the noun that
*it* stands for, on combinations of animal and place that it has never read. Which road the noun's
name takes is left to the training, and each seed finds its own. Asked only whether *it* is an
animal or a place, the model would need nothing but the adjective.

The answer is scored from the vector at the first position, ``<sos>``, as BERT scores a class, or
(`read_at="it"`) from the vector at *it*. That choice decides what a map of attention can tell:

- Read at the start, the last layer's row of *it* is part of no answer, because nobody reads its
  result: it shows what the heads do for ``<sos>``, done once more for *it*. Seed 0 looks from *it*
  straight at the animal, as if it found the word meant; seed 1's heads together give the animal
  hardly more than an even share, and it is as right. Both stay right when *it* can see neither
  noun in any layer.
- Read at *it*, the noun has to come to *it*. Each of the seeds 0 to 3 looks at it, and most of the
  answers are lost when *it* cannot.

So beside the weights stand two experiments, which a map cannot replace: what is right without the
head that looks most at the noun meant, and what is right when both nouns are hidden from *it*.
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
