"""The source of a function or class of this package, shown beside the idea that it carries out."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viz_transformer.errors import UserError


@dataclass(frozen=True)
class Source:
    """A piece of source, as `show_source` finds it; a notebook shows it highlighted.

    Attributes:
        name: what it defines, such as ``"attend"`` or ``"EncoderLayer.forward"``.
        file: where it is, such as ``"viz_transformer/model/attention.py"``.
        line: its first line in that file, counted from 1.
        text: the source, without indentation around it.
    """

    name: str
    file: str
    line: int
    text: str

    def _repr_markdown_(self) -> str:
        """Return it as Markdown, whose code the notebook's theme colours."""
        return f"`{self.file}`, line {self.line}\n\n```python\n{self.text}\n```"

    def __str__(self) -> str:
        """Return it as plain text, with its file above it."""
        return f"# {self.file}, line {self.line}\n{self.text}"

    __repr__ = __str__


def show_source(definition: Callable[..., Any], *, docstring: bool = False) -> Source:
    """Return the source of a function, method or class, for a notebook to show.

    >>> import viz_transformer as vt
    >>> from viz_transformer.model.attention import attend
    >>> source = vt.show_source(attend)
    >>> source.text.splitlines()[0]
    'def attend('

    Args:
        definition: the function, method or class.
        docstring: whether to show docstrings whole; else only the first line of each is kept.

    Raises:
        UserError: if there is no source to be found, as of a function that is written in C.
    """
    found = inspect.unwrap(definition) if callable(definition) else definition
    try:
        lines, line = inspect.getsourcelines(found)
        file = Path(inspect.getfile(found))
    except (TypeError, OSError):
        raise UserError(
            f"no source is found for {getattr(definition, '__name__', definition)!r}; give a function, "
            "method or class that is written in Python, such as viz_transformer.model.attend"
        ) from None
    text = textwrap.dedent("".join(lines)).rstrip()
    return Source(
        found.__qualname__, _place(file), max(line, 1), text if docstring else _without_details(text)
    )


def _place(file: Path) -> str:
    """Return a file's path from the package that it belongs to; elsewhere its name."""
    package = Path(__file__).parent
    return file.relative_to(package.parent).as_posix() if package in file.parents else file.name


def _without_details(text: str) -> str:
    """Return the source with each docstring cut down to its first line."""
    lines = text.splitlines()
    defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    try:
        nodes = [each for each in ast.walk(ast.parse(text)) if isinstance(each, defined)]
    except SyntaxError:  # a piece that does not stand alone, such as a lambda inside a call
        return text
    bodies = [node.body[0] for node in nodes if ast.get_docstring(node, clean=False)]
    for body in sorted(bodies, key=lambda each: each.lineno, reverse=True):
        if body.end_lineno and body.end_lineno > body.lineno:
            first = lines[body.lineno - 1].rstrip()
            lines[body.lineno - 1 : body.end_lineno] = [first + '"""']
    return "\n".join(lines)
