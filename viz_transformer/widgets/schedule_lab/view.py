"""The schedule lab's view: the learning rate of each step, and the losses of a training with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import bundle, styles
from viz_transformer.widgets.base.requests import Schema, one_of
from viz_transformer.widgets.base.traits import Index, SelectionError, TextSize, as_float
from viz_transformer.widgets.base.view import View, sendable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A training: its peak rate, its steps of warm-up and its seed, to the loss of every step.
Train = Callable[[float, int, int], ArrayLike]
_CHOICES = ("peak", "warmup", "seed")
_ABOUT = (
    "Above is the learning rate, how far each step moves the parameters: it rises during the "
    "warm-up to its peak and stays there. Below is the loss of a real training run with it. Drag the "
    "peak up and down, drag the end of the warm-up sideways, or choose another seed. The previous "
    "curve stays, dashed."
)


class ScheduleLab(View):
    """Drag a learning rate's peak and warm-up, and see what they make of a training.

    What the viewer chooses is a trait, and setting the trait moves the view. The rate is drawn at
    once; a training is made when it is first asked for.

    >>> import viz_transformer as vt
    >>> view = vt.schedule_lab(lambda peak, warmup, seed: [3.0, 2.0], peaks=[0.01, 0.02], warmups=[0, 5])
    >>> view.peak = 0.02

    Attributes:
        peak: the highest rate, one of those that were given.
        warmup: the steps of warm-up, one of those that were given.
        seed: of the training, one of those that were given.
        text_size: size of all text and pictures; 1 is the usual, 2 suits a projector.

    Setting one of them to what was not given raises SelectionError, a UserError, and leaves it unchanged.
    """

    _esm = bundle(__file__)
    _css = styles(__file__)
    _made_by = "vt.schedule_lab(train, peaks, warmups, seeds)"

    data = traitlets.Dict(help="the choices, the level, and the first training's losses").tag(
        sync=True, content=True
    )
    peak = traitlets.Float(help="the highest rate").tag(sync=True)
    warmup = Index(help="steps of warm-up").tag(sync=True)
    seed = Index(help="of the training").tag(sync=True)
    text_size = TextSize()

    def __init__(
        self,
        train: Train,
        peaks: Sequence[float],
        warmups: Sequence[int],
        seeds: Sequence[int],
        *,
        level: tuple[str, float] | None = None,
        **start: float,
    ) -> None:
        """Make a view; see `schedule_lab`."""
        self._train = train
        self._trained: dict[tuple[float, int, int], NDArray[np.float32]] = {}
        self._level = level
        each = zip(_CHOICES, (peaks, warmups, seeds), strict=True)
        self._choices: dict[str, list[Any]] = {name: _checked(name, values) for name, values in each}
        for name in start.keys() - self._choices.keys():
            raise UserError(f"there is no {name!r} to begin with; give peak, warmup or seed")
        first = {name: start.get(name, values[0]) for name, values in self._choices.items()}
        for name, value in first.items():
            self._check_choice(name, value)
        super().__init__(
            answer=self._reply,
            traits={
                "about": _ABOUT,
                "data": {
                    "choices": self._choices,
                    "level": None if level is None else [*sendable([level[0]]), as_float("level", level[1])],
                    "first": first | self._reply(first),
                },
                **first,
            },
        )

    @property
    def losses(self) -> NDArray[np.float32]:
        """The loss of every step of the training shown, [step]."""
        return self._losses(self.peak, self.warmup, self.seed)

    def requests(self) -> tuple[Schema, ...]:
        """Return what the page may ask."""
        return ({name: one_of(self._choices[name]) for name in _CHOICES},)

    def questions(self) -> list[dict[str, Any]]:
        """Return a request for each training."""
        return [dict(zip(_CHOICES, each, strict=True)) for each in product(*self._choices.values())]

    def export_bytes(self) -> int:
        """Return about how many bytes the losses of all trainings take, as base64."""
        return len(self.questions()) * (self.losses.nbytes * 4 // 3 + 100)

    def figure(self) -> Figure:
        """Return the losses shown now as a matplotlib figure."""
        from viz_transformer.plots.curves import plot_curves

        return cast("Figure", plot_curves(self._curve, level=self._level).figure)

    def alt_text(self) -> str:
        """Return how the loss goes, in words."""
        from viz_transformer.plots.curves import describe_curves

        return describe_curves(self._curve, np.arange(1, len(self.losses) + 1))

    def __repr__(self) -> str:
        """Return what is chosen in short."""
        return f"ScheduleLab(peak={self.peak:g}, warmup={self.warmup}, seed={self.seed})"

    @property
    def _curve(self) -> dict[str, list[float]]:
        return {f"peak {self.peak:g}, warm-up {self.warmup} steps": self.losses.tolist()}

    def _reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the losses of a training."""
        peak, warmup, seed = (self._check_choice(name, request[name]) for name in _CHOICES)
        return {"losses": self._losses(peak, warmup, seed).tobytes()}

    def _losses(self, peak: float, warmup: int, seed: int) -> NDArray[np.float32]:
        key = (peak, warmup, seed)
        if key not in self._trained:
            losses = np.asarray(self._train(peak, warmup, seed), dtype="<f4")  # [step]
            if losses.ndim != 1 or not losses.size:
                raise UserError(f"a training has a loss for each step, not the shape {losses.shape}")
            self._trained[key] = losses
        return self._trained[key]

    def _check_choice(self, name: str, value: Any) -> Any:
        if value not in self._choices[name]:
            raise SelectionError(f"{name}={value!r}; choose among {self._choices[name]}")
        return value

    @traitlets.validate(*_CHOICES)
    def _check(self, proposal: dict[str, Any]) -> Any:
        return self._check_choice(proposal["trait"].name, proposal["value"])


