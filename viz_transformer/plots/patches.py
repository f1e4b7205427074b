"""The attention of one query over the patches of a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from viz_transformer._numbers import short_number
from viz_transformer.analysis.patches import image_pixels, patches_of
from viz_transformer.analysis.words import row_of_queries
from viz_transformer.plots.colour import COLOURS, scale_colormap
from viz_transformer.plots.figures import add_scale, new_axes
from viz_transformer.plots.heads import Reading, picture_of
from viz_transformer.plots.labels import label, label_style
from viz_transformer.plots.matrix import Picture, broken_title, hatch, least_shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from viz_transformer.trace import FloatArray, ForwardTrace

_VEIL = 0.86  # how much of the picture is covered where a query does not look
_SHADE = 0.3  # how far a picture lightens and darkens colours at most; patch_picture.js has the same


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
        return self._of_patches(self.picture.weights)

    @property
    def masked(self) -> NDArray[np.bool_]:
        """Which patches a mask closed, [row, column]."""
        return self._of_patches(self.picture.masked)

    def _of_patches(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """Return the row of a matrix [query, key] at the patches, [row, column]."""
        rows, columns, start = self.place
        return matrix[self.query, start : start + rows * columns].reshape(rows, columns)

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
    grid: Sequence[int] | None = None,
    image: Any = None,
    how: str = "mean",
    threshold: float = 0.0,
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
        grid: rows and columns of patches, and if need be the key at which they start, as in `explore`;
            None takes the only picture of `trace.patches`.
        image: what the patches are cut from, as in `explore`: it is bare where the weight is largest, and
            fades out towards 0; weights with signs it darkens and lightens. None shows the weights alone.
        how: of several queries the ``"mean"`` or the ``"sum"``.
        threshold: as in `plot_head`.

    Returns:
        The axes. Their last image holds the weights, [row, column]; the scale ends at the largest. Patches
        that no head gives any weight are hatched, as in `plot_head`.

    Raises:
        UserError: if the trace has no such attention, layer, head or query, or the grid or the image do not
            fit.
    """
    picture = picture_of([trace], kind, [(layer, head)], "head", Reading(threshold))
    place = patches_of(trace, kind, grid)
    pixels = None if image is None else image_pixels(image)
    row = row_of_queries(picture.weights, query, how)  # [key]
    queries = np.ravel(query).tolist()
    if len(queries) == 1:
        return draw_patches(patch_row(picture, kind, queries[0], place), pixels, ax)
    names = textwrap.shorten(
        ", ".join(label(picture.queries[each]) for each in queries), 48, placeholder=" …"
    )
    name = f"{len(queries)} queries ({names}), {'averaged' if how == 'mean' else 'summed'}"
    closed = np.logical_and.reduce(picture.masked[queries], keepdims=True)  # [1, key]
    together = replace(picture, weights=row[None], masked=closed)
    return draw_patches(PatchRow(together, 0, place, is_patch=False, name=name), pixels, ax)


def draw_patches(shown: PatchRow, pixels: NDArray[np.uint8] | None, ax: Axes | None) -> Axes:
    """Draw the row over an image [height, width, 3] or alone, into `ax` or a new figure; return the axes."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    (rows, columns, start), scale, weights = shown.place, shown.picture.scale, shown.weights
    shape = rows / columns if pixels is None else pixels.shape[0] / pixels.shape[1]
    if ax is None:
        ax = new_axes(5.6, 1.4 + min(9.0, max(1.0, 4.2 * shape)), describe_patches(shown))
    extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    colours, told = scale_colormap(scale), shown.words.replace(": ", "\n", 1)
    blank = np.abs(weights) < least_shown(shown.picture)
    veiled = pixels if scale.limit is None else None
    if veiled is not None:
        ax.imshow(veiled, extent=extent)
        colours = LinearSegmentedColormap.from_list("veil", [(1, 1, 1, _VEIL), (1, 1, 1, 0)])
        told += "\nThe picture is bare where the weight is largest."
    elif pixels is not None:
        ax.imshow(_shade(pixels, blank), extent=extent, zorder=0.5)  # over the weights
    most = scale.limit or float(weights.max()) or 1.0
    drawn = ax.imshow(
        np.ma.masked_where(blank, weights) if blank.any() else weights,
        cmap=colours.with_extremes(bad="white"),
        vmin=scale.least,
        vmax=most,
        extent=extent,
        interpolation="none",
    )
    hatch(ax, shown.masked)
    ax.set_aspect(shape * columns / rows)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    if shown.is_patch:
        row, column = divmod(shown.query - start, columns)
        corner = column - 0.5, row - 0.5
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, ec=COLOURS["query"], lw=2, clip_on=False))
    ax.set_title(broken_title(shown.picture.title, 4.2), loc="left", weight="bold")
    ax.set_xlabel(told, loc="left", **label_style())
    add_scale(ax, drawn, scale.meaning)
    if veiled is not None and drawn.colorbar is not None:
        drawn.colorbar.ax.set_facecolor(COLOURS["muted"])  # stands for the bare picture
    return ax


def _shade(pixels: NDArray[np.uint8], blank: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return a picture to lie over colours, [height, width, 4].

    It darkens and lightens them and leaves their hue: it is clear where the picture is medium grey, and
    where a patch is `blank`, bool [row, column].
    """
    light = pixels @ np.array([0.299, 0.587, 0.114]) / 127.5 - 1  # [height, width], -1 to 1
    down, across = (
        np.arange(size) * n // size for size, n in zip(light.shape, blank.shape, strict=True)
    )  # the patch of each line and column of pixels
    alpha = np.where(blank[np.ix_(down, across)], 0, _SHADE * np.abs(light))
    return np.dstack([*[light > 0] * 3, alpha])


def describe_patches(shown: PatchRow) -> str:
    """Return the row in words, for those who cannot see it."""
    rows, columns, _ = shown.place
    text = f"{shown.picture.what}, over {rows} by {columns} patches of a picture. {shown.words}."
    if shown.masked.any():
        text += f" {int(shown.masked.sum())} patches are hatched: no head gives them any weight."
    if shown.picture.threshold:
        text += f" Weights below {short_number(least_shown(shown.picture))} are left out."
    return text
