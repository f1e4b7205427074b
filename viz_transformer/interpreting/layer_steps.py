"""What one attention layer of any torch model reads and multiplies, as `AttentionSteps`.

The projections are found by their names, and what they read by hooks while the model runs once. How a joint
projection is divided, which numbers rotary positions rotate together and what divides the scores is tried
out: only what gives the weights that the model gave is returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from viz_transformer._bounds import Bound
from viz_transformer.errors import UserError
from viz_transformer.interpreting.sites import AttentionSite, find_sites, projections_of
from viz_transformer.interpreting.stream import on_input
from viz_transformer.trace import KINDS, AttentionSteps, ForwardTrace

#: How far a weight that is computed again may be from the model's own.
TOLERANCE = 1e-5
#: What a view of one layer may take.
_LAYER_BYTES = Bound(64 * 1024 * 1024, "a page with a larger layer is slow to open")

Array = NDArray[np.float32]


class _Rotation(NamedTuple):
    """What rotary positions do, [position, d_head] each; see `AttentionSteps`."""

    cos: Array
    sin: Array
    partner: tuple[int, ...]


class _Matrices(NamedTuple):
    """The projections, [head, d_model, d_head], and their biases, [head, d_head]."""

    w_q: Array
    w_k: Array
    w_v: Array
    b_q: Array | None
    b_k: Array | None
    b_v: Array | None


class _Seen:
    """What the parts of a layer were called with, when it last ran."""

    def __init__(
        self, model: nn.Module, site: AttentionSite, projections: dict[str, nn.Module], hooks: ExitStack
    ) -> None:
        self.inputs: dict[str, Tensor] = {}
        self.normed = False
        self.rotation: tuple[Tensor, Tensor] | None = None
        self._after_norms: list[Tensor] = []
        for name, module in projections.items():
            hooks.enter_context(on_input(module, partial(self._keep, name)))
        for path, module in model.named_modules():
            block = path.rpartition(".")[0]
            if block and site.name.startswith(f"{block}.") and "norm" in type(module).__name__.lower():
                hooks.enter_context(
                    module.register_forward_hook(lambda *run: self._after_norms.append(run[-1]))
                )
        hooks.enter_context(site.attention.register_forward_pre_hook(self._keep_rotation, with_kwargs=True))

    def _keep(self, name: str, given: Any) -> None:
        self.inputs[name] = given.detach()
        self.normed |= any(given is each for each in self._after_norms)

    def _keep_rotation(self, _: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        pair = named.get("position_embeddings")
        if isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(each, Tensor) for each in pair):
            self.rotation = pair[0].detach(), pair[1].detach()


def layer_steps(model: nn.Module, run: Callable[[], ForwardTrace], kind: str, layer: int) -> AttentionSteps:
    """Return what one attention layer read, and its matrices.

    Args:
        model: any torch model.
        run: lets the model read a text, and returns its attention.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: counted from 0 among the layers of that kind.

    Raises:
        UserError: if there is no such layer, it is too large for a view, or its weights are not those of
            queries, keys, a mask and positions that turn them.
    """
    sites = [site for site in find_sites(model) if site.kind == kind]
    if not 0 <= layer < len(sites):
        raise UserError(f"layer={layer!r}, but this model has {len(sites)} layers of {kind} attention")
    site, name = sites[layer], type(model).__name__
    projections = projections_of(site)
    if not projections:
        raise UserError(
            f"projections to queries, keys and values were not found in {kind} layer {layer} of {name}, a "
            f"{type(site.attention).__name__}; vt.capture(model, …) shows its weights"
        )
    n_bytes = 4 * sum(each.numel() for part in projections.values() for each in part.parameters())
    if n_bytes > _LAYER_BYTES.most:
        raise UserError(
            f"one layer of {name} holds {n_bytes / 2**20:.0f} MiB of matrices, and a view takes at most "
            f"{_LAYER_BYTES.most / 2**20:.0f}: {_LAYER_BYTES.why}"
        )
    with ExitStack() as hooks:
        seen = _Seen(model, site, projections, hooks)
        trace = run()
    weights = trace.attention(kind)
    if weights is None or len(seen.inputs) < len(projections):
        raise UserError(f"{name} did not run its {kind} layer {layer} on this text; give another text")
    captured = weights[layer]  # [head, query, key]
    given = _given(site, trace, kind, layer, seen, captured)
    best = math.inf
    for matrices in _divided(site, projections):
        for rotation in _rotations(seen.rotation, site.d_head):
            for scaling in _scalings(site):
                steps = AttentionSteps(
                    **given, **matrices._asdict(), **scaling, **(rotation._asdict() if rotation else {})
                )
                far = float(np.abs(_weights(steps) - captured).max())
                if far <= TOLERANCE:
                    return steps
                best = min(best, far)
    raise UserError(
        f"the weights of {kind} layer {layer} of {name} are not those of queries, keys, a mask and turned "
        f"positions alone: computed so, one is {best:.2g} away. Its scores have more in them, such as a bias "
        "by distance or a norm, or fewer bits (try model.float()); vt.capture(model, …) shows its weights"
    )


def _given(
    site: AttentionSite, trace: ForwardTrace, kind: str, layer: int, seen: _Seen, captured: Array
) -> dict[str, Any]:
    """Return what is certain of a layer: its words, vectors, mask and output matrix."""
    (first, *_), of_keys = seen.inputs.values(), seen.inputs.get("k")
    queries = trace.query_tokens(kind)
    writes = KINDS[kind].query == "target" and trace.output_tokens is not None
    open_ = (captured > 0).any(0)  # [query, key]: what is masked is 0 in all heads
    bias = getattr(site.projection, "bias", None)
    return {
        "kind": kind,
        "layer": layer,
        "query_tokens": queries,
        "key_tokens": trace.key_tokens(kind),
        "query_reads": trace.target_tokens if writes else None,
        "x": _array(seen.inputs.get("q", first)[0]),
        # What cross-attention reads may be the stream itself, after the norm of the attention before it.
        "normed": seen.normed and kind != "cross",
        "memory": _array(of_keys[0]) if kind == "cross" and of_keys is not None else None,
        "mask": None if open_.all() else open_,
        "w_o": _array(site.weight),
        "b_o": None if bias is None else _array(bias),
    }


def _divided(site: AttentionSite, projections: dict[str, nn.Module]) -> Iterator[_Matrices]:
    """Yield the projections by heads; a joint one in each way that models divide it."""
    n, d = site.n_heads, site.d_head
    if "qkv" not in projections:
        wide = {name: _columns(module) for name, module in projections.items()}
        if all(weight.shape[1] % d == 0 for weight, _ in wide.values()) and wide["q"][0].shape[1] == n * d:
            (w_q, b_q), (w_k, b_k), (w_v, b_v) = (_parted(*wide[name], d) for name in "qkv")
            yield _Matrices(w_q, w_k, w_v, b_q, b_k, b_v)
        return
    weight, bias = _columns(projections["qkv"])
    parts, biases = _parted(weight, bias, d)  # [part, d_model, d_head]
    n_shared = (len(parts) - n) // 2
    if n_shared <= 0 or n % n_shared:
        return
    whole = np.arange(len(parts))
    each = whole.reshape(n_shared, -1)  # [k/v head, its heads' queries, then key and value]
    ways = [
        (whole[:n], whole[n : n + n_shared], whole[n + n_shared :]),
        (each[:, :-2].ravel(), each[:, -2], each[:, -1]),
    ]
    for q, k, v in ways:
        yield _Matrices(
            *(parts[index] for index in (q, k, v)),
            *(None if biases is None else biases[index] for index in (q, k, v)),
        )


def _columns(module: Any) -> tuple[Array, Array | None]:
    """Return a projection's matrix from the right of a row, [d_model, out], and its bias."""
    weight = module.weight.T if hasattr(module, "in_features") else module.weight  # GPT-2's is turned
    bias = getattr(module, "bias", None)
    return _array(weight), None if bias is None else _array(bias)


