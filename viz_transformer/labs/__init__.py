"""Views joined to a live model: the only place where the two meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz_transformer._lazy import make_lazy

#: Each public name with the module that it comes from.
_PUBLIC = {
    "MaskTester": "mask_lab",
    "Prediction": "predictions",
    "TraceSwitch": ".widgets.explorer",
    "TranslationLab": "translation_lab",
    "architecture": "architecture",
    "attention_stepper": "attention_stepper",
    "attention_steps": "attention_stepper",
    "beam_stepper": "beam_stepper",
    "block_lab": "block_lab",
    "compare_scorings": ".experiments.scoring",
    "embedding_map": "embedding_map",
    "head_lab": "head_lab",
    "initial_loss_lab": "initial_loss",
    "interventions_of": "head_lab",
    "lesson_tour": "tours",
    "mask_lab": "mask_lab",
    "model_summary_lab": "model_summary",
    "position_lab": "position_lab",
    "predict_choice": "predictions",
    "predict_number": "predictions",
    "predict_row": "predictions",
    "prediction": "predictions",
    "studio": "studio",
    "thinking_machines": "attention_stepper",
    "trace_switch": ".widgets.explorer",
    "translation_lab": "translation_lab",
}

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:  # what is imported when it is used, told to editors and type checkers
    from viz_transformer.experiments.scoring import compare_scorings as compare_scorings
    from viz_transformer.labs.architecture import architecture as architecture
    from viz_transformer.labs.attention_stepper import attention_stepper as attention_stepper
    from viz_transformer.labs.attention_stepper import attention_steps as attention_steps
    from viz_transformer.labs.attention_stepper import thinking_machines as thinking_machines
    from viz_transformer.labs.beam_stepper import beam_stepper as beam_stepper
    from viz_transformer.labs.block_lab import block_lab as block_lab
    from viz_transformer.labs.embedding_map import embedding_map as embedding_map
    from viz_transformer.labs.head_lab import head_lab as head_lab
    from viz_transformer.labs.head_lab import interventions_of as interventions_of
    from viz_transformer.labs.initial_loss import initial_loss_lab as initial_loss_lab
    from viz_transformer.labs.mask_lab import MaskTester as MaskTester
    from viz_transformer.labs.mask_lab import mask_lab as mask_lab
    from viz_transformer.labs.model_summary import model_summary_lab as model_summary_lab
    from viz_transformer.labs.position_lab import position_lab as position_lab
    from viz_transformer.labs.predictions import Prediction as Prediction
    from viz_transformer.labs.predictions import predict_choice as predict_choice
    from viz_transformer.labs.predictions import predict_number as predict_number
    from viz_transformer.labs.predictions import predict_row as predict_row
    from viz_transformer.labs.predictions import prediction as prediction
    from viz_transformer.labs.studio import studio as studio
    from viz_transformer.labs.tours import lesson_tour as lesson_tour
    from viz_transformer.labs.translation_lab import TranslationLab as TranslationLab
    from viz_transformer.labs.translation_lab import translation_lab as translation_lab
    from viz_transformer.widgets.explorer import TraceSwitch as TraceSwitch
    from viz_transformer.widgets.explorer import trace_switch as trace_switch

make_lazy(__name__)
