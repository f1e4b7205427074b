"""Comparison of a learner's answer with the right one, and how they differ in words."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Arrays of up to this size are shown in a message number by number; larger ones by their shape.
_FEW = 12


class UnusableError(Exception):
    """An answer that cannot be compared with anything; the message says why."""


#: Longer lists are not read: each would take numpy a second, and one is compared many times.
_MOST_ITEMS = 10**6


def as_array(answer: Any) -> NDArray[Any]:
    """Return an answer as an array: numbers, lists of them, arrays and tensors.

    Raises:
        UnusableError: if it is none of these.
    """
    if hasattr(answer, "detach"):  # a tensor
        answer = answer.detach().cpu()
        answer = (answer.float() if answer.is_floating_point() else answer).numpy()
    if not isinstance(answer, np.ndarray | np.generic | Number | list | tuple):
        raise UnusableError(f"Give numbers, a list, an array or a tensor; this is {describe_type(answer)}.")
    if isinstance(answer, list | tuple) and (length := len(answer)) > _MOST_ITEMS:
        raise UnusableError(f"This is a list of {length:,} items, far longer than any answer here.")
    try:
        array = np.asarray(answer)
    except (ValueError, TypeError, RuntimeError) as error:
        raise UnusableError(
            f"This cannot be read as a table of numbers ({first_line(error)}); are all its rows equally long?"
        ) from error
    if array.dtype.kind in "US":
        raise UnusableError("This is text; write numbers without quotation marks.")
    if array.dtype.kind not in "biuf":
        raise UnusableError(f"Give numbers only; this holds {describe_type(first_non_number(array))}.")
    return array


def first_non_number(array: NDArray[Any]) -> Any:
    """Return the first element of an object array that is not a number."""
    return next((one for one in array.ravel() if not isinstance(one, Number)), array)


def as_number(answer: Any) -> float:
    """Return an answer as one number.

    Raises:
        UnusableError: if it is no number, or several.
    """
    array = as_array(answer)
    if array.dtype.kind == "b":
        raise UnusableError("Give a number; this is True or False.")
    if array.size != 1:
        raise UnusableError(f"Give one number; this has the shape {array.shape}.")
    return float(array.ravel()[0])


def all_close(found: Any, wanted: Any, tolerance: float) -> bool:
    """Whether two values agree: numbers within the tolerance, everything else exactly.

    Exceptions agree if they have the same type.
    """
    if isinstance(found, BaseException) or isinstance(wanted, BaseException):
        return type(found) is type(wanted)
    if isinstance(wanted, Mapping):
        return (
            isinstance(found, Mapping)
            and found.keys() == wanted.keys()
            and all(all_close(found[key], wanted[key], tolerance) for key in wanted)
        )
    if isinstance(wanted, str) or wanted is None:
        return isinstance(found, type(wanted)) and found == wanted
    if isinstance(wanted, list | tuple) and not is_table(wanted):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(wanted)
            and all(all_close(*both, tolerance) for both in zip(found, wanted, strict=True))
        )
    try:
        one, other = as_array(found), as_array(wanted)
    except UnusableError:
        return False
    if one.shape != other.shape or (one.dtype.kind == "b") != (other.dtype.kind == "b"):
        return False
    return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True))


def describe_difference(called: str, found: Any, wanted: Any, tolerance: float) -> str:
    """Say in a sentence how a value differs from the right one.

    Args:
        called: the call that gave the value, or a part of it: the sentence's subject.
        found: the value, which is not `all_close` to the right one.
        wanted: the right value.
        tolerance: relative and absolute, as `all_close` takes it.
    """
    if isinstance(found, Exception):
        raised = f"{called} raised {type(found).__name__}: {first_line(found)}"
        return raised if raised.endswith((".", "?", "!")) else f"{raised}."
    if found is None and wanted is not None:
        return f"{called} returned None: does it end with return?"
    if isinstance(wanted, str):
        given = repr(found) if isinstance(found, str) else describe_type(found)
        return f"{called} is {given:.80}; it should be {wanted!r:.80}."
    if isinstance(wanted, list | tuple) and not is_table(wanted):
        if not isinstance(found, list | tuple) or len(found) != len(wanted):
            many = isinstance(found, list | tuple)
            given = f"a {type(found).__name__} of {len(found)}" if many else describe_type(found)
            asked = f"a {type(wanted).__name__} of {len(wanted)}"
            return f"{called} is {given}; it should be {asked}."
        pairs = enumerate(zip(found, wanted, strict=True))
        at, (one, other) = next(each for each in pairs if not all_close(*each[1], tolerance))
        return describe_difference(f"{called}[{at}]", one, other, tolerance)
    try:
        one, other = as_array(found), as_array(wanted)
    except UnusableError as error:
        return f"{called}: {error}"
    if one.shape != other.shape:
        return f"{called} has the shape {one.shape}; it should be {other.shape}."
    if (one.dtype.kind == "b") != (other.dtype.kind == "b"):
        kinds = ("True and False", "numbers")
        right, given = kinds if other.dtype.kind == "b" else reversed(kinds)
        return f"{called} has the right shape, but holds {given}; it should hold {right}."
    if one.size <= _FEW and format_value(one) != format_value(other):
        return f"{called} is {format_value(one)}; it should be {format_value(other)}."
    return f"{called} {_first_difference(one, other, tolerance)}"


def _first_difference(found: NDArray[Any], wanted: NDArray[Any], tolerance: float) -> str:
    """Say where two arrays of one shape differ first, and how."""
    close = np.isclose(found, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    places = np.argwhere(~close)
    at = tuple(map(int, places[0]))
    given, right = format_value(found[at]), format_value(wanted[at])
    if given == right:  # too close for the digits that are usually shown
        given, right = f"{found[at]:.8g}", f"{wanted[at]:.8g}"
    if not at:
        return f"is {given}; it should be {right}."
    given = "NaN (“not a number”)" if given == "nan" else given
    return (
        f"has the right shape, but the values differ in {len(places)} of {wanted.size} places, "
        f"first at {list(at)}: there it has {given}; it should be {right}."
    )


def is_rounded_number(found: float, wanted: float) -> bool:
    """Whether a number is another one, rounded to at most three decimals.

    A whole number of one digit is near to too many others to be called so.
    """
    for decimals in range(4):
        scaled = found * 10**decimals
        if not abs(found - wanted) <= 0.5000001 / 10**decimals:
            return False
        if abs(scaled - round(scaled)) < 1e-6:
            return decimals > 0 or abs(found) >= 10
    return False


def rounded(value: Any, decimals: int) -> Any:
    """Return a value with its numbers rounded, those in lists, tuples and dicts too."""
    if isinstance(value, Mapping):
        return {key: rounded(each, decimals) for key, each in value.items()}
    if isinstance(value, list | tuple) and not is_table(value):
        return [rounded(each, decimals) for each in value]
    try:
        array = as_array(value)
    except UnusableError:
        return value
    return array if array.dtype.kind == "b" else np.round(array, decimals)


def is_table(values: Any) -> bool:
    """Whether a list or tuple is a table of plain numbers."""
    try:
        return all(isinstance(one, Number | list | tuple) for one in values) and bool(as_array(values).size)
    except UnusableError:
        return False


def format_value(value: Any) -> str:
    """Return a value in few characters, for a message."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray | np.generic):
        if value.size > _FEW:
            return f"an array of shape {value.shape}"
        return str(_rounded(value.tolist()))  # whole: numbers cut in the middle would be wrong ones
    if callable(value):  # a function, or a module of torch, whose own text runs over many lines
        name = getattr(value, "__name__", type(value).__name__)
        return "a function" if name == "<lambda>" else name
    text = str(_rounded(value))
    return text if len(text) <= 80 else text[:79] + "…"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        short = float(f"{value:.4g}")
        return int(short) if short.is_integer() and abs(short) < 1e16 else short
    if isinstance(value, list | tuple):
        return type(value)(map(_rounded, value))
    return value


def describe_type(value: Any) -> str:
    """Return the type of a value in words, for a message."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    kind = type(value).__name__
    known = {"str": "text", "generator": "a generator", "NoneType": "None", "dict": "a dict"}
    if kind == "function":
        return f"the function {value.__name__} itself; did you mean to call it?"
    return known.get(kind, f"of the type {kind}")


def first_line(error: BaseException) -> str:
    """Return an error's message in one short line."""
    lines = str(error).strip().splitlines()
    return f"{lines[0]:.120}" if lines else type(error).__name__
