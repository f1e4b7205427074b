"""Which two columns of a table hold the sentences: as they are named, or the first two if they can be."""

from __future__ import annotations

import re
from collections.abc import Sequence

from viz_transformer.errors import UserError
from viz_transformer.vocabulary.languages import language_tag

#: Two columns by number, from 0, or by name, as the first line has them.
Columns = tuple[int, int] | tuple[str, str]

#: What the names of columns are made of, besides languages and their two letters.
_WORDS = """
    id no number index lang language source src target tgt trg original text sentence sentences translation
    attribution chinese japanese korean arabic dutch russian zh ja ko ar nl ru
"""
_NAMES = frozenset(_WORDS.split())
#: In so many lines a column of sentences says more than one thing ten times over.
_MANY_LINES = 10


def choose_columns(
    rows: Sequence[Sequence[str]], columns: Columns | None, name: str
) -> tuple[tuple[int, int], bool]:
    """Return the numbers of the two columns, and whether the first line is the names of columns.

    Args:
        rows: the cells of each line, one or more lines.
        columns: two different numbers or names; None for the first two columns, which must then hold
            sentences.
        name: of the table, for messages.

    Raises:
        UserError: if `columns` are not two columns, a name is not there once, the first line names
            columns and `columns` are numbers, or one of the first two columns holds no sentences.
    """
    header = [cell.strip() for cell in rows[0]]
    first, second = _two((0, 1) if columns is None else columns)
    if isinstance(first, str) and isinstance(second, str):
        return (_number(header, first, name), _number(header, second, name)), True
    source, target = int(first), int(second)
    if max(source, target) < len(header) and _is_name(header[source]) and _is_name(header[target]):
        raise UserError(
            f"line 1 of {name!r} reads as names of columns ({', '.join(header):.80}); give two of them, "
            f"such as --columns {_suggestion(rows[1:], header)}, or delete the line, or move it from "
            "the top if it is a sentence and its translation"
        )
    if columns is None:
        _check_sentences(rows, name)
    return (source, target), False


def _two(columns: object) -> Columns:
    """Return what was given as two columns; raises a UserError if it is anything else."""
    given = tuple(columns) if isinstance(columns, list | tuple) else ()
    names = all(type(each) is str for each in given)
    numbers = all(type(each) is int and each >= 0 for each in given)
    if len(given) != 2 or given[0] == given[1] or not (names or numbers):
        raise UserError(f"columns={columns!r:.40} are not two columns; give such as (0, 1)")
    return given


def _number(header: Sequence[str], column: str, name: str) -> int:
    """Return the number of the column that is named so; raises a UserError if not one is."""
    if (n_named := header.count(column)) != 1:
        raise UserError(
            f"{n_named or 'no'} columns of {name!r} are named {column!r:.40} in line 1, which reads "
            f"{', '.join(header):.80}; give two names that it has once, or delete the line and give numbers "
            "from 0"
        )
    return header.index(column)


def _is_name(cell: str) -> bool:
    words = re.findall(r"[^\W\d_]+", cell.lower())
    plain = re.fullmatch(r"[\w -]+", cell)
    return plain is not None and bool(words) and all(word in _NAMES or language_tag(word) for word in words)


def _check_sentences(rows: Sequence[Sequence[str]], name: str) -> None:
    """Raise a UserError if the first or second column holds ids, numbers, or the same few codes."""
    for column in (0, 1):
        cells = _column(rows, column)
        if cells and not _holds_sentences(cells):
            raise UserError(
                f"column {column} of {name!r} (from 0) holds no sentences: line 1 has {cells[0]!r:.40}; "
                f"name the columns of the sentences, such as --columns {_suggestion(rows)}"
            )


def _suggestion(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Return what to type for the first two columns of sentences: their names where each has one."""
    width = max(map(len, rows), default=0)
    found = [column for column in range(width) if _holds_sentences(_column(rows, column))][:2]
    first, second = found if len(found) == 2 else (0, 1)
    if second < len(header) and header.count(header[first]) == header.count(header[second]) == 1:
        return f"{header[first]},{header[second]}"
    return f"{first},{second}"


def _column(rows: Sequence[Sequence[str]], column: int) -> list[str]:
    return [row[column] for row in rows if column < len(row)]


def _holds_sentences(cells: Sequence[str]) -> bool:
    """Return whether most cells are text, neither numbers nor ids, and not the same few over and over."""
    n_text = sum(any(map(str.isalpha, cell)) and not _is_id(cell) for cell in cells)
    few = len(cells) >= _MANY_LINES and len(set(cells)) * _MANY_LINES <= len(cells)
    return 2 * n_text >= len(cells) and not (few and not any(" " in cell.strip() for cell in cells))


def _is_id(cell: str) -> bool:
    """Return whether a cell is like ``en-0012``: one run of ASCII characters, digits among them."""
    return cell.isascii() and any(map(str.isdigit, cell)) and " " not in cell.strip()
