"""Coreference study: several seeds that are equally accurate and attend to different words.

*the animal did not cross the street because it was too tired*: a small encoder names the noun that
*it* refers to, on combinations of animal and place that it has never read. How the noun's name
reaches the answer is left to the training, and differs from seed to seed. If the model only had to
tell an animal from a place, the adjective alone would do.

The answer is scored from the vector at the first position, ``<sos>``, as BERT scores a class, or
(`read_at="it"`) from the vector at *it*. That choice decides what an attention map can show:

- Read at the start, the last layer's row of *it* is part of no answer, because its result is not
  used. Seed 0 attends from *it* directly to the animal, as if it resolved the reference; seed 1's
  heads together give the animal hardly more than an even share, and it is just as accurate. Both
  stay right when *it* can attend to neither noun in any layer.
- Read at *it*, the noun's name has to reach *it*. Each of the seeds 0 to 3 attends to the noun, and
  most answers become wrong when *it* cannot.

So two experiments, which a map cannot replace, accompany the weights: the accuracy without the head
that attends most to the referent, and the accuracy when both nouns are hidden from *it*.
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
