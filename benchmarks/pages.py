"""Each view's own page of one attention, made in the best way that it offers offline.

`python -m benchmarks.pages VIEW LAYERS HEADS TOKENS FILE` writes one; `benchmarks.views` calls it
in a process of its own, so that a page that takes too long or too much memory can be stopped.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np

#: What a page of HTML alone is put into.
_DOCUMENT = '<!doctype html><html><head><meta charset="utf-8"></head><body>{}</body></html>'


def attention(n_layers: int, n_heads: int, n_tokens: int) -> np.ndarray:
    """Return softmax(2 · randn), float32 ``[layer, head, query, key]``, the same for every view."""
    rng = np.random.default_rng(0)
    scores = 2 * rng.standard_normal((n_layers, n_heads, n_tokens, n_tokens), dtype=np.float32)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def explorer(weights: np.ndarray, tokens: list[str], path: Path) -> None:
    """Write our explorer's page."""
    import viz_transformer as vt

    trace = vt.ForwardTrace(source_tokens=tokens, encoder_attention=weights)
    vt.export_html(vt.explore(trace, wall=False), path, max_megabytes=math.inf)


def wall(weights: np.ndarray, tokens: list[str], path: Path) -> None:
    """Write the page of a large model as a viewer makes it, which opens on the wall of heads."""
    import viz_transformer as vt

    trace = vt.ForwardTrace(source_tokens=tokens, encoder_attention=weights)
    vt.export_html(vt.explore(trace, wall=True), path, max_megabytes=math.inf)


def bertviz(weights: np.ndarray, tokens: list[str], path: Path) -> None:
    """Write what bertviz returns for keeping; its scripts still come from a CDN."""
    import torch
    from bertviz import head_view

    layers = [torch.from_numpy(layer[None]) for layer in weights]
    shown = head_view(layers, tokens, html_action="return")
    path.write_text(_DOCUMENT.format(shown.data), encoding="utf-8")


def circuitsvis(weights: np.ndarray, tokens: list[str], path: Path) -> None:
    """Write what CircuitsVis shows where there is no network: its script stands in the page."""
    from circuitsvis.attention import attention_heads

    n_layers, n_heads = weights.shape[:2]
    shown = attention_heads(
        attention=weights.reshape(n_layers * n_heads, *weights.shape[2:]),
        tokens=tokens,
        attention_head_names=[f"L{i}H{j}" for i in range(n_layers) for j in range(n_heads)],
        mask_upper_tri=False,  # an encoder's attention goes forwards too
    )
    path.write_text(_DOCUMENT.format(shown.local_src), encoding="utf-8")


def inspectus(weights: np.ndarray, tokens: list[str], path: Path) -> None:
    """Write what inspectus displays in a cell."""
    from inspectus import attention as show

    with mock.patch("IPython.display.display") as display:
        show(weights, tokens)
    html = "".join(call.args[0].data for call in display.call_args_list)
    path.write_text(_DOCUMENT.format(html), encoding="utf-8")


def attnview(weights: np.ndarray, tokens: list[str], path: Path) -> None:
    """Write attnview's report; layers reach it as a TransformerLens cache names them."""
    import attnview as package

    cache = {("pattern", i): layer for i, layer in enumerate(weights)}
    study = package.AttentionStudy.from_cache(cache, tokens=tokens)
    package.export_html(study, path)


MAKERS: dict[str, Callable[[np.ndarray, list[str], Path], None]] = {
    "explorer": explorer,
    "wall": wall,
    "bertviz": bertviz,
    "CircuitsVis": circuitsvis,
    "inspectus": inspectus,
    "attnview": attnview,
}


def main(view: str, n_layers: int, n_heads: int, n_tokens: int, path: Path) -> None:
    """Write the page of `view`; print how many seconds that took."""
    tokens = [f"w{i}" for i in range(n_tokens)]
    weights = attention(n_layers, n_heads, n_tokens)
    start = time.perf_counter()
    MAKERS[view](weights, tokens, path)
    print(time.perf_counter() - start)


if __name__ == "__main__":
    name, *sizes, file = sys.argv[1:]
    main(name, *map(int, sizes), Path(file))
