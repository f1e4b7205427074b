"""Numbers as people write them: a true minus sign, no minus zero, no exponent."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Between these a number is written out; outside them it is a multiple of a power of ten.
_LEAST, _MOST = 1e-6, 1e9
#: Of a difference: below this power of ten, not all of its zeros are written.
_SMALLEST_POWER = -4


def finite(value: Any) -> float | None:
    """Return an int or a float as a finite float; of anything else, a truth value too, None."""
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:  # an int beyond the largest float
        return None
    return number if math.isfinite(number) else None


def fixed_number(value: float, digits: int, *, signed: bool = False) -> str:
    """Return a number with a fixed count of decimals: ``−0.30``, and ``0.00`` for a little below 0.

    With `signed`, a number above 0 has its sign too; one that rounds to 0 has none.

    The views do the same in widgets/base/text.ts.

    >>> fixed_number(-0.3, 2), fixed_number(-0.001, 2), fixed_number(0.25, 1, signed=True)
    ('−0.30', '0.00', '+0.3')
    """
    if not math.isfinite(value):
        return _not_finite(value)
    # As toFixed does, half is rounded away from zero; a float has up to 309 digits before its point.
    places = Decimal(1).scaleb(-digits)
    text = f"{Decimal(abs(float(value))).quantize(places, ROUND_HALF_UP, Context(prec=400)):f}"
    if not any(digit in text for digit in "123456789"):
        return text
    return f"{'−' if value < 0 else '+' if signed else ''}{text}"


def short_number(value: float, digits: int = 4) -> str:
    """Return a number in at most so many digits that count: ``16,640``, ``0.0123``, ``3 × 10¹²``.

    The views do the same in widgets/base/text.ts.

    >>> short_number(16640.4), short_number(-0.01234, 2), short_number(3.2e12, 1)
    ('16,640', '−0.012', '3 × 10¹²')
    """
    if not math.isfinite(value):
        return _not_finite(value)
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(Decimal(float(value)))
    if not rounded:
        return "0"
    sign, size = "−" if rounded < 0 else "", abs(rounded)
    if _LEAST <= size < _MOST:
        return f"{sign}{_without_zeros(size)}"
    power = size.adjusted()
    times = _without_zeros(size.scaleb(-power))
    return f"{sign}{'' if times == '1' else f'{times} × '}{power_of_ten(power)}"


def power_of_ten(power: int) -> str:
    """Return a power of ten: ``10⁻⁶``."""
    return f"10{str(power).translate(_SUPERSCRIPTS)}"


def difference_power(limit: float) -> int:
    """Return the power of ten whose multiples a picture of differences up to `limit` writes.

    0 where two decimals tell them apart.
    """
    return 0 if 0.1 <= limit < 1000 else math.floor(math.log10(limit) + 1e-9)


def difference_digits(value: float, limit: float, *, signed: bool = True) -> str:
    """Return a difference as a multiple of its scale's power of ten, for a cell: ``+3.2``."""
    power = difference_power(limit)
    return fixed_number(value * 10.0**-power, 1 if power else 2, signed=signed)


def difference_number(value: float, limit: float, *, signed: bool = True) -> str:
    """Return a difference with the digits that its scale, up to `limit`, can tell apart.

    Without `signed`, as of weights none of which is below 0, it has no plus.

    The views do the same in widgets/base/text.ts.

    >>> difference_number(0.25, 0.4), difference_number(0.0123, 0.04), difference_number(-3.2e-6, 1e-5)
    ('+0.25', '+0.012', '−3.2 × 10⁻⁶')
    """
    power = difference_power(limit)
    if _SMALLEST_POWER <= power <= 0:
        return fixed_number(value, 1 - power if power else 2, signed=signed)
    digits = fixed_number(value * 10.0**-power, 1, signed=signed)
    return "0" if float(digits.replace("−", "-")) == 0 else f"{digits} × {power_of_ten(power)}"


def _without_zeros(size: Decimal) -> str:
    text = f"{size:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
