"""A watch on the tables of relative positions, whose numbers a model adds to its scores.

T5's attention, and that of mT5, UMT5, Switch and MPNet, knows positions only by a number for each
head and distance, which it learned. The table is an embedding, so a hook on it sees what is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from viz_transformer.tracing.watched_layers import place_of

_TABLE = "relative_attention_bias"
#: Per kind, and per layer that has a table of its own: [head, query, key].
Biases = dict[str, dict[int, Tensor]]


@contextmanager
def watching_biases(model: nn.Module) -> Iterator[Biases]:
    """Record what a model's tables of relative positions return inside a ``with`` block.

    Of a kind's layers the first may have the only table, which all of them share.

    Source: Raffel et al. 2020, *Exploring the Limits of Transfer Learning*, section 2.1.
    """
    found: Biases = {}
    handles = []
    for name, module in model.named_modules():
        if name.rpartition(".")[2] == _TABLE and isinstance(module, nn.Embedding):
            kind = "decoder" if "decoder" in name.split(".") else "encoder"
            number = place_of(name)[2] or 0

            def see(_: Any, __: Any, output: Tensor, at: tuple[str, int] = (kind, number)) -> None:
                if output.ndim == 3:  # [query, key, head]
                    found.setdefault(at[0], {})[at[1]] = output.permute(2, 0, 1)

            handles.append(module.register_forward_hook(see))
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def biases_of(found: Biases, layers: Mapping[str, Sequence[Any]]) -> Biases:
    """Return the biases by the kinds of the layers: those of a model's only stack under "self"."""
    return {"self": next(iter(found.values()))} if found and "self" in layers else found
