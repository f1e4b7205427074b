"""All heads of a model in order of what switching each one off does to a number of your choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm.auto import tqdm

from viz_transformer.interpreting.batched_runs import BatchedRuns, tensors_in
from viz_transformer.interpreting.metric import MetricLike, as_number, measure_of_output
from viz_transformer.interpreting.sites import find_sites
from viz_transformer.model.interventions import HeadChange

#: How many heads are printed.
_N_PRINTED = 12


class RankedHead(NamedTuple):
    """One head, and the metric without it minus the metric of the whole model.

    >>> from viz_transformer.interpreting import RankedHead
    >>> RankedHead("encoder", layer=0, head=1, change=-0.5).change
    -0.5

    Attributes:
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: its number as the model counts, from 0.
        head: counted from 0.
        change: the metric without the head, minus that of the whole model.
    """

    kind: str
    layer: int
    head: int
    change: float


@dataclass(frozen=True, eq=False, repr=False)
class HeadRanking:
    """What switching off each head alone does to a metric; printed, the largest changes first.

    >>> import numpy as np
    >>> from viz_transformer.interpreting import HeadRanking
    >>> ranking = HeadRanking(whole=2.0, changes={"encoder": np.array([[0.1, -0.5]])})
    >>> ranking.heads[0].head, ranking.heads[0].change
    (1, -0.5)

    Attributes:
        whole: the metric of the whole model.
        changes: for each kind float64 [layer, head]: the metric without that head, minus `whole`.
            NaN where a layer has fewer heads than others.
        layers: for each kind the model's numbers of these layers, where they are not 0, 1, 2 …
    """

    whole: float
    changes: Mapping[str, NDArray[np.float64]]
    layers: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def heads(self) -> tuple[RankedHead, ...]:
        """Every head, the largest change first, up or down."""
        heads = [
            RankedHead(kind, self.layers.get(kind, range(len(changes)))[layer], head, float(change))
            for kind, changes in self.changes.items()
            for (layer, head), change in np.ndenumerate(changes)
            if not np.isnan(change)
        ]
        return tuple(sorted(heads, key=lambda each: -abs(each.change)))

    def __repr__(self) -> str:
        """Return a table of the heads that change most."""
        heads = self.heads
        rows = [
            f"{each.kind:<8} {each.layer:>5} {each.head:>5} {each.change:>+10.4f}"
            for each in heads[:_N_PRINTED]
        ]
        left = len(heads) - len(rows)
        lines = [f"metric of the whole model: {self.whole:.4f}", "kind     layer  head     change", *rows]
        return "\n".join([*lines, f"and {left} heads that change less"] if left else lines)


def rank_heads(
    model: nn.Module, metric: MetricLike, *inputs: Any, tokenizer: Any = None, **named: Any
) -> HeadRanking:
    """Switch off every head of a model, one at a time, and see how a metric changes.

        text = "When Mary and John went out, John gave a bag to"
        vt.rank_heads(model, (" Mary", " John"), text, tokenizer=tokenizer)
        vt.rank_heads(model, lambda output: output.logits[0, -1, 5], input_ids=ids)

    Several heads are switched off in one run, each in a row of its own, and what comes before them is
    computed once; the numbers are those of a run for each head. The metric is given the output as of such a
    run alone, without caches. The model runs in evaluation mode and without gradients, and is then as it was.

    >>> import torch
    >>> import viz_transformer as vt
    >>> model, ids = vt.load_language_model().model, torch.tensor([[1, 5, 7]])
    >>> vt.rank_heads(model, lambda logits: logits[0, -1, 9], ids).changes["decoder"].shape  # [layer, head]
    (2, 4)

    Args:
        model: any torch module whose attention `find_sites` finds.
        metric: a token or a class, whose logit is measured at the one gap of the text, or else at its end;
            two of them (right, wrong), for the difference of their logits; a slice of positions, for the
            mean loss of the tokens there; or a function of what the model's forward returns.
        inputs: what the model's forward takes; or, with a tokenizer, a text.
        tokenizer: Hugging Face's, or a vocabulary of ours, which names tokens.
        named: likewise, by name.

    Raises:
        UserError: if the heads can't be found, or the metric gives no finite number.

    Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?", section 3.2.
    """
    sites = find_sites(model)
    inputs, named, measure = measure_of_output(model, metric, inputs, named, tokenizer)
    rows = next((len(each) for each in tensors_in([*inputs, named]) if each.ndim), 1)

    def run(n: int) -> Any:
        again = partial(_repeated, n=n, n_rows=rows)
        return model(*map(again, inputs), **{name: again(value) for name, value in named.items()})

    runs = BatchedRuns(model, run)
    whole = as_number(measure(runs.whole))
    heads = [
        HeadChange(site.kind, site.layer, head, factor=0.0) for site in sites for head in range(site.n_heads)
    ]
    found = {}
    shown = tqdm(runs.outputs(heads), total=len(heads), unit="head", delay=1, leave=False)
    for head, output in zip(heads, shown, strict=True):
        try:
            found[head] = as_number(measure(output)) - whole
        except Exception:  # it reads what only a whole run returns, such as a cache; or it fails again
            found[head] = as_number(measure(runs.alone(head))) - whole
    changes, numbers = {}, {}
    for kind in dict.fromkeys(site.kind for site in sites):
        layers = [site for site in sites if site.kind == kind]
        changes[kind] = np.full((len(layers), max(site.n_heads for site in layers)), np.nan)
        numbers[kind] = [site.layer for site in layers]
    for head, change in found.items():
        changes[head.kind][numbers[head.kind].index(head.layer), head.head] = change
    return HeadRanking(whole, changes, numbers)


def _repeated(value: Any, n: int, n_rows: int) -> Any:
    """Return an argument of a model's forward for so many times its rows."""
    is_rows = isinstance(value, Tensor) and value.ndim > 0 and len(value) == n_rows and n > 1
    return torch.cat([value] * n) if is_rows else value
