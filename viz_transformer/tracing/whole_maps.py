"""Whole maps of Hugging Face models that return only parts of them, or something else.

Longformer and LED return a band of keys around each query, Swin the insides of its windows, and
ProphetNet and SqueezeBERT their scores instead of their weights. A trace has [query, key] over the
whole sequence or picture, with zeros where a query does not look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from viz_transformer.errors import UserError
from viz_transformer.tracing.attention_calls import AttentionCall, AttentionRecorder
from viz_transformer.tracing.block_maps import DECODER_ALONE
from viz_transformer.tracing.call_kinds import sort_layers
from viz_transformer.tracing.labels import Labels
from viz_transformer.tracing.position_biases import Biases
from viz_transformer.tracing.selection import TOLERANCE, Selection
from viz_transformer.tracing.window_maps import maps_of_windows

Forward = Callable[[], Mapping[str, Any]]
Layers = dict[str, list[Any]]


def maps_of_parts(model: Any, named: Mapping[str, Any], forward: Forward, biases: Biases) -> Layers | None:
    """Run a model that attends in bands or windows, and put its maps together.

    Args:
        model: Hugging Face's.
        named: what it reads, of one sentence or picture.
        forward: runs it with eager attention, and returns its output.
        biases: what is seen to be added inside windows; becomes that of the whole picture.

    Returns:
        per kind and layer [batch, head, query, key]; None, without a run, for any other model.

    Raises:
        UserError: if the parts do not tell the whole.
    """
    if hasattr(model.config, "attention_window"):
        return _maps_of_bands(forward(), named.get("global_attention_mask"))
    blocks = [module for module in model.modules() if hasattr(module, "shift_size")]
    if blocks and "pixel_values" in named and hasattr(model.config, "depths"):
        return maps_of_windows(model.config, blocks, named["pixel_values"], forward, biases)
    return None


def hold_weights(layers: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether layers that a model returned hold weights, rather than nothing, or scores.

    Weights of an attention with a sink sum to less than 1.
    """
    present = [layer for of_kind in layers.values() for layer in of_kind if layer is not None]
    return bool(present) and all(map(_may_be_weights, present))


def maps_of_softmaxes(
    model: Any, forward: Forward, labels: Labels, returned: Mapping[str, Sequence[Any]]
) -> Layers | None:
    """Run a model again, and return the weights that its softmaxes made; None if there are none.

    Args:
        model: Hugging Face's.
        forward: runs it with eager attention, and returns its output.
        labels: of what it reads.
        returned: what it returned in place of its weights, by kind.

    Raises:
        UserError: if some kind has no map among them.
    """
    with AttentionRecorder(model) as recorder:
        forward()
    if not recorder.calls:
        return None
    n_streams = 1 + getattr(model.config, "ngram", 0)
    calls = [_of_main_stream(call, labels, n_streams) for call in recorder.calls]
    layers = sort_layers(calls, labels, (1,), None, Selection()).layers
    lost = [kind for kind, of_kind in returned.items() if of_kind and not layers.get(kind)]
    if lost:
        raise UserError(
            f"{type(model).__name__} computes its {lost[0]} attention in blocks, and a part of it goes to "
            f"tokens of its own, which are no positions of the text; capture {DECODER_ALONE}"
        )
    return layers


def _of_main_stream(call: AttentionCall, labels: Labels, n_streams: int) -> AttentionCall:
    """Leave out ProphetNet's other streams, whose queries are after those of the sequence.

    Source: Qi et al. 2020, *ProphetNet*, section 3.2.
    """
    n_queries = 0 if labels.target is None else labels.target.n_positions
    if n_streams == 1 or call.weights.shape[-2] != n_streams * n_queries:
        return call
    return replace(call, weights=call.weights[..., :n_queries, :])


def _may_be_weights(layer: Any) -> bool:
    if not isinstance(layer, Tensor) or not layer.numel():
        return isinstance(layer, Tensor)  # one that is not kept is empty by now
    sums = layer.sum(-1, dtype=torch.float32)
    return bool(layer.min() >= 0 and sums.max() <= 1 + TOLERANCE)


def _maps_of_bands(output: Mapping[str, Any], global_mask: Tensor | None) -> Layers:
    """Put together the maps of Longformer, or of LED's encoder.

    Source: Beltagy et al. 2020, *Longformer*, section 3.1.
    """
    layers: Layers = {}
    for kind, name in (("self", ""), ("encoder", "encoder_")):
        bands = output.get(f"{name}attentions")
        if bands is not None:
            global_rows = output.get(f"{name}global_attentions") or [None] * len(bands)
            layers[kind] = [
                _map_of_band(band, rows, global_mask) for band, rows in zip(bands, global_rows, strict=True)
            ]
    for kind in ("decoder", "cross"):
        if output.get(f"{kind}_attentions") is not None:
            layers[kind] = list(output[f"{kind}_attentions"])
    return layers


def _map_of_band(band: Tensor, global_rows: Tensor | None, global_mask: Tensor | None) -> Tensor:
    """Put one layer's map together.

    Args:
        band: [1, head, query, global + window]: the weights on the tokens with global attention,
            then on the window's keys, the query itself in the middle.
        global_rows: [1, head, key, global]: the weights of the queries with global attention on all
            keys, padding included; None if there are none.
        global_mask: [1, query], 1 at the tokens with global attention; None if it was not given.

    Returns:
        weights [1, head, query, key].
    """
    _, n_heads, n, _ = band.shape
    n_global = 0 if global_rows is None else global_rows.shape[-1]
    window = band[0, ..., n_global:]  # [head, query, window]
    side = window.shape[-1] // 2
    columns = torch.arange(n)[:, None] + torch.arange(window.shape[-1])  # [query, window]
    whole = band.new_zeros(n_heads, n, n + 2 * side)  # [head, query, key + outside]
    whole.scatter_(2, columns.to(band.device).expand_as(window), window)
    whole = whole[..., side : side + n].clone()  # [head, query, key]
    if global_rows is not None:
        at = _global_positions(n_global, global_mask)
        whole[:, :, at] += band[0, ..., :n_global]
        whole[:, at] = global_rows[0, :, :n].mT  # [head, global, key]
    return whole[None]


def _global_positions(n_global: int, global_mask: Tensor | None) -> Tensor:
    """Return where the tokens with global attention are.

    Raises:
        UserError: if the model chose several itself.
    """
    if global_mask is not None:
        return global_mask[0].nonzero()[:, 0]
    if n_global == 1:
        return torch.tensor([0])  # a model that classifies sequences gives it to the first token
    raise UserError(
        f"the model gave {n_global} tokens global attention and does not say which; say so yourself: "
        "global_attention_mask= with 1 at those tokens, else 0"
    )
