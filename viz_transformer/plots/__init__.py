"""Static matplotlib figures of a trace, one for each interactive view."""

from viz_transformer.plots.arguments import checking_arguments
from viz_transformer.plots.attention_steps import (
    describe_steps,
    plot_attention_steps,
    plot_cached_step,
    plot_split,
)
from viz_transformer.plots.attribution import (
    describe_attribution,
    describe_logit_lens,
    describe_patching,
    describe_score_parts,
    plot_attribution,
    plot_logit_lens,
    plot_patching,
    plot_score_parts,
)
from viz_transformer.plots.beam import plot_beam, plot_distribution
from viz_transformer.plots.coreference import describe_study, plot_study
from viz_transformer.plots.curves import describe_curves, plot_curves
from viz_transformer.plots.embeddings import plot_ids, plot_likeness, plot_nearest, plot_start
from viz_transformer.plots.figures import save_figure, set_alt_text
from viz_transformer.plots.head_card import describe_head_card, plot_head_card
from viz_transformer.plots.head_lab import plot_head_effects, plot_head_lab, plot_log_probs
from viz_transformer.plots.heads import plot_aggregate, plot_difference, plot_head, plot_heads
from viz_transformer.plots.masks import describe_mask, plot_leaks, plot_mask, plot_mask_lab
from viz_transformer.plots.matrix import describe_head
from viz_transformer.plots.model_summary import describe_sizes, plot_sizes
from viz_transformer.plots.patches import plot_patches
from viz_transformer.plots.positions import (
    plot_by_offset,
    plot_position_bias,
    plot_positions,
    plot_shift,
    plot_similarity,
    plot_wavelength,
)
from viz_transformer.plots.probabilities import describe_reliability, plot_probabilities, plot_reliability
from viz_transformer.plots.softmax import (
    plot_drawn_scores,
    plot_score_spread,
    plot_scorings,
    plot_slope_spread,
    plot_softmax,
)
from viz_transformer.plots.training import describe_training, plot_training

__all__ = [
    "describe_attribution",
    "describe_curves",
    "describe_head",
    "describe_head_card",
    "describe_logit_lens",
    "describe_mask",
    "describe_patching",
    "describe_reliability",
    "describe_score_parts",
    "describe_sizes",
    "describe_steps",
    "describe_study",
    "describe_training",
    "plot_aggregate",
    "plot_attention_steps",
    "plot_attribution",
    "plot_beam",
    "plot_by_offset",
    "plot_cached_step",
    "plot_curves",
    "plot_difference",
    "plot_distribution",
    "plot_drawn_scores",
    "plot_head",
    "plot_head_card",
    "plot_head_effects",
    "plot_head_lab",
    "plot_heads",
    "plot_ids",
    "plot_leaks",
    "plot_likeness",
    "plot_log_probs",
    "plot_logit_lens",
    "plot_mask",
    "plot_mask_lab",
    "plot_nearest",
    "plot_patches",
    "plot_patching",
    "plot_position_bias",
    "plot_positions",
    "plot_probabilities",
    "plot_reliability",
    "plot_score_parts",
    "plot_score_spread",
    "plot_scorings",
    "plot_shift",
    "plot_similarity",
    "plot_sizes",
    "plot_slope_spread",
    "plot_softmax",
    "plot_split",
    "plot_start",
    "plot_study",
    "plot_training",
    "plot_wavelength",
    "save_figure",
    "set_alt_text",
]

for _name in __all__:
    if _name.startswith(("plot_", "describe_")):
        globals()[_name] = checking_arguments(globals()[_name])


def __dir__() -> list[str]:
    return __all__  # completion lists what is public, and no files
