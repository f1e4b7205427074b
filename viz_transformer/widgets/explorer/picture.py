"""The picture behind the tokens of a vision model: a grid of patches, and the image itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.patches import image_pixels, patches_of
from viz_transformer.errors import UserError
from viz_transformer.trace.kinds import KINDS, find_kind
from viz_transformer.widgets.explorer.trace_view import TraceView

_MOST_PIXELS = 256  # a side of the image as it is sent


def checked_grid(view: TraceView, kind: str, grid: Any, *, has_image: bool = False) -> list[int]:
    """Return where the patches are as the page reads it; an empty list if there are none.

    Args:
        view: the trace.
        kind: of attention, whose keys the patches are.
        grid: as `explore` takes it, or as this returned it for a kind of the trace; None and an empty list
            are no patches.
        has_image: whether there is an image: without a grid it is the only one of the trace.

    Returns:
        Rows, columns, the position of the first patch, how many keys there are, and 0 where the keys are
        the source's, else 1: a kind with other keys has no picture.

    Raises:
        UserError: as `viz_transformer.analysis.patches.patches_of`.
    """
    if (grid is None and not has_image) or (isinstance(grid, list) and not grid):
        return []
    trace = view.traces[0]
    if isinstance(grid, list) and len(grid) == 5 and grid[4] in (0, 1):
        side = ("source", "target")[grid[4]]
        kinds = [each for each in view.kinds if KINDS[each].key == side]
        if kinds and grid[3] == len(trace.key_tokens(kinds[0])):
            kind, grid = kinds[0], grid[:3]
    patches = patches_of(trace, kind, grid)
    return [*patches, len(trace.key_tokens(kind)), int(find_kind(kind).key == "target")]


def packed_image(image: Any, grid: list[int]) -> dict[str, Any]:
    """Return an image as the page reads it: width, height and RGB bytes; empty if there is none.

    Args:
        image: ``[height, width]`` or ``[height, width, 3]``, or channels first as torch has them;
            bytes from 0 to 255, or numbers from 0 to 1; or as this returned it. None is no image.
        grid: of its patches.

    Raises:
        UserError: if it is no such array, or has no grid.
    """
    if image is None:
        return {}
    if isinstance(image, dict) and image.keys() in (set(), {"width", "height", "pixels"}):
        return image
    if not grid:
        raise UserError("image= needs the patches that it is cut into; give grid=(rows, columns) too")
    pixels = image_pixels(image)
    step = max(1, -(-max(pixels.shape[:2]) // _MOST_PIXELS))
    pixels = pixels[::step, ::step]
    height, width = pixels.shape[:2]
    return {"width": width, "height": height, "pixels": np.ascontiguousarray(pixels).tobytes()}


def unpacked_image(packed: dict[str, Any]) -> NDArray[np.uint8] | None:
    """Return the image ``[height, width, 3]`` that `packed_image` packed; None if there is none."""
    if not packed:
        return None
    return np.frombuffer(packed["pixels"], np.uint8).reshape(packed["height"], packed["width"], 3)
