"""`vt.capture` of many kinds of models, in four ways, against the weights that they return themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import torch

from benchmarks.table import Goal, Table
from tests.support.capture_ways import N_BEAMS, UNWRITTEN, generated, padded
from tests.support.capture_zoo import CONFIGURATIONS, REASONS, Comparison, compare, make
from tests.support.torch_zoo import MODULES, compare_module
from viz_transformer.capturing.verify import LISTED

#: The largest difference that is only rounding: of one pass, and where sums are added in another order.
ROUNDING, REORDERED = 1e-6, 1e-5
WANTED = 150


def run() -> Table:
    """Capture every configuration in every way that it has."""
    torch.set_num_threads(1)
    results: dict[str, tuple[Comparison | None, ...]] = {
        name: (compare(name), generated(name, 1), generated(name, N_BEAMS), padded(name))
        for name in sorted(CONFIGURATIONS)
    }
    results |= {
        name: (compare_module(name), None, None, compare_module(name, is_padded=True)) for name in MODULES
    }
    captured = [each[0] for each in results.values() if each[0]]
    others = [result for each in results.values() for result in each[1:] if result]
    worst, worst_other = largest(captured), largest(others)
    n_refused = sum(result.refusal is not None for result in captured)
    return Table(
        title="Models, one by one",
        text=f"Each of {len(results)} configurations is a tiny model with random weights. A difference is "
        "the largest one, over all layers, heads and positions, from the weights that the same model "
        "returns with eager attention, or torch's module with `need_weights=True`. *Captured*: one text, "
        "picture or sound, the model loaded as it is by default. *Greedily* and *by beams*: what `generate` "
        f"returned for a text, by one beam and by {N_BEAMS}, beside one pass over that text. *Padded*: the "
        "padded sentence of a batch of two, without its padding. A dash: there is no such way, or the model "
        "returns no whole maps to compare with (tests work those out). "
        "`python -m benchmarks capture_models --write` makes this table.",
        columns=(
            *("model", "works", "kinds of attention", "captured", "greedily", "by beams", "padded"),
            "why not, and the message",
        ),
        rows=tuple(row(name, each) for name, each in results.items()),
        goals=(
            Goal(
                f"at least {WANTED} configurations, each captured within {ROUNDING}, in the other ways "
                f"within {REORDERED}, or refused",
                f"{len(captured) - n_refused} captured, at most {worst:.1g} apart, in the other ways "
                f"{worst_other:.1g}; {n_refused} refused",
                len(results) >= WANTED and worst <= ROUNDING and worst_other <= REORDERED,
            ),
        ),
        versions=(("torch", torch.__version__), ("transformers", version("transformers"))),
        page="captured_models.md",
        files=((LISTED, verified(results)),),
    )


def verified(results: Mapping[str, Sequence[Comparison | None]]) -> str:
    """Return the classes of which all layers were seen in the attention of every configuration, as JSON."""
    seen: dict[str, bool] = {}
    for name in CONFIGURATIONS:
        result, kind = results[name][0], type(make(name)).__name__
        seen[kind] = seen.get(kind, True) and result is not None and result.verified
    classes = sorted(kind for kind, is_seen in seen.items() if is_seen)
    return json.dumps({"transformers": version("transformers"), "classes": classes}, indent=1) + "\n"


def largest(results: Sequence[Comparison]) -> float:
    """Return the largest difference of all."""
    return max(result.difference or 0 for result in results)


def row(name: str, results: Sequence[Comparison | None]) -> tuple[str, ...]:
    """Return one configuration's row of the table."""
    captured, *written, _ = results
    assert captured is not None
    reasons = []
    if captured.refusal is not None:
        reasons.append(f"{REASONS[name]}: {quoted(captured.refusal)}")
    refusals = {result.refusal for result in written if result and result.refusal}
    reasons += [
        f"what generate returned: {UNWRITTEN[name][0]}: {quoted(refusal)}" for refusal in sorted(refusals)
    ]
    if captured.uncompared and captured.difference is not None:
        reasons.append(f"compared without: {', '.join(captured.uncompared)}")
    works = "no" if captured.refusal else "yes"
    return name, works, ", ".join(captured.kinds), *map(cell, results), "; ".join(reasons)


def quoted(message: str) -> str:
    """Return a message as it stands in the page; lists in lists would be read as links."""
    lists_apart = re.sub(r"\[\[.*?\]\]", r"`\g<0>`", message)
    return f"*{lists_apart}*"


def cell(result: Comparison | None) -> str:
    """Return a difference, or that there is none."""
    if result is not None and result.refusal is not None:
        return "no"
    return "–" if result is None or result.difference is None else f"{result.difference:.1g}"
