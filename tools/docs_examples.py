"""An extension of griffe: examples become blocks of code, and what is returned has its type."""

from __future__ import annotations

import re
from typing import Any

import griffe

#: What begins with a prompt, to the next empty line.
_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n(?! *$).*)*", re.MULTILINE)
_RETURNS = re.compile(r"^ *Returns:\n +", re.MULTILINE)
_DIRECTIVE = re.compile(r" *# doctest: .*$", re.MULTILINE)


class Examples(griffe.Extension):
    """Fences the examples of every docstring, and puts types before what functions return."""

    def on_instance(self, *, obj: griffe.Object | griffe.Alias, **_: Any) -> None:
        """Change one docstring."""
        if obj.docstring and not obj.is_alias:
            text = fenced(obj.docstring.value)
            obj.docstring.value = typed(text, str(obj.returns)) if isinstance(obj, griffe.Function) else text


def fenced(docstring: str) -> str:
    """Return a docstring whose examples are in fences of their own, without doctest's directives."""

    def fence(example: re.Match[str]) -> str:
        return f"{example[1]}```pycon\n{_DIRECTIVE.sub('', example[0])}\n{example[1]}```"

    return _EXAMPLE.sub(fence, docstring)


def typed(docstring: str, returned: str) -> str:
    """Put the type before what is returned: griffe would take the words before a colon for it."""
    return _RETURNS.sub(lambda found: f"{found[0]}{returned}: ", docstring, count=1)
