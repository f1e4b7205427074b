"""Hidden tests: what must hold of a mended excerpt, however it was mended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from viz_transformer.exercises.answers import UnusableError, named, one_line, outcome, same
from viz_transformer.exercises.instruments import leak_meter
from viz_transformer.exercises.kinds import Mistake, Own
from viz_transformer.exercises.verdict import Check

_CLOSE = 1e-4  # float32 rounding, and some room for sums in another order


class Property(NamedTuple):
    """One hidden test.

    Attributes:
        name: what must hold, in a few words.
        holds: whether it holds of an answer; what it raises counts as no.
        message: told where it does not hold: what that shows, and where to look.
    """

    name: str
    holds: Callable[[Any], bool]
    message: str

    def told(self, message: str = "") -> str:
        """Return the whole message, or another one with the name of the test."""
        return f"{message or self.message} (Hidden test: {self.name}.)"


class Wrong(NamedTuple):
    """A likely wrong answer.

    Attributes:
        fails: the name of the first property that does not hold of it.
        answer: the answer.
        message: told in place of the property's own message; empty where that one says it.
    """

    fails: str
    answer: Any
    message: str = ""


def mended(
    properties: Sequence[Property],
    right_answer: Any,
    wrong: Sequence[Wrong],
    right: str,
    probe: Callable[[Any], Any] = id,
) -> Own:
    """Return what an excerpt must be when it is mended.

    Args:
        properties: the hidden tests, in the order in which they are run.
        right_answer: an answer of which all of them hold.
        wrong: wrong answers; the excerpt as it is handed out stands first.
        right: told with a right answer: what follows from it.
        probe: what an answer does, to know a wrong answer again that has a message of its own.
    """
    by_name = {each.name: each for each in properties}

    def told(one: Wrong) -> str:
        return by_name[one.fails].told(one.message)

    def diagnosed(failed: Property, answer: Any) -> str:
        for one in wrong:
            if one.message and one.fails == failed.name and _alike(probe, answer, one.answer):
                return told(one)
        return failed.told()

    def judge(answer: Any) -> Check:
        if not callable(answer):
            raise UnusableError(
                f"Give the function or the class itself, without calling it; this is {named(answer)}."
            )
        _warm_up()
        for each in properties:
            *_, found = outcome(lambda each=each: bool(each.holds(answer)), [()])
            if isinstance(found, TimeoutError):
                return Check(False, "It did not come to an end: is there a loop that never stops?")
            if isinstance(found, Exception):
                raised = f"it raised {type(found).__name__}: {one_line(found)}"
                return Check(False, f"In the hidden test “{each.name}” {raised}.")
            if not found:
                return Check(False, diagnosed(each, answer))
        passed = ", ".join(each.name for each in properties)
        return Check(True, f"{right} All {len(properties)} hidden tests pass: {passed}.")

    # An answer here is a function or a class; one that is to be computed first is given inside one.
    known = [Mistake(lambda one=one: one.answer, told(one)) for one in wrong]
    return Own(judge, lambda: right_answer, known)


def _alike(probe: Callable[[Any], Any], answer: Any, other: Any) -> bool:
    found, wanted = (outcome(lambda each=each: probe(each), [()]) for each in (answer, other))
    return same(found[0], wanted[0], _CLOSE)


@cache
def _warm_up() -> None:
    """Let torch import what its attention needs when it is first given a padding mask.

    On a busy machine that takes longer than a learner's function may. Ended in the middle of it, a
    function would leave half a module behind, and torch would fail from then on.
    """
    x, mask = torch.zeros(1, 1, 2), torch.zeros(1, 1, dtype=torch.bool)
    made(nn.MultiheadAttention, 2, 1)(x, x, x, key_padding_mask=mask)


def vectors(*shape: int, seed: int = 0) -> Tensor:
    """Return random numbers from N(0, 1)."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(1000 + seed))


def made(make: Callable[..., nn.Module], *arguments: Any, **named: Any) -> nn.Module:
    """Build a module, the same each time, without dropout, and without moving torch's own seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make(*arguments, **named).eval()


def close(one: Any, other: Tensor) -> bool:
    """Whether something is a tensor of that shape and those numbers."""
    return (
        isinstance(one, Tensor)
        and one.shape == other.shape
        and torch.allclose(one, other, rtol=_CLOSE, atol=_CLOSE)
    )


def runs(function: Callable[..., Any], *inputs: Any) -> bool:
    """Whether a call comes to its end."""
    try:
        function(*inputs)
    except Exception:
        return False
    return True


def no_leak(function: Callable[[Tensor], Any], x: Tensor, between: str = "positions") -> bool:
    """Whether nothing moves that must not; see `leak_meter`."""
    return not leak_meter(function, x, between=between).leaks.any()
