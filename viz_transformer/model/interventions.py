"""Interventions: parts of a model switched off or replaced, to find out what they do.

They are an argument of a call, and leave the model as it was:

    no_scale = Interventions(scale=False)
    traced(source_ids, target_ids, no_scale)
    without = Interventions(heads=[HeadChange("encoder", layer=1, head=3, factor=0)])
    translator.translate("the cat sleeps", interventions=without)

A stack gives each of its layers the `LayerInterventions` that concern it; the layer asks these for
the attention to use, and whether to add and to normalise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from viz_transformer._bounds import FACTOR, at_most
from viz_transformer._numbers import finite
from viz_transformer._text import shown
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.attention import Attention, check_tensors, masked_softmax
from viz_transformer.model.scoring import Score, dot, scaled_dot
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
        factor: the head's output is multiplied by this; 0 ablates it. Its weights stay.
        pattern: weights in place of its own: ``"uniform"`` over the keys that each query may
            attend to, or rows of numbers [query, key], each row summing to 1 or all zeros. Given
            rows are taken as they are, whatever the mask is. In decoding, step i takes row i,
            up to the words that are there.
        mean: True puts the mean over all positions, padding too, in place of the head's output; or
            numbers to put there: [d_head], or outputs [position, d_head] whose mean is taken, such as
            those that `head_outputs` returns for another input.
        output: numbers [position, d_head] in place of the head's output, such as its output for
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
                f"a HeadChange has {' and '.join(given)}; give one, which replaces the head's output"
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
        causal_mask: False lets the decoder attend to words that it has yet to write. A word written
            by `decode_step` has none after it, so there this changes nothing.
        padding_mask: False lets every position attend to padding.
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
    """Return numbers as float64, or raise a UserError."""
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
    """Return a pattern as tuples, or raise a UserError."""
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


class LayerInterventions(NamedTuple):
    """What interventions change in one layer.

    Attributes:
        interventions: what is asked of the whole model.
        layer: counted from 0.
        kind: of the layer's self-attention, ``"encoder"`` or ``"decoder"``.
        step: in decoding, the position that is written; None for whole sequences.
    """

    interventions: Interventions = UNCHANGED
    layer: int = 0
    kind: str = "encoder"
    step: int | None = None

    @property
    def residual(self) -> bool:
        """Whether what goes around a sub-layer is added."""
        return self.interventions.residual

    @property
    def layer_norm(self) -> bool:
        """Whether vectors are normalised."""
        return self.interventions.layer_norm

    @property
    def start(self) -> int | None:
        """The first position, for rotary positions; None where positions are taken away."""
        return (self.step or 0) if self.interventions.positions else None

    def self_attention(self, attention: Attention) -> Attention:
        """Return the attention itself, or what replaces it in the layer's self-attention."""
        return self._changed(self.kind, attention)

    def cross_attention(self, attention: Attention) -> Attention:
        """Return the attention itself, or what replaces it in the cross-attention."""
        return self._changed("cross", attention)

    def _changed(self, kind: str, attention: Attention) -> Attention:
        whole = self.interventions
        here = [c for c in whole.heads if c.kind == kind and c.layer == self.layer and not c.is_neutral]
        if whole.scale and whole.temperature == 1 and not here:
            return attention
        return partial(
            _attend_changed,
            scale=whole.scale,
            temperature=whole.temperature,
            changes=here,
            step=self.step,
        )


#: A layer in which nothing changes.
UNCHANGED_LAYER = LayerInterventions()


def _attend_changed(
    query: Float[Tensor, "batch head query d_head"],
    key: Float[Tensor, "batch head key d_head"],
    value: Float[Tensor, "batch head key d_head"],
    mask: Bool[Tensor, "#batch #head #query #key"] | None,
    dropout: float,
    score: Score,
    *,
    scale: bool,
    temperature: int | float,
    changes: Sequence[HeadChange],
    step: int | None,
) -> tuple[Float[Tensor, "batch head query d_head"], Float[Tensor, "batch head query key"]]:
    """Do what `attend` does, with changes on the way."""
    check_tensors(query, key, value, mask)
    if score is scaled_dot and not scale:
        score = dot
    scores = score(query, key) / temperature  # [batch, head, query, key]
    weights = masked_softmax(scores, mask)
    for change in changes:
        if change.pattern is not None:
            weights = weights.clone()  # the softmax's own result must stay for its gradient
            weights[:, change.head] = fixed_pattern(change, weights, mask, step)
    output = F.dropout(weights, dropout) @ value  # [batch, head, query, d_head]
    return change_outputs(output, changes, step), weights


