"""A model's run: in evaluation mode, watched by hooks on its modules, and left exactly as it was.

`LayerWatch` sees which layer returned which attention weights, `BiasWatch` what is added to scores for
positions. The watches of windows and of heads that are modules are in `whole_maps` and `call_kinds`.
"""

from __future__ import annotations

import inspect
import math
import operator
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any, Protocol

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from viz_transformer.capturing.arguments import TOLERANCE, Selection
from viz_transformer.errors import UserError

_COMPILERS = frozenset({"torch._dynamo", "torch.nn.attention.flex_attention"})
_CONTAINERS = (dict, OrderedDict, list, set)


@contextmanager
def uncompiled() -> Iterator[None]:
    """Run what torch.compile made as it was written: compiled code does not call hooks put on later."""
    compiles = not _COMPILERS.isdisjoint(sys.modules)  # they take seconds to import
    can = compiles and hasattr(torch.compiler, "set_stance")  # since torch 2.6
    with torch.compiler.set_stance("force_eager") if can else nullcontext():
        yield


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Run a model in evaluation mode and without gradients, then restore it.

    Dropout would remove weights at random, and their rows would no longer sum to 1. Restored are
    each module's own training flag (a part may be frozen while the whole trains), and whatever
    else a forward may leave in a module: Hugging Face registers hooks on the layers whose
    attention is requested, and a model of your own may keep its last weights or count its calls.
    """
    before = [(each, _snapshot(vars(each)), each.training) for each in model.modules()]
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    with torch.no_grad(), uncompiled():
        try:
            for module, _, _ in before:
                module.training = False
            yield
        finally:
            for module, snapshot, training in before:
                _restore(vars(module), snapshot)
                module.training = training  # a scripted module keeps it elsewhere
            for buffer, values in buffers:
                buffer.copy_(values)


@contextmanager
def attention_implementation(model: nn.Module, implementation: str) -> Iterator[None]:
    """Switch the Hugging Face models in a module to one attention implementation, then restore it.

    Args:
        model: such a model, or a module that holds one.
        implementation: ``"eager"``, the only one with which a model returns its weights; or
            ``"sdpa"``, torch's own function.
    """
    configs: dict[int, Any] = {}
    for module in model.modules():
        _collect_configs(getattr(module, "config", None), configs)
    before = [(config, _snapshot(vars(config))) for config in configs.values()]
    try:
        for config in configs.values():
            # Falcon's eager attention adds its ALiBi twice; sdpa, with which it runs, adds it once.
            config._attn_implementation = "sdpa" if getattr(config, "alibi", False) else implementation
        yield
    finally:
        for config, snapshot in before:
            _restore(vars(config), snapshot)


def _collect_configs(config: Any, configs: dict[int, Any]) -> None:
    """Collect a configuration and those nested in it, such as that of a larger model's text part."""
    if hasattr(config, "_attn_implementation") and id(config) not in configs:
        configs[id(config)] = config
        for nested in vars(config).values():
            _collect_configs(nested, configs)


