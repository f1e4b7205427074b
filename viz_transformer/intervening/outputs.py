"""What the heads of a model say about an input: the outputs that patching takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from viz_transformer.errors import UserError
from viz_transformer.intervening.rewriting import Rewrite, rewritten
from viz_transformer.intervening.sites import AttentionSite, find_sites
from viz_transformer.tracing.running import evaluating


def head_outputs(model: nn.Module, *inputs: Any, **named: Any) -> dict[str, NDArray[np.float32]]:
    """Run a model once, and return what every head says at every position.

        other = head_outputs(model, input_ids=other_ids)["decoder"]
        change = vt.HeadChange("decoder", layer=0, head=3, output=other[0, 3])

    >>> import torch
    >>> import viz_transformer as vt
    >>> model = vt.load_language_model().model
    >>> vt.head_outputs(model, torch.tensor([[1, 5, 7]]))["decoder"].shape  # [layer, head, position, d_head]
    (2, 4, 3, 16)

    Args:
        model: any torch module whose attention `find_sites` finds; it runs in evaluation mode and
            without gradients, and is then as it was.
        inputs: what its forward takes, of one sentence.
        named: likewise, by name.

    Returns:
        For each kind of attention float32 [layer, head, position, d_head]: what stands in the
        input of the output projection. ``"cross"`` has the decoder's positions.

    Raises:
        UserError: if the heads can't be found, the batch holds several sentences, or the layers of
            a kind differ in their sizes.

    Source: Vaswani et al. 2017, section 3.2.2, head_i of the concatenation.
    """
    sites = find_sites(model)
    seen: dict[AttentionSite, list[Tensor]] = {site: [] for site in sites}
    with rewritten([(site, _keep(seen[site])) for site in sites]), evaluating(model):
        model(*inputs, **named)
    by_kind: dict[str, list[NDArray[np.float32]]] = {}
    for site in sites:
        by_kind.setdefault(site.kind, []).append(_one_sentence(site, seen[site]))
    for kind, layers in by_kind.items():
        shapes = sorted({layer.shape for layer in layers})
        if len(shapes) > 1:
            raise UserError(
                f"the {kind} layers differ in [head, position, d_head]: {shapes}; give a model whose "
                "layers are alike, or one of its parts"
            )
    return {kind: np.stack(layers) for kind, layers in by_kind.items()}


def _keep(seen: list[Tensor]) -> Rewrite:
    def keep(heads: Tensor) -> Tensor:
        seen.append(heads.detach())
        return heads

    return keep


def _one_sentence(site: AttentionSite, seen: list[Tensor]) -> NDArray[np.float32]:
    """Return one layer's heads [head, position, d_head]."""
    if len(seen) != 1:
        raise UserError(
            f"{site.name} ran {len(seen)} times in one forward of the model, and its heads' outputs are "
            "read where it runs once; give a model whose layers each run once"
        )
    heads = seen[0]  # [batch, position, head, d_head]
    if len(heads) != 1:
        raise UserError(f"the batch has {len(heads)} sentences; give one, such as ids[:1]")
    return heads[0].transpose(0, 1).float().cpu().numpy()  # [head, position, d_head]
