"""The lines of a right answer in code, for a page that asks to put them in order."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from types import FunctionType, ModuleType
from typing import Any

from viz_transformer.exercises.answer_types import Exercise
from viz_transformer.exercises.forbidden import forbidden_name

_MOST_WRONG = 2
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_OPENS = (ast.For, ast.While, ast.If, ast.With, ast.FunctionDef, ast.ClassDef)
_OWN_ROOM = (ast.FunctionDef, ast.ClassDef, ast.Lambda)


@dataclass
class _Block:
    """A statement with those inside it.

    Attributes:
        text: its line; more than one only where brackets are open.
        reads: the variables that it needs, with those of the statements inside.
        writes: the variables that it makes or changes.
        parts: the variables of which it sets some places only, in any order with others that do so.
        ends: whether what follows may not be run.
        inside: the statements inside.
    """

    text: str
    reads: set[str]
    writes: set[str]
    parts: set[str]
    ends: bool
    inside: list[_Block] = field(default_factory=list)

    def __iter__(self) -> Iterator[_Block]:
        yield self
        for each in self.inside:
            yield from each


def lines_of(exercise: Exercise) -> dict[str, Any] | None:
    """Return an exercise in code as lines to put in order; None where its code is not for a page.

    Returns:
        ``head``, the first line of the function or class; ``lines``, in another order, each with the message
        that it is wrong, or None; ``order``, ``[[one, other, message], …]``, places in ``lines`` of which one
        must come before the other; ``blocks``, ``[[places, message], …]``, which must not be interrupted.
    """
    wanted = exercise.wanted
    answer = getattr(wanted, "right_answer", None)
    given = getattr(wanted, "reference", answer if isinstance(answer, FunctionType) else None)
    code = exercise.lines or given
    if code is None or (callable(code) and forbidden_name(code, getattr(wanted, "forbidden", {}))):
        return None
    parsed = _parsed(code)
    if parsed is None:
        return None
    head, body = parsed
    right = [each for block in body for each in block]
    wrong = [*exercise.wrong_lines, *_one_line_apart(exercise, right)]
    unlike = {each.answer: each.message for each in wrong if each.answer not in {one.text for one in right}}
    if len(right) + len(unlike) == 1:
        return None  # there is nothing to decide
    shown = [*((each.text, None) for each in right), *list(unlike.items())[:_MOST_WRONG]]
    places = list(range(len(shown)))
    Random(exercise.name).shuffle(places)
    if places[: len(right)] == sorted(places[: len(right)]):
        places.reverse()
    at = {id(block): places.index(number) for number, block in enumerate(right)}
    order, blocks = _rules(body, at)
    return {"head": head, "lines": [list(shown[each]) for each in places], "order": order, "blocks": blocks}


def _parsed(code: Callable[..., Any] | str) -> tuple[str, list[_Block]] | None:
    """Return the first line of a function or class, and its statements; None if it calls ours inside."""
    try:
        text = textwrap.dedent(code if isinstance(code, str) else inspect.getsource(code))
        tree = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    if not isinstance(tree, ast.FunctionDef | ast.ClassDef) or not (
        isinstance(code, str) or _stands_alone(code, tree)
    ):
        return None
    text = re.sub(rf"\b{tree.name}\b", tree.name.lstrip("_"), text)
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef | ast.ClassDef)
    lines = text.splitlines()
    return _opening(tree, lines), _blocks(tree.body, lines)


def _stands_alone(code: Callable[..., Any], tree: ast.AST) -> bool:
    """Whether code uses libraries and what is beside it only: no other function of this package."""
    known = vars(inspect.getmodule(code) or inspect)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {code.__name__}
    made = [known[name] for name in names if name in known and not isinstance(known[name], ModuleType)]
    if any(name.startswith("_") for name in names - {"_"}) or getattr(code, "__closure__", None):
        return False
    return not any(
        (module := getattr(each, "__module__", "")).startswith("viz_transformer")
        and module != code.__module__
        for each in made
        if isinstance(each, FunctionType | type)
    )


def _opening(node: ast.stmt, lines: Sequence[str]) -> str:
    """Return the line that opens a block, without types."""
    if isinstance(node, ast.FunctionDef):
        bare = ast.parse(ast.unparse(node)).body[0]
        assert isinstance(bare, ast.FunctionDef)
        bare.returns, bare.decorator_list, bare.body = None, [], [ast.Pass()]
        for each in ast.walk(bare.args):
            if isinstance(each, ast.arg):
                each.annotation = None
        return " " * node.col_offset + ast.unparse(bare).splitlines()[0]
    first = node.body[0].lineno if isinstance(node, _OPENS) else 0
    return "\n".join(lines[node.lineno - 1 : first - 1])


def _blocks(body: Sequence[ast.stmt], lines: Sequence[str]) -> list[_Block]:
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # a docstring
    found = []
    for node in body:
        variables = _variables(node)
        ends = any(isinstance(each, _ENDS) for each in _same_room(node))
        is_open = (
            isinstance(node, _OPENS) and node.body[0].lineno > node.lineno and not getattr(node, "orelse", [])
        )
        if is_open and isinstance(node, _OPENS):
            found.append(_Block(_opening(node, lines), *variables, ends, _blocks(node.body, lines)))
        else:
            text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            found.append(_Block(text, *variables, ends))
    return found


def _same_room(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all in it, without what is in functions of its own."""
    yield node
    if not isinstance(node, _OWN_ROOM):
        for each in ast.iter_child_nodes(node):
            yield from _same_room(each)


