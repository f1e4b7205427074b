"""The clock of positions of a table, or of a model: its learned table, or the angles by which it turns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer.analysis.positions import is_sinusoidal
from viz_transformer.errors import UserError
from viz_transformer.widgets.position_clock.view import PositionClock

_MOST_POSITIONS = 512  # a longer table is too fine to be seen
_MOST_BEFORE = 2  # rows that some tables have for no position


def position_clock(table: Any, pair: int = 0, *, position: int = 0) -> PositionClock:
    """Return a view of a table of positions as a row of clock hands.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the cat sleeps")
    >>> view = vt.position_clock(trace.source_positions, pair=1)

    Args:
        table: [position, d_model], the paper's sines and cosines or any other; or a model, of Hugging
            Face's say: its table of learned positions, or of rotary ones the sines and cosines of its own
            angles.
        pair: i of the columns 2i and 2i + 1 that are shown first.
        position: the first position.

    Raises:
        UserError: if it is no table, lacks the pair or the position, or the model has no such positions.
    """
    if not hasattr(table, "named_modules"):  # torch is not needed for a table
        return PositionClock(table, pair=pair, position=position)
    rows, base = positions_of(table)
    return PositionClock(rows, pair=pair, position=position, base=base)


def positions_of(model: Any) -> tuple[NDArray[np.float32], float | None]:
    """Return a torch model's table of positions, and where its angles are those of one base, that.

    Raises:
        UserError: if it has neither rotary positions nor a learned table that can be found.
    """
    for module in model.modules():
        rates = getattr(module, "inv_freq", None)
        if rates is not None and rates.ndim == 1 and len(rates) > 1:
            turns = rates.detach().double().cpu().numpy()  # [pair]
            angles = np.arange(_MOST_POSITIONS)[:, None] * turns
            table = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(_MOST_POSITIONS, -1)
            base = float(f"{(turns[0] / turns[1]) ** len(turns):.4g}")
            return table.astype(np.float32), base if is_sinusoidal(table, base) else None
    config = getattr(model, "config", None)
    longest = getattr(config, "max_position_embeddings", None)
    for name, module in model.named_modules():
        weight = getattr(module, "weight", None)
        if weight is None or weight.ndim != 2 or not (name.endswith("wpe") or "position" in name):
            continue
        before = len(weight) - longest if isinstance(longest, int) else 0
        if 0 <= before <= _MOST_BEFORE:
            return weight[before : before + _MOST_POSITIONS].detach().float().cpu().numpy(), None
    raise UserError(
        f"a {type(model).__name__} has neither rotary positions nor a learned table that was found; give a "
        "table [position, d_model]: vt.position_clock(table)"
    )
