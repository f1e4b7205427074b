"""Analysis of traces, with numpy only.

`words` finds a word's weights, `measures` puts a number on a head (how broad, how far),
`head_labels` names a head where the evidence for the name is strong, `head_patterns` has that evidence
for every head and name, `head_card` sums up what one head does over many texts, `effects` tells how
confident a head is and whether the model needs it, `rollout` follows attention through the layers,
`alignment` compares a head with the gold links between words, and `comparison` compares two traces,
which it brings to one shape. All read ``[layer, head, query, key]`` and need nothing of the model.
`next_words` and `calibration` are about probabilities: what a language leaves open, and whether
predictions come true.

A number describes attention, and attention is not an explanation: a model may look at a word
without using it, and use what it has gathered elsewhere (Jain & Wallace 2019).
"""

from viz_transformer.analysis.alignment import (
    alignment_error_rate,
    alignment_links,
    head_alignment_error_rate,
)
from viz_transformer.analysis.calibration import Reliability, reliability
from viz_transformer.analysis.combine import masked_cells
from viz_transformer.analysis.comparison import Agreement, agreement, layers_at_same_depth, match_traces
from viz_transformer.analysis.effects import (
    HeadEffect,
    effect_correlation,
    effects_in_words,
    head_confidence,
    head_effects,
    rank_correlation,
)
from viz_transformer.analysis.head_card import HeadCard, HeadExample, head_card
from viz_transformer.analysis.head_labels import HeadLabel, label_heads, label_heads_together
from viz_transformer.analysis.head_patterns import pattern_scores
from viz_transformer.analysis.measures import (
    entropy_bits,
    entropy_share_over_training,
    head_entropy_bits,
    head_entropy_share,
    head_mean_distance,
    mean_distance,
    most_sharpened,
    norm_weighted,
)
from viz_transformer.analysis.next_words import (
    NextWords,
    entropy_nats,
    lowest_loss,
    modes,
    next_words,
)
from viz_transformer.analysis.position_bias import (
    bias_by_distance,
    bias_by_offset,
    position_bias_alone,
    without_position_bias,
)
from viz_transformer.analysis.rollout import (
    OutputRollout,
    output_rollout,
    rollout,
    without_first_token,
)
from viz_transformer.analysis.words import (
    row_of_queries,
    sentence_segments,
    special_tokens,
    weights_between,
    word_index,
)

__all__ = [
    "Agreement",
    "HeadCard",
    "HeadEffect",
    "HeadExample",
    "HeadLabel",
    "NextWords",
    "OutputRollout",
    "Reliability",
    "agreement",
    "alignment_error_rate",
    "alignment_links",
    "bias_by_distance",
    "bias_by_offset",
    "effect_correlation",
    "effects_in_words",
    "entropy_bits",
    "entropy_nats",
    "entropy_share_over_training",
    "head_alignment_error_rate",
    "head_card",
    "head_confidence",
    "head_effects",
    "head_entropy_bits",
    "head_entropy_share",
    "head_mean_distance",
    "label_heads",
    "label_heads_together",
    "layers_at_same_depth",
    "lowest_loss",
    "masked_cells",
    "match_traces",
    "mean_distance",
    "modes",
    "most_sharpened",
    "next_words",
    "norm_weighted",
    "output_rollout",
    "pattern_scores",
    "position_bias_alone",
    "rank_correlation",
    "reliability",
    "rollout",
    "row_of_queries",
    "sentence_segments",
    "special_tokens",
    "weights_between",
    "without_first_token",
    "without_position_bias",
    "word_index",
]


def __dir__() -> list[str]:
    return __all__  # completion lists what is public, and no files