def _snapshot(attributes: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Record every attribute, and the content of each container."""
    return {
        name: (value, value.copy() if type(value) in _CONTAINERS else None)
        for name, value in attributes.items()
    }


def _restore(attributes: dict[str, Any], snapshot: dict[str, tuple[Any, Any]]) -> None:
    attributes.clear()
    for name, (value, content) in snapshot.items():
        attributes[name] = value
        if content is not None and type(value) is list:
            value[:] = content
        elif content is not None:
            value.clear()
            value.update(content)


def random_state(device: torch.device) -> tuple[Tensor, ...]:
    """Return from where random numbers are drawn: on the processor, and on a CUDA device."""
    states = (torch.random.get_rng_state(),)
    return (*states, torch.cuda.get_rng_state(device)) if device.type == "cuda" else states


@contextmanager
def drawing_from(states: tuple[Tensor, ...], device: torch.device) -> Iterator[None]:
    """Draw the random numbers that followed a `random_state`, then go on as before."""
    before = random_state(device)
    try:
        _set_random_state(states, device)
        yield
    finally:
        _set_random_state(before, device)


def _set_random_state(states: tuple[Tensor, ...], device: torch.device) -> None:
    torch.random.set_rng_state(states[0])
    if len(states) > 1:
        torch.cuda.set_rng_state(states[1], device)


@contextmanager
def within_sizes(model: Any, *read: Any) -> Iterator[None]:
    """Say which size of a model was passed, where torch only says that an index is out of range.

    Args:
        model: what runs inside the ``with`` block.
        read: the token ids that it reads, each [batch, position]; what is none is not looked at.

    Raises:
        UserError: if an id is beyond the vocabulary, or a text is longer than the model's positions.
    """
    try:
        yield
    except (IndexError, RuntimeError) as error:
        message = _too_large(
            model, [each for each in read if isinstance(each, Tensor) and each.ndim == 2], error
        )
        if message is None:
            raise
        raise UserError(message) from error


def _too_large(model: Any, read: list[Tensor], error: Exception) -> str | None:
    """Return which size the error is about, if it is about one."""
    name, is_index = type(model).__name__, "index out of range in self" in str(error)
    embeddings = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    n_tokens = getattr(embeddings, "num_embeddings", None)
    room = n_positions = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    if room is not None:
        positions = [module for path, module in model.named_modules() if "position" in path]
        padding = [each.padding_idx for each in positions if getattr(each, "padding_idx", None) is not None]
        room -= max(padding, default=-1) + 1  # RoBERTa counts positions from behind the number of padding
    for ids in read:
        if is_index and n_tokens is not None and ids.numel():
            wrong = [i for i in (int(ids.min()), int(ids.max())) if not 0 <= i < n_tokens]
            if wrong:
                return (
                    f"the ids hold {wrong[-1]}, and {name} knows {n_tokens} tokens; give ids from 0 to "
                    f"{n_tokens - 1}, made by its own tokenizer"
                )
        if room is not None and ids.shape[1] > room and (is_index or str(n_positions) in str(error)):
            return f"the text has {ids.shape[1]} tokens, and {name} reads at most {room}; give a shorter text"
    if room is None or not is_index:
        return None
    return f"{name} has room for {room} tokens, read and written; give a shorter text, or write less"


#: An attribute that Hugging Face's models have, and their layers have not.
OF_A_MODEL = "base_model_prefix"


class Watch(Protocol):
    """What looks at the modules of a model while they run."""

    def hooks(self, name: str, module: nn.Module) -> Iterable[RemovableHandle]:
        """Put hooks on a module of this name."""


@contextmanager
def watching(model: nn.Module, *watches: Watch) -> Iterator[None]:
    """Put the hooks of watches on all modules of a model, for the time of a ``with`` block."""
    with ExitStack() as stack:
        for name, module in model.named_modules():
            for watch in watches:
                for handle in watch.hooks(name, module):
                    stack.callback(handle.remove)
        yield


class LayerWatch:
    """The weights that attention modules returned, with the numbers of their layers.

    A model returns its weights in a list, without the numbers of the layers that made them, and only when
    all are computed. A hook sees them at once, and drops what is not kept before the next layer runs.

    A layer's number is the one in its module's name: 3 in ``model.layers.3.self_attn``. Where the
    name does not tell (a Swin layer is part of a stage, and ALBERT runs one layer many times), layers
    are counted as they run.
    """

    def __init__(self, model: nn.Module, selection: Selection) -> None:
        self._selection = selection
        self._places = {
            name: place_of(name)
            for name, module in model.named_modules()
            if "attention" in type(module).__name__.lower() or "attn" in type(module).__name__.lower()
        }
        self._shared = Counter(self._places.values())
        self._n_layers = Counter((stack, role) for stack, role, _ in self._places.values())
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

    def kept(self, layers: Sequence[Any]) -> tuple[list[int], list[Any], NDArray[Any] | None]:
        """Return the numbers of a model's layers, what is kept of each, and the array of all kept ones.

        The numbers are 0, 1, 2 … where one was not seen. What is kept is in one array [layer, head, query,
        key] if it was moved there as it was made.
        """
        numbers = [self._seen[id(layer)][1] for layer in layers if id(layer) in self._seen]
        if not len(layers) == len(numbers) == len(set(numbers)):
            numbers = list(range(len(layers)))
        kept = [
            layer
            if layer is None or id(layer) in self._seen or not self._selection.keeps(number)
            else self._selection.take(layer, number)
            for layer, number in zip(layers, numbers, strict=True)
        ]
        present = [layer for layer in layers if layer is not None and layer.numel()]
        for place, parts in self._parts.items():
            if len(parts) == len(present) and all(map(operator.is_, parts, present)):
                return numbers, kept, self._joint[place][: len(parts), 0].numpy()
        return numbers, kept, None

    def hooks(self, name: str, module: nn.Module) -> Iterator[RemovableHandle]:
        """Watch an attention module, before all other hooks, so that those never see what is dropped."""
        if hasattr(module, OF_A_MODEL):
            yield module.register_forward_pre_hook(partial(self._begin, name))
        if name in self._places:
            place = self._places[name]
            number = place[2] if self._shared[place] == 1 else None
            see = partial(self._see, place[:2], number)
            yield module.register_forward_hook(see, prepend=True)

    def _begin(self, model_name: str, *_: Any) -> None:
        """Count the layers of a model again: it begins another pass."""
        for place in list(self._next):
            if not model_name or f"{place[0]}.".startswith(f"{model_name}."):
                del self._next[place]

    def _see(self, place: tuple[str, str], number: int | None, module: nn.Module, _: Any, output: Any) -> Any:
        """Record the weights in an attention module's output, and return what is passed on."""
        if not isinstance(output, tuple):
            return output
        passed: list[Any] = []
        for value in output:
            if id(value) not in self._seen and _is_attention(value, has_sink(module)):
                self._declared.add(getattr(module, "is_causal", None))
                counted = max(number or 0, self._next[place])
                self._next[place] = counted + 1
                if self._selection.keeps(counted):
                    value = self._joined(self._selection.take(value, counted), place)
                else:
                    value = value.new_empty((0, 0, *value.shape[2:]))
                self._seen[id(value)] = (value, counted)
            passed.append(value)
        same = all(new is old for new, old in zip(passed, output, strict=True))
        return output if same else tuple(passed)

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


#: Per kind, and per layer that has a bias of its own: [head, query, key].
Biases = dict[str, dict[int, Tensor]]
#: What a module was given by name and what it returned, in; a bias [head, query, key] out, and what it is
#: made of, which is the same object where layers share it.
_Rule = Callable[[Any, Mapping[str, Any], Any], tuple[Any, Tensor] | None]


class BiasWatch:
    """What a model adds to its scores for positions, apart from what the words say.

    Each rule below knows one way of adding it, and reads it where the model has just made it: from the
    module that returns it, from the attention that is given it, or from the attention's own table.

    Of a kind's layers the first may have the only bias, which all of them share. A kind whose scores
    get biases of two sorts, as UDOP's do, is left out: neither is the whole.

    Source: Raffel et al. 2020, *Exploring the Limits of Transfer Learning*, section 2.1; Press et al.
    2022, *Train Short, Test Long* (ALiBi), section 3; Liu et al. 2021, *Swin Transformer*, section 3.2.
    """

    def __init__(self) -> None:
        self._found: Biases = {}
        self._sorts: dict[str, set[str]] = {}
        self._shared: dict[str, Any] = {}

    def hooks(self, name: str, module: nn.Module) -> Iterator[RemovableHandle]:
        """Watch a module that has a rule."""
        rule = _BY_CLASS.get(type(module).__name__)
        if rule is None and name.rpartition(".")[2] in _RETURNING:
            rule = _returned
        elif rule is None and hasattr(module, "relative_position_index"):
            rule = _from_table
        if rule is not None:
            yield module.register_forward_hook(partial(self._see, rule, name), with_kwargs=True)

    def _see(self, rule: _Rule, name: str, module: nn.Module, args: Any, named: Any, output: Any) -> None:
        given = inspect.signature(module.forward).bind(*args, **named).arguments
        kind = "decoder" if "decoder" in name.split(".") else "encoder"
        made_of, bias = rule(module, given, output) or (None, None)
        if bias is None or self._shared.get(kind) is made_of:
            return
        self._shared[kind], of_kind = made_of, self._found.setdefault(kind, {})
        of_kind[len(of_kind)] = bias
        # Without the number of its layer; but UDOP's list of biases is not one of layers.
        parts = name.split(".")
        sort = name if "biases" in parts else ".".join(part for part in parts if not part.isdigit())
        self._sorts.setdefault(kind, set()).add(sort)

    @property
    def found(self) -> Biases:
        """The biases, those of an encoder and those of a decoder."""
        return {kind: each for kind, each in self._found.items() if len(self._sorts[kind]) == 1}

    def of(self, layers: Mapping[str, Sequence[Any]]) -> Biases:
        """Return the biases by the kinds of layers: those of a model's only stack under "self"."""
        found = self.found
        return {"self": next(iter(found.values()))} if found and "self" in layers else found


#: T5's table, and what BEiT, Data2Vec and Swin call the module that returns the bias of a pair of patches.
_RETURNING = ("relative_attention_bias", "relative_position_bias", "shared_position_bias")


def _returned(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor] | None:
    """T5's table, and that of mT5, UMT5, Switch and MPNet, is an embedding: [query, key, head]."""
    if isinstance(module, nn.Embedding):
        return (output, output.permute(2, 0, 1)) if output.ndim == 3 else None
    return (output, output[0]) if isinstance(output, Tensor) and output.ndim == 4 else None


def _from_table(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor] | None:
    """Look a window's biases up, as the Swins of timm, torchvision and Donut do in their attention.

    Swin's second version computes the table (Liu et al. 2022, *Swin Transformer V2*, section 3.3).
    """
    index = module.relative_position_index.flatten()
    table = getattr(module, "relative_position_bias_table", None)  # [offset, head]
    mlp = getattr(module, "continuous_position_bias_mlp", getattr(module, "cpb_mlp", None))
    if mlp is not None:
        table = mlp(module.relative_coords_table).flatten(0, -2)  # [offset, head]
    if table is None:
        return None
    n = math.isqrt(len(index))
    bias = table[index].unflatten(0, (n, n)).permute(2, 0, 1)  # [head, query, key]
    return bias, 16 * torch.sigmoid(bias) if mlp is not None else bias


def _alibi(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor] | None:
    """ALiBi of Bloom, and of Falcon, which scales it: [head, 1, key], the same for every query."""
    alibi = given["alibi"]
    if alibi is None:
        return None
    n = alibi.shape[-1]
    return alibi, (alibi * module.beta).reshape(-1, 1, n).expand(-1, n, n)


def _alibi_of_mpt(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor]:
    """ALiBi of MPT, [head, 1, key], made for the longest text: the last keys are those of this one."""
    bias, n = given["position_bias"], given["hidden_states"].shape[1]
    return bias, bias[..., -n:].expand(-1, n, -1)


def _of_a_layout(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor] | None:
    """Of two words' distance in the text, and on the page (Xu et al. 2021, *LayoutLMv2*, section 2.2)."""
    added = [each for name in ("rel_pos", "rel_2d_pos") if (each := given.get(name)) is not None]
    return (added[0], sum(each[0] for each in added)) if added else None  # [head, query, key]


def _of_a_scaled_layout(module: Any, given: Mapping[str, Any], output: Any) -> tuple[Any, Tensor] | None:
    """Likewise, divided as the scores are (Huang et al. 2022, *LayoutLMv3*, section 3.1)."""
    if (whole := given.get("position_bias")) is not None:  # in transformers 5.24 summed and divided before
        return whole, whole[0]  # [head, query, key]
    found = _of_a_layout(module, given, output)
    return found and (found[0], found[1] / math.sqrt(module.attention_head_size))


_BY_CLASS: Mapping[str, _Rule] = {
    "BloomAttention": _alibi,
    "FalconAttention": _alibi,
    "MptAttention": _alibi_of_mpt,
    "LayoutLMv2SelfAttention": _of_a_layout,
    "LayoutLMv3SelfAttention": _of_a_scaled_layout,
}
