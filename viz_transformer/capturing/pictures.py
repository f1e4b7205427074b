"""Where the patches of pictures are among the positions that a Hugging Face model reads.

Of a model that reads pictures alone, the patches are changed to see which position changes with each. Of
one that reads text too, its ids have a place for each patch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
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

    An empty tuple says that the model reads them in another order than that of rows, or only some of them.

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
    tubelet = getattr(model.config, "tubelet_size", 1)  # frames, or frames, rows and columns
    n_joined = tubelet if isinstance(tubelet, int) else tubelet[0]
    others = {
        name: value
        for name, value in named.items()
        if name != "pixel_values" and not name.startswith("decoder_")
    }
    if any(isinstance(value, Tensor) for value in others.values()):  # a mask, which may leave patches out
        return _by_change(named, pixels, size, n_joined, embed)
    place = type(model), model.config.to_json_string(), tuple(pixels.shape), repr(others)
    if place not in _found:
        _found[place] = _by_change(named, pixels, size, n_joined, embed)
    return _found[place]


def _by_change(
    named: Mapping[str, Any],
    pixels: Tensor,
    size: tuple[int, int],
    n_joined: int,
    embed: Callable[[Mapping[str, Any]], Tensor | None],
) -> Patches | None:
    """Return where each patch is read, seen by changing half of all patches at a time.

    Patch i, counted from 1, is changed in the run of each digit 1 in the binary number i: the runs in which a
    position changes spell the number of its patch.

    Args:
        named: the inputs.
        pixels: [1, (frame,) channel, row, column].
        size: of a patch, in pixels.
        n_joined: how many frames are read as one.
        embed: see `find_pictures`.
    """
    height, width = size
    rows, columns = pixels.shape[-2] // height, pixels.shape[-1] // width
    n_frames = pixels.shape[1] // n_joined if pixels.ndim == 5 else 1
    before = embed(named)
    if before is None or before.ndim != 2 or not rows * columns * n_frames:
        return None
    numbers = torch.arange(1, n_frames * rows * columns + 1).view(n_frames, rows, columns)
    # [frame, row, column] of pixels
    of_pixels = numbers.repeat_interleave(height, dim=1).repeat_interleave(width, dim=2)
    of_pixels = of_pixels.repeat_interleave(n_joined, dim=0) if pixels.ndim == 5 else of_pixels
    found = torch.zeros(len(before), dtype=torch.long)  # [position]
    for digit in range(int(numbers.max()).bit_length()):
        changed = pixels.clone()
        part = changed[..., : rows * height, : columns * width]
        part = part[:, : len(of_pixels)] if pixels.ndim == 5 else part
        is_one = (of_pixels >> digit & 1).to(pixels)
        part += is_one[None, :, None] if pixels.ndim == 5 else is_one
        states = embed({**named, "pixel_values": changed})
        if states is None or states.shape != before.shape:
            return None
        found += (states != before).any(dim=-1).cpu().long() << digit
    return _in_rows(found.tolist(), n_frames, rows, columns)


def _in_rows(found: Sequence[int], n_frames: int, rows: int, columns: int) -> Patches | None:
    """Return the pictures of which each position reads the patch of this number; 0 is none.

    Returns:
        An empty tuple if patches are read in another order or only in part, None if a position reads several.
    """
    n_patches = n_frames * rows * columns
    read = [number for number in found if number]
    if not read or max(read) > n_patches or len(set(read)) < len(read):
        return None
    start = found.index(read[0])
    if read != list(range(1, n_patches + 1)) or found[start : start + n_patches] != read:
        return ()
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
    own_sizes = named.get("image_sizes")  # of pictures that are padded to one size, as Pixtral reads them
    if own_sizes is not None:
        return [(height // size[0], width // size[1]) for height, width in own_sizes.tolist()]
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
