"""Tables of what is refused: each row gets one line that says how to mend it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from viz_transformer.errors import UserError


def assert_refused(cases: Iterable[tuple[Callable[[], object], str]]) -> None:
    """See that each function raises a UserError of one line in which its pattern is found.

    All rows are tried; those that fail are named with what came instead.
    """
    wrong: dict[str, str] = {}
    for number, (make, said) in enumerate(cases):
        try:
            found = make()
        except UserError as error:
            if "\n" in str(error) or not re.search(said, str(error)):
                wrong[f"row {number}: {said}"] = str(error)
        else:
            wrong[f"row {number}: {said}"] = f"not refused: {found!r}"
    assert not wrong
