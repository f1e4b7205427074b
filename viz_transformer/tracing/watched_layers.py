"""A watch on a model's attention modules: which layer returned which weights.

A model returns its weights in a list, without the numbers of the layers that made them, and only
when all are computed. A hook on every attention module sees them at once, so that what is not kept
is dropped before the next layer runs. The hooks are taken off again.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from viz_transformer.tracing.selection import TOLERANCE, Selection

#: An attribute that Hugging Face's models have, and their layers have not.
OF_A_MODEL = "base_model_prefix"


class WatchedLayers:
    """The weights that attention modules returned, with the numbers of their layers.

    A layer's number is the one in its module's name: 3 in ``model.layers.3.self_attn``. Where the
    name does not tell (a Swin layer is in a stage, and ALBERT runs one layer many times), layers
    are counted as they run.
    """

    def __init__(self, selection: Selection, n_layers: Mapping[tuple[str, str], int]) -> None:
        self._selection = selection
        self._n_layers = n_layers  # how many modules have a role in a stack
        self._joint: dict[tuple[str, str], Tensor] = {}  # [kept layer, 1, head, query, key]
        self._parts: dict[tuple[str, str], list[Tensor]] = {}  # what is filled of it, [1, head, query, key]
        self._seen: dict[int, tuple[Any, int]] = {}  # the tensor too: while it lives, its id is its own
        self._next: Counter[tuple[str, str]] = Counter()  # per stack and role, the next layer's least number
        self._declared: set[bool | None] = set()

    @property
    def causal(self) -> bool | None:
        """Whether the modules that returned weights are causal, if they all say the same."""
        return next(iter(self._declared)) if len(self._declared) == 1 else None

    def saw_all(self, layers: Mapping[str, Sequence[Any]]) -> bool:
        """Return whether every layer of every kind was seen, and so is known to hold weights."""
        return all(id(layer) in self._seen for of_kind in layers.values() for layer in of_kind)

    def numbers(self, layers: Sequence[Any]) -> list[int]:
        """Return the numbers of a model's layers, or 0, 1, 2 … where one was not seen."""
        numbers = [self._seen[id(layer)][1] for layer in layers if id(layer) in self._seen]
        whole = len(layers) == len(numbers) == len(set(numbers))
        return numbers if whole else list(range(len(layers)))

    def kept(self, layers: Sequence[Any]) -> list[Any]:
        """Return what is kept of layers; of those that no hook saw, it is taken now."""
        numbered = zip(layers, self.numbers(layers), strict=True)
        return [self._kept(layer, number) for layer, number in numbered]

    def whole(self, layers: Sequence[Any]) -> NDArray[Any] | None:
        """Return the array [layer, head, query, key] in which the kept ones of some layers already are."""
        kept = [layer for layer in layers if layer is not None and layer.numel()]
        for place, parts in self._parts.items():
            if len(parts) == len(kept) and all(map(operator.is_, parts, kept)):
                return self._joint[place][: len(parts), 0].numpy()
        return None

    def _kept(self, weights: Any, number: int) -> Any:
        if weights is None or id(weights) in self._seen or not self._selection.keeps(number):
            return weights
        return self._selection.take(weights, number)

    def begin(self, model_name: str) -> None:
        """Count the layers of a model again: it begins another pass."""
        for place in list(self._next):
            if not model_name or f"{place[0]}.".startswith(f"{model_name}."):
                del self._next[place]

    def see(self, module: nn.Module, place: tuple[str, str], number: int | None, output: Any) -> Any:
        """Record the weights in an attention module's output, and return what is passed on.

        Args:
            module: the module.
            place: its stack and its role there.
            number: of its layer, where its name tells.
            output: what its forward returned.
        """
        if not isinstance(output, tuple):
            return output
        passed: list[Any] = []
        for value in output:
            if id(value) not in self._seen and _is_attention(value, has_sink(module)):
                self._declared.add(getattr(module, "is_causal", None))
                least = self._next[place]
                self._next[place] = max(number or 0, least) + 1
                value = self._record(value, place, max(number or 0, least))
            passed.append(value)
        same = all(new is old for new, old in zip(passed, output, strict=True))
        return output if same else tuple(passed)

    def _record(self, weights: Tensor, place: tuple[str, str], number: int) -> Tensor:
        if self._selection.keeps(number):
            weights = self._joined(self._selection.take(weights, number), place)
        else:
            weights = weights.new_empty((0, 0, *weights.shape[2:]))
        self._seen[id(weights)] = (weights, number)
        return weights

    def _joined(self, weights: Tensor, place: tuple[str, str]) -> Tensor:
        """Move weights to where all of their stack are, so that memory never holds the layers twice."""
        if (
            len(weights) > 1
            or weights.device.type != "cpu"
            or f"{weights.dtype}" != f"torch.{self._selection.dtype}"
        ):
            return weights
        parts = self._parts.setdefault(place, [])
        if place not in self._joint:
            self._joint[place] = weights.new_empty((self._n_layers[place], *weights.shape))
        joint = self._joint[place]
        if len(parts) == len(joint) or joint.shape[1:] != weights.shape:
            return weights
        parts.append(joint[len(parts)].copy_(weights))
        return parts[-1]


