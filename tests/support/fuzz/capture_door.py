"""Attention weights in every form, and what only looks like them, given to `vt.capture`."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import torch

import viz_transformer as vt
from tests.support.fuzz.campaign import ChangedError, Drawn
from tests.support.fuzz.value_doors import look_at, shown
from tests.support.fuzz.values import NUMBERS, any_value, array_value

#: Forms of weights [layer, head, query, key] that are taken, up to the digits that a form keeps.
_TAKEN: dict[str, Callable[[np.ndarray], Any]] = {
    **{f"numpy {name}": lambda w, n=name: w.astype(n) for name in ("f8", "f4", "f2", ">f8", "g")},
    "strides below 0": lambda w: w[..., ::-1].copy()[..., ::-1],
    "columns first": np.asfortranarray,
    "nothing masked": np.ma.masked_array,
    "layers": list,
    "numbers": lambda w: [each.tolist() for each in w],
    "mixed layers": lambda w: [torch.tensor(w[0]), *w[1:]],
    "batches": lambda w: [torch.tensor(each)[None] for each in w],
    "cache": lambda w: {f"blocks.{i}.attn.hook_pattern": torch.tensor(each) for i, each in enumerate(w)},
    "output": lambda w: {"attentions": tuple(torch.tensor(w[:, None])), "loss": None},
    "bfloat16": lambda w: torch.tensor(w).bfloat16(),
    "parameter": lambda w: torch.nn.Parameter(torch.tensor(w)),
    "negated view": lambda w: torch.tensor(-1j * w).conj().imag,
    "quantised": lambda w: torch.quantize_per_tensor(torch.tensor(w).float(), 1 / 255, 0, torch.quint8),
}
#: Forms that hold no weights, or hide some of them.
_REFUSED: dict[str, Callable[[np.ndarray], Any]] = {
    "complex": lambda w: w + 0j,
    "conjugate view": lambda w: [torch.tensor(each + 0j).conj() for each in w],
    "dates": lambda w: w.astype("M8[s]"),
    "masked": lambda w: np.ma.masked_array(w, mask=w == w.max()),
    "masked layers": lambda w: [np.ma.masked_array(each, mask=each > 0) for each in w],
    "meta": lambda w: [torch.tensor(each, device="meta") for each in w],
    "nested": lambda w: [torch.nested.nested_tensor(list(torch.tensor(each))) for each in w],
    "sparse": lambda w: {"attentions": [torch.tensor(each).to_sparse() for each in w]},
    "steps of nothing": lambda w: {"attentions": [[each] for each in w]},
}
_OPTIONS = ("target_tokens", "source_tokens", "words", "batch_index", "layers", "heads", "run", "group")
_OPTIONS += ("dtype", "normalised", "max_new_tokens", "tokenizer")


def captured(rng: Random) -> Drawn:
    """Draw weights or what is none, labels and options; what is taken must be what was given."""
    n = rng.choice([1, 2, 5])
    weights = np.tril(np.random.default_rng(rng.randrange(10**6)).random((2, 2, n, n)) + 0.1)
    weights /= weights.sum(axis=-1, keepdims=True)
    labels = [f"word {i}" for i in range(n)]
    options = {"target_tokens": rng.choice([list, tuple, iter, np.array])(labels)}
    form = rng.choice([*_TAKEN, *_REFUSED, *["other"] * 20])
    if form == "other":
        value = rng.choice([any_value, array_value])(rng)
        value = rng.choice([lambda: value, lambda: [value], lambda: {"attentions": [value]}])()
    else:
        value = {**_TAKEN, **_REFUSED}[form](weights)
    changed = rng.sample(_OPTIONS, k=rng.choice([0, 0, 1, 2]))
    options |= {name: rng.choice([*NUMBERS, any_value(rng), range(10**30)]) for name in changed}

    def call() -> None:
        trace = vt.capture(value, **options)
        if form in _REFUSED:
            raise ChangedError("it was taken")
        if form in _TAKEN and not changed and not np.allclose(trace.decoder_attention, weights, atol=0.004):
            raise ChangedError("other weights were taken")
        look_at(trace)

    what = f"{form} {shown(value)}" if form == "other" else form
    return f"capture({what}, {', '.join(f'{name}={shown(options[name])}' for name in changed)})", call
