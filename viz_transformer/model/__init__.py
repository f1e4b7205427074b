"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017), from scratch.

Read it as a chapter, in this order: `masks` (who may look at whom), `scoring` and `attention` (how
a position looks), `positional` (how it knows where it stands), `layers` (how looking and thinking
alternate), `transformer` (the whole model, plain and traced), `families` (each of its halves, alone
a model of its own) and `cache` (how decoding avoids doing the same work twice). `interventions`
switches parts of it off, and `experiments` measures why it is built as it is. `conversion` shows
that torch's own modules compute the same, and `huggingface` that BERT, GPT-2 and Marian do.
"""

from viz_transformer.model.attention import attend
from viz_transformer.model.families import (
    DecoderOnly,
    EncoderOnly,
    TracedDecoderOnly,
    TracedEncoderOnly,
)
from viz_transformer.model.huggingface import from_huggingface
from viz_transformer.model.interventions import HeadChange, Interventions
from viz_transformer.model.output import ModelOutput
from viz_transformer.model.traced import TracedTransformer
from viz_transformer.model.transformer import Transformer

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
