"""Whole maps of Hugging Face models that return only parts of them, or something else.

Longformer and LED return a band of keys around each query, Swin the insides of its windows, and
ProphetNet and SqueezeBERT their scores instead of their weights. A trace has [query, key] over the
whole sequence or picture, with zeros where a query does not look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.tracing.attention_calls import AttentionCall, AttentionRecorder
from viz_transformer.tracing.call_kinds import sort_layers
from viz_transformer.tracing.labels import Labels
from viz_transformer.tracing.selection import TOLERANCE, Selection, sentence_index
from viz_transformer.tracing.watching import Biases

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
    """Leave out ProphetNet's other streams, whose queries stand behind those of the sequence.

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
    """Return where the tokens with global attention stand.

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


#: How to look at the other half of a model whose encoder can't be traced.
DECODER_ALONE = "its decoder alone: vt.capture(model.decoder, input_ids=..., encoder_hidden_states=...)"


def whole_blocks(model: Any, layers: Mapping[str, Any], n: int) -> dict[str, Any]:
    """Put a model's maps of its encoder together, if it attends in blocks.

    Args:
        model: Hugging Face's; of any other model nothing changes.
        layers: what it returned, by kind.
        n: how many positions its encoder read.

    Raises:
        UserError: if a part of the attention goes to no position of the text.
    """
    config = model.config
    put: Callable[[Tensor, Any, int], Tensor]
    if hasattr(config, "local_radius"):
        put = _from_local_blocks
    elif getattr(config, "attention_type", None) == "block_sparse" and n > _longest_full(config):
        put = _with_random_blocks
    else:
        return dict(layers)
    return {
        kind: [put(layer, config, n) for layer in of_kind] if kind in ("self", "encoder") else of_kind
        for kind, of_kind in layers.items()
    }


def _from_local_blocks(blocks: Tensor, config: Any, n: int) -> Tensor:
    """Set LongT5's blocks at their places: each attends to itself and to its two neighbours.

    Args:
        blocks: [1, block, head, query, key], the keys those of three blocks.
        config: the model's.
        n: how many positions there are without the padding of the last block.

    Source: Guo et al. 2022, *LongT5*, section 3.1.1.
    """
    if blocks.ndim == 4:
        return blocks  # of the decoder alone, which attends to all
    _, n_blocks, n_heads, size, n_keys = blocks.shape
    if n_keys != 3 * size:
        raise UserError(
            f"this LongT5's encoder attends to {n_keys - 3 * size} global tokens too, each the sum of a "
            "block, which are no positions of the text; capture a LongT5 with encoder_attention_type="
            f"'local', or {DECODER_ALONE}"
        )
    whole = blocks.new_zeros(n_heads, n_blocks * size, (n_blocks + 2) * size)  # a block more on each side
    for i, block in enumerate(blocks[0]):
        whole[:, i * size : (i + 1) * size, i * size : (i + 3) * size] = block
    return whole[None, :, :n, size : size + n]  # [1, head, query, key]


def _with_random_blocks(layer: Tensor, config: Any, n: int) -> Tensor:
    """Add what BigBird's map leaves out: the weights of its random blocks.

    Only training draws them. In evaluation every random block is the first one, whose keys then stand
    in the softmax several times, with the same weight each time; the map that the model returns has
    it once.

    Args:
        layer: [1, head, query, key], padded to whole blocks.
        config: the model's.
        n: how many positions there are without that padding.

    Source: Zaheer et al. 2020, *Big Bird*, appendix D.
    """
    size = config.block_size
    whole = layer.clone()
    # The first and the last block attend to all keys, and have no random ones.
    whole[:, :, size:-size, :size] *= 1 + config.num_random_blocks
    return whole[:, :, :n, :n]


def _longest_full(config: Any) -> int:
    """Return how many positions BigBird still reads with full attention."""
    return (5 + 2 * config.num_random_blocks) * config.block_size


@dataclass(frozen=True)
class Windowed:
    """A layer that attended inside windows.

    Attributes:
        shift: how far its windows are shifted, down and right, in patches.
        rows: how many patches its picture is high.
        columns: how many it is wide.
        n_pictures: how many it read.
    """

    shift: tuple[int, int]
    rows: int
    columns: int
    n_pictures: int


@contextmanager
def watching_windows(model: nn.Module) -> Iterator[list[Windowed]]:
    """List the layers with shifted windows, of timm's Swin or torchvision's, as they run.

    Inside the ``with`` block, that is. Such a layer reads [picture, row, column, feature], and tells
    the sizes of its windows and of their shift.
    """
    seen: list[Windowed] = []

    def see(module: Any, given: tuple[Any, ...]) -> None:
        if given and isinstance(given[0], Tensor) and given[0].ndim == 4:
            n_pictures, rows, columns, _ = given[0].shape
            seen.append(Windowed(tuple(module.shift_size), rows, columns, n_pictures))

    handles = [
        module.register_forward_pre_hook(see)
        for module in model.modules()
        if all(_is_pair(getattr(module, name, None)) for name in ("window_size", "shift_size"))
    ]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def layers_of_windows(
    calls: Sequence[AttentionCall], seen: Sequence[Windowed], batch_index: int | None, biases: Biases
) -> dict[str, list[Any]] | None:
    """Put the maps of one picture together; None if not all attention was that of windows.

    Args:
        calls: in their order.
        seen: the layers, in the same.
        batch_index: which picture.
        biases: what was seen to be added inside the windows; becomes that of the whole picture.

    Raises:
        UserError: if the windows of a layer are not filled.
    """
    if not seen or len(calls) != len(seen):
        return None
    picture = sentence_index(seen[0].n_pictures, batch_index)
    _widen(biases, seen)
    return {
        "self": [
            _map_of_windows(call.weights.chunk(of.n_pictures)[picture], of.shift, of.rows, of.columns)
            for call, of in zip(calls, seen, strict=True)
        ]
    }


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def maps_of_windows(
    config: Any, blocks: Sequence[Any], pixels: Tensor, forward: Callable[[], Any], biases: Biases
) -> dict[str, list[Any]]:
    """Put together the maps of Swin: each window's weights at its place in the picture.

    The biases, which the forward fills with those of a window, become those of the whole picture.

    Source: Liu et al. 2021, *Swin Transformer*, section 3.2.
    """
    with AttentionRecorder() as recorder:
        forward()
    calls = iter(recorder.calls)
    patch = config.patch_size
    rows, columns = (math.ceil(size / patch) for size in pixels.shape[-2:])
    seen, block = [], iter(blocks)
    for depth in config.depths:
        for _ in range(depth):
            shift = int(next(block).shift_size)
            seen.append(Windowed((shift, shift), rows, columns, 1))
        rows, columns = (rows + 1) // 2, (columns + 1) // 2  # patches are merged two by two
    _widen(biases, seen)
    return {"self": [_map_of_windows(next(calls).weights, of.shift, of.rows, of.columns) for of in seen]}


def _widen(biases: Biases, seen: Sequence[Windowed]) -> None:
    """Make biases [head, query, key] of a window those of the whole picture, 0 between windows."""
    for of_kind in biases.values():
        if len(of_kind) == len(seen):
            for number, of in enumerate(seen):
                bias = of_kind[number][None]  # [1, head, query, key]
                of_kind[number] = _spread(bias, of.shift, of.rows, of.columns)[:, :-1, :-1]


def _map_of_windows(weights: Tensor, shift: tuple[int, int], rows: int, columns: int) -> Tensor:
    """Put one layer's map together.

    Args:
        weights: [window, head, query, key], each inside one window.
        shift: how far the windows are shifted, down and right, where the picture has several.
        rows: how many patches the picture is high.
        columns: how many it is wide.

    Returns:
        weights [1, head, query, key], over the patches of the picture, row by row.
    """
    whole = _spread(weights, shift, rows, columns)
    if whole[:, :-1, -1].any():
        size = math.isqrt(weights.shape[-1])
        raise UserError(
            f"{rows} by {columns} patches do not fill windows of {size} by {size}, and the model attends "
            f"to what it adds; give a picture whose sides are multiples of {size} patches in every layer"
        )
    return whole[None, :, :-1, :-1]


def _spread(values: Tensor, shift: tuple[int, int], rows: int, columns: int) -> Tensor:
    """Put the values of windows at their places in the picture, 0 between windows.

    Args:
        values: [window, head, query, key]; [1, head, query, key] if all windows have the same.
        shift: and the others as in `_map_of_windows`.

    Returns:
        [head, query, key] over the patches, with one more at the end for all that fills windows.
    """
    size = math.isqrt(values.shape[-1])
    down, right = (0, 0) if min(rows, columns) <= size else shift
    n = rows * columns
    places = torch.arange(n).view(rows, columns)
    # What is added to fill the last windows has the number n.
    places = F.pad(places, (0, -columns % size, 0, -rows % size), value=n).roll((-down, -right), (0, 1))
    windows = places.unflatten(0, (-1, size)).unflatten(2, (-1, size))  # [row, size, column, size]
    windows = windows.transpose(1, 2).reshape(-1, size * size).to(values.device)  # [window, patch]
    whole = values.new_zeros(values.shape[1], n + 1, n + 1)
    values = values.transpose(0, 1).expand(-1, len(windows), -1, -1)  # [head, window, query, key]
    whole[:, windows[:, :, None], windows[:, None, :]] = values
    return whole
