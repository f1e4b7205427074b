"""How six sentence pairs are learned: in about a second, or by a model far too large for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import batches
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.model import Transformer
from viz_transformer.recipes.recording import Recorder, moments_for, recorded
from viz_transformer.trace import TrainingTrace
from viz_transformer.training import StepRecord, fit, make_model
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import Vocabulary

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
SIX_PAIRS_TRAINING = TrainConfig(n_steps=300, batch_size=6, warmup_steps=10, fused=False, seed=0)
#: The paper's base model, a thousand times larger than six pairs need: it learns them all, and
#: its decoder has no reason to look anywhere.
LARGE_SIX_PAIRS_MODEL = replace(
    SIX_PAIRS_MODEL,
    d_model=512,
    n_heads=8,
    n_encoder_layers=6,
    n_decoder_layers=6,
    d_ff=2048,
    dropout=0.0,
)
#: 100 epochs, each one batch of all six pairs.
LARGE_SIX_PAIRS_TRAINING = TrainConfig(
    n_steps=100,
    batch_size=6,
    learning_rate=1e-4,
    warmup_steps=0,
    schedule="constant",
    fused=False,
    seed=0,
)


def six_pairs_translator(n_steps: int = 300, seed: int = 0) -> Translator:
    """Train a tiny translator on the six sentence pairs, here and now.

    300 steps take about a second, and it knows all six. After 70 steps with seed 7 it is half
    trained: without length normalisation *buenos* beats *buenos dias*, and with it loses.

    Args:
        n_steps: how long to train.
        seed: of the weights, the order and the dropout.
    """
    training = replace(SIX_PAIRS_TRAINING, n_steps=n_steps, seed=seed)
    model, vocabulary = _new_model(SIX_PAIRS_MODEL, seed)
    for _ in _steps(model, vocabulary, training):
        pass
    return Translator(model.eval(), vocabulary)


def six_pairs_training(seed: int = 0, n_steps: int = 300) -> TrainingTrace:
    """Train the same tiny translator, and return what was seen of it on the way.

    The weights become those of `six_pairs_translator` to the last bit, a second or two later.

    Args:
        seed: of the weights, the order and the dropout.
        n_steps: how long to train.
    """
    training = replace(SIX_PAIRS_TRAINING, n_steps=n_steps, seed=seed)
    return train_six_pairs(SIX_PAIRS_MODEL, training, f"seed {seed}")


def train_six_pairs(
    model: ModelConfig, training: TrainConfig, name: str, n_moments: int = 24
) -> TrainingTrace:
    """Train any model on the six pairs, and return what was seen of all six on the way.

    The bundled trace of the large model is ``train_six_pairs(LARGE_SIX_PAIRS_MODEL,
    LARGE_SIX_PAIRS_TRAINING, "large", n_moments=10)``, which takes minutes.

    Args:
        model: sizes and choices; the size of the vocabulary is the pairs'.
        training: steps, rate and seed.
        name: what tells this run from another.
        n_moments: how often to look; see `moments_for`.

    Raises:
        UserError: if there are fewer than two moments, or the loss is no longer a number.
    """
    made, vocabulary = _new_model(model, training.seed)
    moments = moments_for(training.n_steps, n_moments)
    recorder = Recorder(made, vocabulary, SIX_PAIRS, name, moments)
    for _ in recorded(_steps(made, vocabulary, training), recorder):
        pass
    return recorder.trace()


def _new_model(config: ModelConfig, seed: int) -> tuple[Transformer, Vocabulary]:
    vocabulary = vocabulary_of(SIX_PAIRS)
    return make_model(replace(config, vocab_size=len(vocabulary)), seed), vocabulary


def _steps(
    model: Transformer, vocabulary: Vocabulary, training: TrainConfig
) -> Iterator[StepRecord]:
    return fit(model, batches(SIX_PAIRS, vocabulary, training.batch_size, training.seed), training)
