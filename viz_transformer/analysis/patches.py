"""The places of a picture's patches among the tokens of a model, and the picture itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._bounds import PIXELS, at_most
from viz_transformer._text import shown
from viz_transformer.analysis.words import special_tokens
from viz_transformer.errors import UserError
from viz_transformer.trace import ForwardTrace, Patches
from viz_transformer.trace.kinds import find_kind

#: What stands for a patch in a text: ``<image>``, ``<|image_pad|>``, ``[IMG]`` and their like.
_PLACEHOLDER = re.compile(r"[<\[]\W*(ima?ge?|video|patch)\w*\W*[>\]]", re.IGNORECASE)


def patches_of(trace: ForwardTrace, kind: str, grid: Sequence[int] | None) -> tuple[int, int, int]:
    """Return the rows and columns of patches among a kind's keys, and the position of the first.

    The grid is as in `find_patches`, or one of the trace's own `patches`, where these are known. None takes
    the only one; if there are several or none, it is refused.
    """
    key = find_kind(kind).key
    known = trace.patches if key == ("source" if trace.source_tokens else "target") else None
    if grid is None and known and len(known) == 1:
        return known[0]
    if grid is None:
        raise UserError(
            f"the model read {len(known)} pictures or frames; say which one is shown: grid=trace.patches[0]"
            if known
            else "it is not known how the picture is cut into patches; give grid=(rows, columns) too"
        )
    return find_patches(grid, trace.key_tokens(kind), class_token=key == "source", known=known)


def find_patches(
    grid: Sequence[int], tokens: Sequence[str], *, class_token: bool, known: Patches | None = None
) -> tuple[int, int, int]:
    """Return the rows and columns of patches, and the position of the first.

    Without a start they are all tokens, the only run of as many equal labels (such as ``<image>``), or all
    but a class token at the beginning. A token is never guessed to be a patch: a grid that does not fit, is
    open where it begins, or would have a token that is no patch, is refused.

    Args:
        grid: ``(rows, columns)``, or ``(rows, columns, start)`` with the first patch's position, from 0.
        tokens: the labels of all positions.
        class_token: whether one token more may be a class token, as an encoder's.
        known: the grid of each picture that was read, where that is known; see `ForwardTrace`.
    """
    numbers = list(grid) if isinstance(grid, Sequence | np.ndarray) and not isinstance(grid, str) else []
    if len(numbers) not in (2, 3) or not all(
        type(number) is not bool and isinstance(number, int | np.integer) and number >= (place < 2)
        for place, number in enumerate(numbers)
    ):
        raise UserError(
            f"grid={shown(grid)}; give the rows and columns of patches, such as grid=(14, 14), and where "
            "they begin unless all tokens are patches: grid=(14, 14, 1)"
        )
    rows, columns, *given = map(int, numbers)
    n = rows * columns
    if known is not None:
        return _among_known(known, (rows, columns, *given))
    runs = _runs_of_equal(tokens, n)
    start = given[0] if given else _start_of(n, tokens, runs, class_token)
    if start is None and n < len(tokens):
        raise UserError(
            f"grid=({rows}, {columns}) has {n} patches, and it is open where among the {len(tokens)} tokens "
            f"they begin; say so, counted from 0: grid=({rows}, {columns}, start)"
        )
    if start is None or start + n > len(tokens):
        begin = f", the first at {start}," if given else ""
        raise UserError(
            f"grid={tuple(numbers)} has {n} patches{begin} for {len(tokens)} tokens; give a grid with one "
            "token for each patch"
        )
    patches = tokens[start : start + n]
    special = special_tokens(patches)
    if any(special) and len(set(patches)) > 1:  # <|image_pad|> is spelt as a special token
        raise UserError(
            f"grid={tuple(numbers)} has {n} patches, but {patches[special.index(True)]!r} among the tokens "
            f"from {start} on is none; say where they begin: grid=({rows}, {columns}, start)"
        )
    if runs and start not in runs:
        raise UserError(
            f"grid={tuple(numbers)} has its first patch at {start}, but {n} tokens {tokens[runs[0]]!r} "
            f"begin at {' and '.join(map(str, runs))}; give grid=({rows}, {columns}, {runs[0]})"
        )
    placeholders = [token for token in patches if _PLACEHOLDER.fullmatch(token)]
    if placeholders and len(set(patches)) > 1:
        raise UserError(
            f"grid={tuple(numbers)} has {n} patches, and only {len(placeholders)} of these tokens are "
            f"{placeholders[0]!r}; give the rows and columns of the picture that they stand for"
        )
    return rows, columns, start


def _among_known(known: Patches, grid: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the picture that a grid, with or without a start, means."""
    if not known:
        raise UserError(
            "the model reads the patches of its picture in an order of its own (ViT-MAE and ViLT draw one at "
            "random), or only some of them: no grid shows where they are; leave out grid= and image="
        )
    meant = [place for place in known if place[: len(grid)] == grid]
    if len(meant) != 1:
        have = ", ".join(map(str, known[:4])) + (" …" if len(known) > 4 else "")
        raise UserError(
            f"grid={grid}, and the patches of what this model read are (rows, columns, start) {have}; give "
            "one of these: grid=trace.patches[0]"
        )
    return meant[0]


