"""Pictures of tensors: the shape in words, and the values by colour, in plain HTML."""

from __future__ import annotations

import base64
import html
import io
import re
import sys
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from viz_transformer._numbers import fixed_number, short_number
from viz_transformer.errors import UserError

#: A sheet of at most so many rows and columns is a table of its numbers.
_MOST_ROWS, _MOST_COLUMNS = 16, 12
_MOST_PIXELS = 256  # of a picture's rows or columns; beyond it a corner and a histogram are shown
_CORNER_ROWS, _CORNER_COLUMNS, _MOST_SHEETS = 6, 8, 6
#: Values below 0, above 0, and without a size, as red, green, blue; readable on white and on black.
_BELOW, _ABOVE, _NOT_FINITE = (234, 120, 30), (50, 110, 240), (200, 40, 200)
_BEHIND_TEXT, _ALONE = 0.55, 0.9  # opacity of the largest value
_UNNAMED = ("numbers", "rows", "sheets", "groups")
_BARS = " ▁▂▃▄▅▆▇█"
_QUIET = "font-weight: 400; opacity: 0.75"


class TensorPicture:
    """A tensor as a picture: its shape in words, its values by colour, and what is NaN or infinite.

    The last line of a cell displays it. It is plain HTML, which stays as it is without a kernel.
    ``vt.show_tensor.on()`` draws each tensor of torch that a cell ends with, until ``vt.show_tensor.off()``.

    >>> import viz_transformer as vt
    >>> vt.show_tensor([[0.5, 0.25], [1.0, 0.0]], axes="word number").shape_text
    '2 × 2: 2 words, each with 2 numbers'
    """

    def __init__(self, x: Any, axes: Any = None) -> None:
        """Read the values.

        Args:
            x: a tensor of torch, an array, a number, or a list of numbers or of such lists.
            axes: the names of its axes: a sequence, a text such as ``"batch query key"``, or jaxtyping's
                annotation, such as ``Float[Tensor, "batch query key"]``.

        Raises:
            UserError: if its values cannot be read as numbers, or the names do not fit its shape.
        """
        self.values, self.dtype = _read(x)
        self.axes = _names(axes, self.values.ndim)

    @property
    def shape_text(self) -> str:
        """The shape, and what it means: ``"2 × 4: 2 words, each with 4 numbers"``."""
        shape, n_axes = self.values.shape, self.values.ndim
        named = [name or _UNNAMED[min(n_axes - at, 4) - 1] for at, name in enumerate(self.axes)]
        words = ", each with ".join(map(_counted, shape, named))
        return f"{' × '.join(map(str, shape))}: {words}" if shape else "No axes: a single number"

    @property
    def values_text(self) -> str:
        """The type of the values, their range, and how many are NaN or infinite."""
        flat = self.values.ravel()
        if flat.dtype == bool:
            return f"{self.dtype} · {flat.sum():,} True, {flat.size - flat.sum():,} False"
        finite, parts = self._finite, [self.dtype]
        if finite.size:
            low, high = self._number(finite.min()), self._number(finite.max())
            mean = short_number(finite.mean(dtype=float), 3)
            parts.append(f"{low} to {high}, mean {mean}" if finite.size > 1 else low)
        counts = {"NaN": np.isnan(flat).sum(), "infinite": np.isinf(flat).sum()}
        return " · ".join([*parts, *(f"{count:,} {name}" for name, count in counts.items() if count)])

    @staticmethod
    def on() -> None:
        """Draw every tensor of torch that a cell of this notebook ends with."""
        _html_formatter().for_type_by_name("torch", "Tensor", _picture_or_text)

    @staticmethod
    def off() -> None:
        """Write tensors as torch does again."""
        _html_formatter().pop("torch.Tensor", None)

    def __repr__(self) -> str:
        """Return shape, type and values as text."""
        values = np.array2string(self.values, precision=2, threshold=50, edgeitems=3)
        return f"{self.shape_text}\n{self.values_text}\n{values}"

    def _repr_html_(self) -> str:
        about = f"<b>{html.escape(self.shape_text)}</b><div>{self.values_text}</div>"
        return f'<div style="font-size: 13px; line-height: 1.4; overflow: auto">{about}{self._sheets()}</div>'

    def _sheets(self) -> str:
        values = self.values
        if not values.size:
            return ""
        if max(values.shape[-2:], default=0) > _MOST_PIXELS:
            first = (0,) * (values.ndim - 2)
            sheet = np.atleast_2d(values[first])
            corner = sheet[:_CORNER_ROWS, :_CORNER_COLUMNS]
            return self._table(corner, sheet, "The first values") + self._histogram()
        leading = values.shape[:-2]
        shown = [self._sheet(index) for index in islice(np.ndindex(leading), _MOST_SHEETS)]
        n_more = int(np.prod(leading)) - len(shown)
        more = f"<div>and {n_more:,} more like these</div>{self._histogram()}" if n_more else ""
        return f'<div style="display: flex; flex-wrap: wrap; gap: 0 24px">{"".join(shown)}</div>{more}'

    def _sheet(self, index: tuple[int, ...]) -> str:
        """Return the rows and columns below an index of the leading axes."""
        sheet = np.atleast_2d(self.values[index])
        at = zip(self.axes, index, strict=False)
        words = [f"{_one(name)} {place}" if name else str(place) for name, place in at]
        arrows = zip(self.axes[len(index) :], "↓→" if self.values.ndim > 1 else "→", strict=False)
        words += [f"{arrow} {name}" for name, arrow in arrows if name]
        caption = html.escape(", ".join(words))
        is_written = len(sheet) <= _MOST_ROWS and sheet.shape[1] <= _MOST_COLUMNS
        return self._table(sheet, sheet, caption) if is_written else self._picture(sheet, caption)

    def _table(self, shown: np.ndarray, sheet: np.ndarray, caption: str) -> str:
        more = f'<td style="{_QUIET}">…</td>' if shown.shape[1] < sheet.shape[1] else ""
        places = range(shown.shape[1])
        head = "".join(f'<th style="{_QUIET}; text-align: right; padding: 0 8px">{at}</th>' for at in places)
        lines = [f"<tr><td></td>{head}{more}</tr>"] if self.values.ndim else []
        for at, row in enumerate(shown):
            cells = "".join(self._cell(value) for value in row)
            label = f'<th style="{_QUIET}">{at if self.values.ndim > 1 else ""}</th>'
            lines.append(f'<tr style="background: transparent">{label}{cells}{more}</tr>')
        if len(shown) < len(sheet):
            lines.append(f'<tr><td style="{_QUIET}">…</td></tr>')
        title = f'<caption style="text-align: left; {_QUIET}">{caption}</caption>'
        style = "font-size: 13px; border-collapse: collapse; margin: 8px 0"
        return f'<table style="{style}">{title}{"".join(lines)}</table>'

    def _cell(self, value: np.generic) -> str:
        red, green, blue, alpha = self._colours(np.array([value]), _BEHIND_TEXT)[0]
        mark = "" if np.isfinite(value) else "; font-weight: 700; outline: 2px dashed; outline-offset: -3px"
        return (
            '<td style="text-align: right; padding: 3px 8px; font-variant-numeric: tabular-nums; '
            f'background: rgba({red}, {green}, {blue}, {alpha / 255:.2f}){mark}">{self._number(value)}</td>'
        )

    def _number(self, value: Any) -> str:
        kind = self.values.dtype.kind
        if kind == "f" and 0.1 <= self._limit < 1000:
            return fixed_number(value, 2)
        return str(value) if kind == "b" else short_number(value, 3 if kind == "f" else 9)

    @cached_property
    def _finite(self) -> np.ndarray:
        return self.values[np.isfinite(self.values)]

    @cached_property
    def _limit(self) -> float:
        """The size of the largest finite value, which has the strongest colour."""
        ends = (self._finite.min(), self._finite.max()) if self._finite.size else (0.0,)
        return max(abs(float(end)) for end in ends)

    def _colours(self, values: np.ndarray, strongest: float) -> np.ndarray:
        """Return red, green, blue and opacity of each value, 0 to 255."""
        sizes = values.astype(float)
        is_finite = np.isfinite(sizes)
        sizes = np.where(is_finite, sizes / (self._limit or 1), 1)
        colours = np.where((sizes < 0)[..., None], _BELOW, _ABOVE)
        colours = np.where(is_finite[..., None], colours, _NOT_FINITE)  # [..., colour]
        opacity = np.abs(sizes)[..., None] * strongest * 255
        return np.concatenate([colours, opacity], axis=-1).round().astype(np.uint8)

    def _picture(self, sheet: np.ndarray, caption: str) -> str:
        from matplotlib.image import imsave

        rows, columns = sheet.shape
        side = max(2, min(8, 480 // max(rows, columns)))
        tall = 24 if rows == 1 else side
        pixels = self._colours(sheet, _ALONE).repeat(tall, axis=0).repeat(side, axis=1)
        file = io.BytesIO()
        imsave(file, pixels, format="png")
        data = base64.b64encode(file.getvalue()).decode("ascii")
        image = f'<img alt="{rows} × {columns} values by colour" src="data:image/png;base64,{data}">'
        return f'<div style="margin: 8px 0"><div style="{_QUIET}">{caption}</div>{image}</div>'

    def _histogram(self) -> str:
        counts, edges = np.histogram(self._finite.astype(float), bins=32)
        bars = "".join(_BARS[-(-8 * count // max(counts.max(), 1))] for count in counts.tolist())
        low, high = (short_number(edge, 3) for edge in edges[[0, -1]])
        return f"<div>How often: {low} <code>{bars}</code> {high}</div>"


show_tensor = TensorPicture


def _read(x: Any) -> tuple[np.ndarray, str]:
    """Return the values as an array that numpy computes with, and the name of their type."""
    dtype = str(getattr(x, "dtype", "")).removeprefix("torch.")
    try:
        if hasattr(x, "detach"):  # torch's, which is not imported for this
            x = x.detach().cpu()
            x = x.float() if dtype == "bfloat16" else x
        values = np.asarray(x)
    except Exception as error:
        raise UserError(f"these values cannot be read: {str(error).splitlines()[0]:.120}") from error
    if values.dtype.kind not in "biuf":
        raise UserError(f"show_tensor draws real numbers; these values are of the type {values.dtype}")
    return values, dtype or str(values.dtype)


def _names(axes: Any, n_axes: int) -> list[str]:
    """Return a name for each axis, empty where there is none."""
    axes = getattr(axes, "dim_str", axes)  # jaxtyping's
    names = axes.split() if isinstance(axes, str) else [str(name) for name in axes or [""] * n_axes]
    if len(names) != n_axes:
        raise UserError(f"the tensor has {n_axes} axes, and {len(names)} names are given: {names}")
    return [re.sub(r"=.*|^[#?_]+|^\d+$", "", name) for name in names]


def _one(name: str) -> str:
    """Return the name of one of them: ``"query"`` of ``"queries"``."""
    for ending, one in (("ies", "y"), ("ches", "ch"), ("sses", "ss"), ("ss", "ss"), ("s", "")):
        if name.endswith(ending):
            return name.removesuffix(ending) + one
    return name


def _counted(count: int, name: str) -> str:
    """Return a count with its noun, ``"2 queries"``; a symbol's value where it is no noun, ``"d_k = 8"``."""
    if not name.isalpha() or len(name) == 1:
        return f"{name} = {count}"
    one = _one(name)
    several = re.sub(r"y$", "ie", one) if re.search(r"[^aeiou]y$", one) else one
    several += "es" if several.endswith(("ch", "sh", "x", "ss")) else "s"
    return f"{count:,} {one if count == 1 else several}"


def _html_formatter() -> Any:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        raise UserError("there is no notebook here; call vt.show_tensor.on() in a cell of one")
    return shell.display_formatter.formatters["text/html"]


def _picture_or_text(x: Any) -> str | None:
    """Return a tensor's picture; None, which leaves it to torch's text, where it cannot be drawn."""
    with suppress(UserError):
        return TensorPicture(x)._repr_html_()
    return None
