"""One layer's attention step by step: its inputs, its matrices and every intermediate number.

`AttentionSteps` holds what goes into the layer; `compute_head` computes one query of one head, step
by step (Vaswani et al. 2017, sections 3.2.1 and 3.2.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_transformer._text import given_texts
from viz_transformer.errors import UserError
from viz_transformer.trace.arrays import given_array
from viz_transformer.trace.forward import FloatArray
from viz_transformer.trace.kinds import find_kind

#: The steps in order; a layer without rotary positions has no rotation, one without a mask has no
#: "masked", one without W_O ends earlier.
STEPS = (
    "x", "q", "turned_q", "k", "turned_k", "v", "scores", "scaled", "masked", "weights", "output",
    "concat", "result",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionSteps:
    """What one attention layer reads while it works on one sentence, for all of its heads.

    Vectors are rows, as in the paper: a query is ``q = x @ W_Q + b_Q``.

    >>> import viz_transformer as vt
    >>> steps = vt.thinking_machines().steps
    >>> steps.kind, steps.query_tokens
    ('encoder', ('thinking', 'machines'))

    Attributes:
        kind: ``"encoder"`` or ``"decoder"`` for self-attention, or ``"cross"``.
        layer: index of the layer, from 0.
        query_tokens: one name a query.
        key_tokens: one name a key.
        query_reads: what each query has read when it writes its word, where that is known.
        x: float32 ``[query, d_model]``, the vectors of the queries' positions.
        normed: whether a norm of this layer has just rescaled them, as in pre-norm models; x is then not what
            the residual connection carries.
        memory: float32 ``[key, d_model]``, the vectors of the keys' positions; None where they are x itself.
        w_q: float32 ``[head, d_model, d_head]``.
        w_k: float32 ``[k/v head, d_model, d_head]``; of fewer k/v heads than heads each serves several
            heads in a row.
        w_v: as `w_k`.
        w_o: float32 ``[head · d_head, d_model]``, or None: then the heads are not joined.
        b_q: float32 ``[head, d_head]``, or None.
        b_k: float32 ``[k/v head, d_head]``, or None.
        b_v: as `b_k`.
        b_o: float32 ``[d_model]``, or None.
        mask: bool ``[query, key]``, True = may attend, or None: all may.
        scale: whether the layer divides its scores.
        divisor: by what; None stands for √d_head.
        cos: float32 ``[position, d_head]``, of rotary positions: each number of a query or key is turned into
            ``number · cos + its partner · sin``; None: no vector is turned.
        sin: float32 ``[position, d_head]``, with its sign.
        partner: for each number of a vector the index of its partner.

    Raises:
        UserError: if a shape does not fit the others, or an array holds NaN or infinity.
    """

    kind: str
    layer: int = 0
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    query_reads: tuple[str, ...] | None = None
    x: FloatArray
    normed: bool = False
    memory: FloatArray | None = None
    w_q: FloatArray
    w_k: FloatArray
    w_v: FloatArray
    w_o: FloatArray | None = None
    b_q: FloatArray | None = None
    b_k: FloatArray | None = None
    b_v: FloatArray | None = None
    b_o: FloatArray | None = None
    mask: NDArray[np.bool_] | None = None
    scale: bool = True
    divisor: float | None = None
    cos: FloatArray | None = None
    sin: FloatArray | None = None
    partner: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Convert to tuples and read-only arrays, and check every shape."""
        find_kind(self.kind)
        for name in ("query_tokens", "key_tokens", "query_reads"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, given_texts(getattr(self, name), name))
        n_queries, n_keys = len(self.query_tokens), len(self.key_tokens)
        if self.query_reads is not None and len(self.query_reads) != n_queries:
            raise UserError(
                f"query_reads has {len(self.query_reads)} tokens for {n_queries} query_tokens; "
                "give one per query"
            )
        if self.memory is None and n_queries != n_keys:
            raise UserError(
                f"{n_queries} query_tokens and {n_keys} key_tokens share the vectors x; give "
                "`memory`, the vectors of the keys, or as many of one as of the other"
            )
        w_q = given_array(self.w_q, "w_q")
        if w_q.ndim != 3 or 0 in w_q.shape:
            raise UserError(
                f"w_q has shape {list(w_q.shape)}, but it must be [head, d_model, d_head], no axis empty"
            )
        n_heads, d_model, d_head = w_q.shape
        n_shared = len(given_array(self.w_k, "w_k")) or 1
        if n_heads % n_shared:
            raise UserError(
                f"{n_shared} heads of keys cannot serve {n_heads} heads in equal parts; check w_k"
            )
        shared = (n_shared, d_model, d_head)
        d_out = () if self.w_o is None else given_array(self.w_o, "w_o").shape[-1:]
        shapes = {
            "x": (n_queries, d_model), "memory": (n_keys, d_model),
            "w_q": w_q.shape, "w_k": shared, "w_v": shared, "w_o": (n_heads * d_head, *d_out),
            "b_q": (n_heads, d_head), "b_k": (n_shared, d_head), "b_v": (n_shared, d_head),
            "b_o": (*d_out,), "mask": (n_queries, n_keys), "cos": (n_keys, d_head), "sin": (n_keys, d_head),
        }  # fmt: skip
        for name, shape in shapes.items():
            self._set_array(name, shape)
        turns = (self.cos, self.sin, self.partner)
        if any(each is not None for each in turns):
            if any(each is None for each in turns) or self.memory is not None:
                raise UserError("rotary positions need cos, sin and partner, and no memory; give all or none")
            partner = tuple(int(each) for each in self.partner or ())
            if sorted(partner) != list(range(d_head)):
                raise UserError(f"partner must hold each index from 0 to {d_head - 1} once")
            object.__setattr__(self, "partner", partner)

    def _set_array(self, name: str, shape: tuple[int, ...]) -> None:
        value = getattr(self, name)
        if value is None:
            return
        with np.errstate(over="ignore"):  # what becomes infinite is refused
            array = np.array(given_array(value, name), dtype=None if name == "mask" else np.float32)  # a copy
        if array.shape != shape or 0 in shape:
            raise UserError(
                f"{name} has shape {list(array.shape)}, but the tokens and w_q need "
                f"{list(shape)}; check the order of the axes"
            )
        if name == "mask" and array.dtype != np.bool_:
            raise UserError(f"the mask holds {array.dtype}, but must be bool, True = may attend")
        if not np.isfinite(array).all():
            raise UserError(f"{name} holds NaN or infinity, so the steps cannot be computed")
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    @property
    def n_heads(self) -> int:
        """How many heads the layer has."""
        return self.w_q.shape[0]

    @property
    def root(self) -> float:
        """What the scores are divided by, where they are divided."""
        return math.sqrt(self.d_head) if self.divisor is None else self.divisor

    @property
    def d_head(self) -> int:
        """Width of a query, a key or a value: d_k in the paper."""
        return self.w_q.shape[2]

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of the steps that this layer has."""
        missing = {"masked"} if self.mask is None else set()
        missing |= {"concat", "result"} if self.w_o is None else set()
        missing |= {"turned_q", "turned_k"} if self.cos is None else set()
        return tuple(step for step in STEPS if step not in missing)

    @property
    def key_vectors(self) -> FloatArray:
        """The vectors that keys and values are computed from, ``[key, d_model]``."""
        return self.x if self.memory is None else self.memory

    @property
    def nbytes(self) -> int:
        """How many bytes all the arrays take."""
        arrays = (getattr(self, field.name) for field in fields(self))
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


@dataclass(frozen=True, eq=False)
class ComputedHead:
    """Every intermediate number of one query in one head, in float64.

    >>> import viz_transformer as vt
    >>> from viz_transformer.trace import compute_head
    >>> steps = vt.thinking_machines().steps
    >>> worked = compute_head(steps, head=0, query=0)
    >>> round(float(worked.weights.sum()), 6)
    1.0

    Attributes:
        x: ``[d_model]``, the vector of the query's position.
        q: ``[d_head]``, its query.
        k: ``[key, d_head]``, the keys.
        v: ``[key, d_head]``, the values.
        scores: ``[key]``, q·k.
        scaled: ``[key]``, divided by √d_head and the temperature.
        masked: ``[key]``, −∞ where the query may not attend.
        exponentials: ``[key]``, e to the power of each score minus the largest one.
        weights: ``[key]``, sum 1; all zeros where the query may attend to nothing.
        output: ``[d_head]``, the sum of the values by their weights.
        concat: ``[head · d_head]``, the outputs of all heads, or None without W_O.
        result: ``[d_model]``, concat through W_O, or None without W_O.
        turned_q: ``[d_head]``, the query turned by its position, or None without rotary positions.
        turned_k: ``[key, d_head]``, the keys likewise.
    """

    x: NDArray[np.float64]
    q: NDArray[np.float64]
    k: NDArray[np.float64]
    v: NDArray[np.float64]
    scores: NDArray[np.float64]
    scaled: NDArray[np.float64]
    masked: NDArray[np.float64]
    exponentials: NDArray[np.float64]
    weights: NDArray[np.float64]
    output: NDArray[np.float64]
    concat: NDArray[np.float64] | None = None
    result: NDArray[np.float64] | None = None
    turned_q: NDArray[np.float64] | None = None
    turned_k: NDArray[np.float64] | None = None


def compute_head(
    steps: AttentionSteps,
    head: int,
    query: int,
    *,
    scale: bool | None = None,
    mask: bool = True,
    temperature: float = 1.0,
) -> ComputedHead:
    """Compute one query of one head, step by step.

    >>> import viz_transformer as vt
    >>> from viz_transformer.trace import compute_head
    >>> steps = vt.thinking_machines().steps
    >>> worked = compute_head(steps, head=0, query=0)
    >>> worked.q.shape, worked.weights.shape
    ((3,), (2,))

    Args:
        steps: the layer.
        head: index of the head, from 0.
        query: index of the query, from 0.
        scale: whether scores are divided by `steps.root`; None does as the layer does.
        mask: False lets the query attend to every key.
        temperature: scores are divided by it too; above 0.

    Raises:
        UserError: if the layer has no such head or query, or the temperature is not above 0.

    Source: Vaswani et al. 2017, sections 3.2.1 and 3.2.2; the steps that can be switched off
    are those of `Interventions`, here in this one layer.
    """
    for name, index, size in (("head", head, steps.n_heads), ("query", query, len(steps.x))):
        if not 0 <= index < size:
            raise UserError(f"{name}={index}, but there are {size}; choose 0 to {size - 1}")
    if not 0 < temperature < math.inf:
        raise UserError(f"temperature={temperature!r} must be a finite number above 0")
    divisor = (steps.root if (steps.scale if scale is None else scale) else 1.0) * temperature
    allowed = steps.mask[query] if mask and steps.mask is not None else True
    every = range(steps.n_heads) if steps.w_o is not None else (head,)
    worked = {each: _attend(steps, each, query, divisor, allowed) for each in every}
    if steps.w_o is None:
        return ComputedHead(**worked[head])
    concat = np.concatenate([worked[each]["output"] for each in every])  # [head · d_head]
    joined = concat @ steps.w_o + (0.0 if steps.b_o is None else steps.b_o)  # [d_model]
    result = np.asarray(joined, dtype=np.float64)
    return ComputedHead(**worked[head], concat=concat, result=result)


def _attend(
    steps: AttentionSteps, head: int, query: int, divisor: float, allowed: Any
) -> dict[str, NDArray[np.float64]]:
    def project(vectors: FloatArray, name: str) -> NDArray[np.float64]:
        bias, matrices = getattr(steps, f"b_{name}"), getattr(steps, f"w_{name}")
        served = head * len(matrices) // steps.n_heads
        projected = vectors.astype(np.float64) @ matrices[served]
        return projected if bias is None else projected + bias[served]

    q = project(steps.x[query], "q")  # [d_head]
    k, v = project(steps.key_vectors, "k"), project(steps.key_vectors, "v")  # [key, d_head]
    turned = {}
    if steps.cos is not None and steps.sin is not None and steps.partner is not None:
        partner = list(steps.partner)
        turned["turned_q"] = q * steps.cos[query] + q[partner] * steps.sin[query]
        turned["turned_k"] = k * steps.cos + k[:, partner] * steps.sin
    scores = turned.get("turned_q", q) @ turned.get("turned_k", k).T  # [key]
    scaled = scores / divisor
    masked = np.where(allowed, scaled, -np.inf)
    # Subtracting the largest leaves the weights the same, and the exponential cannot overflow.
    top = masked.max()
    exponentials = np.exp(masked - top) if top > -np.inf else np.zeros_like(masked)
    weights = exponentials / (exponentials.sum() or 1.0)
    return {
        "x": steps.x[query].astype(np.float64), "q": q, "k": k, "v": v, "scores": scores,
        "scaled": scaled, "masked": masked, "exponentials": exponentials, "weights": weights,
        "output": weights @ v, **turned,
    }  # fmt: skip
