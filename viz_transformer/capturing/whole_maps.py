"""Whole maps of models that return only parts of them, or something else.

Longformer and LED return a band of keys around each query, LongT5 and BigBird blocks, Swin the insides of
its windows, and ProphetNet and SqueezeBERT their scores instead of their weights. A trace has [query, key]
over the whole sequence or picture, with zeros where a query does not look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from viz_transformer.capturing.arguments import TOLERANCE, Labels, Selection, sentence_index
from viz_transformer.capturing.attention_calls import AttentionCall, AttentionRecorder
from viz_transformer.capturing.call_kinds import sort_layers
from viz_transformer.capturing.running import Biases, BiasWatch
from viz_transformer.errors import UserError

Layers = dict[str, list[Any]]

#: How to look at the other half of a model whose encoder can't be traced.
_DECODER_ALONE = "its decoder alone: vt.capture(model.decoder, input_ids=..., encoder_hidden_states=...)"


def maps_of_softmaxes(
    model: Any, forward: Callable[[], Any], labels: Labels, returned: Mapping[str, Sequence[Any]]
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
    layers, _, _ = sort_layers(calls, labels, (1,), None, Selection())
    lost = [kind for kind, of_kind in returned.items() if of_kind and not layers.get(kind)]
    if lost:
        raise UserError(
            f"{type(model).__name__} computes its {lost[0]} attention in blocks, and a part of it goes to "
            f"tokens of its own, which are no positions of the text; capture {_DECODER_ALONE}"
        )
    return layers


def _of_main_stream(call: AttentionCall, labels: Labels, n_streams: int) -> AttentionCall:
    """Leave out ProphetNet's other streams, whose queries come after those of the sequence.

    Source: Qi et al. 2020, *ProphetNet*, section 3.2.
    """
    n_queries = 0 if labels.target is None else labels.target.n_positions
    if n_streams == 1 or call.weights.shape[-2] != n_streams * n_queries:
        return call
    return replace(call, weights=call.weights[..., :n_queries, :])


def hold_weights(layers: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether layers that a model returned hold weights, rather than nothing, or scores.

    Weights of an attention with a sink sum to less than 1; a layer that is not kept is empty.
    """
    present = [layer for of_kind in layers.values() for layer in of_kind if layer is not None]
    return bool(present) and all(
        isinstance(layer, Tensor)
        and (
            not layer.numel()
            or bool(layer.min() >= 0 and layer.sum(-1, dtype=torch.float32).max() <= 1 + TOLERANCE)
        )
        for layer in present
    )


