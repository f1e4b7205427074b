"""Exercises of lesson 10, Train your own: shifted targets, a training step, early stopping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from viz_transformer.exercises.answer_types import Choice, Exercise, Function, Mistake
from viz_transformer.exercises.feedback import Check


def _targets(rng: np.random.Generator) -> tuple[Any]:
    """Draw target ids [sentence, position]."""
    import torch

    shape = tuple(int(size) for size in rng.integers(3, 9, size=2))
    return (torch.tensor(rng.integers(3, 35, size=shape)),)


class _Descent:
    """An optimiser in a few lines; torch's own take seconds to be imported, which a check would wait for."""

    def __init__(self, parameters: Any) -> None:
        self._parameters = list(parameters)

    def zero_grad(self, **_: Any) -> None:
        """Forget all gradients."""
        for each in self._parameters:
            each.grad = None

    def step(self) -> None:
        """Move each parameter against its gradient."""
        for each in self._parameters:
            if each.grad is not None:
                each.data -= 0.1 * each.grad


def _after_two_steps(step: Callable[..., Any]) -> Callable[[int], Any]:
    """Return a function of a seed: two losses, and the parameters of a small model after two steps."""

    @cache  # a few seeds are enough
    def two_training_steps(seed: int) -> Any:
        import torch

        from viz_transformer.exercises.lent import Transformer

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = Transformer(9, 4, 2, 8, 1)
            source, target = (torch.randint(3, 9, (2, n)) for n in (3, 4))
        target[1, 3] = 0  # padding
        optimiser = _Descent(model.parameters())
        losses = [step(model, optimiser, source, target) for _ in range(2)]
        if losses[0] is ...:
            return ...
        numbers = [each.detach().flatten() for each in model.parameters()]
        return torch.tensor([float(torch.as_tensor(each).detach()) for each in losses]), torch.cat(numbers)

    return two_training_steps


@dataclass(frozen=True)
class _Step(Function):
    """Asks for a training step, which is compared by what it makes of a small model."""

    def check(self, answer: Any) -> Check:
        """Compare two steps with those of the reference."""
        mistakes = [replace(one, answer=_after_two_steps(one.answer)) for one in self.mistakes]
        steps = Function(_after_two_steps(self.reference), self.inputs, mistakes, right=self.right)
        return steps.check(_after_two_steps(answer) if callable(answer) else answer)


def _reference(model: Any, optimiser: Any, source: Any, target: Any) -> float:
    from viz_transformer.exercises.lent import training_step

    return training_step(model, optimiser, source, target)


def _variant(read: slice, wanted: slice, *, clears: bool = True, moves: bool = True) -> Callable[..., Any]:
    """Return a step with one mistake."""

    def step(model: Any, optimiser: Any, source: Any, target: Any) -> float:
        from viz_transformer.exercises.lent import loss

        found = loss(model(source, target[:, read]), target[:, wanted], 0)
        if clears:
            optimiser.zero_grad()
        found.backward()
        if moves:
            optimiser.step()
        return found.item()

    return step


_READ, _WANTED, _ALL = slice(None, -1), slice(1, None), slice(None)


def _stops_at(losses: list[float], patience: int) -> int:
    best = 0
    for at, loss in enumerate(losses):
        if loss < losses[best]:
            best = at
        elif at - best >= patience:
            break
    return best


def _validation(rng: np.random.Generator) -> tuple[list[float], int]:
    """Draw validation losses with a first valley, and often a deeper one behind it."""
    falling = np.linspace(3, 1, int(rng.integers(3, 6)))
    rising = 1 + np.cumsum(rng.uniform(0.05, 0.2, size=int(rng.integers(2, 6))))
    later = rng.uniform(0.5, 2, size=int(rng.integers(0, 4)))
    losses = [round(float(each), 2) for each in (*falling, *rising, *later)]
    return losses, int(rng.integers(2, 5))


def _last_before_stop(losses: list[float], patience: int) -> int:
    return min(_stops_at(losses, patience) + patience, len(losses) - 1)


def _first_rise(losses: list[float], patience: int) -> int:
    rises = (at for at in range(1, len(losses)) if losses[at] > losses[at - 1])
    return next(rises, len(losses)) - 1


