"""Numbers given to every call that takes one."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import torch
from jaxtyping import TypeCheckError

from tests.support.fuzz.campaign import Drawn
from tests.support.fuzz.values import NUMBERS
from tests.support.number_calls import NUMBER_CALLS, OTHER_CALLS, NumberCall, write_pairs

_LARGE = (10**400, -(10**400), 1e30, 1e300, math.inf, -math.inf, math.nan)
_OTHER_TYPES = (True, np.int64(2), np.float32(2), np.float64(1e300), torch.tensor(2))


def number(rng: Random) -> Drawn:
    """Draw a call and a number for it; what is beyond its bound must be refused."""
    write_pairs()
    name = rng.choice([*NUMBER_CALLS, *OTHER_CALLS])
    given = rng.choice([*NUMBERS, *_LARGE, *_OTHER_TYPES])
    if name in OTHER_CALLS:
        return f"{name}({given!r:.60})", lambda: OTHER_CALLS[name](given)
    call = NUMBER_CALLS[name]
    if _is_slow(call, given):
        given = call.beyond + rng.choice([0, 1, 10**9, 10**400])

    def try_it() -> None:
        try:
            call.call(given)
        except TypeCheckError:  # in the suite, which checks the types of a model's functions first
            return
        assert not given >= call.beyond, "it was taken"

    return f"{name}({given!r:.60})", try_it


def _is_slow(call: NumberCall, given: float) -> bool:
    """Whether a number may be taken and is a large one, with which the call takes long by right."""
    return (2 if call.within else -1) < given < call.beyond
