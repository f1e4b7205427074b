"""The source of an answer with all that it uses, so that it runs in a file of its own."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
import symtable
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
#: A comment above a definition that belongs to the notebook: a cell's title, or a mark of nbgrader's.
_NOTEBOOKS_OWN = re.compile(r"#\s*%%|###")


class NoSourceError(Exception):
    """The source of an answer, or of what it uses, cannot be found; the message says of what."""


def source_with_uses(answer: Any, name: str, elsewhere: Collection[str], taken: Mapping[str, str]) -> str:
    """Return the source of a function or class as it was written, with the imports and definitions it uses.

    Args:
        answer: a function, a class, or anything else that a name was given to.
        name: what it should be called; if it is called otherwise, a line gives it this name too.
        elsewhere: names that the file has already, unless the learner defined them again in the notebook.
        taken: what the rest of the file defines, each name with its source. A definition of the same
            name and another source is renamed.

    Raises:
        NoSourceError: if a source cannot be found.
    """
    space = _namespace(answer)
    uses = _Uses(space, _cells(space), elsewhere, taken)
    code = getattr(_unwrapped(answer), "__code__", None)
    if code is not None:  # the very cell or file in which it was compiled
        uses.cells.insert(0, "".join(linecache.getlines(code.co_filename)))
    own = _name_of(answer, name, uses)
    alias = "" if own == name else own
    if own is not None:
        uses.add(own)
    elif code is not None and code.co_name == "<lambda>":
        alias = _lambda(uses.cells[0], code.co_firstlineno)
        uses.add_all(alias)
    else:
        raise NoSourceError(f"the source of {name} was not found; define it in a cell of this notebook")
    imports = "\n".join(dict.fromkeys(uses.imports))
    texts = _with_new_names(uses.statements, name, alias or "", {**dict.fromkeys(elsewhere, ""), **taken})
    return "\n\n\n".join(filter(None, [imports, *dict.fromkeys(texts)])) + "\n"


def definitions(source: str) -> dict[str, str]:
    """Return what a source defines at its top level, each name with its statement; imports are left out."""
    found = {}
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            found.update(dict.fromkeys(_bound(node), _text(source, node)))
    return found


@dataclass
class _Uses:
    """What an answer uses, collected from the cells that were run.

    Attributes:
        space: the notebook's names.
        cells: sources, the newest first.
        elsewhere: names that are found elsewhere.
        taken: what is defined elsewhere, each name with its source.
        imports: lines.
        statements: definitions, each after those it uses, by their name.
    """

    space: Mapping[str, Any]
    cells: list[str]
    elsewhere: Collection[str]
    taken: Mapping[str, str]
    imports: list[str] = field(default_factory=list)
    statements: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def add(self, name: str) -> None:
        """Add what gives a name its value, and first all that this uses."""
        if name in self.seen or name not in self.space:  # built in, or never given a value
            return
        self.seen.add(name)
        value = self.space[name]
        text, node = self.find(name)
        if isinstance(node, ast.Import | ast.ImportFrom) or (node is None and _import_of(name, value)):
            line = text or _import_of(name, value)
            if not (name in self.elsewhere and line.startswith("from ")):
                self.imports.append(line)
            return
        if name in self.elsewhere and self.taken.get(name) == text:  # the very same
            return
        if isinstance(value, bool | int | float | str | None) and not _is_literal(node, value):
            text = f"{name} = {value!r}"  # what a longer calculation came to
        elif node is None:
            raise NoSourceError(f"it uses {name}, and the cell that defines {name} was not found")
        self.add_all(text)
        self.statements[name] = text

    def add_all(self, text: str) -> None:
        """Add every name that a text uses and does not define."""
        for each in _used_names(text):
            self.add(each)

    def find(self, name: str) -> tuple[str, ast.stmt | None]:
        """Return the newest statement that gives a name its value; of an import only this name's part."""
        for cell in self.cells:
            try:
                nodes = ast.parse(cell).body
            except (SyntaxError, ValueError):
                continue
            for node in reversed(nodes):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    for alias in node.names:
                        if name == (alias.asname or alias.name.partition(".")[0]):
                            return ast.unparse(_only(node, alias)), node
                elif name in _bound(node):
                    return _text(cell, node), node
        return "", None


