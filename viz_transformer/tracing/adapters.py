"""The adapter for each kind of model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from viz_transformer.tracing.assemble import RawAttention
from viz_transformer.tracing.hooked_models import attention_of_hooked
from viz_transformer.tracing.huggingface import attention_of_hugging_face
from viz_transformer.tracing.inputs import TRACED, CaptureInputs
from viz_transformer.tracing.modules import attention_of_module, attention_of_own_model
from viz_transformer.tracing.wrapped_models import is_hooked


def choose_adapter(model: nn.Module) -> Callable[[Any, CaptureInputs], RawAttention]:
    """Return the adapter for a model."""
    if is_hooked(model):
        return attention_of_hooked
    config = getattr(model, "config", None)
    if hasattr(config, "is_encoder_decoder") and hasattr(config, "_attn_implementation"):
        return attention_of_hugging_face
    return attention_of_own_model if isinstance(model, tuple(TRACED)) else attention_of_module
