"""A summary of a whole model: its parts, their shapes and their parameters.

The model is made on torch's ``meta`` device: its tensors have shapes and no numbers, so that one of
44 million parameters is walked through in milliseconds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from viz_transformer.config import ModelConfig
from viz_transformer.config.checks import check_int
from viz_transformer.errors import UserError
from viz_transformer.model.layers import DecoderLayer, EncoderLayer, Residual
from viz_transformer.model.transformer import Transformer

Shape = tuple[int, ...]
Stack = Literal["encoder", "decoder"]


class Part(NamedTuple):
    """One part of the model, and what comes out of it.

    Attributes:
        stack: ``"encoder"`` or ``"decoder"``.
        name: what it is, such as ``"self-attention"``.
        shapes: what it makes, by name: ``{"weights": (1, 8, 6, 6), …}``.
        n_parameters: what it learns, in one layer.
        times: how often it is in the stack: the number of layers, or 1.
        in_layer: whether every layer has one.
    """

    stack: Stack
    name: str
    shapes: dict[str, Shape]
    n_parameters: int
    times: int = 1
    in_layer: bool = False


def model_parts(config: ModelConfig, n_source: int, n_target: int, *, batch: int = 1) -> tuple[Part, ...]:
    """Walk through an encoder–decoder and return its parts, from the source ids to the logits.

    Args:
        config: of the family ``"encoder-decoder"``.
        n_source: tokens in each source sentence.
        n_target: tokens in each target sentence.
        batch: sentences.

    Returns:
        The encoder's parts, then the decoder's; those of a layer once, with the number of layers.
        Their ``n_parameters · times`` sum to `count_parameters(config)`.

    Raises:
        UserError: if a length is below 1 or above max_length, or the config of another family.
    """
    for name, value in (("n_source", n_source), ("n_target", n_target)):
        check_int(name, value, 1, config.max_length)
    check_int("batch", batch, 1)
    if config.family != "encoder-decoder":
        raise UserError(
            f"this summary shows an encoder and a decoder, but this config is of the family "
            f"{config.family!r}; choose another"
        )
    with torch.device("meta"):
        # All layers of a stack are alike: one of each is walked through.
        model = Transformer(replace(config, n_encoder_layers=1, n_decoder_layers=1)).eval()
        source, target = (torch.zeros(batch, n, dtype=torch.long) for n in (n_source, n_target))
        source_mask = torch.ones(batch, 1, 1, n_source, dtype=torch.bool)
        target_mask = torch.ones(batch, 1, n_target, n_target, dtype=torch.bool)
    recorder = _ShapeRecorder(model)
    memory, _ = model.encoder(_embedded(model, source, "source"), source_mask, recorder.attend)
    x, _, _ = model.decoder(
        _embedded(model, target, "target"), target_mask, memory, source_mask, recorder.attend
    )
    logits = model.logits(x)
    return (
        _first(model, "encoder", source),
        *_layer(model.encoder.layers[0], "encoder", config.n_encoder_layers, recorder),
        *_last_norm(model.encoder.norm, "encoder", recorder),
        _first(model, "decoder", target),
        *_layer(model.decoder.layers[0], "decoder", config.n_decoder_layers, recorder),
        *_last_norm(model.decoder.norm, "decoder", recorder),
        Part("decoder", "logits", {"output": tuple(logits.shape)}, _output(model)),
    )


class _ShapeRecorder:
    """The shapes of what each module returned, and each attention computed, while the model ran."""

    def __init__(self, model: nn.Module) -> None:
        self.outputs: dict[nn.Module, Shape] = {}
        self.attentions: list[dict[str, Shape]] = []
        for module in model.modules():
            module.register_forward_hook(self._record)

    def _record(self, module: nn.Module, _: Any, output: Any) -> None:
        if isinstance(output, tuple):
            output = output[0]
        self.outputs[module] = tuple(output.shape)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, dropout: float, score: Any
    ) -> tuple[Tensor, Tensor]:
        """Attend as `attention.attend` does, without a mask: it changes no shape."""
        weights = score(query, key).softmax(-1)  # [batch, head, query, key]
        found = {"query": query, "key": key, "value": value, "weights": weights}
        self.attentions.append({name: tuple(each.shape) for name, each in found.items()})
        return weights @ value, weights


def _embedded(model: Transformer, ids: Tensor, side: str) -> Tensor:
    own = side == "target" and model.config.has_target_embedding
    embedding = model.target_embedding if own else model.source_embedding
    places = getattr(model, f"{side}_positions")(ids.shape[1], 0)  # [position, d_model]
    return embedding(ids) + places.to("meta")  # [batch, position, d_model]


def _first(model: Transformer, stack: Stack, ids: Tensor) -> Part:
    side = "source" if stack == "encoder" else "target"
    learned = [getattr(model, f"{side}_positions")]
    if stack == "encoder" or model.config.has_target_embedding:  # else the source's serves both
        learned.append(getattr(model, f"{side}_embedding"))
    vectors = (*ids.shape, model.config.d_model)
    shapes = {"ids": tuple(ids.shape), "vectors": vectors}
    return Part(stack, "embedding + positions", shapes, sum(map(_count, learned)))


def _layer(
    layer: EncoderLayer | DecoderLayer, stack: Stack, times: int, recorder: _ShapeRecorder
) -> list[Part]:
    names = {"self_attention": "self-attention"}
    if stack == "decoder":
        names = {"self_attention": "masked self-attention", "cross_attention": "cross-attention"}
    parts = []
    for attribute, name in names.items():
        attention = getattr(layer, attribute)
        shapes = recorder.attentions[0 if stack == "encoder" else 1 + (attribute == "cross_attention")]
        shapes = {**shapes, "output": recorder.outputs[attention]}
        parts.append(Part(stack, name, shapes, _count(attention), times, True))
        parts.append(_norm(getattr(layer, f"{attribute}_residual"), stack, times, recorder))
    network = layer.feed_forward
    shapes = {"hidden": recorder.outputs[network.w_1], "output": recorder.outputs[network]}
    parts.append(Part(stack, "feed-forward", shapes, _count(network), times, True))
    parts.append(_norm(layer.feed_forward_residual, stack, times, recorder))
    return parts


def _norm(residual: Residual, stack: Stack, times: int, recorder: _ShapeRecorder) -> Part:
    shapes = {"output": recorder.outputs[residual.norm]}
    return Part(stack, "Add & Norm", shapes, _count(residual), times, True)


def _last_norm(norm: nn.Module, stack: Stack, recorder: _ShapeRecorder) -> list[Part]:
    if not _count(norm):
        return []
    return [Part(stack, "last norm", {"output": recorder.outputs[norm]}, _count(norm))]


def _output(model: Transformer) -> int:
    learned = 0 if model.config.tie_embeddings else _count(model.output)
    return learned + (model.output_bias.numel() if model.config.output_bias else 0)


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
