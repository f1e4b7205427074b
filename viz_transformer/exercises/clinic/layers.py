"""Ward 3, on: a block with three faults, and six layers that are one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from viz_transformer.exercises.clinic.properties import (
    Property,
    Wrong,
    close,
    made,
    mended,
    no_leak,
    runs,
    vectors,
)
from viz_transformer.exercises.instruments import who_learns
from viz_transformer.exercises.kinds import Exercise

# -- 11: three faults in one block -----------------------------------------------------------------


class _Block(nn.Module):
    """The right one; `batch_first` and `attend` are what the wrong ones change."""

    batch_first = True

    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, n_heads, batch_first=self.batch_first)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def attend(self, x: Tensor, may_not: Tensor | None, padding: Tensor | None) -> Any:
        return self.attention(x, x, x, attn_mask=may_not, key_padding_mask=padding)[0]

    def forward(self, x: Tensor, may_not: Tensor | None = None, padding: Tensor | None = None) -> Tensor:
        x = self.norm_1(x + self.attend(x, may_not, padding))
        return self.norm_2(x + self.feed_forward(x))


class _WithTuple(_Block):
    batch_first = False

    def attend(self, x: Tensor, may_not: Tensor | None, padding: Tensor | None) -> Any:
        return self.attention(x, x, x)


class _SequenceFirst(_Block):
    batch_first = False

    def attend(self, x: Tensor, may_not: Tensor | None, padding: Tensor | None) -> Any:
        return self.attention(x, x, x)[0]


class _NoMasks(_SequenceFirst):
    batch_first = True


class _NoPadding(_Block):
    def attend(self, x: Tensor, may_not: Tensor | None, padding: Tensor | None) -> Any:
        return self.attention(x, x, x, attn_mask=may_not)[0]


_Blocks = Callable[[int, int, int], nn.Module]


def _block(block: _Blocks) -> nn.Module:
    return made(block, 8, 2, 16)


def _gives_a_tensor(block: _Blocks) -> bool:
    module, x = _block(block), vectors(3, 4, 8)
    return runs(module, x) and close(module(x) * 0, x * 0)


def _sentences_are_apart(block: _Blocks) -> bool:
    return no_leak(_block(block), vectors(3, 4, 8), between="sentences")


def _causal_mask_is_heeded(block: _Blocks) -> bool:
    module, future = _block(block), torch.ones(4, 4, dtype=torch.bool).triu(1)
    return no_leak(lambda x: module(x, future), vectors(3, 4, 8))


def _padding_is_heeded(block: _Blocks) -> bool:
    module, x = _block(block), vectors(3, 4, 8)
    longer = torch.cat([x, vectors(3, 2, 8, seed=1)], 1)  # two positions of padding behind
    padding = torch.tensor([[False] * 4 + [True] * 2]).expand(3, 6)
    return close(module(longer, None, padding)[:, :4], module(x))


BLOCK = mended(
    (
        Property(
            "a tensor as large as the input",
            _gives_a_tensor,
            "It still stops: nn.MultiheadAttention returns two things, the output and the weights, "
            "and a pair cannot be added to a tensor. Only one of the two belongs into the sum.",
        ),
        Property(
            "no leak between sentences",
            _sentences_are_apart,
            "It runs, and sentences look at each other: unless it is told otherwise, "
            "nn.MultiheadAttention takes the first axis for positions and the second for the "
            "batch.",
        ),
        Property(
            "the causal mask is heeded",
            _causal_mask_is_heeded,
            "The block takes may_not and does nothing with it: the future leaks. Where does "
            "nn.MultiheadAttention take who may not look at whom?",
        ),
        Property(
            "padding changes nothing",
            _padding_is_heeded,
            "Two positions of padding behind a sentence change its words, although padding names "
            "them. One argument of forward is not used yet.",
        ),
    ),
    _Block,
    (
        Wrong("a tensor as large as the input", _WithTuple),
        Wrong("no leak between sentences", _SequenceFirst),
        Wrong("the causal mask is heeded", _NoMasks),
        Wrong("padding changes nothing", _NoPadding),
    ),
    "Three faults, and only the first one raised an error. The others would have trained.",
)

# -- 12: layers that are one -----------------------------------------------------------------------


class _Stack(nn.Module):
    """The right one; the wrong ones make their layers, or go through them, otherwise."""

    def __init__(self, make_layer: Callable[[], nn.Module], n_layers: int) -> None:
        super().__init__()
        self.layers = self.build(make_layer, n_layers)

    def build(self, make_layer: Callable[[], nn.Module], n_layers: int) -> Any:
        return nn.ModuleList([make_layer() for _ in range(n_layers)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class _OneLayer(_Stack):
    def build(self, make_layer: Callable[[], nn.Module], n_layers: int) -> Any:
        return nn.ModuleList([make_layer()] * n_layers)


class _OneLayerAndNothing(_OneLayer):
    def forward(self, x: Tensor) -> None:
        super().forward(x)


class _Copies(_Stack):
    def build(self, make_layer: Callable[[], nn.Module], n_layers: int) -> Any:
        layer = make_layer()
        return nn.ModuleList([copy.deepcopy(layer) for _ in range(n_layers)])


class _PlainList(_Stack):
    def build(self, make_layer: Callable[[], nn.Module], n_layers: int) -> Any:
        return [make_layer() for _ in range(n_layers)]


class _OnlyTheLast(_Stack):
    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            y = layer(x)
        return y


def _stack(stack: Callable[..., nn.Module]) -> nn.Module:
    return made(stack, lambda: nn.Linear(8, 8), 6)


def _returns(stack: Callable[..., nn.Module]) -> bool:
    return isinstance(_stack(stack)(vectors(2, 4, 8)), Tensor)


def _linears(stack: Callable[..., nn.Module]) -> list[nn.Module]:
    return [each for each in _stack(stack).modules() if isinstance(each, nn.Linear)]


def _known_to_torch(stack: Callable[..., nn.Module]) -> bool:
    return len(_linears(stack)) > 0


def _six_of_them(stack: Callable[..., nn.Module]) -> bool:
    return len(_linears(stack)) == 6


def _all_different(stack: Callable[..., nn.Module]) -> bool:
    return not who_learns(_stack(stack), vectors(2, 4, 8)).twins


def _one_after_another(stack: Callable[..., nn.Module]) -> bool:
    x = vectors(2, 4, 8)
    found = _stack(stack)(x)
    for layer in _linears(stack):
        x = layer(x)
    return close(found, x)


LAYERS = mended(
    (
        Property(
            "something comes back",
            _returns,
            "It still gives back None: forward goes through the layers and does not say what came "
            "out. (That is not its only fault.)",
        ),
        Property(
            "torch knows the layers",
            _known_to_torch,
            "A plain list hides the layers from torch: parameters() is empty, so nothing would be "
            "trained or saved. nn.ModuleList is a list that torch looks into.",
        ),
        Property(
            "six layers are six",
            _six_of_them,
            "Six places, and one layer stands in all of them: [layer] * 6 repeats the same object. "
            "It has a sixth of the parameters.",
        ),
        Property(
            "layers start different",
            _all_different,
            "Six layers now, and all of them begin with the same numbers: a copy copies the "
            "weights too. Call make_layer once for each.",
        ),
        Property(
            "one after another",
            _one_after_another,
            "Each layer is to read what the one before it wrote. Here some of them are computed "
            "and forgotten.",
        ),
    ),
    _Stack,
    (
        Wrong("something comes back", _OneLayerAndNothing),
        Wrong("six layers are six", _OneLayer),
        Wrong("layers start different", _Copies),
        Wrong("torch knows the layers", _PlainList),
        Wrong("one after another", _OnlyTheLast),
    ),
    "A stack is only as deep as its layers are different.",
)

EXERCISES = (
    Exercise(
        "clinic.11",
        "Three faults in one block",
        BLOCK,
        (
            "Mend the error first, then ask the leak meter, once between sentences and once "
            "between positions.",
            "output, weights = self.attention(…); batch_first=True; attn_mask= and key_padding_mask=.",
        ),
    ),
    Exercise(
        "clinic.12",
        "Six layers that are one",
        LAYERS,
        (
            "Count the parameters: one layer has 8 × 8 + 8 = 72.",
            "make_layer() builds a new layer each time that it is called.",
        ),
    ),
)
