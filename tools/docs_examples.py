"""An extension of griffe, which reads the docstrings: their examples become blocks of code."""

from __future__ import annotations

import re
from typing import Any

import griffe

#: What begins with a prompt, to the next empty line.
_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*", re.MULTILINE)
_DIRECTIVE = re.compile(r" *# doctest: .*$", re.MULTILINE)


class Examples(griffe.Extension):
    """Fences the examples of every docstring."""

    def on_instance(self, *, obj: griffe.Object | griffe.Alias, **_: Any) -> None:
        """Fence those of one docstring."""
        if obj.docstring and not obj.is_alias:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """Return a docstring whose examples stand in fences of their own, without doctest's directives."""

    def fence(example: re.Match[str]) -> str:
        return f"{example[1]}```pycon\n{_DIRECTIVE.sub('', example[0])}\n{example[1]}```"

    return _EXAMPLE.sub(fence, docstring)
