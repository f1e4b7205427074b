"""The largest numbers that calls take, each with its reason: more would fill the memory or never end."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from viz_transformer._numbers import finite
from viz_transformer._shared import SHARED
from viz_transformer._text import shown
from viz_transformer.errors import UserError


class Bound(NamedTuple):
    """The most of something that is of use, and why more is not."""

    most: int
    why: str


#: Koehn and Knowles 2017; Stahlberg and Byrne 2019.
BEAM = Bound(SHARED["limits"]["beam"], "a wider beam finds no better texts")
BEAM_IN_VIEW = Bound(100, "a picture of a wider beam cannot be read")
#: Wang et al. 2022, "DeepNet".
LAYERS = Bound(1_000, "the deepest Transformer published has as many")
SIZE = Bound(10_000_000, "no Transformer has a longer side")
TOKENS = Bound(1_000_000, "the largest vocabularies published have a few hundred thousand")
STEPS = Bound(10_000_000, "the longest trainings published take a few million")
BATCH = Bound(100_000_000, "no memory holds a larger batch")
MOMENTS = Bound(10_000, "each is a record of every head")
SEED = Bound(2**63 - 1, "random generators take no larger one")
SEEDS = Bound(1_000, "each is a training")
SENTENCES = Bound(1_000_000, "the bundled translator learns from 300,000")
HELD_OUT = Bound(100_000, "2,000 measure to half a per cent")
OF_A_KIND = Bound(1_000, "the grammar has few more of some kinds")
TEXTS = Bound(10_000, "the mean of so many no longer changes")
COLUMNS = Bound(4_096, "a picture has no more columns")
HEADS_DRAWN = Bound(128, "more pictures of heads would be too small to read")
NEW_TOKENS = Bound(10_000, "every head has a weight for each two of them")
PIXELS = Bound(50_000_000, "no camera of a phone or a laptop gives more, and a view shows a thousandth")
DPI = Bound(1_200, "no printer has more dots per inch")
#: Of what a head adds, and of the standard deviation of embeddings.
FACTOR = Bound(1_000_000, "everything else would vanish beside it")
THREADS = Bound(1_024, "no machine has more processors to share")
#: Held at once, such as the scores of all words after all hypotheses: a gibibyte of float32.
NUMBERS = Bound(2**28, "they take a gibibyte")


def at_most(name: str, value: Any, bound: Bound) -> None:
    """Refuse a number that is too large to be of use; what else it must be is checked elsewhere.

    Raises:
        UserError: if it is.
    """
    if isinstance(value, int | float) and value > bound.most:
        raise UserError(f"{name}={shown(value)} is too large: {bound.why}; give at most {bound.most:,}")


def whole_number(name: str, value: Any, bound: Bound, least: int = 1) -> None:
    """Refuse what is no whole number, too small, or too large to be of use.

    Raises:
        UserError: if it is.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UserError(f"{name}={shown(value)} must be a whole number of at least {least}")
    at_most(name, value, bound)


def real_number(name: str, value: Any, least: float, most: float) -> None:
    """Refuse what is no finite number of a range.

    Raises:
        UserError: if it is not.
    """
    number = finite(value)
    if number is None or not least <= number <= most:
        raise UserError(f"{name}={shown(value)} must be a number from {least:g} to {most:,g}")


def room_for(n_numbers: int, what: str) -> None:
    """Refuse what would hold too many numbers at once.

    Raises:
        UserError: if it would.
    """
    if n_numbers > NUMBERS.most:
        raise UserError(
            f"{what} would hold {n_numbers:.3g} numbers at once, and at most {NUMBERS.most:,} are allowed: "
            f"{NUMBERS.why}; give smaller numbers"
        )


def fits_memory(n_bytes: int, what: str) -> None:
    """Refuse what would take more than half of the memory, so that something is left to use it with.

    Raises:
        UserError: if it would.
    """
    there = memory_bytes()
    if 2 * n_bytes > there:
        raise UserError(
            f"{what} would take {n_bytes / 2**30:,.3g} GiB, and this machine has {there / 2**30:,.3g} GiB; "
            "give smaller numbers"
        )


def memory_bytes() -> int:
    """Return how much memory this process may have at most, as far as the system reports it."""
    found = [2**44]  # where no limit is known: more than any machine has
    with suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(OSError, ValueError):  # in a container; "max" where it has no limit of its own
        found.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(found)