def _variables(node: ast.stmt) -> tuple[set[str], set[str], set[str]]:
    """Return the variables that a statement reads, writes, and sets in part; ``self.scale`` is one, too."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return set(), {node.name}, set()
    reads: set[str] = set()
    writes: set[str] = set()
    own: set[str] = set()
    everything = list(ast.walk(node))
    set_in_part = [each for each in everything if isinstance(each, ast.Subscript) and _is_set(each)]
    within = {each.value for each in set_in_part}
    for each in everything:
        if isinstance(each, ast.comprehension):
            own |= {one.id for one in ast.walk(each.target) if isinstance(one, ast.Name)}
        elif isinstance(each, ast.Name | ast.Attribute) and each not in within:
            (writes if _is_set(each) else reads).add(ast.unparse(each))
        elif isinstance(each, ast.AugAssign):
            reads.add(_root(each.target))
        elif isinstance(each, ast.Expr) and isinstance(
            each.value, ast.Call
        ):  # it is called to change something
            writes.add("self" if "super()" in ast.unparse(each) else _root(each.value.func))
    return reads - own, writes - own, {_root(each) for each in set_in_part}


def _is_set(node: ast.Name | ast.Attribute | ast.Subscript) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _root(node: ast.expr) -> str:
    """Return the variable whose part this is: ``x`` of ``x[0].data``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return ast.unparse(node)


def _rules(body: Sequence[_Block], at: dict[int, int]) -> tuple[list[Any], list[Any]]:
    """Return which lines come before which, and which stay together, as `lines_of` does."""
    order, blocks = [], []
    for one, other in combinations(body, 2):
        if why := _reason(one, other):
            order.append([at[id(one)], at[id(other)], why])
    for each in body:
        if each.inside:
            why = f"The lines that are indented below “{each.text.strip()}” follow it, one after another."
            order += [[at[id(each)], at[id(inner)], why] for inner in each.inside]
            blocks.append([[at[id(inner)] for inner in each], why])
            inner_order, inner_blocks = _rules(each.inside, at)
            order, blocks = order + inner_order, blocks + inner_blocks
    return order, blocks


def _reason(one: _Block, other: _Block) -> str:
    """Return why a statement must come before another one; empty where it need not."""
    first, second = one.text.strip(), other.text.strip()
    if other.ends:
        return f"What comes after “{second}” is not run."
    if made := sorted((one.writes & (other.reads | other.parts)) | (one.parts & other.reads)):
        return f"“{second}” needs {made[0]}, which “{first}” sets."
    again = (other.writes & (one.reads | one.writes | one.parts)) | (other.parts & one.reads)
    if again:
        return f"“{second}” sets {min(again)} again, after “{first}” has used it."
    return f"“{first}” comes before “{second}”." if one.ends else ""


def _one_line_apart(exercise: Exercise, right: Sequence[_Block]) -> Iterator[Any]:
    """Yield, of the likely mistakes that differ from the right answer in one line, that line."""
    for mistake in exercise.wanted.mistakes:
        parsed = _parsed(mistake.answer) if isinstance(mistake.answer, FunctionType) else None
        lines = [each.text for block in parsed[1] for each in block] if parsed else []
        if len(lines) == len(right):
            apart = [line for line, one in zip(lines, right, strict=True) if line != one.text]
            if len(apart) == 1:
                yield type(mistake)(apart[0], mistake.message)