EXERCISES = (
    Exercise(
        "10.1",
        "Shift the targets",
        Function(
            lambda target: (target[:, :-1], target[:, 1:]),
            _targets,
            (
                Mistake(
                    lambda target: (target, target),
                    "Both parts are the whole target, so each position would predict the token that it "
                    "has just read. Which column does each part lose?",
                ),
                Mistake(
                    lambda target: (target[:, :-1], target[:, :-1]),
                    "Both parts have lost their last column, so each position predicts the token that it "
                    "has just read. What should it predict instead?",
                ),
                Mistake(
                    lambda target: (target[:, 1:], target[:, :-1]),
                    "The two parts are swapped: here the decoder reads the next token and predicts the "
                    "one before. What it reads should begin with <sos>.",
                ),
                Mistake(
                    lambda target: (target[:-1], target[1:]),
                    "You cut off a row, and a row is a sentence. The tokens of a sentence run along the "
                    "second axis: target[:, …].",
                ),
                Mistake(
                    lambda target: (target, target[:, 1:]),
                    "The second part is right. The first still has the last column, and after it there "
                    "is no token left to predict.",
                ),
                Mistake(
                    lambda target: (target[:, :-1], target),
                    "The first part is right. The second still begins with <sos>, which a decoder never "
                    "has to predict.",
                ),
            ),
            right="One list of ids serves both: position i reads token i and predicts token i + 1.",
        ),
        (
            "target[:, 2:5] takes columns 2, 3 and 4 of all rows. You may leave out either number.",
            "The decoder's input has every column but the last. A slice may end at -1.",
        ),
        lines="""def shift(target):
    return target[:, ___], target[:, ___]
""",
        gaps=(
            Choice(
                ":-1",
                (":", ":-1", "1:"),
                (
                    Mistake(":", "After the last column there is no token left to predict."),
                    Mistake("1:", "What the decoder reads should begin with <sos>."),
                ),
            ),
            Choice(
                "1:",
                (":", ":-1", "1:"),
                (
                    Mistake(":", "A decoder never has to predict <sos>."),
                    Mistake(":-1", "Each position would predict the token that it has just read."),
                ),
            ),
        ),
    ),
    Exercise(
        "10.2",
        "Write a training step",
        _Step(
            _reference,
            lambda rng: (int(rng.integers(3)),),
            (
                Mistake(
                    _variant(_ALL, _ALL),
                    "The target is not shifted: the model learns to repeat the token that it has just read.",
                ),
                Mistake(
                    _variant(_READ, _READ),
                    "The model learns to repeat the token that it has just read. The targets are "
                    "target[:, 1:].",
                ),
                Mistake(
                    _variant(_READ, _WANTED, clears=False),
                    "backward() adds to the gradients that are there. Set them to zero in each step, before "
                    "backward(): optimiser.zero_grad().",
                ),
                Mistake(
                    _variant(_READ, _WANTED, moves=False),
                    "The loss is right, but the parameters stay as they are. Call optimiser.step() after "
                    "backward().",
                ),
            ),
            right="Forward, loss, backward, step: every training of a neural network consists of these four.",
        ),
        (
            "The order is: logits, loss, optimiser.zero_grad(), loss.backward(), optimiser.step().",
            "The decoder reads target[:, :-1], and the loss compares its logits with target[:, 1:]. "
            "Return the loss as a number: .item().",
        ),
        part="training_step",
        lines="""def training_step(model, optimiser, source, target):
    logits = model(source, ___)
    batch_loss = loss(logits, ___, pad_id=0)
    optimiser.zero_grad()
    ___.backward()
    optimiser.step()
    return ___
""",
        gaps=(
            Choice(
                "target[:, :-1]",
                ("target", "target[:, :-1]", "target[:, 1:]"),
                (
                    Mistake("target", "After the last token there is none left to predict."),
                    Mistake("target[:, 1:]", "What the decoder reads begins with <sos>."),
                ),
            ),
            Choice(
                "target[:, 1:]",
                ("target", "target[:, :-1]", "target[:, 1:]"),
                (
                    Mistake("target", "A decoder never has to predict <sos>."),
                    Mistake(
                        "target[:, :-1]", "The model would learn to repeat the token that it has just read."
                    ),
                ),
            ),
            Choice(
                "batch_loss",
                ("logits", "batch_loss", "model"),
                (
                    Mistake("logits", "Gradients begin at one number, the loss."),
                    Mistake("model", "Gradients begin at the loss, and flow back into the model."),
                ),
            ),
            Choice(
                "batch_loss.item()",
                ("batch_loss.item()", "batch_loss", "logits"),
                (
                    Mistake("batch_loss", "That is a tensor. Return a number."),
                    Mistake("logits", "Return the loss, as a number."),
                ),
            ),
        ),
    ),
    Exercise(
        "10.3",
        "Stop early",
        Function(
            _stops_at,
            _validation,
            (
                Mistake(
                    lambda losses, patience: int(np.argmin(losses)),
                    "You return the lowest loss of the whole list. A training that stops early never gets "
                    "to the losses after the stop.",
                ),
                Mistake(
                    _last_before_stop,
                    "That is the index at which the training stops. The model to keep is the one with the "
                    "lowest loss until then.",
                ),
                Mistake(
                    _first_rise,
                    "You stop at the first rise. Wait until the lowest loss is `patience` measurements ago.",
                ),
                Mistake(
                    lambda losses, patience: losses[_stops_at(losses, patience)],
                    "That is the lowest loss itself. Return its index.",
                ),
            ),
            right="The loss of single batches is noisy. With patience, one bad measurement does not end a "
            "training.",
        ),
        (
            "Keep the index of the lowest loss so far in a variable, and go through the losses with "
            "enumerate(losses).",
            "If a loss is lower than losses[best], set best to its index; else, if at - best is patience, "
            "stop with break. Return best at the end.",
        ),
        wrong_lines=(
            Mistake(
                "    return losses[best]",
                "That is the lowest loss itself. Return its index.",
            ),
            Mistake(
                "        if loss > losses[at - 1]:\n            break",
                "This stops at the first rise. Wait until the lowest loss is `patience` measurements ago.",
            ),
        ),
    ),
)