def _runs_of_equal(tokens: Sequence[str], length: int) -> list[int]:
    """Return where the runs of exactly so many equal labels begin."""
    runs = [list(run) for _, run in groupby(range(len(tokens)), key=tokens.__getitem__)]
    return [run[0] for run in runs if len(run) == length > 1]


def _start_of(n_patches: int, tokens: Sequence[str], runs: list[int], class_token: bool) -> int | None:
    """Return where so many patches begin, or None where that is open."""
    if len(tokens) == n_patches:
        return 0
    if len(runs) == 1:
        return runs[0]
    return 1 if class_token and not runs and len(tokens) == n_patches + 1 else None


def image_pixels(image: Any) -> NDArray[np.uint8]:
    """Return an image as uint8 ``[height, width, 3]``.

    It is given as ``[height, width]`` or ``[height, width, 3]``, or channels first as torch has them; in
    bytes from 0 to 255, or in numbers from 0 to 1. Anything else is refused.
    """
    try:
        array = np.asarray(image)
    except (TypeError, ValueError, RuntimeError):
        array = np.empty(0)
    if array.ndim == 3 and array.shape[0] in (1, 3) and array.shape[2] not in (1, 3):
        array = np.moveaxis(array, 0, -1)  # [height, width, channel]
    if array.ndim == 2:
        array = array[..., None]
    if array.dtype.kind not in "uif" or array.ndim != 3 or array.shape[2] not in (1, 3) or 0 in array.shape:
        raise UserError(
            f"image= is {type(image).__name__} of shape {list(np.shape(array))}, which is no picture; give "
            "an array [height, width, 3], from 0 to 255 or from 0 to 1"
        )
    at_most("the number of pixels of image", array.shape[0] * array.shape[1], PIXELS)
    low, high = float(array.min()), float(array.max())
    most = 1 if array.dtype.kind == "f" and high <= 1 else 255
    if array.dtype.kind == "f" and 1 < high < 2:  # as resizing leaves it: of 255 it would be black
        raise UserError(
            f"image= holds {low:.3g} to {high:.3g}, a little more than 1; cut it off: image.clip(0, 1)"
        )
    if not (low >= 0 and high <= most):
        raise UserError(
            f"image= holds {low:.3g} to {high:.3g}; give it before it is normalised for the model, "
            "from 0 to 255 or from 0 to 1"
        )
    scaled = np.rint(array * (255 / most)).astype(np.uint8)
    return np.broadcast_to(scaled, (*scaled.shape[:2], 3))
