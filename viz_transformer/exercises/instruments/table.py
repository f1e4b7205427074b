"""Table that is readable as text and in a notebook, light or dark."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ipywidgets

_CELL = "text-align: left; padding: 2px 8px; white-space: pre-wrap; vertical-align: top"
#: A tint that shows on a light page and on a dark one, and leaves the letters their colour.
_ALARM = (
    "background: color-mix(in srgb, var(--jp-warn-color1, #e65100) 30%, transparent); "
    "overflow-wrap: anywhere"  # a parameter's name is long, and no column may leave the cell
)


class Cell(NamedTuple):
    """One place of a table.

    Attributes:
        text: the words or the number.
        alarm: whether it is marked.
        code: whether it is a piece of code.
    """

    text: str
    alarm: bool = False
    code: bool = False


class Table:
    """Something that is shown as a table; a subclass gives its contents."""

    def headings(self) -> Sequence[str]:
        """Return the heading of each column."""
        raise NotImplementedError

    def rows(self) -> Sequence[Sequence[Cell]]:
        """Return the cells, row by row."""
        raise NotImplementedError

    def verdict(self) -> str:
        """Return what the table says, in a line."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return the table as text, its columns below each other."""
        lines = [list(self.headings()), *([cell.text for cell in row] for row in self.rows())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = (
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        )
        return "\n".join([*aligned, self.verdict()])

    def __repr__(self) -> str:
        """Return the table: a prompt shows this."""
        return str(self)

    def widget(self) -> ipywidgets.Widget:
        """Return the table as a widget, for a place that takes no other."""
        import ipywidgets

        return ipywidgets.HTML(self._repr_html_())

    def _repr_html_(self) -> str:
        head = "".join(f'<th style="{_CELL}">{html.escape(text)}</th>' for text in self.headings())
        body = "".join(f"<tr>{''.join(map(_html, row))}</tr>" for row in self.rows())
        return (
            f'<div style="overflow-x: auto"><table style="border-collapse: collapse">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
            f"<p><b>{html.escape(self.verdict())}</b></p>"
        )


def _html(cell: Cell) -> str:
    text = html.escape(cell.text)
    if not cell.code:  # a line ends between two shapes, never inside one
        text = re.sub(r"(?:\w+ )?\[[^]]*\]", lambda shape: shape[0].replace(" ", "\u00a0"), text)
    style = f"{_CELL}; {_ALARM}" if cell.alarm else _CELL
    return f'<td style="{style}">{f"<code>{text}</code>" if cell.code and text else text}</td>'
