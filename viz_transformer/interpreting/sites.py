"""The attention layers of any torch model, found by the names and shapes of their modules.

A layer of attention has projections to queries, keys and values, or one for all three, and an output
projection, which mixes the heads. Its input is the heads' outputs side by side, whatever happens before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from viz_transformer.capturing.running import OF_A_MODEL, place_of
from viz_transformer.errors import UserError

_BEFORE, _AFTER = r"(to_?|w_?|linear_?)?", r"(_?[ab])?(_?(proj|projection|lin|linear|layer|head|attn|net))?"
_QUERY, _KEY, _VALUE, _KEY_VALUE = (
    re.compile(f"{_BEFORE}({name}){_AFTER}", re.IGNORECASE)
    for name in ("q|query|queries", "k|key|keys", "v|value|values", "kv|key_value")
)
_ALL_THREE = re.compile(f"{_BEFORE}(qkv|query_key_value){_AFTER}|c_attn|att_proj|attn_proj", re.IGNORECASE)
#: What output projections are called, from the most telling name to the least.
_OUTPUT_NAMES = (
    *("c_proj", "o_proj", "out_proj", "out_lin", "w_o", "wo", "to_out", "o_net", "o", "linear_out"),
    *("output_proj", "output_projection", "out_projection", "proj_out", "post_proj", "fc_out"),
    *("dense", "out", "output", "proj", "projection"),
)
_N_HEADS_NAMES = (
    "num_attention_heads",
    "num_heads",
    "n_heads",
    "n_head",
    "nhead",
    "n_attention_heads",
    "heads",
)
#: Cross-attention, by what follows the layer's number in a module's path.
_CROSS = re.compile(r"cross|enc_?dec|encoder_?att|multihead_attn$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class AttentionSite:
    """Where one attention layer's heads enter its output projection.

    A layer that the model runs several times, as ALBERT does, is one site.

    >>> import viz_transformer as vt
    >>> from viz_transformer.interpreting import find_sites
    >>> site = find_sites(vt.load_translator().model)[0]
    >>> site.kind, site.n_heads, site.d_head
    ('encoder', 4, 16)

    Attributes:
        kind: ``"encoder"`` or ``"decoder"`` for self-attention, or ``"cross"``.
        layer: its number as the model counts, which is that of a trace: Jamba's 1 and 3 attend. Where the
            modules' names do not tell, layers are counted from 0 within their kind.
        name: the output projection's path in the model, for ``model.get_submodule``.
        projection: the output projection. Its input is the heads' outputs side by side,
            [batch, position, n_heads · d_head].
        n_heads: number of heads.
        d_head: width of one head's output.
        attention: the module that holds the projections to queries, keys and values.
    """

    kind: str
    layer: int
    name: str
    projection: nn.Module
    n_heads: int
    d_head: int
    attention: nn.Module

    @property
    def is_torchs(self) -> bool:
        """Whether it is torch's own module, which never calls its projection."""
        return isinstance(self.attention, nn.MultiheadAttention)

    @property
    def weight(self) -> Any:
        """The matrix of the output projection, from a row of numbers: [n_heads · d_head, d_model]."""
        weight: Any = self.projection.weight
        return weight.T if hasattr(self.projection, "in_features") else weight  # GPT-2's Conv1D is turned


