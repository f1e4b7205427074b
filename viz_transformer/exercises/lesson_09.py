"""Exercises of lesson 9, The block and the whole: LayerNorm, both blocks, and the Transformer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from viz_transformer.exercises import lent
from viz_transformer.exercises.answer_types import Choice, Exercise, Mistake
from viz_transformer.exercises.module_class import ModuleClass

_EPS = 1e-5
_NOT_TORCHS = "That is torch's own layer norm. Write it yourself, with mean and var."


def _normal(rng: np.random.Generator, *shape: int) -> Tensor:
    return torch.from_numpy(rng.normal(rng.uniform(-2, 2), rng.uniform(0.5, 3), size=shape)).float()


def _masked(rng: np.random.Generator, batch: int, n: int) -> Tensor:
    """Draw which of n tokens are words, [batch, 1, 1, n]; the last of the first sentence is padding."""
    words = torch.from_numpy(rng.random((batch, 1, 1, n)) < 0.7)
    words[..., 0], words[0, ..., -1] = True, False
    return words


def _to_normalise(rng: np.random.Generator) -> tuple[Any, Any]:
    batch, n, d_model = (int(size) for size in (*rng.permutation([2, 3, 4])[:2], rng.integers(6, 9)))
    return (d_model,), (_normal(rng, batch, n, d_model),)


def _to_encode(rng: np.random.Generator) -> tuple[Any, Any]:
    batch, n = (int(size) for size in rng.permutation([2, 3, 4])[:2])
    return (8, 2, 12), (_normal(rng, batch, n, 8), _masked(rng, batch, n))


def _to_decode(rng: np.random.Generator) -> tuple[Any, Any]:
    batch, n, n_memory = (int(size) for size in rng.permutation([2, 3, 4]))
    mask = _masked(rng, batch, n) & lent.causal_mask(n)
    x, memory = _normal(rng, batch, n, 8), _normal(rng, batch, n_memory, 8)
    return (8, 2, 12), (x, memory, mask, _masked(rng, batch, n_memory))


def _to_translate(rng: np.random.Generator) -> tuple[Any, Any]:
    batch, n_source, n_target = (int(size) for size in rng.permutation([2, 3, 4]))
    source, target = (torch.from_numpy(rng.integers(1, 9, (batch, n))) for n in (n_source, n_target))
    source[0, -1] = target[1, -1] = 0
    return (9, 8, 2, 12, 2), (source, target)


def _like(cls: type, **methods: Callable[..., Any]) -> Any:
    """Return a class like one of the parts, with other methods."""
    return type(cls.__name__, (cls,), methods)


def _norm(
    axes: Any = -1, *, correction: int = 0, power: float = 0.5, eps: float = _EPS, centred: bool = True
) -> Any:
    """Return a LayerNorm that differs in one respect."""

    def forward(self: Any, x: Tensor) -> Tensor:
        mean = x.mean(axes, keepdim=True)
        variance = x.var(axes, keepdim=True, correction=correction)
        return (x - mean if centred else x) / (variance + eps) ** power * self.scale + self.shift

    return _like(lent.LayerNorm, forward=forward)


def _without_keepdim(self: Any, x: Tensor) -> Tensor:
    return (x - x.mean(-1)) / (x.var(-1, correction=0) + _EPS).sqrt() * self.scale + self.shift


_NORM_MISTAKES = (
    Mistake(
        _norm(0),
        "You took the mean over axis 0, the sentences, so each word now depends on the other sentences of "
        "the batch. Which axis holds the numbers of one word?",
    ),
    Mistake(
        _norm(1),
        "You took the mean over axis 1, the words, so each word now depends on all words of its sentence, "
        "even the later ones. Which axis holds one word's numbers?",
    ),
    Mistake(
        _norm((0, 1)),
        "This is BatchNorm: one mean for each feature, over all words of all sentences. LayerNorm has one "
        "mean for each word.",
    ),
    Mistake(_norm((1, 2)), "You took one mean for a whole sentence. LayerNorm has one for each word."),
    Mistake(_norm((0, 1, 2)), "You took one mean of all numbers. Did you leave out the axis?"),
    Mistake(
        _norm(correction=1),
        "The axis is right, but the variance is a little too large. torch's var divides by one less than the "
        "count unless you pass correction=0.",
    ),
    Mistake(
        _norm(power=1.0),
        "The axis is right, but you divided by the variance. Divide by its square root.",
    ),
    Mistake(
        _norm(centred=False),
        "You divided by the standard deviation, but the mean is still there. Subtract it first.",
    ),
    Mistake(
        _like(
            lent.LayerNorm, forward=lambda self, x: (x - x.mean(-1, keepdim=True)) * self.scale + self.shift
        ),
        "The mean is 0, but the standard deviation is unchanged. Divide by the square root of the variance.",
    ),
    Mistake(
        _like(lent.LayerNorm, forward=lambda self, x: _norm()(x.shape[-1])(x)),
        "Mean and standard deviation are right. Multiply by self.scale and add self.shift, which training "
        "will adjust.",
    ),
    Mistake(
        _like(lent.LayerNorm, forward=_without_keepdim),
        "A RuntimeError. If its message is that sizes must match: x.mean(-1) has lost the last axis. "
        "keepdim=True keeps it with the length 1. The same goes for var.",
    ),
)


def _encoder(forward: Callable[..., Any]) -> Any:
    return _like(lent.EncoderBlock, forward=forward)


def _self(block: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    return block.attention(x, x, mask)[0]


def _pre_norm(self: Any, x: Tensor, mask: Tensor) -> Tensor:
    x = x + _self(self, self.norms[0](x), mask)
    return x + self.feed_forward(self.norms[1](x))


def _first_half(block: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    return block.norms[0](x + _self(block, x, mask))


_ENCODER_MISTAKES = (
    Mistake(
        _encoder(lambda self, x, mask: _first_half(self, x, mask)),
        "That is the first half. The feed-forward network follows, with a sum and a norm of its own.",
    ),
    Mistake(
        _encoder(lambda self, x, mask: self.norms[1](self.feed_forward(_first_half(self, x, mask)))),
        "The sum around the feed-forward network is missing: add its output to what went into it, before the "
        "norm.",
    ),
    Mistake(
        _encoder(lambda self, x, mask: self.norms[1](x + self.feed_forward(_first_half(self, x, mask)))),
        "The second sum adds the block's first x. Add what went into the feed-forward network.",
    ),
    Mistake(
        _encoder(lambda self, x, mask: self.norms[1](_first_half(self, x, mask) + self.feed_forward(x))),
        "The feed-forward network gets the block's first x, so the output of attention never reaches it. "
        "Give it the output of the first norm.",
    ),
    Mistake(
        _encoder(lambda self, x, mask: (h := _first_half(self, x, mask)) + self.feed_forward(h)),
        "The last norm is missing. It is taken of the second sum.",
    ),
    Mistake(
        _encoder(
            lambda self, x, mask: self.norms[0]((h := _first_half(self, x, mask)) + self.feed_forward(h))
        ),
        "You used the first norm twice. Each has parameters of its own: the second is self.norms[1].",
    ),
    Mistake(
        _encoder(
            lambda self, x, mask: self.norms[1](
                (h := self.norms[0](self.attention(x, x, mask)[0])) + self.feed_forward(h)
            )
        ),
        "The sum around attention is missing: add its output to x before the norm.",
    ),
    Mistake(
        _encoder(
            lambda self, x, mask: self.norms[1]((h := _first_half(self, x, None)) + self.feed_forward(h))
        ),
        "The mask is not used, so words attend to the padding. Give it to self.attention.",
    ),
    Mistake(
        _encoder(_pre_norm),
        "This is a pre-norm block: each norm comes before its part. In the paper's block, each norm comes "
        "after the sum.",
    ),
    Mistake(
        _encoder(lambda self, x, mask: x + self.attention(x, x, mask)),
        "A TypeError. Did you add everything that self.attention returns? It is a tuple of the output and "
        "the weights: take the output, [0].",
    ),
)


def _decoder(
    *,
    mask: str = "mask",
    memory_mask: str = "memory_mask",
    crossed: Callable[..., Tensor] | None = None,
    order: tuple[int, ...] = (0, 1, 2),
    sums: tuple[bool, ...] = (True, True, True),
    parts: str = "acf",
) -> Any:
    """Return a DecoderBlock that differs in one respect."""

    def forward(self: Any, x: Tensor, memory: Tensor, own: Tensor, others: Tensor) -> Tensor:
        masks = {"mask": own, "memory_mask": others, "none": None}
        work = {
            "a": lambda h: self.attention(h, h, masks[mask])[0],
            "c": lambda h: (
                crossed(self, h, memory)
                if crossed
                else self.cross_attention(h, memory, masks[memory_mask])[0]
            ),
            "f": self.feed_forward,
        }
        for part, norm, is_added in zip(parts, order, sums, strict=False):
            done = work[part](x)
            x = self.norms[norm](x + done if is_added else done)
        return x

    return _like(lent.DecoderBlock, forward=forward)


_DECODER_MISTAKES = (
    Mistake(
        _decoder(parts="af", order=(0, 2)),
        "Cross-attention is missing, so the output does not depend on the source.",
    ),
    Mistake(
        _decoder(parts="caf"),
        "Cross-attention comes first here. In the paper, self-attention comes before it.",
    ),
    Mistake(
        _decoder(crossed=lambda self, h, memory: self.cross_attention(h, h)[0]),
        "Your cross-attention attends to the target. Its keys and values come from memory.",
    ),
    Mistake(
        _decoder(memory_mask="none"),
        "Cross-attention has no mask, so the target attends to the source's padding. Give it memory_mask.",
    ),
    Mistake(
        _decoder(mask="none"),
        "Self-attention has no mask, so each word attends to later words. Give it mask.",
    ),
    Mistake(
        _decoder(memory_mask="mask"),
        "You used mask for cross-attention. It belongs to the target; the source's is memory_mask.",
    ),
    Mistake(
        _decoder(sums=(True, False, True)),
        "The sum around cross-attention is missing: add its output to x before the norm.",
    ),
    Mistake(
        _decoder(sums=(False, True, True)),
        "The sum around self-attention is missing: add its output to x before the norm.",
    ),
    Mistake(
        _decoder(sums=(True, True, False)),
        "The sum around the feed-forward network is missing: add its output to x before the norm.",
    ),
    Mistake(
        _decoder(order=(0, 1, 1)),
        "The second norm is used twice. The feed-forward network has the third, self.norms[2].",
    ),
    Mistake(_decoder(parts="ac"), "The feed-forward network is missing."),
)


def _whole(
    *,
    scaled: bool = True,
    positions: bool = True,
    causal: bool = True,
    source_padding: bool = True,
    target_padding: bool = True,
    memory_of: str = "last",
    logits: bool = True,
) -> Any:
    """Return a Transformer that differs in one respect."""

    def vectors(self: Any, ids: Tensor) -> Tensor:
        d_model = self.table.shape[1]
        found = lent.embed(ids, self.table) * (math.sqrt(d_model) if scaled else 1)
        return found + lent.positional_encoding(ids.shape[1], d_model) if positions else found

    def forward(self: Any, source: Tensor, target: Tensor) -> Tensor:
        source_mask = lent.padding_mask(source, 0 if source_padding else -1)
        mask = lent.padding_mask(target, 0 if target_padding else -1)
        mask = mask & lent.causal_mask(target.shape[1]) if causal else mask
        memory = start = vectors(self, source)
        for block in self.encoder:
            memory = block(memory if memory_of == "last" else start, source_mask)
        x = vectors(self, target)
        for block in self.decoder:
            x = block(x, start if memory_of == "embeddings" else memory, mask, source_mask)
        return x @ self.table.T if logits else x

    return _like(lent.Transformer, forward=forward)


_WHOLE_MISTAKES = (
    Mistake(
        _whole(scaled=False),
        "The embeddings are not multiplied by √d_model before the positions are added.",
    ),
    Mistake(
        _whole(positions=False),
        "The positions are missing: add positional_encoding to the embeddings.",
    ),
    Mistake(
        _whole(causal=False),
        "The decoder attends to later words. Join the target's padding mask with causal_mask by &.",
    ),
    Mistake(
        _whole(source_padding=False),
        "The source's padding is attended to. Its mask goes to the encoder, and to every decoder block.",
    ),
    Mistake(
        _whole(target_padding=False),
        "The target's padding is attended to. Join causal_mask with padding_mask(target, 0) by &.",
    ),
    Mistake(
        _whole(memory_of="first"),
        "Each encoder block gets the embeddings. It should get the output of the block before it.",
    ),
    Mistake(
        _whole(memory_of="embeddings"),
        "The decoder attends to the source's embeddings. Its memory is the output of the last encoder block.",
    ),
    Mistake(
        _whole(logits=False),
        "You return the decoder's vectors. Multiply them by the table, self.table.T, to get the logits.",
    ),
)

_AXIS = Choice(
    "-1",
    ("0", "1", "-1"),
    (
        Mistake("0", "Axis 0 counts the sentences. Which axis holds the numbers of one word?"),
        Mistake("1", "Axis 1 counts the words. Which axis holds the numbers of one word?"),
    ),
)

EXERCISES = (
    Exercise(
        "9.1",
        "Write LayerNorm",
        ModuleClass(
            lent.LayerNorm,
            _to_normalise,
            _NORM_MISTAKES,
            right="torch.nn.LayerNorm gives the same numbers.",
            forbidden=dict.fromkeys(("layer_norm", "native_layer_norm"), _NOT_TORCHS),
        ),
        (
            "variance is [..., 1], one number for each word. Divide by (variance + 1e-5).sqrt().",
            "Multiply the result by self.scale, and add self.shift.",
        ),
        part="LayerNorm",
        lines="""class LayerNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(___, keepdim=True)
        variance = x.var(___, correction=0, keepdim=True)
        return ___ * self.scale + self.shift
