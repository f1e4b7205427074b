"""Arguments of a figure that are of another type than its signature says: refused in one line."""

from __future__ import annotations

import ast
import functools
import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from viz_transformer._text import shown
from viz_transformer.errors import UserError
from viz_transformer.trace.arrays import given_array

Given = ParamSpec("Given")
Drawn = TypeVar("Drawn")

#: What to give, by type.
_WHAT = {
    "ArrayLike": "an array of numbers",
    "Axes": "axes of matplotlib, such as plt.subplots()[1], or leave it out",
    "ForwardTrace": "a trace, which vt.capture(...) makes",
    "ForwardTrace | ArrayLike": "a trace, or an array of numbers",
    "Sequence[Sequence[int]]": "a list of [layer, head] pairs: [[0, 1], [2, 3]]",
    "Sequence[float]": "a list of numbers",
    "Sequence[int]": "a list of whole numbers",
    "Sequence[str]": "a list of texts",
    "bool": "True or False",
    "float": "a number",
    "int": "a whole number",
    "str": "a text in quotation marks",
}


def checking_arguments(plot: Callable[Given, Drawn]) -> Callable[Given, Drawn]:
    """Return the function with its arguments checked against the types in its signature.

    What an argument must be besides, such as a layer that the trace has, the function checks.
    """
    signature = inspect.signature(plot)

    @functools.wraps(plot)
    def checked(*args: Given.args, **named: Given.kwargs) -> Drawn:
        try:
            bound = signature.bind(*args, **named)
        except TypeError:  # missing or unknown: Python's message is best
            return plot(*args, **named)
        given = bound.arguments
        for name, value in given.items():
            given[name] = value = _of_python(value)
            wanted = signature.parameters[name].annotation  # a string
            if not _fits(value, ast.parse(wanted, mode="eval").body):
                what = _WHAT.get(wanted.removesuffix(" | None"), f"what its type says: {wanted}")
                raise UserError(f"{name}={shown(value)}; give {what}")
        return plot(*bound.args, **bound.kwargs)

    return checked


def _fits(value: Any, wanted: ast.expr) -> bool:
    """Return whether a value is of a type, as the signature writes it; a class is known by its name."""
    match wanted:
        case ast.Constant(None):
            return value is None
        case ast.BinOp(one, ast.BitOr(), other):
            return _fits(value, one) or _fits(value, other)
        case ast.Subscript(ast.Name("Sequence"), item):
            return _is_sequence(value) and all(_fits(each, item) for each in value)
        case ast.Subscript(ast.Name("tuple"), ast.Tuple(items)):
            return (
                _is_sequence(value)
                and len(value) == len(items)
                and all(_fits(each, item) for each, item in zip(value, items, strict=True))
            )
        case ast.Subscript(ast.Name("Mapping"), ast.Tuple([key, item])):
            return isinstance(value, Mapping) and all(
                _fits(name, key) and _fits(each, item) for name, each in value.items()
            )
        case ast.Name(name) if name in _IS:
            return _IS[name](value)
        case ast.Name(name) | ast.Attribute(attr=name):
            return any(each.__name__ == name for each in type(value).__mro__)
    return True


def _is_sequence(value: Any) -> bool:
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
        return False
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0


def _is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def _is_truth(value: Any) -> bool:
    return isinstance(_of_python(value), bool)


def _is_number(value: Any) -> bool:
    number = _of_python(value)
    is_real = isinstance(number, int | float) and not isinstance(number, bool)
    return is_real and not (isinstance(number, int) and abs(number) > sys.float_info.max)


def _of_python(value: Any) -> Any:
    """Return one value of numpy's or torch's as Python's own."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _is_array(value: Any) -> bool:
    try:
        given_array(value, "")
    except UserError:
        return False
    return True


def _is_anything(_: Any) -> bool:
    return True


#: Checks of types that are no class of that name; three are protocols, and `colour_scale` checks its choices.
_IS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("Any", "Row", "ScaleChoice", "Slopes", "Spread"), _is_anything),
    "ArrayLike": _is_array,
    "bool": _is_truth,
    "float": _is_number,
    "int": _is_whole,
}
