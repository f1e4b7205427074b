"""Many heads changed in one run, each in a row of the batch of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from viz_transformer.intervening.changes import site_of
from viz_transformer.intervening.rewriting import Rewrite, rewritten
from viz_transformer.intervening.sites import AttentionSite, find_sites
from viz_transformer.model.interventions import HeadChange


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
    return lambda heads: heads * factors.to(heads)  # [batch, position, head, d_head]