def find_sites(model: nn.Module) -> tuple[AttentionSite, ...]:
    """Return every attention layer of a model, in the order of its modules.

    >>> import viz_transformer as vt
    >>> from viz_transformer.interpreting import find_sites
    >>> sites = find_sites(vt.load_translator().model)
    >>> [(site.kind, site.layer) for site in sites][:3]
    [('encoder', 0), ('encoder', 1), ('decoder', 0)]

    Args:
        model: any torch model.

    Raises:
        UserError: if the model has no attention that can be found, or a layer whose output
            projection can't be told; the message says which modules were looked at.
    """
    if not isinstance(model, nn.Module):
        inner = " its .model" if isinstance(getattr(model, "model", None), nn.Module) else " one"
        raise UserError(f"a {type(model).__name__} is not a torch module; give{inner}")
    sites: list[AttentionSite] = []
    unclear: list[str] = []
    for path, module in model.named_modules():
        if not _attends(module):
            continue
        found = _projection_of(model, path, module)
        n_heads = _n_heads_of(model, path, module)
        if found is None or not n_heads or (width_of(found[1]) or 1) % n_heads:
            unclear.append(_described(path, module))
            continue
        name, projection = found
        kind = _kind_of(model, path, module)
        layer = sum(site.kind == kind for site in sites)
        d_head = (width_of(projection) or 0) // n_heads
        sites.append(AttentionSite(kind, layer, name, projection, n_heads, d_head, module))
    if unclear or not sites:
        raise UserError(_nothing_found(model, unclear))
    return tuple(_numbered(model, sites))


def _numbered(model: nn.Module, sites: list[AttentionSite]) -> Iterator[AttentionSite]:
    """Yield sites with the numbers that the names in a Hugging Face model give to layers, as in a trace."""
    numbers: dict[str, list[int | None]] = {}
    for site in sites:
        numbers.setdefault(site.kind, []).append(place_of(site.name)[2])
    for site in sites:
        of_kind = numbers[site.kind]
        is_told = None not in of_kind and len(set(of_kind)) == len(of_kind) and hasattr(model, OF_A_MODEL)
        number = of_kind[site.layer] if is_told else site.layer
        yield site if number is None else replace(site, layer=number)


def projections_of(site: AttentionSite) -> dict[str, nn.Module]:
    """Return the projections of a layer by name: ``"q"``, ``"k"`` and ``"v"``, or ``"qkv"``; else none."""
    patterns = {"qkv": _ALL_THREE, "q": _QUERY, "k": _KEY, "v": _VALUE}
    found = {
        key: child
        for name, child in site.attention.named_children()
        for key, pattern in patterns.items()
        if hasattr(child, "weight") and pattern.fullmatch(name)
    }
    single = {name: found[name] for name in "qkv" if name in found}
    return single if len(single) == 3 else {"qkv": found["qkv"]} if "qkv" in found else {}


def width_of(module: Any) -> int | None:
    """Return how many numbers a linear layer reads; None for any other module."""
    width = getattr(module, "in_features", None)
    if isinstance(width, int):
        return width
    return int(module.weight.shape[0]) if type(module).__name__ == "Conv1D" else None


def _attends(module: nn.Module) -> bool:
    """Tell a module that projects to queries, keys and values itself, or in a module per head."""
    if isinstance(module, nn.MultiheadAttention):
        return True
    if _has_projections(module):
        # One head alone has no output projection: the module around all of them has it.
        holders = module, getattr(module, "config", None)
        return bool(_linears_left(module)) or any(_n_heads_given(each) is not None for each in holders)
    return _n_separate_heads(module) is not None


def _has_projections(module: nn.Module) -> bool:
    names = [name for name, _ in module.named_children()]

    def has(pattern: re.Pattern[str]) -> bool:
        return any(pattern.fullmatch(name) for name in names)

    return has(_ALL_THREE) or (has(_QUERY) and ((has(_KEY) and has(_VALUE)) or has(_KEY_VALUE)))


def _n_separate_heads(module: nn.Module) -> int | None:
    """Return how many heads a module holds in a list, each with projections of its own; else None."""
    for child in module.children():
        if isinstance(child, nn.ModuleList) and len(child) and all(map(_is_one_head, child)):
            return len(child)
    return None


def _is_one_head(module: nn.Module) -> bool:
    return _has_projections(module) and _n_heads_given(module) is None and not _linears_left(module)


def _projection_of(model: nn.Module, path: str, module: nn.Module) -> tuple[str, nn.Module] | None:
    """Return the output projection and its path: in the module itself, or beside it as in BERT."""
    if found := _named_output(module, path):
        return found
    if left := _linears_left(module):
        return (f"{path}.{left[0][0]}".lstrip("."), left[0][1]) if len(left) == 1 else None
    parent_path = path.rpartition(".")[0]
    parent = model.get_submodule(parent_path)
    return None if parent is module else _named_output(parent, parent_path)


