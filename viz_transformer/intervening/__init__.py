"""Interventions in the heads of any torch model, by hooks that are taken off again.

    sites.find_sites ─▶ AttentionSite ─▶ rewriting ─▶ changes      vt.interventions
                                 │                └▶ ranking      vt.rank_heads
                                 └▶ outputs                       vt.head_outputs

`sites` finds where the heads' outputs, side by side, enter the output projection: there every
architecture is alike. `rewriting` reads or replaces them while the model runs, and `apart` changes
one head in each row of a batch, so that all heads take few runs.
"""

from viz_transformer.intervening.apart import scaled_apart
from viz_transformer.intervening.changes import interventions
from viz_transformer.intervening.outputs import head_outputs
from viz_transformer.intervening.ranking import HeadRanking, RankedHead, rank_heads
from viz_transformer.intervening.sites import AttentionSite, find_sites

__all__ = [
    "AttentionSite",
    "HeadRanking",
    "RankedHead",
    "find_sites",
    "head_outputs",
    "interventions",
    "rank_heads",
    "scaled_apart",
]
