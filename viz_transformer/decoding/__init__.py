"""Decoding: from a model's probabilities to a text.

`greedy` takes the most probable word each time, `beam_search` follows several beginnings at once,
and `sample` draws. All work on a batch, read each word once through a key/value cache, and never
write ``<pad>`` or ``<sos>``; they differ in `beam`, `greedy` and `sampling` alone. `constraints` says
what may be written, `steps` and `fused` run the model, and `recorder` keeps the search for a trace.
"""

from viz_transformer.decoding.beam import beam_search
from viz_transformer.decoding.constraints import default_max_length
from viz_transformer.decoding.greedy import greedy
from viz_transformer.decoding.huggingface import from_generate
from viz_transformer.decoding.length_penalty import LengthNorm, length_norm, power_norm
from viz_transformer.decoding.sampling import kept_probabilities, sample, sample_ids

__all__ = [
    "LengthNorm",
    "beam_search",
    "default_max_length",
    "from_generate",
    "greedy",
    "kept_probabilities",
    "length_norm",
    "power_norm",
    "sample",
    "sample_ids",
]
