"""What a view's page may ask: a schema for each view, checked once, where the message comes in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from viz_transformer._numbers import finite
from viz_transformer._text import described
from viz_transformer.errors import UserError


@dataclass(frozen=True)
class Field:
    """One value of a request.

    Attributes:
        wanted: what it must be, in words.
        fits: whether a value is that.
        optional: whether it may be left out.
    """

    wanted: str
    fits: Callable[[Any], bool]
    optional: bool = False


#: The fields of a request by name. A view that can be asked several things has several.
Schema = Mapping[str, Field]

#: No reply is larger, in bytes: a page needs a hundredth of it.
MOST_BYTES = 16_000_000

TEXT = Field("text", lambda value: isinstance(value, str) and len(value) <= 20_000)
FLAG = Field("true or false", lambda value: isinstance(value, bool))


def whole(lowest: int = 0, highest: int = 10**9) -> Field:
    """A whole number from `lowest` to `highest`."""
    return Field(f"a whole number, {lowest} to {highest}", lambda value: _is_whole(value, lowest, highest))


def number(lowest: float, highest: float) -> Field:
    """A finite number from `lowest` to `highest`."""
    return Field(f"a number, {lowest:g} to {highest:g}", lambda value: _is_number(value, lowest, highest))


def one_of(choices: Collection[Any]) -> Field:
    """One of some texts or numbers."""
    known = list(choices)
    return Field(f"one of {known}", lambda value: type(value) in (str, int, float) and value in known)


def listed(each: Field, most: int = 10_000) -> Field:
    """A list of some values."""
    return Field(
        f"a list of at most {most:,}, each {each.wanted}",
        lambda value: isinstance(value, list) and len(value) <= most and all(map(each.fits, value)),
    )


def order_of(n: int) -> Field:
    """The numbers from 0 to n - 1 in any order."""
    return Field(
        f"the numbers 0 to {n - 1} in any order",
        lambda value: (
            isinstance(value, list) and all(map(whole().fits, value)) and sorted(value) == [*range(n)]
        ),
    )


def record(schema: Schema) -> Field:
    """A value with fields of its own."""
    return Field(f"{{{', '.join(schema)}}}", lambda value: _mistake(value, schema) is None)


def optional(field: Field) -> Field:
    """A value that may be left out."""
    return Field(field.wanted, field.fits, optional=True)


def or_none(field: Field) -> Field:
    """A value, or None."""
    return Field(f"{field.wanted}, or nothing", lambda value: value is None or field.fits(value))


def check_request(request: Any, schemas: Collection[Schema]) -> None:
    """Refuse a request that fits none of a view's schemas.

    Raises:
        UserError: if it does; the message names the first field that is wrong in the nearest one.
    """
    if not schemas:
        raise UserError("this view takes no requests; list them in the view's `requests`")
    mistakes = [_mistake(request, schema) for schema in schemas]
    if None in mistakes:
        return
    nearest = max(
        schemas, key=lambda schema: len(schema.keys() & set(request)) if isinstance(request, dict) else 0
    )
    raise UserError(f"the page asked for {described(request)}, but {_mistake(request, nearest)}")


def check_reply(buffers: Collection[bytes]) -> None:
    """Refuse a reply that is too large to be sent.

    Raises:
        UserError: if it is.
    """
    n_bytes = sum(map(len, buffers))
    if n_bytes > MOST_BYTES:
        raise UserError(
            f"the reply takes {n_bytes / 1e6:.0f} MB, and a page gets at most {MOST_BYTES / 1e6:.0f}; ask "
            "for less"
        )


def _mistake(value: Any, schema: Schema) -> str | None:
    """Return what is wrong with a value, or None."""
    if not isinstance(value, dict):
        return f"fields are expected: {', '.join(schema)}"
    for name, field in schema.items():
        if name not in value:
            if not field.optional:
                return f"{name} is missing"
        elif not field.fits(value[name]):
            return f"{name} must be {field.wanted}"
    if unknown := [name for name in value if name not in schema]:
        return f"{unknown[0]!r:.40} is none of its fields, {', '.join(schema)}"
    return None


def _is_whole(value: Any, lowest: int, highest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest


def _is_number(value: Any, lowest: float, highest: float) -> bool:
    return finite(value) is not None and lowest <= value <= highest