@contextmanager
def watching(model: nn.Module, selection: Selection) -> Iterator[WatchedLayers]:
    """Watch a model's attention modules inside a ``with`` block, and drop what is not kept."""
    attention = {
        name: module
        for name, module in model.named_modules()
        if "attention" in type(module).__name__.lower() or "attn" in type(module).__name__.lower()
    }
    places = {name: place_of(name) for name in attention}
    shared = Counter(places.values())
    watched = WatchedLayers(selection, Counter((stack, role) for stack, role, _ in places.values()))
    handles = [
        module.register_forward_pre_hook(lambda *_, name=name: watched.begin(name))
        for name, module in model.named_modules()
        if hasattr(module, OF_A_MODEL)
    ]
    for name, module in attention.items():
        stack, role, number = places[name]
        hook = _hook(watched, (stack, role), number if shared[places[name]] == 1 else None)
        # First of all hooks, so that the others never see what is dropped.
        handles.append(module.register_forward_hook(hook, prepend=True))
    try:
        yield watched
    finally:
        for handle in handles:
            handle.remove()


def _hook(watched: WatchedLayers, place: tuple[str, str], number: int | None) -> Callable[..., Any]:
    def hook(module: nn.Module, _: Any, output: Any) -> Any:
        return watched.see(module, place, number, output)

    return hook


def has_sink(module: nn.Module) -> bool:
    """Return whether attention may go to a sink, which is no token: a parameter called so says it."""
    return any("sink" in name for name, _ in module.named_parameters(recurse=False))


def place_of(name: str) -> tuple[str, str, int | None]:
    """Split a module's name into its stack, its role in a layer, and the layer's number.

    >>> place_of("model.layers.3.self_attn")
    ('model.layers', 'self_attn', 3)
    """
    parts = name.split(".")
    first = next((i for i, part in enumerate(parts) if part.isdigit()), None)
    if first is None:
        return name, "", None
    role = ".".join(part for part in parts[first + 1 :] if not part.isdigit())
    return ".".join(parts[:first]), role, int(parts[first])


def _is_attention(value: Any, has_sink: bool) -> bool:
    """Return whether a value holds attention weights: rows that sum to 1, or to 0."""
    if not isinstance(value, Tensor) or value.ndim != 4 or not value.is_floating_point() or not value.numel():
        return False
    sums = value.sum(-1, dtype=torch.float32)  # [batch, head, query]
    if value.min() < 0 or not 0 < sums.max() <= 1 + TOLERANCE:
        return False
    return has_sink or bool(((sums > 1 - TOLERANCE) | (sums == 0)).all())