def maps_of_bands(output: Mapping[str, Any], global_mask: Tensor | None) -> Layers:
    """Put together the maps of Longformer, or of LED's encoder, [batch, head, query, key].

    Args:
        output: what the model returned.
        global_mask: [1, query], 1 at the tokens with global attention; None if it was not given.

    Raises:
        UserError: if the model chose several tokens with global attention itself.

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
    """Put one layer's map together, [1, head, query, key].

    Args:
        band: [1, head, query, global + window]: the weights on the tokens with global attention,
            then on the window's keys, the query itself in the middle.
        global_rows: [1, head, key, global]: the weights of the queries with global attention on all
            keys, padding included; None if there are none.
        global_mask: see `maps_of_bands`.
    """
    _, n_heads, n, _ = band.shape
    n_global = 0 if global_rows is None else global_rows.shape[-1]
    window = band[0, ..., n_global:]  # [head, query, window]
    side = window.shape[-1] // 2
    columns = torch.arange(n)[:, None] + torch.arange(window.shape[-1])  # [query, window]
    whole = band.new_zeros(n_heads, n, n + 2 * side)  # [head, query, key + outside]
    whole.scatter_(2, columns.to(band.device).expand_as(window), window)
    whole = whole[..., side : side + n].clone()  # [head, query, key]
    if global_rows is None:
        return whole[None]
    if global_mask is not None:
        at = global_mask[0].nonzero()[:, 0]
    elif n_global == 1:
        at = torch.tensor([0])  # a model that classifies sequences gives it to the first token
    else:
        raise UserError(
            f"the model gave {n_global} tokens global attention and does not say which; say so yourself: "
            "global_attention_mask= with 1 at those tokens, else 0"
        )
    whole[:, :, at] += band[0, ..., :n_global]
    whole[:, at] = global_rows[0, :, :n].mT  # [head, global, key]
    return whole[None]


def whole_blocks(config: Any, layers: Mapping[str, Any], n: int) -> dict[str, Any]:
    """Put the maps of an encoder together that attends in blocks: LongT5's, or BigBird's.

    Args:
        config: the model's.
        layers: what it returned, by kind.
        n: how many positions its encoder read.

    Raises:
        UserError: if a part of the attention goes to no position of the text.
    """
    put: Callable[[Tensor, Any, int], Tensor]
    if hasattr(config, "local_radius"):
        put = _from_local_blocks
    elif (
        getattr(config, "attention_type", None) == "block_sparse"
        and n > (5 + 2 * config.num_random_blocks) * config.block_size  # it reads fewer with full attention
    ):
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
            f"'local', or {_DECODER_ALONE}"
        )
    whole = blocks.new_zeros(n_heads, n_blocks * size, (n_blocks + 2) * size)  # a block more on each side
    for i, block in enumerate(blocks[0]):
        whole[:, i * size : (i + 1) * size, i * size : (i + 3) * size] = block
    return whole[None, :, :n, size : size + n]  # [1, head, query, key]


def _with_random_blocks(layer: Tensor, config: Any, n: int) -> Tensor:
    """Add what BigBird's map [1, head, query, key] leaves out: the weights of its random blocks.

    Only training draws them. In evaluation every random block is the first one, whose keys are then
    in the softmax several times, with the same weight each time; the map that the model returns has
    it once, and is padded to whole blocks.

    Source: Zaheer et al. 2020, *Big Bird*, appendix D.
    """
    size = config.block_size
    whole = layer.clone()
    # The first and the last block attend to all keys, and have no random ones.
    whole[:, :, size:-size, :size] *= 1 + config.num_random_blocks
    return whole[:, :, :n, :n]


@dataclass(frozen=True)
class Windowed:
    """A layer that attended inside windows.

    Attributes:
        shift: how far its windows are shifted, down and right, in patches, where the picture has several.
        rows: how many patches its picture is high.
        columns: how many it is wide.
        n_pictures: how many it read.
    """

    shift: tuple[int, int]
    rows: int
    columns: int
    n_pictures: int = 1


class WindowWatch:
    """The layers with shifted windows, of timm's Swin or torchvision's, as they run.

    Such a layer reads [picture, row, column, feature], and tells the sizes of its windows and their shift.
    """

    def __init__(self) -> None:
        self._seen: list[Windowed] = []

    def hooks(self, _: str, module: nn.Module) -> Iterator[RemovableHandle]:
        """Watch a module that has the two sizes."""
        sizes = (getattr(module, name, None) for name in ("window_size", "shift_size"))
        if all(isinstance(size, list | tuple) and len(size) == 2 for size in sizes):
            yield module.register_forward_pre_hook(self._see)

    def _see(self, module: Any, given: tuple[Any, ...]) -> None:
        if given and isinstance(given[0], Tensor) and given[0].ndim == 4:
            n_pictures, rows, columns, _ = given[0].shape
            self._seen.append(Windowed(tuple(module.shift_size), rows, columns, n_pictures))

    def maps(self, calls: Sequence[AttentionCall], batch_index: int | None, biases: Biases) -> Layers | None:
        """Put the maps of one picture together; None if not all attention was that of windows.

        Args:
            calls: in their order.
            batch_index: which picture.
            biases: what was seen to be added inside the windows; becomes that of the whole picture.

        Raises:
            UserError: if the windows of a layer are not filled.
        """
        if not self._seen or len(calls) != len(self._seen):
            return None
        picture = sentence_index(self._seen[0].n_pictures, batch_index)
        return _maps_of_windows(calls, self._seen, picture, biases)


def maps_of_windows(
    config: Any, shifts: Sequence[int], pixels: Tensor, forward: Callable[[], Any], biases: BiasWatch
) -> Layers:
    """Run Hugging Face's Swin, and put its maps together, [batch, head, query, key].

    Args:
        config: the model's.
        shifts: of each layer, by how many patches its windows are shifted.
        pixels: the picture [1, channel, row, column].
        forward: runs the model with eager attention.
        biases: sees what is added inside windows, which becomes that of the whole picture.

    Raises:
        UserError: if the windows of a layer are not filled.
    """
    with AttentionRecorder() as recorder:
        forward()
    rows, columns = (math.ceil(size / config.patch_size) for size in pixels.shape[-2:])
    seen, shift = [], iter(shifts)
    for depth in config.depths:
        seen += [Windowed((by, by), rows, columns) for by in islice(shift, depth)]
        rows, columns = (rows + 1) // 2, (columns + 1) // 2  # patches are merged two by two
    return _maps_of_windows(recorder.calls[: len(seen)], seen, 0, biases.found)


def _maps_of_windows(
    calls: Sequence[AttentionCall], seen: Sequence[Windowed], picture: int, biases: Biases
) -> Layers:
    """Put each window's weights, and biases [head, query, key] of a window, at their places in the picture.

    Source: Liu et al. 2021, *Swin Transformer*, section 3.2.
    """
    for of_kind in biases.values():
        if len(of_kind) == len(seen):
            for number, of in enumerate(seen):
                of_kind[number] = _spread(of_kind[number][None], of)[:, :-1, :-1]
    maps = []
    for call, of in zip(calls, seen, strict=True):
        weights = call.weights.chunk(of.n_pictures)[picture]  # [window, head, query, key]
        whole = _spread(weights, of)
        if whole[:, :-1, -1].any():
            size = math.isqrt(weights.shape[-1])
            raise UserError(
                f"{of.rows} by {of.columns} patches do not fill windows of {size} by {size}, and the model "
                f"attends to what it adds; give a picture whose sides are multiples of {size} patches in "
                "every layer"
            )
        maps.append(whole[None, :, :-1, :-1])  # [1, head, query, key]
    return {"self": maps}


def _spread(values: Tensor, of: Windowed) -> Tensor:
    """Put the values of windows at their places in the picture, 0 between windows.

    Args:
        values: [window, head, query, key]; [1, head, query, key] if all windows have the same.
        of: their layer.

    Returns:
        [head, query, key] over the patches, row by row, with one more at the end for all that fills windows.
    """
    size = math.isqrt(values.shape[-1])
    down, right = (0, 0) if min(of.rows, of.columns) <= size else of.shift
    n = of.rows * of.columns
    places = torch.arange(n).view(of.rows, of.columns)
    # What is added to fill the last windows has the number n.
    places = F.pad(places, (0, -of.columns % size, 0, -of.rows % size), value=n)
    places = places.roll((-down, -right), (0, 1))
    windows = places.unflatten(0, (-1, size)).unflatten(2, (-1, size))  # [row, size, column, size]
    windows = windows.transpose(1, 2).reshape(-1, size * size).to(values.device)  # [window, patch]
    whole = values.new_zeros(values.shape[1], n + 1, n + 1)
    values = values.transpose(0, 1).expand(-1, len(windows), -1, -1)  # [head, window, query, key]
    whole[:, windows[:, :, None], windows[:, None, :]] = values
    return whole
