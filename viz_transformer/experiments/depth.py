"""Gradients and losses of deep models, by depth and kind of normalisation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import nn

from viz_transformer._bounds import SEED, whole_number
from viz_transformer.config import ModelConfig, Norm, TrainConfig
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import batches
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.model import Interventions, TracedTransformer
from viz_transformer.model.threads import threads
from viz_transformer.recipes.six_pairs import SMALL_MODEL
from viz_transformer.training import fit, make_model, token_loss


@dataclass(frozen=True)
class DepthGradients:
    """The gradient that each layer of a new model gets, as the norm over all its parameters.

    >>> from viz_transformer.experiments import DepthGradients
    >>> found = DepthGradients(loss=4.0, encoder=(1.4, 2.1), decoder=(0.5, 2.5))
    >>> found.decoder[-1] / found.decoder[0]  # times as much for the last layer as for the first
    5.0

    Attributes:
        loss: of the new model on the six pairs, in nats per token.
        encoder: a norm for each encoder layer, the first the one that reads the words.
        decoder: likewise; the last is the one that the loss reaches first.
    """

    loss: float
    encoder: tuple[float, ...]
    decoder: tuple[float, ...]


def deep_model(n_layers: int, norm: Norm = "post") -> ModelConfig:
    """Return the tiny six-pairs configuration with more layers in both stacks."""
    return replace(
        SMALL_MODEL,
        vocab_size=len(vocabulary_of(SIX_PAIRS)),
        n_encoder_layers=n_layers,
        n_decoder_layers=n_layers,
        norm=norm,
    )


def gradients_by_depth(
    n_layers: int = 6,
    norm: Norm | Literal["none"] = "post",
    *,
    residual: bool = True,
    seed: int = 0,
) -> DepthGradients:
    """Measure the gradient of each layer of a new model on the six pairs. No step is trained:

    this is the signal that the first step of a training would use.

    >>> from viz_transformer.experiments import gradients_by_depth
    >>> for residual in (True, False):
    ...     decoder = gradients_by_depth(6, norm="none", residual=residual).decoder
    ...     print(decoder[0] > decoder[-1], decoder[0] == 0)  # without residual connections it vanishes
    True False
    False True

    Args:
        n_layers: layers in the encoder, and in the decoder.
        norm: ``"post"`` (the paper), ``"pre"``, or ``"none"`` without any LayerNorm.
        residual: False leaves out the residual connections.
        seed: of the weights.

    Raises:
        UserError: if a number is out of range.

    Source: Xiong et al. 2020, section 3, for post- and pre-norm; Liu et al. 2020, "Understanding
    the Difficulty of Training Transformers", for the decoder, whose gradients vanish first.
    """
    whole_number("seed", seed, SEED, least=0)
    config = deep_model(n_layers, "post" if norm == "none" else norm)
    vocabulary = vocabulary_of(SIX_PAIRS)
    batch = next(batches(SIX_PAIRS, vocabulary, len(SIX_PAIRS), seed=0))
    source, target = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
    with threads(1), torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        model = TracedTransformer(config)
        changes = Interventions(layer_norm=norm != "none", residual=residual)
        logits = model(source, target[:, :-1], changes).logits  # [batch, target - 1, vocab]
        loss, _ = token_loss(logits, target[:, 1:], vocabulary.pad_id)
        loss.backward()
    return DepthGradients(
        loss=loss.item(),
        encoder=tuple(map(_gradient_norm, model.encoder.layers)),
        decoder=tuple(map(_gradient_norm, model.decoder.layers)),
    )


def losses_by_depth(
    n_layers: int, norm: Norm = "post", *, n_steps: int = 30, seed: int = 0
) -> tuple[float, ...]:
    """Train a new deep model on the six pairs at a constant rate, without any warm-up.

    >>> from viz_transformer.experiments import losses_by_depth
    >>> post, pre = (losses_by_depth(4, norm, n_steps=6) for norm in ("post", "pre"))
    >>> pre[-1] < post[-1] < post[0]
    True

    Args:
        n_layers: layers in the encoder, and in the decoder.
        norm: ``"post"`` or ``"pre"``.
        n_steps: each with all six pairs.
        seed: of the weights.

    Returns:
        The loss of each step, in nats per token.

    Raises:
        UserError: if a number is out of range.
    """
    config = deep_model(n_layers, norm)
    training = TrainConfig(n_steps=n_steps, batch_size=6, warmup_steps=0, schedule="constant", seed=seed)
    pairs = batches(SIX_PAIRS, vocabulary_of(SIX_PAIRS), training.batch_size, seed)
    with threads(1):
        return tuple(record.loss for record in fit(make_model(config, seed), pairs, training))


def _gradient_norm(layer: nn.Module) -> float:
    gradients = [p.grad for p in layer.parameters() if p.grad is not None]
    return torch.stack([gradient.norm() for gradient in gradients]).norm().item()
