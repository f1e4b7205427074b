"""Attribution: which layer, head and position makes a model predict what it predicts.

    logit_lens                  what the model would predict after each layer
    direct_logit_attribution    what each head adds to a logit
    patching                    what brings a clean run's answer back into a corrupted run
    score_parts                 what a query and a key were made of, and what each pair adds to their score
    value_weighted              attention, times the size of what it carries
    gradient_weighted           attention, times the slope of a logit

Each result holds numpy arrays alone, defined in `trace`, and `plots` draws it. Attention rollout needs no
model: `vt.analysis.rollout(trace, kind)`.
"""

from viz_transformer.interpreting import (
    direct_logit_attribution,
    gradient_weighted,
    logit_lens,
    patching,
    score_parts,
    value_weighted,
)
from viz_transformer.trace import LogitAttribution, LogitLens, PatchingMap, ScoreParts

__all__ = [
    "LogitAttribution",
    "LogitLens",
    "PatchingMap",
    "ScoreParts",
    "direct_logit_attribution",
    "gradient_weighted",
    "logit_lens",
    "patching",
    "score_parts",
    "value_weighted",
]


def __dir__() -> list[str]:
    return __all__  # completion lists what is public, and no imports
