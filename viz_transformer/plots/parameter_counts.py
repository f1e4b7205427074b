"""Bars of parameter counts: a bar for each model, part by part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from viz_transformer.errors import UserError
from viz_transformer.plots.alt_text import set_alt_text
from viz_transformer.plots.colour import COLOURS
from viz_transformer.plots.figures import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What is told apart, each with its colour, its hatching and the parts that it sums up.
_SORTS = (
    ("words and positions", COLOURS["key-tint"], "", ("words", "positions", "segments")),
    ("attention", COLOURS["weight-tint"], "", ("attention",)),
    ("feed-forward", COLOURS["line"], "//", ("feed-forward",)),
    ("the rest", COLOURS["fill"], "", ("norms", "pooler", "classifier", "output bias")),
)
_MILLION = 1e6
_LEAST_SHARE = 0.09  # of the longest bar; a shorter piece has no room for its number


def plot_sizes(bills: Mapping[str, Mapping[str, int]], ax: Axes | None = None) -> Axes:
    """Draw how many numbers each model learns, and in which parts.

    >>> import viz_transformer as vt
    >>> from viz_transformer.config import ModelConfig, parameter_bill
    >>> axes = vt.plots.plot_sizes({"GPT-2": parameter_bill(ModelConfig.preset("gpt2"))})

    Args:
        bills: for each model's name what `config.parameter_bill` returned.
        ax: where to draw; a new figure if None.

    Returns:
        The axes; the bars are in millions of parameters.

    Raises:
        UserError: if there is no model, or a part has another name than in `parameter_bill`.
    """
    if not bills:
        raise UserError("plot_sizes was given no model; give {'name': parameter_bill(config)}")
    known = {part for *_, parts in _SORTS for part in parts}
    for name, bill in bills.items():
        if odd := sorted(bill.keys() - known):
            raise UserError(
                f"{name!r:.40} has a part {odd[0]!r:.40} that is none of {sorted(known)}; give "
                "what parameter_bill returned"
            )
    if ax is None:
        figure, ax = new_axes(8.4, 1.5 + 0.5 * len(bills))
        set_alt_text(figure, describe_sizes(bills))
    totals = [sum(bill.values()) / _MILLION for bill in bills.values()]
    longest = max(*totals, 1e-9)
    starts = [0.0] * len(bills)
    for sort, colour, hatch, parts in _SORTS:
        widths = [sum(bill.get(part, 0) for part in parts) / _MILLION for bill in bills.values()]
        ax.barh(
            range(len(bills)), widths, 0.62, starts,
            color=colour, hatch=hatch, edgecolor=COLOURS["fill"], linewidth=0.6, label=sort,
        )  # fmt: skip
        for row, (start, width) in enumerate(zip(starts, widths, strict=True)):
            if width > _LEAST_SHARE * longest:
                text = ax.text(start + width / 2, row, f"{width:.1f}", ha="center", va="center")
                text.set(bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    for row, (total, bill) in enumerate(zip(totals, bills.values(), strict=True)):
        ax.text(total + 0.01 * longest, row, f"{sum(bill.values()):,}", va="center")
    ax.set(xlim=(0, 1.2 * longest), ylim=(len(bills) - 0.5, -0.5))
    ax.set_yticks(range(len(bills)), list(bills), parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("millions of parameters")
    ax.set_title("What the models are made of", loc="left", weight="bold")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.figure.legend(frameon=False, ncols=len(_SORTS), loc="outside lower left")
    return ax


def describe_sizes(bills: Mapping[str, Mapping[str, int]]) -> str:
    """Return the picture in words.

    >>> import viz_transformer as vt
    >>> from viz_transformer.config import ModelConfig, parameter_bill
    >>> words = vt.plots.describe_sizes({"GPT-2": parameter_bill(ModelConfig.preset("gpt2"))})

    Args:
        bills: for each model's name what `config.parameter_bill` returned.
    """
    said = []
    for name, bill in bills.items():
        total = sum(bill.values())
        shares = ", ".join(
            f"{sort} {sum(bill.get(part, 0) for part in parts) / max(total, 1):.0%}"
            for sort, _, _, parts in _SORTS
        )
        said.append(f"{name} {total:,} ({shares})")
    return f"Bars of the parameters of {len(bills)} models: {'; '.join(said)}."
