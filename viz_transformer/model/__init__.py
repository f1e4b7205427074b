"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), from scratch.

Read it as a chapter, in this order: `masks`, `scoring` and `attention`; `positional` (word order);
`layers` (attention and feed-forward networks alternate, in stacks); `transformer` (the whole model);
`families` (each half as a model of its own); `autoregressive` and `cache` (decoding without computing
anything twice). `interventions` switches parts off. `conversion` shows that torch's own modules compute
the same, and that Hugging Face's BERT, GPT-2 and Marian do.
"""

from viz_transformer.model.attention import attend
from viz_transformer.model.conversion import from_huggingface
from viz_transformer.model.families import (
    DecoderOnly,
    EncoderOnly,
    TracedDecoderOnly,
    TracedEncoderOnly,
)
from viz_transformer.model.interventions import HeadChange, Interventions
from viz_transformer.model.outputs import ModelOutput
from viz_transformer.model.transformer import TracedTransformer, Transformer

__all__ = [
    "DecoderOnly",
    "EncoderOnly",
    "HeadChange",
    "Interventions",
    "ModelOutput",
    "TracedDecoderOnly",
    "TracedEncoderOnly",
    "TracedTransformer",
    "Transformer",
    "attend",
    "from_huggingface",
]
