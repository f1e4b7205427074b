"""What turns gradients into steps: Adam, or Muon for the matrices and Adam for all else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from viz_transformer.config import TrainConfig
from viz_transformer.model import Transformer

#: Of the polynomial that is applied five times: chosen so that small singular values grow fast.
_COEFFICIENTS, _TIMES = (3.4445, -4.7750, 2.0315), 5
#: A step's size, root mean square, in units of the learning rate: about that of Adam's steps.
_SIZE = 0.2


def make_optimisers(
    model: Transformer, config: TrainConfig, fused: bool
) -> tuple[torch.optim.Optimizer, ...]:
    """Return what steps the weights: Adam with the paper's β and ε (section 5.3), or two.

    With ``"muon"``, Muon steps the matrices of attention and of the feed-forward networks, and
    Adam the embeddings, biases and norms, both with the same learning rate. Weights decay apart
    from the gradient (AdamW); biases and norms do not.
    """
    matrices: list[nn.Parameter] = []
    if config.optimiser == "muon":
        matrices = [
            module.weight
            for stack in (model.encoder, model.decoder)
            for module in stack.modules()
            if isinstance(module, nn.Linear)
        ]
    chosen = set(map(id, matrices))
    others = [one for one in model.parameters() if id(one) not in chosen]
    decay = config.weight_decay
    groups = [
        {"params": [one for one in others if one.ndim > 1], "weight_decay": decay},
        {"params": [one for one in others if one.ndim == 1], "weight_decay": 0.0},
    ]
    adam = torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-9, fused=fused)
    return (adam, Muon(matrices, weight_decay=decay)) if matrices else (adam,)


class Muon(torch.optim.Optimizer):
    """Step matrices as far in every direction that their gradients name, loud or faint.

    A matrix's gradient is mostly a few large singular values, the same few step after step; what
    it says in the others is as true and hardly heard. Muon makes them all about 1.

    Torch's own Muon computes in bfloat16, which takes 15 times as long on a processor that has
    none of it.

    Args:
        params: matrices alone.
        lr: the learning rate: the root mean square of a step is 0.2 of it.
        momentum: what a step leaves of the gradients before (Nesterov's momentum).
        weight_decay: a step shrinks the matrices by this much times the learning rate.

    Source: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks"; the
    size of the steps is that of Liu et al. 2025, "Muon is scalable for LLM training", section 2.2.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter],
        lr: float = 1e-3,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:
        """Take a step; `closure` is torch's way to compute the loss again."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            alike = defaultdict(list)  # those of one shape are computed together
            for matrix in group["params"]:
                if matrix.grad is not None:
                    alike[matrix.shape].append(matrix)
            for shape, matrices in alike.items():
                wishes = [self._wish(matrix, group["momentum"]) for matrix in matrices]
                steps = orthogonalised(torch.stack(wishes))  # [matrix, row, column]
                size = _SIZE * max(shape) ** 0.5  # an orthogonal matrix's is 1/√max(shape)
                torch._foreach_mul_(matrices, 1 - group["lr"] * group["weight_decay"])
                torch._foreach_add_(matrices, list(steps), alpha=-group["lr"] * size)
        return loss

    def _wish(self, matrix: nn.Parameter, momentum: float) -> Tensor:
        """Return the gradient, averaged with those before."""
        state = self.state[matrix]
        if not state:
            state["momentum"] = torch.zeros_like(matrix)
        state["momentum"].lerp_(matrix.grad, 1 - momentum)
        return matrix.grad.lerp(state["momentum"], momentum)


def orthogonalised(
    matrices: Float[Tensor, "*batch row column"],
) -> Float[Tensor, "*batch row column"]:
    """Return U S Vᵀ of matrices U Σ Vᵀ, with all of S between about 0.7 and 1.2.

    A singular value below 0.0015 of the matrix's norm stays smaller.

    Source: Jordan et al. 2024: a polynomial of the matrix is a polynomial of its singular values.
    """
    if matrices.shape[-2] > matrices.shape[-1]:
        return orthogonalised(matrices.mT).mT
    linear, cubic, quintic = _COEFFICIENTS
    x = matrices / (matrices.norm(dim=(-2, -1), keepdim=True) + 1e-7)  # no singular value above 1
    for _ in range(_TIMES):
        square = x @ x.mT  # [..., row, row]
        x = linear * x + (cubic * square + quintic * (square @ square)) @ x  # [..., row, column]
    return x
