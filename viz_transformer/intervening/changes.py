"""`vt.interventions`: heads of any torch model changed inside a ``with`` block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.intervening.patterns import FixedPatterns
from viz_transformer.intervening.rewriting import Rewrite, rewritten
from viz_transformer.intervening.sites import AttentionSite, find_sites
from viz_transformer.model.interventions import HeadChange, Interventions, change_outputs


@contextmanager
def interventions(model: nn.Module, heads: Sequence[HeadChange]) -> Iterator[None]:
    """Change heads of any torch model: every forward inside the block has the changes.

        off = vt.HeadChange("decoder", layer=0, head=3, factor=0.0)
        with vt.interventions(model, heads=[off]):
            logits = model(ids).logits

    The model itself stays as it is: the hooks that make the changes are gone after the block, also
    if it ends with an error. A change that is neutral (factor 1 and nothing replaced) leaves every
    bit of the output as it was. Of our own text models, `model` is ``translator.model``; calls such
    as ``translator.translate`` take ``interventions=`` instead, and do not look at this block.

    >>> import torch
    >>> import viz_transformer as vt
    >>> model, ids = vt.load_language_model().model, torch.tensor([[1, 5, 7]])
    >>> with vt.interventions(model, heads=[vt.HeadChange("decoder", layer=0, head=3, factor=0.0)]):
    ...     without = model(ids)
    >>> bool((without == model(ids)).all())
    False

    Args:
        model: a torch module whose attention `find_sites` finds: Hugging Face's, ours, those with
            `nn.MultiheadAttention`, or your own.
        heads: a `HeadChange` for each head to change.

    Raises:
        UserError: if the heads can't be found, or a change does not fit the model; in a forward
            inside the block, if numbers do not fit its positions, or if a pattern can't be fixed
            because the model computes its attention in a kernel of its own.

    Source: Michel et al. 2019, section 2.2; Wang et al. 2023, sections 2.1 and 3.1.
    """
    changes = Interventions(heads=heads).heads  # checks that no head is named twice
    sites = {(site.kind, site.layer): site for site in find_sites(model)}
    by_site: dict[AttentionSite, list[HeadChange]] = {}
    for change in changes:
        site = site_of(sites, change)
        if not change.is_neutral:
            by_site.setdefault(site, []).append(change)
    patterns = {
        site: fixed
        for site, of_site in by_site.items()
        if (fixed := [change for change in of_site if change.pattern is not None])
    }
    apart = {site: fixed for site, fixed in patterns.items() if not site.is_torchs}
    with ExitStack() as stack:
        rewrites = [(site, _rewrite(of_site)) for site, of_site in by_site.items()]
        stack.enter_context(rewritten(rewrites, patterns))
        if apart:
            stack.enter_context(FixedPatterns(apart))
        yield


def _rewrite(changes: Sequence[HeadChange]) -> Rewrite:
    def rewrite(heads: Tensor) -> Tensor:
        outputs = heads.transpose(1, 2)  # [batch, head, position, d_head]
        return change_outputs(outputs, changes).transpose(1, 2)  # [batch, position, head, d_head]

    return rewrite


def site_of(sites: dict[tuple[str, int], AttentionSite], change: HeadChange) -> AttentionSite:
    """Return the layer of a change, or raise a UserError that says what the model has."""
    layers = {kind: [layer for each, layer in sites if each == kind] for kind, _ in sites}
    if change.kind not in layers:
        raise UserError(f"this model has no {change.kind} attention; it has {list(layers)}")
    site = sites.get((change.kind, change.layer))
    if site is None or change.head >= site.n_heads:
        n_heads = max(each.n_heads for (kind, _), each in sites.items() if kind == change.kind)
        raise UserError(
            f"{change.kind} layer {change.layer} head {change.head} is not in this model, whose "
            f"{change.kind} layers {_listed(layers[change.kind])} and heads from 0 to "
            f"{(site.n_heads if site else n_heads) - 1}"
        )
    return site


def _listed(numbers: Sequence[int]) -> str:
    """Say which layers there are: all from 0, or some of a model whose others do not attend."""
    is_all = list(numbers) == list(range(len(numbers)))
    return f"go from 0 to {len(numbers) - 1}" if is_all else f"that attend are {list(numbers)}"
