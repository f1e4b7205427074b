"""The options of an intervention: parts of a model switched off, and heads changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from viz_transformer._bounds import FACTOR, at_most
from viz_transformer._numbers import finite
from viz_transformer._text import shown
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.trace import find_kind


@dataclass(frozen=True)
class HeadChange:
    """One head scaled, or with its attention weights or its output replaced.

    >>> import viz_transformer as vt
    >>> silent = vt.HeadChange("encoder", layer=1, head=1, factor=0)
    >>> silent.factor
    0

    Attributes:
        kind: ``"encoder"`` or ``"decoder"`` for self-attention, or ``"cross"``.
        layer: its number as the model counts, from 0.
        head: counted from 0.
        factor: what the head says is multiplied by this; 0 ablates it. Its weights stay.
        pattern: weights in place of its own: ``"uniform"`` over the keys that each query may
            attend to, or rows of numbers [query, key], each row summing to 1 or all zeros. Given
            rows are taken as they are, whatever the mask says. In decoding, step i takes row i,
            up to the words that are there.
        mean: True puts the mean over all positions, padding too, in place of the head's output; or
            numbers to put there: [d_head], or outputs [position, d_head] whose mean is taken, such as
            those that `head_outputs` returns for another input.
        output: numbers [position, d_head] in place of the head's output, such as what it said about
            another input (activation patching). In decoding, step i takes row i.

    A factor also scales what replaces an output.

    Raises:
        UserError: if a value is out of range, if an array has other axes, or if more than one of
            pattern, mean and output is given.

    Source: Michel et al. 2019, section 2.2, for factors; Wang et al. 2023, "Interpretability in the
    Wild", sections 2.1 and 3.1, for means and patching.
    """

    kind: str
    layer: int
    head: int
    factor: int | float = 1.0
    pattern: Any = None
    mean: Any = None
    output: Any = None

    @property
    def is_neutral(self) -> bool:
        """Whether it changes nothing."""
        return self.factor == 1 and self.pattern is self.mean is self.output is None

    def __post_init__(self) -> None:
        """Check every value, and keep given numbers as tuples that cannot change."""
        find_kind(self.kind)
        for name in ("layer", "head"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise UserError(f"{name}={value!r} must be a whole number of at least 0")
        _check_number("factor", self.factor, least=-float("inf"))
        at_most("the size of factor", abs(self.factor), FACTOR)
        if self.pattern is not None and not isinstance(self.pattern, str):
            object.__setattr__(self, "pattern", _rows(self.pattern))
        elif self.pattern not in (None, "uniform"):
            raise UserError(f"pattern={self.pattern!r} is unknown; give 'uniform', or rows [query, key]")
        if self.mean is not None and self.mean is not True:
            numbers = _numbers("mean", self.mean, "[d_head], or outputs [position, d_head]", (1, 2))
            mean = numbers.reshape(-1, numbers.shape[-1]).mean(0)  # [d_head]
            object.__setattr__(self, "mean", tuple(mean.tolist()))
        if self.output is not None:
            rows = _numbers("output", self.output, "[position, d_head]", (2,))
            object.__setattr__(self, "output", tuple(tuple(row) for row in rows.tolist()))
        given = [name for name in ("pattern", "mean", "output") if getattr(self, name) is not None]
        if len(given) > 1:
            raise UserError(
                f"a HeadChange has {' and '.join(given)}; give one, which replaces what the head says"
            )


@dataclass(frozen=True, kw_only=True)
class Interventions:
    """What to switch off or replace during one call; by default, nothing.

    >>> import viz_transformer as vt
    >>> silent = vt.HeadChange("encoder", layer=1, head=1, factor=0)
    >>> changed = vt.Interventions(heads=(silent,))
    >>> vt.load_translator().translate("the teacher lost his book", interventions=changed).text
    'la maestra perdió su libro'

    Attributes:
        scale: False leaves dot products undivided by √d_k.
        temperature: scores are divided by it before the softmax; above 0. A low one sharpens the
            weights, a high one evens them out.
        causal_mask: False lets the decoder look at words that it has yet to write. A word written
            by `decode_step` has none after it, so there this changes nothing.
        padding_mask: False lets every position look at padding.
        positions: False takes the positions away, so that attention sees a set of words.
        residual: False drops what goes around each sub-layer: x = sublayer(x).
        layer_norm: False drops every LayerNorm of the layers and stacks.
        heads: a `HeadChange` for each head to change.

    Raises:
        UserError: if a value is out of range, or a head is named twice.
    """

    scale: bool = True
    temperature: int | float = 1.0
    causal_mask: bool = True
    padding_mask: bool = True
    positions: bool = True
    residual: bool = True
    layer_norm: bool = True
    heads: Sequence[HeadChange] = ()

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("scale", "causal_mask", "padding_mask", "positions", "residual", "layer_norm"):
            if not isinstance(getattr(self, name), bool):
                raise UserError(f"{name}={getattr(self, name)!r} must be True, or False for off")
        _check_number("temperature", self.temperature, least=0.0)
        if not isinstance(self.heads, Sequence) or not all(
            isinstance(change, HeadChange) for change in self.heads
        ):
            raise UserError(
                f"heads={self.heads!r:.60} must be a sequence of HeadChange, such as "
                "[HeadChange('encoder', layer=0, head=1, factor=0)]"
            )
        object.__setattr__(self, "heads", tuple(self.heads))
        places = [(change.kind, change.layer, change.head) for change in self.heads]
        for place in places:
            if places.count(place) > 1:
                raise UserError(
                    f"heads names {place[0]} layer {place[1]} head {place[2]} {places.count(place)}"
                    " times; give one HeadChange with both factor and pattern"
                )

    def check(self, config: ModelConfig) -> None:
        """Check that a model has the heads that are named.

        Raises:
            UserError: if it has not; the message says what it has.
        """
        layers = config.attention_layers
        for change in self.heads:
            if change.kind not in layers:
                raise UserError(f"this model has no {change.kind} attention; it has {list(layers)}")
            n_layers, n_heads = layers[change.kind], config.n_heads
            if change.layer >= n_layers or change.head >= n_heads:
                raise UserError(
                    f"{change.kind} layer {change.layer} head {change.head} is not in this model, "
                    f"whose {change.kind} layers go from 0 to {n_layers - 1} and heads from 0 to "
                    f"{n_heads - 1}"
                )


def checked(interventions: Interventions | None, config: ModelConfig) -> Interventions:
    """Return the interventions, or those that change nothing for None.

    Raises:
        UserError: if they are no Interventions, or name a head that the model has not.
    """
    if interventions is None or interventions is UNCHANGED:
        return UNCHANGED
    if not isinstance(interventions, Interventions):
        raise UserError(
            f"interventions={interventions!r:.60} must be Interventions or None; make them such "
            "as Interventions(scale=False)"
        )
    interventions.check(config)
    return interventions


def _check_number(name: str, value: Any, least: float) -> None:
    number = finite(value)
    if number is None or number <= least:
        beyond = "" if least == -float("inf") else f" above {least}"
        raise UserError(f"{name}={shown(value)} must be a finite number{beyond}")


def _numbers(name: str, given: Any, axes: str, n_axes: tuple[int, ...]) -> Tensor:
    """Return numbers as float64, or raise a UserError that says why they are none."""
    try:
        numbers = torch.as_tensor(given, dtype=torch.float64).detach()
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"the {name} {given!r:.60} is not rows of numbers: {error}") from error
    if numbers.ndim not in n_axes or numbers.numel() == 0:
        raise UserError(f"the {name} has shape {list(numbers.shape)}, but it must be {axes}")
    if name != "pattern" and not numbers.isfinite().all():  # a pattern's rows have to sum to 1
        raise UserError(f"the {name} holds numbers that are not finite; take it from a run without NaN")
    return numbers


def _rows(pattern: Any) -> tuple[tuple[float, ...], ...]:
    """Return a pattern as tuples, or raise a UserError that says why it is none."""
    rows = _numbers("pattern", pattern, "[query, key]", (2,))
    totals = rows.sum(-1)
    if not ((rows >= 0).all() and ((totals - 1).abs() < 1e-3).logical_or(totals == 0).all()):
        raise UserError(
            "the pattern's rows must hold weights of at least 0 that sum to 1, or only zeros; "
            "divide each row by its sum"
        )
    return tuple(tuple(row) for row in rows.tolist())


#: As it is made, nothing changes.
UNCHANGED = Interventions()