def schedule_lab(
    train: Train,
    peaks: Sequence[float],
    warmups: Sequence[int],
    seeds: Sequence[int] = (0,),
    *,
    level: tuple[str, float] | None = None,
    **start: float,
) -> ScheduleLab:
    """Return a view of a learning rate's warm-up, and of the trainings that it makes.

    >>> import viz_transformer as vt
    >>> from viz_transformer.config import ModelConfig, TrainConfig
    >>> from viz_transformer.corpus import vocabulary_of
    >>> from viz_transformer.corpus.batches import batches
    >>> from viz_transformer.corpus.six_pairs import SIX_PAIRS
    >>> from viz_transformer.training import fit, make_model
    >>> words = vocabulary_of(SIX_PAIRS)
    >>> def train(peak, warmup, seed):
    ...     config = TrainConfig(
    ...         n_steps=40, learning_rate=peak, warmup_steps=warmup, schedule="constant", fused=False
    ...     )
    ...     model = make_model(ModelConfig.preset("tiny"), seed)
    ...     return [step.loss for step in fit(model, batches(SIX_PAIRS, words, 6, seed), config)]
    >>> view = vt.schedule_lab(train, peaks=[0.003, 0.02], warmups=[0, 10], peak=0.02, warmup=10)

    Args:
        train: called with a peak, a warm-up and a seed; returns the loss of every step. The same
            three must give the same losses, since a training is made once.
        peaks: the highest rates to choose from, rising.
        warmups: the steps of warm-up to choose from, rising.
        seeds: the seeds to choose from.
        level: a name and a height to compare with, drawn as a line across the losses.
        start: the first `peak`, `warmup` and `seed`; by default the first of each.

    Raises:
        UserError: if there is nothing to choose from, or it does not rise.
        SelectionError: if `start` is not among the choices.
    """
    return ScheduleLab(train, peaks, warmups, seeds, level=level, **start)


def _checked(name: str, values: Sequence[Any]) -> list[Any]:
    try:
        numbers = [float(each) if name == "peak" else int(each) for each in values]
    except (TypeError, ValueError, OverflowError):  # no numbers, NaN, or beyond what a float holds
        numbers = []
    if not numbers or numbers != sorted(set(numbers)) or numbers[0] < 0:
        raise UserError(f"{name}s are {list(values)!r:.60}; give one or more, from 0 on and rising")
    return numbers
