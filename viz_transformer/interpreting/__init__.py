"""What a part of a model does: its heads changed and ranked, its stream read, its logits divided.

    sites ─▶ heads ─▶ batched_runs ─▶ ranking           change heads, and measure a metric without each
      │        └▶ prompt ─▶ stream ─▶ logit_lens        read each layer's stream as if it were the last
      │                       ├▶ logit_shares           what each head adds to a logit
      │                       ├▶ patching               which part of a clean run restores its answer
      │                       ├▶ score_parts            what a query's score with a key is the sum of
      │                       └▶ weighted               attention, times what it carries
      └▶ block_parts, layer_steps                       the parts of a block, and one attention step by step
 scored_model                                           a classifier or a masked model, for the head lab

`sites` finds the attention layers of any torch model by the names and shapes of their modules: there every
architecture is alike. Hooks, taken off again, read or change what passes. A `prompt` is what a model reads;
a `metric` is one number of what it then scores. Results hold numpy arrays alone, defined in `trace`, and
`plots` draws them. This is the room behind `vt.attribution`, `vt.interventions` and `vt.rank_heads`.
"""

from viz_transformer.interpreting.batched_runs import scaled_by_row
from viz_transformer.interpreting.heads import head_outputs, interventions
from viz_transformer.interpreting.logit_lens import logit_lens
from viz_transformer.interpreting.logit_shares import direct_logit_attribution
from viz_transformer.interpreting.patching import patching
from viz_transformer.interpreting.ranking import HeadRanking, RankedHead, rank_heads
from viz_transformer.interpreting.score_parts import score_parts
from viz_transformer.interpreting.sites import AttentionSite, find_sites
from viz_transformer.interpreting.weighted import gradient_weighted, value_weighted

__all__ = [
    "AttentionSite",
    "HeadRanking",
    "RankedHead",
    "direct_logit_attribution",
    "find_sites",
    "gradient_weighted",
    "head_outputs",
    "interventions",
    "logit_lens",
    "patching",
    "rank_heads",
    "scaled_by_row",
    "score_parts",
    "value_weighted",
]
