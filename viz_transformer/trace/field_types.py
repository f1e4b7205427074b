"""Records checked against the annotations of their fields, all the way down."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from viz_transformer._text import described
from viz_transformer.errors import UserError
from viz_transformer.trace.arrays import MOST_ELEMENTS

_WANTED = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    tuple: "a tuple",
    np.ndarray: "an array of finite numbers",
}


def check_types(record: Any, where: str = "") -> None:
    """Refuse a dataclass whose fields do not hold what their annotations say.

    A tuple may hold any number of what it is annotated with; a number is no NaN; an array holds
    finite numbers.

    Raises:
        UserError: if a field holds something else; the message names it.
    """
    where = where or type(record).__name__
    for name, annotation in _hints(cast("Any", type(record))).items():
        _check(getattr(record, name), annotation, f"{where}.{name}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}


def _check(value: Any, annotation: Any, where: str) -> None:
    if get_origin(annotation) in (Union, UnionType):
        if value is None and NoneType in get_args(annotation):
            return
        (annotation,) = (each for each in get_args(annotation) if each is not NoneType)
    if _kind(annotation) is tuple and isinstance(value, tuple):
        for index, each in enumerate(value):
            _check(each, get_args(annotation)[0], f"{where}[{index}]")
    elif is_dataclass(annotation) and isinstance(value, cast("type", annotation)):
        check_types(value, where)
    elif not _fits(value, annotation):
        wanted = _WANTED.get(_kind(annotation), "something else")
        raise UserError(f"{where} is {described(value)}, and {wanted} is expected; record the trace again")


def _kind(annotation: Any) -> Any:
    """Return what an annotation is at heart: a tuple for any tuple, an array for an array of any numbers."""
    kind = get_origin(annotation) or annotation
    return np.ndarray if kind is get_origin(NDArray[Any]) else kind  # from numpy 2.5 on, an alias of its own


def _fits(value: Any, annotation: Any) -> bool:
    if _kind(annotation) is np.ndarray:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf" or value.size > MOST_ELEMENTS:
            return False
        array = np.asarray(value)  # of a masked one all values
        ends = [array.min(initial=0), array.max(initial=0)]  # a NaN is both; no copy is made
        return bool(np.isfinite(ends).all())
    if annotation is int:
        return isinstance(value, Integral) and not isinstance(value, bool)
    if annotation is float:
        return isinstance(value, Real) and not isinstance(value, bool) and value < math.inf  # no NaN either
    return annotation in (str, bool) and isinstance(value, annotation)
