"""A language model and a masked language model of a few Spanish sentences, trained in a second."""

from __future__ import annotations

from functools import cache

from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus.text_batches import masked_word_batches, next_word_batches
from viz_transformer.language_model import LanguageModel
from viz_transformer.masked_model import MaskedModel
from viz_transformer.model import DecoderOnly, EncoderOnly
from viz_transformer.recipes import spanish_vocabulary
from viz_transformer.training import fit, make_model

#: The first word decides the adjective's gender; after *el gato* three sentences of four say *negro*.
TEXTS = [
    text.split()
    for text in (
        *["el gato negro duerme"] * 3,
        "el gato blanco duerme",
        *["la gata negra duerme"] * 3,
        "la gata blanca duerme",
    )
]
TRAINING = TrainConfig(n_steps=150, batch_size=8, learning_rate=1e-2, warmup_steps=20)


def small_config(**changes: object) -> ModelConfig:
    sizes = {"d_model": 16, "n_heads": 2, "n_encoder_layers": 2, "n_decoder_layers": 2, "d_ff": 32}
    return ModelConfig(**(sizes | {"max_length": 10, "dropout": 0.0} | changes))


@cache
def small_language_model() -> LanguageModel:
    vocabulary = spanish_vocabulary(TEXTS)
    model = make_model(small_config(family="decoder", vocab_size=len(vocabulary)), 0, DecoderOnly)
    for _ in fit(model, next_word_batches(TEXTS, vocabulary, 8, 0), TRAINING):
        pass
    return LanguageModel(model, vocabulary)


@cache
def small_masked_model() -> MaskedModel:
    vocabulary = spanish_vocabulary(TEXTS, mask=True)
    config = small_config(family="encoder", predicts_words=True, vocab_size=len(vocabulary))
    model = make_model(config, 0, EncoderOnly)
    for _ in fit(model, masked_word_batches(TEXTS, vocabulary, 8, 0), TRAINING):
        pass
    return MaskedModel(model, vocabulary)
