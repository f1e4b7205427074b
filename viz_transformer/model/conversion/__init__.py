"""Conversion of models to `torch.nn` and back, and from Hugging Face's, with the same numbers."""

from viz_transformer.model.conversion.huggingface import from_huggingface
from viz_transformer.model.conversion.torch_modules import (
    from_torch_attention,
    from_torch_encoder,
    from_torch_transformer,
    to_torch_attention,
    to_torch_encoder,
    to_torch_transformer,
)

__all__ = [
    "from_huggingface",
    "from_torch_attention",
    "from_torch_encoder",
    "from_torch_transformer",
    "to_torch_attention",
    "to_torch_encoder",
    "to_torch_transformer",
]
