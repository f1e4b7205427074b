"""Numbers that would fill the memory or never end are refused in one line, everywhere they are taken."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.number_calls import NUMBER_CALLS, SMALL, write_pairs
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model import Transformer
from viz_transformer.model.families import check_room


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_pairs()


#: One line that names what would do.
_REFUSED = re.compile(
    r".*(at most \d|at least \d|from \d+ to \S|(give|be) [\d.]+ to \d| GiB|does not divide|widen|the command)"
    r".*"
)


def refusal(call: Callable[[Any], object], number: Any) -> str:
    """Return what is wrong with how a call refuses a number; "" where nothing is."""
    try:
        call(number)
    except UserError as error:
        return "" if _REFUSED.fullmatch(str(error)) else f"refused for another reason: {error}"
    except Exception as error:  # the table names the row
        return repr(error)
    return "not refused"


def test_a_number_beyond_its_bound_is_refused_in_one_line_and_nothing_is_written() -> None:
    found = {
        f"{name}: {number}": wrong
        for name, door in NUMBER_CALLS.items()
        for number in (door.beyond, 10**9, 10**18)
        if number >= door.beyond and (wrong := refusal(door.call, number))
    }
    assert found == {}
    assert {path.name for path in Path().iterdir()} == {"pairs.tsv"}


def test_a_number_just_within_its_bound_is_taken() -> None:
    found = {}
    for name, door in NUMBER_CALLS.items():
        try:
            if door.within is not None:
                door.call(door.within)
        except Exception as error:  # the table names the row
            found[name] = repr(error)
    assert found == {}


def test_values_that_are_not_numbers_are_still_refused() -> None:
    names = ["translate", "sample_tokens", "n_steps", "d_model", "score_spread", "bins", "dpi", "shift"]
    found = {
        f"{name}: {value!r}": wrong
        for name in names
        for value in (True, float("nan"), "8", None, 0, -1, 2.5)
        if (wrong := refusal(NUMBER_CALLS[name].call, value))
    }
    assert found == {}


def test_a_model_that_the_machine_cannot_hold_is_refused_and_on_meta_none_is() -> None:
    config = ModelConfig(**{**SMALL, "d_model": 200_000, "d_ff": 800_000})
    with pytest.raises(UserError, match=r"takes .* GiB, and this machine has"):
        Transformer(config)
    with torch.device("meta"):  # where no model takes any memory
        check_room(config)
