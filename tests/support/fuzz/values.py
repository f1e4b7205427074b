"""Values that are no answer, no text and no trace, drawn from a seed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import reduce
from random import Random
from typing import Any

import numpy as np
import torch

TEXTS = (
    *("", " ", "\0", "\ud800", "a\udcff", "x" * 5_000, "the " * 3_000, "\n", "\u202eabc", "e\u0301" * 50),
    *("<script>alert(1)</script>", "the cat. the dog. a cow!", "[?]", "[?] [?]", "el [?] negro", "<eos>"),
    *("nan", "the black cat sleeps", "el gato negro", "../../etc/passwd", "%s%n{0}", "∞", "🐈‍⬛"),
    *("1e999", "-1", "NULL"),
)
NUMBERS = (0, 1, -1, 2, 7, 10**6, 2**31, 2**63, 10**30, -(10**12), 0.5, -0.5, 1e-300, 1e308)
_DTYPES = (torch.bfloat16, torch.float16, torch.int8, torch.complex64)
#: Shapes that no memory holds, that hardly one does, and that most do.
_LARGE = ((10**5, 10**5, 3, 3), (60_000, 60_000), (2, 8, 15_000, 15_000), (1, 30_000, 30_000))
_LARGE += ((10**4, 10**4, 3, 3), (10**7, 2, 3, 3), (1, 1, 8_000, 8_000))
SPECIAL = (None, True, False, math.nan, math.inf, -math.inf)


class Hostile:
    """An object of which one method, or every one, raises what it was given."""

    def __init__(self, error: BaseException, method: str) -> None:
        self._error, self._method = error, method


class HostileArray(Hostile):
    """A hostile object that has what an array has."""


#: What each of its methods returns where it does not raise.
_OTHERWISE: dict[str, Callable[[], Any]] = {
    "__eq__": lambda: False,
    "__hash__": lambda: 1,
    "__str__": lambda: "hostile",
    "__repr__": lambda: "hostile",
    "__len__": lambda: 3,
    "__iter__": lambda: iter("abc"),
    "__getitem__": lambda: 1,
    "__float__": lambda: 1.0,
    "__bool__": lambda: True,
    "__array__": lambda: np.zeros(3),
    "__call__": lambda: 0,
}


def _method(name: str, otherwise: Callable[[], Any]) -> Callable[..., Any]:
    def called(self: Hostile, *_: Any, **__: Any) -> Any:
        if self._method in (name, "every"):
            raise self._error
        return otherwise()

    return called


for _name, _otherwise in _OTHERWISE.items():
    setattr(Hostile, _name, _method(_name, _otherwise))

for _name, _otherwise in {
    "shape": lambda: (1, 1, 3, 3),
    "ndim": lambda: 4,
    "dtype": lambda: np.dtype("f4"),
    "keys": lambda: itertools.cycle(["attentions"]),
    "detach": lambda: HostileArray(ValueError("no"), "every"),
    "tolist": lambda: [0, 1, 2],
}.items():
    setattr(HostileArray, _name, property(_method(_name, _otherwise)))
    _OTHERWISE[_name] = _otherwise

_METHODS = (*_OTHERWISE, "every")
_ERRORS = (ValueError("no"), StopIteration(), RecursionError(), KeyError("k"))
_ERRORS += (ZeroDivisionError(), MemoryError())


def json_value(rng: Random, depth: int = 0) -> Any:
    """Draw what a message or a JSON file may hold."""
    draws: list[Callable[[], Any]] = [lambda: rng.choice(TEXTS), lambda: rng.choice(NUMBERS)]
    draws = [*draws, lambda: rng.choice(SPECIAL)] * 2
    if depth < 3:
        keys = ["", "id", "ask", "text", "x"]
        draws += [
            lambda: [json_value(rng, depth + 1) for _ in range(rng.choice([0, 1, 2, 5]))],
            lambda: {rng.choice(keys): json_value(rng, depth + 1) for _ in range(rng.randrange(3))},
            lambda: nested(rng.choice([3, 500])) if rng.random() < 0.2 else [*range(rng.choice([3, 1_000]))],
        ]
    return rng.choice(draws)()


def nested(depth: int) -> list[Any]:
    """Return lists inside lists."""
    return reduce(lambda inner, _: [inner], range(depth), [])


def array_value(rng: Random) -> Any:
    """Draw an array, a tensor or something like them."""
    shape = rng.choice([(), (0,), (3,), (2, 2), (1, 1, 5, 5), (2, 3, 0, 4), (1,) * 6])
    makers: list[Callable[[], Any]] = [
        lambda: np.zeros(shape, rng.choice(["f4", "f8", "f2", "i8", "u1", "?", "c8", "O", "U3", "M8[s]"])),
        lambda: np.full(shape, rng.choice([math.nan, math.inf, -1e38, 1e300])),
        lambda: np.broadcast_to(np.float32(0.1), rng.choice(_LARGE)),
        lambda: [np.broadcast_to(1 / 3, (1, 2, 3, 3))] * rng.choice([3, 10**5]),
        lambda: np.zeros(3, dtype=[("a", "f4"), ("b", "i4")]),
        lambda: np.ma.masked_array(np.ones(3), mask=[0, 1, 0]),
        lambda: torch.zeros(shape, requires_grad=True),
        lambda: torch.zeros(shape, dtype=rng.choice(_DTYPES)),
        lambda: torch.zeros(shape, device="meta"),
        lambda: rng.choice([torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()]),
        lambda: torch.nested.nested_tensor([torch.eye(3), torch.eye(2)]),
        lambda: torch.ones(1).expand(rng.choice(_LARGE)),
        lambda: torch.nn.Parameter(torch.ones(shape)),
    ]
    return rng.choice(makers)()


def any_value(rng: Random) -> Any:
    """Draw any value of Python."""
    makers: list[Callable[[], Any]] = [
        lambda: json_value(rng),
        lambda: array_value(rng),
        lambda: rng.choice([Hostile, HostileArray])(rng.choice(_ERRORS), rng.choice(_METHODS)),
        lambda: rng.choice([b"bytes", bytearray(3), {1, 2}, frozenset(), range(10), 1j, slice(3)]),
        lambda: rng.choice([object, len, math]),
        lambda: rng.choice([itertools.count(), iter("abc"), (x for x in "ab"), map(str, [1])]),
        lambda: nested(rng.choice([50, 900])),
        lambda: [array_value(rng), any_value(rng)],
        lambda: lambda *_: any_value(rng),
    ]
    return rng.choice(makers)()


def mutated(rng: Random, value: Any, draw: Callable[[Random], Any] = json_value) -> Any:
    """Return plain data in which one value, somewhere, is another, missing or twice there."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        change = rng.random()
        if change < 0.1:
            return {name: each for name, each in value.items() if name != key}
        if change < 0.2:
            return {**value, str(rng.choice(TEXTS[:8])): draw(rng)}
        return {**value, key: mutated(rng, value[key], draw)}
    if isinstance(value, list | tuple) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        change = rng.random()
        middle = [] if change < 0.1 else [value[at]] * 2 if change < 0.2 else [mutated(rng, value[at], draw)]
        return [*value[:at], *middle, *value[at + 1 :]]
    if isinstance(value, int) and not isinstance(value, bool) and rng.random() < 0.3:
        return value + rng.choice([-1, 1, 100])
    return draw(rng)


def damaged(rng: Random, data: bytes) -> bytes:
    """Return bytes of which some are others, missing, or there twice."""
    at = rng.randrange(len(data) + 1)
    length = rng.choice([1, 4, 100, len(data)])
    other = rng.choice([b"", rng.randbytes(min(length, 200)), b"\0" * 8, b"\xff" * 8, data[at : at + 50] * 2])
    return data[:at] + other + data[at + (length if rng.random() < 0.5 else len(other)) :]