def change_outputs(
    outputs: Float[Tensor, "batch head position d_head"],
    changes: Sequence[HeadChange],
    step: int | None = None,
) -> Float[Tensor, "batch head position d_head"]:
    """Replace and scale the outputs of some heads of a layer; a pattern is applied before.

    Args:
        outputs: [batch, head, position, d_head].
        changes: at most one for each head.
        step: in decoding, the position that is written; None for whole sequences.

    Raises:
        UserError: if a mean or an output does not fit the positions or d_head.
    """
    factors = outputs.new_ones(outputs.shape[1], 1, 1)  # [head, 1, 1]
    for change in changes:
        factors[change.head] = change.factor
        if change.mean is not None or change.output is not None:
            replaced = _replacement(change, outputs[:, change.head], step)
            outputs = outputs.clone()  # the product with the values must stay for its gradient
            outputs[:, change.head] = replaced
    return outputs * factors


def _replacement(
    change: HeadChange, own: Float[Tensor, "batch position d_head"], step: int | None
) -> Float[Tensor, "#batch position d_head"]:
    """Return what replaces a head's own output."""
    _, n_positions, d_head = own.shape
    place = f"{change.kind} layer {change.layer} head {change.head}"
    if change.mean is True:
        if n_positions == 1:
            raise UserError(
                f"mean=True for {place}, but there is one position, which is its own mean; give "
                "the mean of another input: mean=head_outputs(...)[kind][layer, head]"
            )
        return own.mean(1, keepdim=True).expand_as(own)
    if change.mean is not None:
        rows = own.new_tensor(change.mean).expand(n_positions, -1)  # [position, d_head]
    else:
        rows = own.new_tensor(change.output)  # [position, d_head]
        rows = rows if step is None else rows[step : step + 1]  # [1, d_head], or none left
    if rows.shape != (n_positions, d_head):
        name, given = ("mean", [len(change.mean)]) if change.mean else ("output", list(rows.shape))
        raise UserError(
            f"the {name} of {place} has shape {given}, but there are {n_positions} positions of "
            f"{d_head} numbers; take it from an input of as many tokens, and from a head of this model"
        )
    return rows[None]  # [1, position, d_head]


def fixed_pattern(
    change: HeadChange,
    weights: Float[Tensor, "batch head query key"],
    mask: Bool[Tensor, "#batch #head #query #key"] | None,
    step: int | None = None,
) -> Float[Tensor, "#batch query key"]:
    """Return the weights that a head gets in place of its own.

    Args:
        change: the head, and its pattern.
        weights: of all heads, for their shape [batch, head, query, key] and dtype.
        mask: which keys each query may attend to; None: all.
        step: in decoding, the position that is written; None for whole sequences.

    Raises:
        UserError: if the pattern does not fit the queries and keys.
    """
    if change.pattern == "uniform":
        if mask is None:
            return torch.full_like(weights[:, change.head], 1 / weights.shape[-1])
        allowed = mask.expand_as(weights)[:, change.head].to(weights.dtype)  # [batch, query, key]
        # Where nothing may be attended the sum is 0, and the row stays zeros.
        return allowed / allowed.sum(-1, keepdim=True).clamp(min=1)
    rows = weights.new_tensor(change.pattern)  # [query, key]
    n_queries, n_keys = weights.shape[-2:]
    place = f"the pattern of {change.kind} layer {change.layer} head {change.head}"
    if step is None:
        if rows.shape != (n_queries, n_keys):
            raise UserError(
                f"{place} has shape {list(rows.shape)}, but there are {n_queries} queries and "
                f"{n_keys} keys; give it the shape {[n_queries, n_keys]}"
            )
        return rows[None]  # [1, query, key]
    wide_enough = rows.shape[1] == n_keys or (change.kind == "decoder" and rows.shape[1] > n_keys)
    if step >= len(rows) or not wide_enough:
        raise UserError(
            f"{place} has shape {list(rows.shape)}, but decoding is at row {step} with {n_keys} "
            "keys; give a row for every word that may be written, or a smaller max_length"
        )
    row = rows[step : step + 1]  # [1, key]
    if row[:, n_keys:].any():
        raise UserError(f"{place} looks ahead in row {step}; in decoding there is no later word yet")
    return row[None, :, :n_keys]  # [1, 1, key]
