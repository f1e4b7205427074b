"""The encoder-only and decoder-only families, made of the same layers.

`EncoderOnly` reads a text in both directions and gives a vector per position, or a class for the
whole text (BERT, DistilBERT). `DecoderOnly` reads from left to right and scores the next word at
every position (GPT-2): with no source there is nothing to look across at, so its layers are the
encoder's behind a causal mask. Each has a traced variant with the same parameters and results.
"""

from viz_transformer.model.families.decoder import DecoderOnly, TracedDecoderOnly
from viz_transformer.model.families.encoder import EncoderOnly, TracedEncoderOnly

__all__ = ["DecoderOnly", "EncoderOnly", "TracedDecoderOnly", "TracedEncoderOnly"]
