"""The clinic's excerpts in a page: lines to change, and what Python says of every combination of changes."""

from __future__ import annotations

import ast
import copy
import json
import math
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from viz_transformer._files import bundled
from viz_transformer.exercises.answer_types import Exercise

_DOCUMENTED = (ast.FunctionDef, ast.ClassDef)


def repair_of(exercise: Exercise) -> dict[str, Any]:
    """Return an excerpt as lines to change, with the message for each combination of changes.

    Returns:
        ``code``, the excerpt without its docstrings; ``changes``, ``[[line, replacements], …]``; and
        ``checks``, ``[[chosen, passed, message], …]``: for each change 0, the line as it is, or the number
        of a replacement.
    """
    lines = _excerpt(exercise.name)
    changes = [(lines.index(line), others) for line, others in exercise.repairs.items()]
    checks = []
    for chosen in product(*(range(len(others) + 1) for _, others in changes)):
        changed = list(lines)
        for (line, others), number in zip(changes, chosen, strict=True):
            if number:
                changed[line] = others[number - 1]
        found = exercise.check(_defined_by("\n".join(changed)))
        checks.append([list(chosen), found.passed, found.message])
    return {"code": "\n".join(lines), "changes": changes, "checks": checks}


def _excerpt(name: str) -> list[str]:
    """Return the lines of the notebook's answer cell, without docstrings."""
    lesson, _, number = name.partition(".")
    text = (bundled("notebooks") / f"{lesson}.ipynb").read_text(encoding="utf-8")
    (cell,) = (cell for cell in json.loads(text)["cells"] if cell["id"] == f"answer-{lesson}-{number}")
    source = "".join(cell["source"])
    lines: list[str | None] = [*source.splitlines()]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node) is not None:
            docstring = node.body[0]
            for line in range(docstring.lineno, (docstring.end_lineno or 0) + 1):
                lines[line - 1] = None
    return [line for line in lines if line is not None]


def _defined_by(code: str) -> Any:
    """Run code, and return the function or class that it defines."""
    room = {"__name__": "an answer", "copy": copy, "math": math, "torch": torch, "F": F, "nn": nn}
    exec(code, room)
    definition = ast.parse(code).body[0]
    assert isinstance(definition, _DOCUMENTED)
    return room[definition.name]