""",
        gaps=(
            _AXIS,
            _AXIS,
            Choice(
                "(x - mean) / (variance + 1e-5).sqrt()",
                (
                    "(x - mean) / (variance + 1e-5)",
                    "(x - mean) / (variance + 1e-5).sqrt()",
                    "x / (variance + 1e-5).sqrt()",
                ),
                (
                    Mistake("(x - mean) / (variance + 1e-5)", "Divide by the square root of the variance."),
                    Mistake("x / (variance + 1e-5).sqrt()", "The mean is still there. Subtract it first."),
                ),
            ),
        ),
    ),
    Exercise(
        "9.2",
        "Write the encoder block",
        ModuleClass(
            lent.EncoderBlock,
            _to_encode,
            _ENCODER_MISTAKES,
            right="Two sums and two norms: that is the paper's encoder block.",
        ),
        (
            "The second half is built like the first: add the output of the part to its input, and normalise "
            "the sum.",
            "self.norms[1](x + self.feed_forward(x)), where x is the result of the first half.",
        ),
        part="EncoderBlock",
        lines="""def forward(self, x, mask):
    attended, _ = self.attention(x, x, mask)
    x = self.norms[0](x + attended)
    return self.norms[1](___)
""",
        gaps=(
            Choice(
                "x + self.feed_forward(x)",
                ("self.feed_forward(x)", "x + self.feed_forward(x)", "attended + self.feed_forward(x)"),
                (
                    Mistake("self.feed_forward(x)", "The sum around the feed-forward network is missing."),
                    Mistake(
                        "attended + self.feed_forward(x)",
                        "Add what goes into the feed-forward network, the result of the first half.",
                    ),
                ),
            ),
        ),
    ),
    Exercise(
        "9.3",
        "Write the decoder block",
        ModuleClass(
            lent.DecoderBlock,
            _to_decode,
            _DECODER_MISTAKES,
            right="Three sums and three norms: that is the paper's decoder block.",
        ),
        (
            "Write three lines, each like those of the encoder block: self-attention, cross-attention, "
            "feed-forward.",
            "In cross-attention the queries come from x and the keys and values from memory: "
            "self.cross_attention(x, memory, memory_mask).",
        ),
        part="DecoderBlock",
        lines="""def forward(self, x, memory, mask, memory_mask):
    attended, _ = self.attention(___)
    x = self.norms[0](x + attended)
    found, _ = self.cross_attention(___)
    x = self.norms[1](___)
    return self.norms[2](x + self.feed_forward(x))
