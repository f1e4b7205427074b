"""The earlier place of what `viz_transformer.interpreting` has; imports from here go on working."""

from viz_transformer.interpreting import (
    AttentionSite,
    HeadRanking,
    RankedHead,
    find_sites,
    head_outputs,
    interventions,
    rank_heads,
)
from viz_transformer.interpreting import scaled_by_row as scaled_apart

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
