"""How six sentence pairs are learned, in about a second."""

from __future__ import annotations

from dataclasses import replace

from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import batches
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.training import fit, make_model
from viz_transformer.translator import Translator

#: The model of the six pairs: two layers, four heads, learned in about a second.
SIX_PAIRS_MODEL = ModelConfig(
    vocab_size=1,  # replaced by the size of the pairs' vocabulary
    d_model=32,
    n_heads=4,
    n_encoder_layers=2,
    n_decoder_layers=2,
    d_ff=64,
    max_length=20,
    dropout=0.1,
    bias=False,
)


def six_pairs_translator(n_steps: int = 300, seed: int = 0) -> Translator:
    """Train a tiny translator on the six sentence pairs, here and now.

    300 steps take about a second, and it knows all six. After 70 steps with seed 7 it is half
    trained: without length normalisation *buenos* beats *buenos dias*, and with it loses.

    Args:
        n_steps: how long to train.
        seed: of the weights, the order and the dropout.
    """
    vocabulary = vocabulary_of(SIX_PAIRS)
    model = make_model(replace(SIX_PAIRS_MODEL, vocab_size=len(vocabulary)), seed)
    config = TrainConfig(n_steps=n_steps, batch_size=6, warmup_steps=10, fused=False, seed=seed)
    for _ in fit(model, batches(SIX_PAIRS, vocabulary, 6, seed), config):
        pass
    return Translator(model.eval(), vocabulary)
