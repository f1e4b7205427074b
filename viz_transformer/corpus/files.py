"""Readers of sentence pairs: from two files line by line, or from one table."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from viz_transformer._files import given_path, unpacked_limit
from viz_transformer.corpus.columns import Columns, choose_columns
from viz_transformer.errors import FileError, UserError

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
#: Characters replaced in sentences, among them tabs and all line ends, so that each pair can be
#: written as one line of a table.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class TextPair:
    """A sentence and its translation, as text.

    Attributes:
        source: the sentence.
        target: its translation.
    """

    source: str
    target: str


def read_pairs(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> list[TextPair]:
    """Read two files whose lines translate each other, plain or ``.gz``, in UTF-8.

    A line ends at ``\\n`` and nowhere else. White space around a sentence is dropped; control
    characters within it become a space.

    Raises:
        FileError: if a file is missing or cannot be read.
        UserError: if the files have unequal numbers of lines, or a line is empty or not UTF-8.
    """
    first, second = text_lines(given_path(source)), text_lines(given_path(target))
    if len(first) != len(second):
        raise UserError(
            f"{str(source)!r} has {_count(len(first), 'line')} and {str(target)!r} has "
            f"{_count(len(second), 'line')}; line by line they must translate each other"
        )
    pairs = [TextPair(_clean(one), _clean(other)) for one, other in zip(first, second, strict=True)]
    _refuse_empty(pairs, (repr(str(source)), repr(str(target))), "fill in or delete both lines")
    return pairs


def read_table(path: str | os.PathLike[str], columns: Columns | None = None) -> list[TextPair]:
    """Read a table of pairs, one a line, its columns separated by tabs, plain or ``.gz``, in UTF-8.

    Tatoeba and Anki write such tables; other columns are ignored.

    Args:
        path: the file.
        columns: which column holds the sentence and which its translation: two numbers, from 0, or two
            names, which the first line must then hold. By default the first two, if they hold sentences.

    Raises:
        FileError: if the file is missing or cannot be read.
        UserError: if a line has too few columns, a sentence is empty or not UTF-8, the first line is
            names and none are given, or the first two columns hold ids or numbers and none are given.
    """
    rows = [line.split("\t") for line in text_lines(given_path(path))]
    (source, target), has_header = choose_columns(rows, columns, str(path))
    first = 2 if has_header else 1
    rows = rows[first - 1 :]
    if not rows:
        raise UserError(f"{str(path)!r} holds names of columns and nothing else; add sentences")
    for number, row in enumerate(rows, first):
        if len(row) <= max(source, target):
            raise UserError(
                f"{str(path)!r} line {number} has {_count(len(row), 'column')}, but columns "
                f"{source} and {target} (from 0) are expected; separate sentence and translation by "
                "a tab"
            )
    pairs = [TextPair(_clean(row[source]), _clean(row[target])) for row in rows]
    names = (f"column {source} of {str(path)!r}", f"column {target} of {str(path)!r}")
    _refuse_empty(pairs, names, "fill in or delete the line", first)
    return pairs


def text_lines(path: Path) -> list[str]:
    """Return the lines of a file, plain or ``.gz``, without the empty one after its last line end.

    Raises:
        FileError: if the file is missing or cannot be read.
        UserError: if a line is not UTF-8.
    """
    data = _read(path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{str(path)!r} line {number} is not UTF-8 (byte {data[error.start]:#04x}); save the "
            "file as UTF-8"
        ) from error
    if "\0" in text:  # what UTF-16 looks like when it is read as UTF-8
        number = text.count("\n", 0, text.index("\0")) + 1
        raise UserError(
            f"{str(path)!r} line {number} holds a NUL character, as UTF-16 does; save the file as UTF-8"
        )
    # Not splitlines(): it also splits at U+2028 and similar characters, and the lines of two files
    # would no longer correspond.
    lines = text.removeprefix(_BYTE_ORDER_MARK).split("\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise UserError(f"{str(path)!r} is empty; give a file of sentences, one a line")
    return lines


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise FileError(f"no file at {str(path)!r}; check the path") from error
    except OSError as error:
        raise FileError(
            f"cannot read {str(path)!r}: {error.strerror or error}; give a file that you may read"
        ) from error
    named_so, is_so = path.suffix.lower() == ".gz", data.startswith(_GZIP_MAGIC)
    if named_so != is_so:
        raise FileError(
            f"{str(path)!r} is not a gzip file; compress it, or drop .gz from its name"
            if named_so
            else f"{str(path)!r} is a gzip file; let its name end in .gz, or unpack it"
        )
    try:
        return _unpacked(data, path) if is_so else data
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(
            f"{str(path)!r} is truncated or damaged ({error}); copy or compress it again"
        ) from error


def _unpacked(data: bytes, path: Path) -> bytes:
    most = unpacked_limit(len(data))
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        unpacked = file.read(most + 1)
    if len(unpacked) > most:
        raise FileError(f"{str(path)!r} unpacks to more than {most / 1e6:,.0f} MB; unpack it, and split it")
    return unpacked


def _clean(sentence: str) -> str:
    # Most sentences hold nothing to replace, which Python's own test finds out ten times as fast.
    return (sentence if sentence.isprintable() else _CONTROLS.sub(" ", sentence)).strip()


def _refuse_empty(
    pairs: Sequence[TextPair], names: tuple[str, str], advice: str, first_line: int = 1
) -> None:
    empty = [number for number, pair in enumerate(pairs, first_line) if not (pair.source and pair.target)]
    if not empty:
        return
    first = pairs[empty[0] - first_line]
    if first == TextPair("", ""):
        found = f"of {names[0]} and of {names[1]} is empty"
    else:
        bare, full = names[::-1] if first.source else names
        found = f"of {bare} is empty, but not that of {full}"
    others = f" (the first of {len(empty):,} such lines)" if len(empty) > 1 else ""
    raise UserError(f"line {empty[0]} {found}{others}; {advice}")


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
