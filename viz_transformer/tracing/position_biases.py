"""A watch on what a model adds to its scores for positions, apart from what the words say.

Each rule below knows one way of adding it, and reads it where the model has just made it: from the
module that returns it, from the attention that is given it, or from the attention's own table.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

#: Per kind, and per layer that has a bias of its own: [head, query, key].
Biases = dict[str, dict[int, Tensor]]
#: What a module was given by name and what it returned, in; a bias [head, query, key] out, and what it is
#: made of, which is the same object where layers share it.
_Rule = Callable[[Any, Mapping[str, Any], Any], tuple[Any, Tensor] | None]


@contextmanager
def watching_biases(model: nn.Module) -> Iterator[Biases]:
    """Record what a model adds to its scores for positions inside a ``with`` block.

    Of a kind's layers the first may have the only bias, which all of them share. A kind whose scores
    get biases of two sorts, as UDOP's do, is left out: neither is the whole.

    Source: Raffel et al. 2020, *Exploring the Limits of Transfer Learning*, section 2.1; Press et al.
    2022, *Train Short, Test Long* (ALiBi), section 3; Liu et al. 2021, *Swin Transformer*, section 3.2.
    """
    found: Biases = {}
    sorts: dict[str, set[str]] = {}
    shared: dict[str, Any] = {}

    def see(rule: _Rule, name: str, module: nn.Module, args: Any, named: Any, output: Any) -> None:
        given = inspect.signature(module.forward).bind(*args, **named).arguments
        kind = "decoder" if "decoder" in name.split(".") else "encoder"
        made_of, bias = rule(module, given, output) or (None, None)
        if bias is None or shared.get(kind) is made_of:
            return
        shared[kind], of_kind = made_of, found.setdefault(kind, {})
        of_kind[len(of_kind)] = bias
        sorts.setdefault(kind, set()).add(_sort_of(name))

    handles = [
        module.register_forward_hook(partial(see, rule, name), with_kwargs=True)
        for name, module in model.named_modules()
        if (rule := _rule_of(name, module)) is not None
    ]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()
        for kind in [kind for kind, of_kind in sorts.items() if len(of_kind) > 1]:
            del found[kind]


def biases_of(found: Biases, layers: Mapping[str, Sequence[Any]]) -> Biases:
    """Return the biases by the kinds of the layers: those of a model's only stack under "self"."""
    return {"self": next(iter(found.values()))} if found and "self" in layers else found


def _sort_of(name: str) -> str:
    """Return a module's name without the number of its layer; UDOP's list of biases is not one of layers."""
    parts = name.split(".")
    return name if "biases" in parts else ".".join(part for part in parts if not part.isdigit())


def _rule_of(name: str, module: nn.Module) -> _Rule | None:
    """Return how a module tells what is added, if it does."""
    by_class = _BY_CLASS.get(type(module).__name__)
    last = name.rpartition(".")[2]
    if by_class is not None or last in ("relative_attention_bias", *_RETURNING):
        return by_class or _returned
    return _from_table if hasattr(module, "relative_position_index") else None


#: What BEiT, Data2Vec and Swin call the module that returns the bias of a pair of patches.
_RETURNING = ("relative_position_bias", "shared_position_bias")


def _returned(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor] | None:
    """T5's table, and that of mT5, UMT5, Switch and MPNet, is an embedding: [query, key, head]."""
    if isinstance(module, nn.Embedding):
        return (output, output.permute(2, 0, 1)) if output.ndim == 3 else None
    return (output, output[0]) if isinstance(output, Tensor) and output.ndim == 4 else None


def _from_table(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor] | None:
    """Look a window's biases up, as the Swins of timm, torchvision and Donut do in their attention.

    Swin's second version computes the table (Liu et al. 2022, *Swin Transformer V2*, section 3.3).
    """
    index = module.relative_position_index.flatten()
    table = getattr(module, "relative_position_bias_table", None)  # [offset, head]
    mlp = getattr(module, "continuous_position_bias_mlp", getattr(module, "cpb_mlp", None))
    if mlp is not None:
        table = mlp(module.relative_coords_table).flatten(0, -2)  # [offset, head]
    if table is None:
        return None
    n = math.isqrt(len(index))
    bias = table[index].unflatten(0, (n, n)).permute(2, 0, 1)  # [head, query, key]
    return bias, 16 * torch.sigmoid(bias) if mlp is not None else bias


def _alibi(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor] | None:
    """ALiBi of Bloom, and of Falcon, which scales it: [head, 1, key], the same for every query."""
    alibi = given["alibi"]
    if alibi is None:
        return None
    n = alibi.shape[-1]
    return alibi, (alibi * module.beta).reshape(-1, 1, n).expand(-1, n, n)


def _alibi_of_mpt(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor]:
    """ALiBi of MPT, [head, 1, key], made for the longest text: the last keys are those of this one."""
    bias, n = given["position_bias"], given["hidden_states"].shape[1]
    return bias, bias[..., -n:].expand(-1, n, -1)


def _of_a_layout(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor] | None:
    """Of two words' distance in the text, and on the page (Xu et al. 2021, *LayoutLMv2*, section 2.2)."""
    added = [each for name in ("rel_pos", "rel_2d_pos") if (each := given.get(name)) is not None]
    return (added[0], sum(each[0] for each in added)) if added else None  # [head, query, key]


def _of_a_scaled_layout(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor] | None:
    """Likewise, divided as the scores are (Huang et al. 2022, *LayoutLMv3*, section 3.1)."""
    if (whole := given.get("position_bias")) is not None:  # in transformers 5.24 summed and divided before
        return whole, whole[0]  # [head, query, key]
    found = _of_a_layout(module, given, output)
    return found and (found[0], found[1] / math.sqrt(module.attention_head_size))


_BY_CLASS: Mapping[str, _Rule] = {
    "BloomAttention": _alibi,
    "FalconAttention": _alibi,
    "MptAttention": _alibi_of_mpt,
    "LayoutLMv2SelfAttention": _of_a_layout,
    "LayoutLMv3SelfAttention": _of_a_scaled_layout,
}
