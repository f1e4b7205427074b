"""Training on six sentence pairs: a tiny model in about a second, and one far too large for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import batches
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.model import Transformer
from viz_transformer.model.threads import threads
from viz_transformer.recipes.recording import Recorder, moments_for, record_training
from viz_transformer.trace import TrainingTrace
from viz_transformer.training import StepRecord, fit, make_model
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import Vocabulary

#: Two layers of four heads a stack; the vocabulary's size is replaced by that of the sentences'.
TWO_LAYERS = ModelConfig(vocab_size=1, n_heads=4, n_encoder_layers=2, n_decoder_layers=2)
#: The model of the six pairs: two layers, four heads, learned in about a second.
SIX_PAIRS_MODEL = replace(TWO_LAYERS, d_model=32, d_ff=64, max_length=20, dropout=0.1, bias=False)
SIX_PAIRS_TRAINING = TrainConfig(n_steps=300, batch_size=6, warmup_steps=10, fused=False, seed=0)
#: Small and large are recorded while they learn, and differ only in size and rate: neither uses
#: dropout, and the rate is constant. An epoch is one step: a batch of all six pairs.
SMALL_MODEL = replace(SIX_PAIRS_MODEL, dropout=0.0)
SMALL_TRAINING = TrainConfig(
    n_steps=100, batch_size=6, warmup_steps=0, schedule="constant", fused=False, seed=0
)
#: The paper's base model, a thousand times larger than six pairs need: it learns them all, and
#: its cross-attention stays uniform.
LARGE_MODEL = replace(SMALL_MODEL, d_model=512, n_heads=8, n_encoder_layers=6, n_decoder_layers=6, d_ff=2048)
LARGE_TRAINING = replace(SMALL_TRAINING, learning_rate=1e-4)


def six_pairs_translator(n_steps: int = 300, seed: int = 0) -> Translator:
    """Train a tiny translator on the six sentence pairs.

    300 steps take about a second, and it knows all six. After 70 steps with seed 7 it is half
    trained: without length normalisation *buenos* beats *buenos dias*, and with it loses.

    >>> from viz_transformer.recipes import six_pairs_translator
    >>> six_pairs_translator(n_steps=40).translate("i love you").text  # learned before the others
    'te amo'

    Args:
        n_steps: how long to train.
        seed: of the weights, the order and the dropout.
    """
    training = replace(SIX_PAIRS_TRAINING, n_steps=n_steps, seed=seed)
    model, vocabulary = _new_model(SIX_PAIRS_MODEL, seed)
    with threads(1):  # half trained, the last bits grow: lessons quote two digits of it
        for _ in _steps(model, vocabulary, training):
            pass
    return Translator(model.eval(), vocabulary)


def six_pairs_training(seed: int = 0, n_epochs: int = 100, n_moments: int = 24) -> TrainingTrace:
    """Train a tiny model on the six pairs, and return the recorded training.

    100 epochs take about a second, and it knows all six. Like `six_pairs_translator`'s, but for
    the dropout and the falling rate.

    >>> from viz_transformer.recipes import six_pairs_training
    >>> training = six_pairs_training(n_epochs=15, n_moments=3)
    >>> [moment.step for moment in training.moments]
    [0, 3, 15]
    >>> training.moments[-1].translations[3]
    'buenos dias'

    `vt.training_player` plays it.

    Args:
        seed: of the weights.
        n_epochs: how long to train.
        n_moments: how many moments to record; see `moments_for`.

    Raises:
        UserError: if a number is out of range.
    """
    training = replace(SMALL_TRAINING, n_steps=n_epochs, seed=seed)
    return train_six_pairs(SMALL_MODEL, training, f"small, seed {seed}", n_moments)


def train_six_pairs(
    model: ModelConfig, training: TrainConfig, name: str, n_moments: int = 24
) -> TrainingTrace:
    """Train any model on the six pairs, and return the recorded training.

    >>> from dataclasses import replace
    >>> from viz_transformer.recipes import SMALL_MODEL, SMALL_TRAINING, train_six_pairs
    >>> narrow = replace(SMALL_MODEL, d_model=8, n_heads=2, d_ff=16)
    >>> training = train_six_pairs(narrow, replace(SMALL_TRAINING, n_steps=2), "narrow", n_moments=2)
    >>> training.moments[-1].traces[0].cross_attention.shape  # of its first pair, "hola mundo"
    (2, 2, 3, 3)

    Args:
        model: sizes and choices; the size of the vocabulary is the pairs'.
        training: steps, rate and seed.
        name: what distinguishes this run from another.
        n_moments: how many moments to record; see `moments_for`.

    Raises:
        UserError: if there are fewer than two moments, or the loss is no longer a number.
    """
    new_model, vocabulary = _new_model(model, training.seed)
    moments = moments_for(training.n_steps, n_moments)
    recorder = Recorder(new_model, vocabulary, SIX_PAIRS, name, moments)
    for _ in record_training(_steps(new_model, vocabulary, training), recorder):
        pass
    return recorder.trace()


def _new_model(config: ModelConfig, seed: int) -> tuple[Transformer, Vocabulary]:
    vocabulary = vocabulary_of(SIX_PAIRS)
    return make_model(replace(config, vocab_size=len(vocabulary)), seed), vocabulary


def _steps(model: Transformer, vocabulary: Vocabulary, training: TrainConfig) -> Iterator[StepRecord]:
    return fit(model, batches(SIX_PAIRS, vocabulary, training.batch_size, training.seed), training)