def _named_output(module: nn.Module, path: str) -> tuple[str, nn.Module] | None:
    children = {name.lower(): (name, child) for name, child in module.named_children()}
    for wanted in _OUTPUT_NAMES:
        if wanted not in children:
            continue
        name, child = children[wanted]
        for inner, candidate in child.named_modules():  # `output.dense`; the first of a Sequential
            if width_of(candidate) is not None:
                return ".".join(filter(None, (path, name, inner))), candidate
    return None


def _linears_left(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """Return the linear layers of a module that project to none of queries, keys and values."""
    projections = (_QUERY, _KEY, _VALUE, _KEY_VALUE, _ALL_THREE)
    return [
        (name, child)
        for name, child in module.named_children()
        if width_of(child) is not None and not any(each.fullmatch(name) for each in projections)
    ]


def _n_heads_of(model: nn.Module, path: str, module: nn.Module) -> int | None:
    """Return the number of heads that a module names, or else the configuration closest to it."""
    given = _n_heads_given(module) or _n_separate_heads(module)
    if given is not None:
        return given
    configured = (_n_heads_given(getattr(holder, "config", None)) for holder in _from_within(model, path))
    return next((found for found in configured if found is not None), None)


def _n_heads_given(holder: Any) -> int | None:
    for name in _N_HEADS_NAMES:
        value = getattr(holder, name, None)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _from_within(model: nn.Module, path: str) -> Iterator[nn.Module]:
    """Yield the module at a path, then what is around it, out to the model."""
    parts = path.split(".") if path else []
    for end in range(len(parts), -1, -1):
        yield model.get_submodule(".".join(parts[:end]))


def _kind_of(model: nn.Module, path: str, module: nn.Module) -> str:
    """Tell cross-attention by its name, and a decoder by what it says of itself or is called."""
    own_name = re.split(r"(?:^|\.)\d+\.", path)[-1]
    if getattr(module, "is_cross_attention", False) or _CROSS.search(own_name):
        return "cross"
    if getattr(module, "is_causal", False):
        return "decoder"
    called = [*reversed(path.split(".")), *(type(each).__name__ for each in _from_within(model, path))]
    for name in map(str.lower, called):
        named = {side for side in ("encoder", "decoder") if side in name}
        if len(named) == 1:  # an EncoderDecoderModel says nothing of its parts
            return named.pop()
    causal = type(model).__name__.endswith("ForCausalLM") or any(map(_is_causal_mask, module.buffers()))
    return "decoder" if causal else "encoder"


def _is_causal_mask(buffer: Any) -> bool:
    """Tell the triangle that a decoder of one's own keeps to hide what comes later."""
    if buffer.ndim < 2 or buffer.shape[-1] != buffer.shape[-2] or buffer.shape[-1] < 2:
        return False
    seen = buffer.reshape(-1, *buffer.shape[-2:])[0] != 0  # [query, key]
    return bool(seen.any()) and not (seen.triu(1).any() and seen.tril(-1).any())


def _described(path: str, module: nn.Module) -> str:
    inside = ", ".join(name for name, _ in module.named_children())
    return f"{path or 'the model itself'} ({type(module).__name__}: {inside})"


def _nothing_found(model: nn.Module, unclear: list[str]) -> str:
    looked_at = unclear or [
        _described(path, module)
        for path, module in model.named_modules()
        if "att" in type(module).__name__.lower() or not path
    ]
    shown = "; ".join(looked_at[:3]) + (f"; and {len(looked_at) - 3} more" if len(looked_at) > 3 else "")
    return (
        f"where the heads of {type(model).__name__} enter their output projection was not found; "
        f"looked at: {shown}; expected were a number of heads (num_heads) and linear layers called "
        "such as q_proj, k_proj, v_proj and o_proj"
    )
