"""viz_transformer: see which head attends where.

>>> import viz_transformer as vt
>>> translator = vt.load_translator()
>>> trace = translator.trace("the black cat sleeps")
>>> vt.explore(trace)

The documentation is in the project's folder docs/; `make docs` adds the course as pages, every view alive,
and every public name with its arguments and an example.

The public names are loaded when they are first used, so that importing the package is quick and
drawing a saved trace needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from viz_transformer._extras import explain_missing_packages
from viz_transformer._lazy import make_lazy
from viz_transformer._own_file import find_own_file

__version__ = "0.1.0"

#: Each public name with the module that it comes from; None for a module itself.
_PUBLIC = {
    "Architecture": "widgets.architecture",
    "AttentionExplorer": "widgets.explorer",
    "AttentionStepper": "widgets.attention_stepper",
    "BeamStepper": "widgets.beam_stepper",
    "BlockLab": "widgets.block_lab",
    "Causes": "widgets.causes",
    "ClassPredictions": "widgets.class_predictions",
    "DecodeTrace": "trace",
    "EmbeddingMap": "widgets.embedding_map",
    "FigureLab": "widgets.figure_lab",
    "ForwardTrace": "trace",
    "HeadCardView": "widgets.head_card",
    "HeadChange": "model",
    "HeadLab": "widgets.head_lab",
    "InitialLossLab": "widgets.initial_loss_lab",
    "Interventions": "model",
    "LanguageModel": "language_model",
    "MaskLab": "widgets.mask_lab",
    "MaskTester": "widgets.mask_lab.live",
    "MaskedModel": "masked_model",
    "ModelSummaryLab": "widgets.model_summary_lab",
    "PositionClock": "widgets.position_clock",
    "PositionLab": "widgets.position_lab",
    "ScalingLab": "widgets.scaling_lab",
    "ScheduleLab": "widgets.schedule_lab",
    "SoftmaxLab": "widgets.softmax_lab",
    "Studio": "widgets.studio",
    "Tour": "widgets.tour",
    "TraceSwitch": "widgets.explorer",
    "TrainingScrubber": "widgets.training_scrubber",
    "TrainingTrace": "trace",
    "TranslationLab": "widgets.translation_lab.live",
    "Translator": "translator",
    "UserError": "errors",
    "analysis": None,
    "architecture": "widgets.architecture.live",
    "attention_stepper": "widgets.attention_stepper.live",
    "attention_steps": "widgets.attention_stepper.live",
    "attribution": None,
    "beam_stepper": "widgets.beam_stepper.live",
    "bertviz_views": None,
    "block_lab": "widgets.block_lab.live",
    "capture": "capturing",
    "class_predictions": "widgets.class_predictions.live",
    "compare_scorings": "experiments.scoring",
    "embedding_map": "widgets.embedding_map.live",
    "exercises": None,
    "explore": "widgets.explorer",
    "explore_attribution": "widgets.causes",
    "explore_lens": "widgets.causes",
    "export_html": "export",
    "figure_lab": "widgets.figure_lab",
    "from_huggingface": "model",
    "head_card": "widgets.head_card.live",
    "head_lab": "widgets.head_lab.live",
    "head_outputs": "interpreting",
    "head_scores": "experiments",
    "initial_loss_lab": "widgets.initial_loss_lab.live",
    "interventions": "interpreting",
    "interventions_of": "widgets.head_lab.live",
    "lesson_tour": "tours",
    "load_language_model": "language_model",
    "load_masked_model": "masked_model",
    "load_training": "recipes",
    "load_translator": "translator",
    "mask_lab": "widgets.mask_lab.live",
    "model_summary_lab": "widgets.model_summary_lab.live",
    "patch_lens": "widgets.causes.live",
    "plots": None,
    "position_clock": "widgets.position_clock.live",
    "position_lab": "widgets.position_lab.live",
    "explain": "widgets.prediction.live",
    "predict_choice": "widgets.prediction.live",
    "predict_number": "widgets.prediction.live",
    "predict_row": "widgets.prediction.live",
    "prediction": "widgets.prediction.live",
    "rank_heads": "interpreting",
    "real_next_words": "trace",
    "real_trace": "trace",
    "scaling_lab": "widgets.scaling_lab",
    "schedule_lab": "widgets.schedule_lab",
    "share_predictions": "widgets.class_predictions.live",
    "show_source": "source_code",
    "show_tensor": "tensor_picture",
    "softmax_lab": "widgets.softmax_lab",
    "studio": "widgets.studio.live",
    "thinking_machines": "widgets.attention_stepper.live",
    "tour": "widgets.tour",
    "trace_switch": "widgets.explorer",
    "translation_lab": "widgets.translation_lab.live",
    "watch_training": "widgets.training_scrubber",
    "you_are_here": "course_map",
}

__all__ = sorted(_PUBLIC)

if TYPE_CHECKING:  # what is imported when it is used, told to editors and type checkers
    from viz_transformer import analysis as analysis
    from viz_transformer import attribution as attribution
    from viz_transformer import bertviz_views as bertviz_views
    from viz_transformer import exercises as exercises
    from viz_transformer import plots as plots
    from viz_transformer.capturing import capture as capture
    from viz_transformer.course_map import you_are_here as you_are_here
    from viz_transformer.errors import UserError as UserError
    from viz_transformer.experiments import head_scores as head_scores
    from viz_transformer.experiments.scoring import compare_scorings as compare_scorings
    from viz_transformer.export import export_html as export_html
    from viz_transformer.interpreting import head_outputs as head_outputs
    from viz_transformer.interpreting import interventions as interventions
    from viz_transformer.interpreting import rank_heads as rank_heads
    from viz_transformer.language_model import LanguageModel as LanguageModel
    from viz_transformer.language_model import load_language_model as load_language_model
    from viz_transformer.masked_model import MaskedModel as MaskedModel
    from viz_transformer.masked_model import load_masked_model as load_masked_model
    from viz_transformer.model import HeadChange as HeadChange
    from viz_transformer.model import Interventions as Interventions
    from viz_transformer.model import from_huggingface as from_huggingface
    from viz_transformer.recipes import load_training as load_training
    from viz_transformer.source_code import show_source as show_source
    from viz_transformer.tensor_picture import show_tensor as show_tensor
    from viz_transformer.tours import lesson_tour as lesson_tour
    from viz_transformer.trace import DecodeTrace as DecodeTrace
    from viz_transformer.trace import ForwardTrace as ForwardTrace
    from viz_transformer.trace import TrainingTrace as TrainingTrace
    from viz_transformer.trace import real_next_words as real_next_words
    from viz_transformer.trace import real_trace as real_trace
    from viz_transformer.translator import Translator as Translator
    from viz_transformer.translator import load_translator as load_translator
    from viz_transformer.widgets.architecture import Architecture as Architecture
    from viz_transformer.widgets.architecture.live import architecture as architecture
    from viz_transformer.widgets.attention_stepper import AttentionStepper as AttentionStepper
    from viz_transformer.widgets.attention_stepper.live import attention_stepper as attention_stepper
    from viz_transformer.widgets.attention_stepper.live import attention_steps as attention_steps
    from viz_transformer.widgets.attention_stepper.live import thinking_machines as thinking_machines
    from viz_transformer.widgets.beam_stepper import BeamStepper as BeamStepper
    from viz_transformer.widgets.beam_stepper.live import beam_stepper as beam_stepper
    from viz_transformer.widgets.block_lab import BlockLab as BlockLab
    from viz_transformer.widgets.block_lab.live import block_lab as block_lab
    from viz_transformer.widgets.causes import Causes as Causes
    from viz_transformer.widgets.causes import explore_attribution as explore_attribution
    from viz_transformer.widgets.causes import explore_lens as explore_lens
    from viz_transformer.widgets.causes.live import patch_lens as patch_lens
    from viz_transformer.widgets.class_predictions import ClassPredictions as ClassPredictions
    from viz_transformer.widgets.class_predictions.live import class_predictions as class_predictions
    from viz_transformer.widgets.class_predictions.live import share_predictions as share_predictions
    from viz_transformer.widgets.embedding_map import EmbeddingMap as EmbeddingMap
    from viz_transformer.widgets.embedding_map.live import embedding_map as embedding_map
    from viz_transformer.widgets.explorer import AttentionExplorer as AttentionExplorer
    from viz_transformer.widgets.explorer import TraceSwitch as TraceSwitch
    from viz_transformer.widgets.explorer import explore as explore
    from viz_transformer.widgets.explorer import trace_switch as trace_switch
    from viz_transformer.widgets.figure_lab import FigureLab as FigureLab
    from viz_transformer.widgets.figure_lab import figure_lab as figure_lab
    from viz_transformer.widgets.head_card import HeadCardView as HeadCardView
    from viz_transformer.widgets.head_card.live import head_card as head_card
    from viz_transformer.widgets.head_lab import HeadLab as HeadLab
    from viz_transformer.widgets.head_lab.live import head_lab as head_lab
    from viz_transformer.widgets.head_lab.live import interventions_of as interventions_of
    from viz_transformer.widgets.initial_loss_lab import InitialLossLab as InitialLossLab
    from viz_transformer.widgets.initial_loss_lab.live import initial_loss_lab as initial_loss_lab
    from viz_transformer.widgets.mask_lab import MaskLab as MaskLab
    from viz_transformer.widgets.mask_lab.live import MaskTester as MaskTester
    from viz_transformer.widgets.mask_lab.live import mask_lab as mask_lab
    from viz_transformer.widgets.model_summary_lab import ModelSummaryLab as ModelSummaryLab
    from viz_transformer.widgets.model_summary_lab.live import model_summary_lab as model_summary_lab
    from viz_transformer.widgets.position_clock import PositionClock as PositionClock
    from viz_transformer.widgets.position_clock.live import position_clock as position_clock
    from viz_transformer.widgets.position_lab import PositionLab as PositionLab
    from viz_transformer.widgets.position_lab.live import position_lab as position_lab
    from viz_transformer.widgets.prediction.live import explain as explain
    from viz_transformer.widgets.prediction.live import predict_choice as predict_choice
    from viz_transformer.widgets.prediction.live import predict_number as predict_number
    from viz_transformer.widgets.prediction.live import predict_row as predict_row
    from viz_transformer.widgets.prediction.live import prediction as prediction
    from viz_transformer.widgets.scaling_lab import ScalingLab as ScalingLab
    from viz_transformer.widgets.scaling_lab import scaling_lab as scaling_lab
    from viz_transformer.widgets.schedule_lab import ScheduleLab as ScheduleLab
    from viz_transformer.widgets.schedule_lab import schedule_lab as schedule_lab
    from viz_transformer.widgets.softmax_lab import SoftmaxLab as SoftmaxLab
    from viz_transformer.widgets.softmax_lab import softmax_lab as softmax_lab
    from viz_transformer.widgets.studio import Studio as Studio
    from viz_transformer.widgets.studio.live import studio as studio
    from viz_transformer.widgets.tour import Tour as Tour
    from viz_transformer.widgets.tour import tour as tour
    from viz_transformer.widgets.training_scrubber import TrainingScrubber as TrainingScrubber
    from viz_transformer.widgets.training_scrubber import watch_training as watch_training
    from viz_transformer.widgets.translation_lab.live import TranslationLab as TranslationLab
    from viz_transformer.widgets.translation_lab.live import translation_lab as translation_lab

explain_missing_packages()
find_own_file()
make_lazy(__name__)
