"""The block lab: how far a change of one word spreads through each part of an encoder block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from viz_transformer.labs.suited import check_suits
from viz_transformer.plots.perturbation import plot_spread
from viz_transformer.translator import Translator, load_translator
from viz_transformer.widgets.figure_lab.view import FigureLab, figure_lab

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ABOUT = (
    "Each column is one part of an encoder block, and all of them are given the same vectors. The "
    "vector of one word is then turned round, and each cell tells how far that word's output moved."
)


def block_lab(
    translator: Translator | None = None,
    sentence: str = "the black cat sleeps",
    *,
    layer: int = -1,
) -> FigureLab:
    """Return a view of which outputs of each part of a block move when one word changes.

    Args:
        translator: the translator with the encoder; by default the bundled one.
        sentence: the words, one of which is changed.
        layer: index of the encoder layer, from 0; by default the last. Its parts are given what it
            reads, the output of the layer before it.

    Raises:
        UserError: if the sentence holds an unknown word, or fewer than two words.
    """
    translator = load_translator() if translator is None else translator
    check_suits(translator, ("translate",), "a block lab, which looks into a translator's encoder")
    words = _words(translator, sentence)
    names = [f"{place + 1} {word}" for place, word in enumerate(words)]

    def draw(changed: str) -> Axes:
        place = names.index(changed)
        return plot_spread(words, place, block_spread(translator, sentence, place, layer=layer))

    return figure_lab(draw, {"changed": names}, labels={"changed": "change the word"}, about=_ABOUT)


@torch.no_grad()
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
    model = translator.model
    *earlier, block = model.encoder.layers[: range(model.config.n_encoder_layers)[layer] + 1]
    ids = torch.tensor([translator.vocabulary.source_ids(sentence)])
    x = model.embed_source(ids)  # [1, word, d_model]
    for each in earlier:
        x, _ = each(x, model.padding_mask(ids))
    other = x.clone()
    other[:, changed] = -other[:, changed]
    parts: dict[str, Callable[[Tensor], Tensor]] = {
        "self-attention": lambda x: block.self_attention(x, x)[0],
        "LayerNorm": block.self_attention_residual.norm,
        "feed-forward": block.feed_forward,
        "norm over words": _norm_over_words,
    }
    moved = {}
    for name, part in parts.items():
        before, after = part(x)[0], part(other)[0]  # [word, d_model]
        moved[name] = ((after - before).norm(dim=-1) / before.norm(dim=-1)).numpy()
    return moved


def _norm_over_words(x: Tensor) -> Tensor:
    """Normalise each feature over the words of a sentence, not each word over its features."""
    x = x - x.mean(dim=1, keepdim=True)  # [batch, word, d_model]
    return x / (x.var(dim=1, keepdim=True, correction=0) + 1e-5).sqrt()


def _words(translator: Translator, sentence: str) -> tuple[str, ...]:
    vocabulary = translator.vocabulary
    return tuple(vocabulary.tokens_of(vocabulary.source_ids(sentence)))
