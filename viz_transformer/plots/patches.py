"""The attention of one query over the patches of a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from viz_transformer._numbers import short_number
from viz_transformer.analysis.patches import find_patches, image_pixels
from viz_transformer.analysis.rows import row_of_queries
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS, scale_colormap
from viz_transformer.plots.figures import add_scale, new_axes
from viz_transformer.plots.heads import Reading, picture_of
from viz_transformer.plots.labels import label, label_style
from viz_transformer.plots.matrix import Picture
from viz_transformer.trace import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from viz_transformer.trace import FloatArray, ForwardTrace

_VEIL = 0.86  # how much of the picture is covered where a query does not look


class PatchRow(NamedTuple):
    """What one query gives to the patches of a picture, and to the other tokens.

    Attributes:
        picture: the matrix that the row is of, with all its tokens.
        query: the row.
        place: rows and columns of the patches, and the key at which they start.
        is_patch: whether the query is a patch too.
        name: who attends, where that is no patch.
    """

    picture: Picture
    query: int
    place: tuple[int, int, int]
    is_patch: bool
    name: str

    @property
    def weights(self) -> FloatArray:
        """The weights of the patches, [row, column]."""
        rows, columns, start = self.place
        return self.picture.weights[self.query, start : start + rows * columns].reshape(rows, columns)

    @property
    def words(self) -> str:
        """Who attends, how much to other tokens, and the strongest patch."""
        rows, columns, start = self.place
        name = self.name
        if self.is_patch:
            name = "patch in row {}, column {}".format(*divmod(self.query - start, columns))
        weights = self.weights
        row, column = np.unravel_index(np.abs(weights).argmax(), weights.shape)
        rest = float(self.picture.weights[self.query].sum() - weights.sum())
        is_all = len(self.picture.keys) == rows * columns
        apart = "" if is_all else f"to tokens that are no patches {short_number(rest, 2)}, "
        return (
            f"From {name}: {apart}most {short_number(weights[row, column], 2)}, in row {row}, column {column}"
        )


def patch_row(picture: Picture, kind: str, query: int, place: tuple[int, int, int]) -> PatchRow:
    """Return a row of a matrix of a kind, whose keys hold patches at a place."""
    rows, columns, start = place
    among_keys = kind != "cross" and len(picture.queries) == len(picture.keys)
    is_patch = among_keys and start <= query < start + rows * columns
    return PatchRow(picture, query, place, is_patch, label(picture.queries[query]))


def plot_patches(
    trace: ForwardTrace,
    kind: str,
    layer: int,
    head: int,
    query: int | Sequence[int],
    ax: Axes | None = None,
    *,
    grid: Sequence[int],
    image: Any = None,
    how: str = "mean",
) -> Axes:
    """Draw what a query, or several, give to the patches of a picture, over the picture itself.

    >>> import numpy as np
    >>> import viz_transformer as vt
    >>> patches = [f"row {row}, column {column}" for row in range(2) for column in range(2)]
    >>> trace = vt.capture(np.full((1, 1, 5, 5), 0.2), tokens=["[CLS]", *patches])
    >>> axes = vt.plots.plot_patches(trace, "encoder", 0, 0, query=0, grid=(2, 2))

    Args:
        trace: of a model that reads a picture.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: index of the layer, from 0.
        head: index of the head, from 0.
        query: index of the token that attends: a patch, or a word; or several. A patch is framed.
        ax: where to draw; a new figure if None.
        grid: rows and columns of patches, and if need be the key at which they start, as in `explore`.
        image: what the patches are cut from, as in `explore`: it is bare where the weight is largest, and
            fades out towards 0. None shows the weights alone.
        how: of several queries the ``"mean"`` or the ``"sum"``.

    Returns:
        The axes. Their last image holds the weights, [row, column]; the scale ends at the largest.

    Raises:
        UserError: if the trace has no such attention, layer, head or query, or the grid or the image do not
            fit.
    """
    picture = picture_of([trace], kind, [(layer, head)], "head", Reading())
    place = find_patches(grid, trace.key_tokens(kind), class_token=KINDS[kind].key == "source")
    pixels = None if image is None else image_pixels(image)
    row = row_of_queries(picture.weights, query, how)  # [key]
    queries = np.ravel(query).tolist()
    if len(queries) == 1:
        return draw_patches(patch_row(picture, kind, queries[0], place), pixels, ax)
    names = textwrap.shorten(
        ", ".join(label(picture.queries[each]) for each in queries), 48, placeholder=" …"
    )
    name = f"{len(queries)} queries ({names}), {'averaged' if how == 'mean' else 'summed'}"
    together = replace(picture, weights=row[None])
    return draw_patches(PatchRow(together, 0, place, is_patch=False, name=name), pixels, ax)


def draw_patches(shown: PatchRow, pixels: NDArray[np.uint8] | None, ax: Axes | None) -> Axes:
    """Draw the row into `ax`, or into a new figure with its alternative text; return the axes.

    Args:
        shown: the row.
        pixels: the image under the patches, [height, width, 3], or None.
        ax: where to draw; a new figure if None.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    (rows, columns, start), scale, weights = shown.place, shown.picture.scale, shown.weights
    shape = rows / columns if pixels is None else pixels.shape[0] / pixels.shape[1]
    if ax is None:
        figure, ax = new_axes(5.6, 1.4 + min(9.0, max(1.0, 4.2 * shape)))
        set_alt_text(figure, describe_patches(shown))
    extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    colours, told = scale_colormap(scale), shown.words.replace(": ", "\n", 1)
    is_veiled = pixels is not None and scale.limit is None
    if pixels is not None:
        ax.imshow(pixels, extent=extent)
    if is_veiled:
        colours = LinearSegmentedColormap.from_list("veil", [(1, 1, 1, _VEIL), (1, 1, 1, 0)])
        told += "\nThe picture is bare where the weight is largest."
    opacity = 0.7 if pixels is not None and not is_veiled else None
    most = scale.limit or float(weights.max()) or 1.0
    drawn = ax.imshow(
        weights, cmap=colours, vmin=scale.least, vmax=most, alpha=opacity, extent=extent, interpolation="none"
    )
    ax.set_aspect(shape * columns / rows)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    if shown.is_patch:
        row, column = divmod(shown.query - start, columns)
        corner = column - 0.5, row - 0.5
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, ec=COLOURS["accent"], lw=2, clip_on=False))
    ax.set_title(shown.picture.title, loc="left", weight="bold")
    ax.set_xlabel(told, loc="left", **label_style(9))
    add_scale(ax, drawn, scale.meaning)
    if is_veiled and drawn.colorbar is not None:
        drawn.colorbar.ax.set_facecolor("0.3")  # stands for the bare picture
    return ax


def describe_patches(shown: PatchRow) -> str:
    """Return the row in words, for those who cannot see it."""
    rows, columns, _ = shown.place
    return f"{shown.picture.what}, over {rows} by {columns} patches of a picture. {shown.words}."
