"""Many heads changed in one run, each in a row of the batch of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer._work import between_parts
from viz_transformer.intervening.changes import interventions, site_of
from viz_transformer.intervening.kept_run import KeptRun, tensors_in
from viz_transformer.intervening.rewriting import Rewrite, rewritten
from viz_transformer.intervening.sites import AttentionSite, find_sites
from viz_transformer.model.interventions import HeadChange
from viz_transformer.tracing.running import evaluating

#: So many positions at most stand in one batch of changes: a layer's numbers then still fit a cache.
MOST_POSITIONS = 512
#: A batch's output takes at most so much memory.
_MOST_BYTES = 2**28
#: Sums in another order differ by so much of the largest number, in 32 bits or more and in fewer.
_TOLERANCE, _TOLERANCE_16_BITS = 5e-5, 0.05


class RunsApart:
    """Runs of a model with one change in each, as many at a time as it can, with the output of each alone.

    A batch begins at the first block that it changes, with what the unchanged run had computed. Whether
    the rows of a batch are what the model makes of each alone is tried: the last head of the first batch
    and of the last layer of each kind is run alone too. If they differ, or a batch fails, changes are run
    one by one from the block that they change, and if that differs too, wholly.

    Attributes:
        whole: what the unchanged model returns.
    """

    def __init__(self, model: nn.Module, run: Callable[[int], Any]) -> None:
        """Run the unchanged model.

        Args:
            model: a torch module whose attention `find_sites` finds; it stays as it is.
            run: runs it on so many rows, each of them the same input.
        """
        self._model, self._run = model, run
        self._sites = {(site.kind, site.layer): site for site in find_sites(model)}
        self._last = {site.kind: site.layer for site in self._sites.values()}
        self._tried: set[tuple[str, bool]] = set()
        self._kept: KeptRun | None = None
        self._size = 1
        try:
            self._kept = KeptRun(model, run, [site.name for site in self._sites.values()])
        except Exception:  # the model's own error comes again, if it has one
            self.whole = self._alone()
        else:
            self.whole = self._kept.output
            n_bytes = max(1, sum(each.nbytes for each in tensors_in(self.whole)))
            self._size = max(1, min(MOST_POSITIONS // self._kept.n_positions, _MOST_BYTES // n_bytes))

    def outputs(self, changes: Sequence[HeadChange]) -> Iterator[Any]:
        """Yield what the model returns under each change; the one that is read must not be needed later.

        Raises:
            UserError: if the model has no such head.
        """
        done = 0
        while done < len(changes):
            batch = changes[done : done + self._size]
            between_parts(f"Changing head {done + 1} of {len(changes)}")
            yield from self._batch(batch)
            done += len(batch)

    def alone(self, change: HeadChange) -> Any:
        """Return what the model returns under a change, in a whole run of its own; so are those after it."""
        self._kept, self._size = None, 1
        return self._alone(change)

    def _batch(self, changes: Sequence[HeadChange]) -> Sequence[Any]:
        if self._kept is None:
            return [self._alone(change) for change in changes]
        try:
            with evaluating(self._model):
                rows = self._together(self._kept, changes)
            last = changes[-1]
            stage = (last.kind, last.layer == self._last[last.kind])
            if stage in self._tried or agree(rows[-1], self._alone(last)):
                self._tried.add(stage)
                return rows
        except Exception:
            site_of(self._sites, changes[-1])  # the only error of ours that a run alone would not raise again
        if self._size > 1:
            self._size = 1
            self._tried.clear()
        else:
            self._kept = None
        return [row for change in changes for row in self._batch([change])]

    def _together(self, kept: KeptRun, changes: Sequence[HeadChange]) -> Sequence[Any]:
        paths = {site_of(self._sites, change).name for change in changes}
        with kept.beginning_at(paths, len(changes)), scaled_apart(self._model, changes):
            return kept.rows_of(self._run(len(changes)), len(changes))

    def _alone(self, *changes: HeadChange) -> Any:
        with interventions(self._model, changes), evaluating(self._model):
            return self._run(1)


def agree(output: Any, alone: Any) -> bool:
    """Tell whether two outputs hold the same numbers, but for the order of their sums."""
    found, expected = tensors_in(output), tensors_in(alone)
    return len(found) == len(expected) and all(map(_close, found, expected))


def _close(found: Tensor, expected: Tensor) -> bool:
    if found.shape != expected.shape or not expected.numel():
        return found.shape == expected.shape
    if not expected.is_floating_point():
        return bool((found == expected).all())
    tolerance = _TOLERANCE if expected.element_size() >= 4 else _TOLERANCE_16_BITS
    finite = expected.isfinite()
    size = expected[finite].abs().max() if finite.any() else expected.new_zeros(())
    return torch.allclose(found, expected, rtol=0, atol=tolerance * float(size), equal_nan=True)


@contextmanager
def scaled_apart(model: nn.Module, changes: Sequence[HeadChange]) -> Iterator[None]:
    """Scale one head in each row of a batch, in every forward inside the block.

    One run of a batch takes far less time than as many runs of one sentence.

    >>> import viz_transformer as vt
    >>> from viz_transformer.intervening import scaled_apart
    >>> changes = [vt.HeadChange("encoder", layer=0, head=head, factor=0) for head in range(4)]
    >>> model = vt.load_translator().model
    >>> with scaled_apart(model, changes):
    ...     pass  # a batch of four rows, each without another head


    Args:
        model: a torch module whose attention `find_sites` finds.
        changes: one for each row; only their factors count.

    Raises:
        UserError: if the heads can't be found, or the model has no such head.
    """
    sites = {(site.kind, site.layer): site for site in find_sites(model)}
    factors: dict[AttentionSite, Tensor] = {}
    for row, change in enumerate(changes):
        site = site_of(sites, change)
        of_site = factors.setdefault(site, torch.ones(len(changes), 1, site.n_heads, 1))
        of_site[row, 0, change.head, 0] = change.factor
    with rewritten([(site, _scale(of_site)) for site, of_site in factors.items()]):
        yield


def _scale(factors: Tensor) -> Rewrite:
    def scale(heads: Tensor) -> Tensor:  # [batch, position, head, d_head]
        # An input may have several rows itself, or a model cut each into windows.
        return heads * factors.to(heads).repeat_interleave(len(heads) // len(factors), 0)

    return scale
