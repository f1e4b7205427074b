"""Numbers as text: no minus zero and no exponent, and the same in Python and in JavaScript."""

from __future__ import annotations

import math
import re
from random import Random

from tests.support.javascript import answers_in_node
from viz_transformer._numbers import difference_digits, difference_number, fixed_number, short_number

_RANDOM = Random(0)
LIMITS = [0.5, 0.04, 0.001, 3.2e-6, 1200, 2.5e5]
VALUES = [
    *(0.0, -0.0, -0.001, 0.005, 0.125, -2.5, 0.1 + 0.2, 1010.0, 16640.0, 990.4, -7.3e-5, 1e-6, 1e-7),
    *(999_999_999.4, 999_999_999.6, 1e9, -3.2e12, 1.7e300, 9.996, 0.09996),
    *(_RANDOM.choice((-1, 1)) * 10 ** _RANDOM.uniform(-12, 15) for _ in range(400)),
]


#: A number, its digits, and how it is written.
WRITTEN = [
    (16640.0, 4, "16,640"),
    (990.4, 2, "990"),
    (1010.0, 3, "1,010"),
    (0.000123456, 4, "0.0001235"),
    (-0.0, 4, "0"),
    (-2.0, 4, "−2"),
    (1e9, 4, "10⁹"),
    (-3.2e12, 1, "−3 × 10¹²"),
    (2.5e-8, 2, "2.5 × 10⁻⁸"),
    (math.inf, 4, "∞"),
    (math.nan, 4, "NaN"),
]


def test_numbers_are_written_without_exponents_and_minus_zeros() -> None:
    assert [short_number(value, digits) for value, digits, _ in WRITTEN] == [text for *_, text in WRITTEN]
    assert [fixed_number(each, 2) for each in (-0.3, -0.001, -0.0, 0.25)] == ["−0.30", "0.00", "0.00", "0.25"]
    assert [fixed_number(each, 1, signed=True) for each in (0.25, -0.01, -2)] == ["+0.3", "0.0", "−2.0"]
    for value in VALUES:
        for text in (short_number(value), fixed_number(value, 2), fixed_number(value, 2, signed=True)):
            assert not re.search(r"e|-|[−+]0\.?0*$", text), text


def test_the_views_write_every_number_the_same() -> None:
    found = answers_in_node(
        dict.fromkeys(
            ("shortNumber", "formatNumber", "formatSigned", "formatWeight", "weightDigits"),
            "widgets/base/text.ts",
        ),
        """(values) => values.map((value) => [
            ...[1, 2, 4, 10].map((digits) => shortNumber(value, digits)),
            ...(Math.abs(value) < 1e20 ? [formatNumber(value, 2), formatSigned(value, 3)] : []),
            ...[formatWeight, weightDigits].flatMap((write) =>
                [0.5, 0.04, 0.001, 3.2e-6, 1200, 2.5e5]
                    .filter((limit) => Math.abs(value) < Math.max(1, limit))
                    .map((limit) => write(value, limit))),
        ])""",
        VALUES,
    )
    writers = (difference_number, difference_digits)
    expected = [
        [
            *(short_number(value, digits) for digits in (1, 2, 4, 10)),
            # toFixed itself turns to an exponent at 10²¹, where no view shows decimals.
            *([fixed_number(value, 2), fixed_number(value, 3, signed=True)] if abs(value) < 1e20 else []),
            *(write(value, limit) for write in writers for limit in LIMITS if abs(value) < max(1, limit)),
        ]
        for value in VALUES
    ]
    assert found == expected
