"""Where the patches of pictures stand among the positions that a Hugging Face model reads.

Of a model that reads pictures alone, a corner of the picture is changed to see which position changes
with it. Of one that reads text too, its ids have a place for each patch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from viz_transformer.trace import Patches

#: The models of text and pictures that read a picture's patches row by row, or squares of them joined.
_ROW_BY_ROW = frozenset(("llava", "vipllava", "paligemma", "gemma3", "aya_vision", "internvl"))
_ROW_BY_ROW |= {"idefics3", "smolvlm", "qwen2_vl", "qwen2_5_vl", "qwen3_vl"}
#: What was found for a class with a configuration, and pictures of a shape.
_found: dict[tuple[Any, ...], Patches | None] = {}


def find_pictures(
    model: Any, named: Mapping[str, Any], embed: Callable[[Mapping[str, Any]], Tensor | None], *, draws: bool
) -> Patches | None:
    """Return where the patches of each picture, or frame, are; None if that is not known.

    An empty tuple says that the model reads them in another order than that of rows.

    Args:
        model: of Hugging Face's.
        named: its inputs, of one sentence.
        embed: what the model's first layer reads of such inputs, [position, feature], if it returns that.
        draws: whether its forward draws random numbers.

    Source of patches in random order: He et al. 2022, *Masked Autoencoders Are Scalable Vision Learners*,
    section 3. ViLT draws an order too.
    """
    if draws or hasattr(model.config, "mask_ratio"):
        return ()
    if "input_ids" in named:
        return _among_ids(model.config, named)
    if "spatial_shapes" in named:  # SigLIP 2 reads patches
        rows, columns = named["spatial_shapes"][0].tolist()
        return ((rows, columns, 0),)
    pixels, size = named.get("pixel_values"), _patch_size(getattr(model.config, "encoder", model.config))
    if not isinstance(pixels, Tensor) or size is None or pixels.ndim not in (4, 5):
        return None
    place = type(model), model.config.to_json_string(), tuple(pixels.shape)
    if place not in _found:
        _found[place] = _by_change(named, pixels, size, embed)
    return _found[place]


def _by_change(
    named: Mapping[str, Any],
    pixels: Tensor,
    size: tuple[int, int],
    embed: Callable[[Mapping[str, Any]], Tensor | None],
) -> Patches | None:
    """Return the patches between the positions of a picture's first and last patch."""
    height, width = size
    first, last = pixels.clone(), pixels.clone()  # [1, (frame,) channel, row, column]
    frames = (0, -1) if pixels.ndim == 5 else (slice(None), slice(None))
    rows, columns = pixels.shape[-2] // height, pixels.shape[-1] // width
    first[:, frames[0], ..., :height, :width] += 1
    last[:, frames[1], ..., (rows - 1) * height : rows * height, (columns - 1) * width : columns * width] += 1
    before, *after = (embed({**named, "pixel_values": each}) for each in (pixels, first, last))
    changed: list[list[int]] = []
    for states in after:
        if states is None or before is None or states.shape != before.shape:
            return None
        changed.append((states != before).any(dim=-1).nonzero()[:, 0].tolist())
    if [len(each) for each in changed] != [1, 1]:
        return None
    (start,), (end,) = changed
    n_frames, rest = divmod(end - start + 1, rows * columns)
    if n_frames < 1 or rest:
        return None
    return tuple((rows, columns, start + frame * rows * columns) for frame in range(n_frames))


def _among_ids(config: Any, named: Mapping[str, Any]) -> Patches | None:
    """Return the patches for which a text has ids, in the order of the text."""
    if config.model_type not in _ROW_BY_ROW:
        return None
    ids = named["input_ids"][0]  # [position]
    image_id = getattr(config, "image_token_id", getattr(config, "image_token_index", None))
    found: list[tuple[int, int, int]] = []
    for token, which in ((image_id, "image"), (getattr(config, "video_token_id", None), "video")):
        positions = [] if token is None else (ids == token).nonzero()[:, 0].tolist()
        grids = _grids(config.vision_config, named, which, len(positions)) if positions else ()
        for rows, columns in grids:
            taken, positions = positions[: rows * columns], positions[rows * columns :]
            if len(taken) < rows * columns or taken[-1] - taken[0] != rows * columns - 1:
                return None
            found.append((rows, columns, taken[0]))
        if positions:
            return None
    return tuple(sorted(found, key=lambda place: place[2])) or None


def _grids(config: Any, named: Mapping[str, Any], which: str, n_positions: int) -> Sequence[tuple[int, int]]:
    """Return the rows and columns of each picture's patches; none if that is open.

    Args:
        config: of the part that reads pictures.
        named: the inputs.
        which: "image" or "video".
        n_positions: how many positions all pictures have.
    """
    sizes = named.get(f"{which}_grid_thw")  # [picture, (frames, rows, columns)]
    if sizes is not None:
        side = config.spatial_merge_size
        return [(rows // side, columns // side) for n, rows, columns in sizes.tolist() for _ in range(n)]
    pixels, size = named.get("pixel_values"), _patch_size(config)
    if not isinstance(pixels, Tensor) or size is None or pixels.ndim < 4 or which != "image":
        return ()
    n_pictures = pixels.shape[:-3].numel()
    rows, columns = pixels.shape[-2] // size[0], pixels.shape[-1] // size[1]
    for side in range(1, min(rows, columns) + 1):  # so many patches a side are joined
        grid = rows // side, columns // side
        if grid[0] * grid[1] * n_pictures == n_positions and rows % side == columns % side == 0:
            return [grid] * n_pictures
    return ()


def _patch_size(config: Any) -> tuple[int, int] | None:
    """Return the height and width of a patch in pixels; None of a model without."""
    size = getattr(config, "patch_size", None)
    if size is None and hasattr(config, "tubelet_size"):  # ViViT: frames, rows, columns
        size = config.tubelet_size[1:]
    if isinstance(size, int):
        return size, size
    return tuple(size) if isinstance(size, Sequence) and len(size) == 2 else None