def _only(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(node, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(node.module, [alias], node.level)


def _unwrapped(answer: Any) -> Any:
    try:
        return inspect.unwrap(answer)
    except ValueError:  # it says that it wraps itself
        return answer


def _namespace(answer: Any) -> Mapping[str, Any]:
    """Return the names of the notebook or module that an answer was written in."""
    main = vars(sys.modules["__main__"])
    of_class = vars(sys.modules.get(str(getattr(answer, "__module__", "")), ModuleType("")))
    spaces = [getattr(_unwrapped(answer), "__globals__", of_class), main]
    return next((each for each in spaces if any(value is answer for value in [*each.values()])), spaces[0])


def _cells(space: Mapping[str, Any]) -> list[str]:
    """Return the sources in which a namespace's names were given their values, the newest first."""
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        if shell is not None and shell.user_ns is space:
            return [*reversed(shell.history_manager.input_hist_parsed)]
    return ["".join(linecache.getlines(str(space.get("__file__", ""))))]


def _name_of(answer: Any, name: str, uses: _Uses) -> str | None:
    """Return a name that a cell gave an answer; None if it was written where it is checked."""
    names = [each for each, value in [*uses.space.items()] if value is answer and not each.startswith("_")]
    names.sort(key=lambda each: (each != name, each != getattr(answer, "__name__", "")))
    return next((each for each in names if uses.find(each)[1] is not None), None)


def _lambda(source: str, line: int) -> str:
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except SyntaxError:
        nodes = []
    for node in nodes:
        if isinstance(node, ast.Lambda) and node.lineno == line:
            return ast.get_source_segment(source, node) or ""
    raise NoSourceError("the source of this lambda was not found; define it with def")


def _import_of(name: str, value: Any) -> str:
    """Return the line that imports a value without a cell that did, such as ``from math import sqrt``."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    module, own = getattr(value, "__module__", None), getattr(value, "__name__", None)
    known = vars(sys.modules.get(str(module), ModuleType("")))
    if module == "__main__" or not isinstance(own, str) or known.get(own) is not value:
        return ""
    return f"from {module} import {own}" + (f" as {name}" if own != name else "")


def _is_literal(node: ast.stmt | None, value: Any) -> bool:
    """Whether a statement gives a name this value, written out."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    try:
        return bool(ast.literal_eval(node.value) == value)
    except (ValueError, TypeError, SyntaxError):
        return False


def _bound(node: ast.stmt) -> set[str]:
    """Return the names that a statement gives a value."""
    if isinstance(node, _Definition):
        return {node.name}
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {each.id for one in targets for each in ast.walk(one) if isinstance(each, ast.Name)}
    return set()


def _text(source: str, node: ast.stmt) -> str:
    """Return a statement's lines, with its decorators and the comments right above it."""
    lines = source.splitlines()
    decorators = node.decorator_list if isinstance(node, _Definition) else []
    start = min([node.lineno, *(each.lineno for each in decorators)]) - 1
    while start and lines[start - 1].startswith("#") and not _NOTEBOOKS_OWN.match(lines[start - 1]):
        start -= 1
    return "\n".join(line.rstrip() for line in lines[start : node.end_lineno])


def _used_names(text: str) -> Iterator[str]:
    """Yield the names that a text uses and does not define, in whatever function they are."""

    def walk(table: symtable.SymbolTable) -> Iterator[str]:
        is_top = table.get_type() == "module"
        for each in table.get_symbols():
            if each.is_referenced() if is_top else each.is_global():
                yield each.get_name()
        for inner in table.get_children():
            yield from walk(inner)

    own = {name for node in ast.parse(text).body for name in _bound(node)}
    yield from sorted({*walk(symtable.symtable(text, "answer", "exec"))} - own)


def _with_new_names(
    statements: Mapping[str, str], part: str, alias: str, taken: Mapping[str, str]
) -> list[str]:
    """Return the definitions, renamed where the rest of the file gives their names to something else.

    Where the part is an `alias`, an expression, another definition may not have the part's name.
    """
    new: dict[str, str] = {}
    while True:  # what uses a renamed name has another source, and may have to be renamed too
        texts = {name: _renamed(text, new) for name, text in statements.items()}
        more = {
            name: f"{name}_of_{part}"
            for name, text in texts.items()
            if name not in new and (alias if name == part else name in taken and taken[name] != text)
        }
        if not more:
            return [*texts.values(), *([f"{part} = {_renamed(alias, new)}"] if alias else [])]
        new.update(more)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text in which global names have new ones, where no function has its own of that name."""
    places: list[tuple[int, int, str]] = []
    lines = text.encode().splitlines(keepends=True)

    def visit(node: ast.AST, hidden: frozenset[str]) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            hidden |= _local_names(node)
        if isinstance(node, ast.Name) and node.id in names and node.id not in hidden:
            places.append((node.lineno - 1, node.col_offset, node.id))
        for each in ast.iter_child_nodes(node):
            visit(each, hidden)

    for top in ast.parse(text).body:
        if isinstance(top, _Definition) and top.name in names:
            line = lines[top.lineno - 1]
            start = re.match(rb"\s*(async\s+def|def|class)\s+", line[top.col_offset :])
            if start:
                places.append((top.lineno - 1, top.col_offset + start.end(), top.name))
        visit(top, frozenset())
    for row, column, name in sorted(places, reverse=True):
        line = lines[row]
        lines[row] = line[:column] + names[name].encode() + line[column + len(name.encode()) :]
    return b"".join(lines).decode()


def _local_names(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """Return the names of a function's own: its arguments, and what it gives a value."""
    own = {each.arg for each in ast.walk(function) if isinstance(each, ast.arg)}
    stored = {
        each.id
        for each in ast.walk(function)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return frozenset(own | stored)
