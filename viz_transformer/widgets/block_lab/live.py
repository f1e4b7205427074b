"""The block lab: how far a change of one word spreads through each part of an encoder block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from viz_transformer.translator import Translator, load_translator
from viz_transformer.widgets.base.live import check_suits, give_engine
from viz_transformer.widgets.block_lab.view import BlockLab


def block_lab(
    translator: Translator | None = None,
    sentence: str = "the black cat sleeps",
    *,
    changed: int = 0,
    layer: int = -1,
    engine: str | None = None,
) -> BlockLab:
    """Return a view that shows which outputs change in each part of a block when you change one word.

    >>> import viz_transformer as vt
    >>> view = vt.block_lab(changed=2)

    Args:
        translator: the translator with the encoder; by default the bundled one.
        sentence: the words, one of which is changed.
        changed: index of the word that is changed first.
        layer: index of the encoder layer, from 0; by default the last. Its parts are given what it
            reads, the output of the layer before it.
        engine: ``"page"``, ``"kernel"``, or None: the page computes if it can.

    Raises:
        UserError: if the sentence holds an unknown word, or there is no such word or layer.
    """
    translator = load_translator() if translator is None else translator
    check_suits(translator, ("translate",), "a block lab, which looks into a translator's encoder")
    n_layers = translator.config.n_encoder_layers
    layer = layer + n_layers if layer < 0 else layer
    view = BlockLab(
        lambda request: spread_reply(translator, request),
        sentence,
        changed=changed,
        layer=layer,
        n_layers=n_layers,
    )
    return give_engine(view, "block_lab", translator, engine)


def spread_reply(translator: Translator, request: dict[str, Any]) -> dict[str, Any]:
    """Return what the view asks of a sentence and a layer: its tokens, and every word's spread."""
    sentence, layer = request["sentence"], request["layer"]
    spread = block_spreads(translator, sentence, layer=layer)
    vocabulary = translator.vocabulary
    return {
        "tokens": list(vocabulary.tokens_of(vocabulary.source_ids(sentence))),
        "parts": list(spread),
        "spread": np.stack(list(spread.values())).astype("<f4").tobytes(),  # [part, changed, word]
    }


def block_spread(
    translator: Translator, sentence: str, changed: int, *, layer: int = -1
) -> dict[str, np.ndarray]:
    """Return how far each word's output moves in each part of a block when one vector changes.

    Args:
        translator: the translator with the encoder.
        sentence: the words.
        changed: index of the word whose vector x becomes -x.
        layer: index of the encoder layer, from 0; by default the last.

    Returns:
        For each part, |output after - output before| / |output before| of every word, [word]. The
        last is not a part of a block: LayerNorm over the wrong axis, that of the words.

    Raises:
        UserError: if the sentence cannot be read.
    """
    spreads = block_spreads(translator, sentence, layer=layer)
    return {name: moved[changed] for name, moved in spreads.items()}


@torch.no_grad()
def block_spreads(translator: Translator, sentence: str, *, layer: int = -1) -> dict[str, np.ndarray]:
    """Return the spread of every word of a sentence, as `block_spread` does of one: [changed, word]."""
    model = translator.model
    *earlier, block = model.encoder.layers[: range(model.config.n_encoder_layers)[layer] + 1]
    ids = torch.tensor([translator.vocabulary.source_ids(sentence)])
    x = model.embed_source(ids)  # [1, word, d_model]
    for each in earlier:
        x, _ = each(x, model.padding_mask(ids))
    turned = x.repeat(ids.shape[1], 1, 1)  # [changed, word, d_model]
    places = torch.arange(ids.shape[1])
    turned[places, places] *= -1
    parts: dict[str, Callable[[Tensor], Tensor]] = {
        "self-attention": lambda x: block.self_attention(x, x)[0],
        "LayerNorm": block.self_attention_residual.norm,
        "feed-forward": block.feed_forward,
        "norm over words": _norm_over_words,
    }
    moved = {}
    for name, part in parts.items():
        before, after = part(x), part(turned)  # [1, word, d_model] and [changed, word, d_model]
        moved[name] = ((after - before).norm(dim=-1) / before.norm(dim=-1)).numpy()
    return moved


def _norm_over_words(
    x: Float[Tensor, "batch word d_model"],
) -> Float[Tensor, "batch word d_model"]:
    """Normalise each feature over the words of a sentence, not each word over its features."""
    x = x - x.mean(dim=1, keepdim=True)  # [batch, word, d_model]
    return x / (x.var(dim=1, keepdim=True, correction=0) + 1e-5).sqrt()
