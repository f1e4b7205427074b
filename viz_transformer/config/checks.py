"""Shared parts of the configurations: the JSON round trip, and checks of values."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any, Self

from viz_transformer._bounds import Bound, at_most
from viz_transformer._text import shown
from viz_transformer.errors import UserError


class JsonConfig:
    """The JSON round trip that both configurations share."""

    def to_json(self) -> str:
        """Return the configuration as indented JSON."""
        return json.dumps(asdict(self), indent=2)  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; a field that is not there has its default.

        Raises:
            UserError: if the text is not JSON, or a field is unknown or out of range.
        """
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UserError(f"the configuration is not JSON ({error}); write it again") from error
        known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        if not isinstance(values, dict) or set(values) - known:
            unknown = sorted(set(values) - known) if isinstance(values, dict) else values
            raise UserError(
                f"unknown {cls.__name__} fields {unknown!r:.80}; the known ones are {sorted(known)}"
            )
        return cls(**values)


def check_int(
    name: str, value: Any, minimum: int, maximum: int | None = None, bound: Bound | None = None
) -> None:
    """Raise a UserError unless the value is a whole number within the bounds."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < minimum or (maximum is not None and value > maximum):
        upto = "" if maximum is None else f" and at most {maximum}"
        raise UserError(f"{name}={shown(value)} must be a whole number of at least {minimum}{upto}")
    if bound is not None:
        at_most(name, value, bound)


def check_real(name: str, value: Any, minimum: float, below: float) -> None:
    """Raise a UserError unless the value is a number from `minimum` up to but not `below`."""
    if not isinstance(value, int | float) or not minimum <= value < below:
        raise UserError(f"{name}={value!r} must be a number from {minimum} up to (not including) {below}")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise a UserError unless the value is one of the choices."""
    if value not in choices:
        raise UserError(f"{name}={value!r} is unknown; choose one of {choices}")