def _parted(weight: Array, bias: Array | None, d_head: int) -> tuple[Array, Array | None]:
    """Return the parts of a matrix, [part, d_model, d_head], and of its bias, [part, d_head]."""
    parts = weight.reshape(len(weight), -1, d_head).transpose(1, 0, 2)
    return parts, None if bias is None else bias.reshape(-1, d_head)


def _rotations(given: tuple[Tensor, Tensor] | None, d_head: int) -> Iterator[_Rotation | None]:
    """Yield what may be done with the cosines and sines of rotary positions; without any, None."""
    if given is None:
        yield None
        return
    cos, sin = (_array(each.reshape(-1, *each.shape[-2:])[0]) for each in given)  # [position, turned]
    n = cos.shape[-1]
    if n > d_head or n % 2:
        return
    halves, index = np.arange(n) // (n // 2), np.arange(n)
    first = (index + n // 2) % n, np.where(halves == 0, -1, 1)  # Llama: a number and that half a vector on
    next_ = index ^ 1, np.where(index % 2 == 0, -1, 1)  # GPT-J: neighbours
    doubled = [np.repeat(each[:, : n // 2], 2, axis=1) for each in (cos, sin)]
    for (partner, signs), (of_cos, of_sin) in (
        (first, (cos, sin)),
        (next_, (cos, sin)),
        (next_, doubled),
    ):
        of_all = np.ones((len(cos), d_head), np.float32), np.zeros((len(cos), d_head), np.float32)
        of_all[0][:, :n], of_all[1][:, :n] = of_cos, of_sin * signs
        yield _Rotation(*of_all, tuple(int(i) for i in (*partner, *range(n, d_head))))


def _scalings(site: AttentionSite) -> Iterator[dict[str, Any]]:
    """Yield what may divide the scores: what the module says, √d_head, nothing."""
    given = getattr(site.attention, "scaling", None)
    if isinstance(given, int | float) and given > 0 and not math.isclose(given, site.d_head**-0.5):
        yield {"scale": given != 1, "divisor": None if given == 1 else 1 / given}
    yield {"scale": True}
    yield {"scale": False}


def _weights(steps: AttentionSteps) -> NDArray[np.float64]:
    """Compute the weights of all heads, [head, query, key]."""

    def project(vectors: Array, name: str) -> NDArray[np.float64]:
        matrices, bias = getattr(steps, f"w_{name}"), getattr(steps, f"b_{name}")
        made = np.einsum("pm,hmd->hpd", vectors.astype(np.float64), matrices.astype(np.float64))
        made = made if bias is None else made + bias[:, None]
        if steps.cos is not None and steps.sin is not None:
            made = made * steps.cos + made[..., list(steps.partner or ())] * steps.sin
        return np.repeat(made, steps.n_heads // len(matrices), axis=0)

    scores = project(steps.x, "q") @ project(steps.key_vectors, "k").swapaxes(1, 2)
    scores = scores / (steps.root if steps.scale else 1.0)
    if steps.mask is not None:
        scores = np.where(steps.mask, scores, -np.inf)
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(-1, keepdims=True))


def _array(tensor: Tensor) -> Array:
    return tensor.detach().float().cpu().numpy()