""",
        gaps=(
            Choice(
                "x, x, mask",
                ("x, x, mask", "x, memory, mask", "x, x, memory_mask"),
                (
                    Mistake("x, memory, mask", "Self-attention attends to the target itself."),
                    Mistake("x, x, memory_mask", "memory_mask belongs to the source."),
                ),
            ),
            Choice(
                "x, memory, memory_mask",
                ("memory, x, mask", "x, memory, mask", "x, memory, memory_mask"),
                (
                    Mistake("memory, x, mask", "The queries are made from the decoder's vectors, x."),
                    Mistake("x, memory, mask", "The keys are the source's, and so must be the mask."),
                ),
            ),
            Choice(
                "x + found",
                ("found", "x + found", "memory + found"),
                (
                    Mistake("found", "The sum around cross-attention is missing."),
                    Mistake("memory + found", "Add what went into cross-attention as queries: x."),
                ),
            ),
        ),
    ),
    Exercise(
        "9.4",
        "Write the Transformer",
        ModuleClass(
            lent.Transformer,
            _to_translate,
            _WHOLE_MISTAKES,
            right="It is complete: it turns ids into logits.",
        ),
        (
            "The decoder's loop is like the encoder's: x goes through one block after another, and each "
            "block is also given memory and both masks.",
            "The logits are x @ self.table.T, [batch, n_target, vocabulary].",
        ),
        part="Transformer",
        lines="""def forward(self, source, target):
    source_mask = padding_mask(source, 0)
    target_mask = padding_mask(target, 0) & ___
    memory = self.vectors(source)
    for block in self.encoder:
        memory = block(___, source_mask)
    x = self.vectors(target)
    for block in self.decoder:
        x = block(x, ___, target_mask, source_mask)
    return x @ ___""",
        gaps=(
            Choice(
                "causal_mask(target.shape[1])",
                ("source_mask", "causal_mask(target.shape[1])"),
                (Mistake("source_mask", "The decoder would attend to later words, which must be hidden."),),
            ),
            Choice(
                "memory",
                ("self.vectors(source)", "memory"),
                (
                    Mistake(
                        "self.vectors(source)",
                        "Each encoder block would get the embeddings, not the output of the block before it.",
                    ),
                ),
            ),
            Choice(
                "memory",
                ("x", "memory"),
                (Mistake("x", "In cross-attention the keys and values come from the encoder's output."),),
            ),
            Choice(
                "self.table.T",
                ("self.table", "self.table.T"),
                (
                    Mistake(
                        "self.table",
                        "x is [batch, n, d_model] and the table [vocabulary, d_model]: transpose the table.",
                    ),
                ),
            ),
        ),
    ),
)
