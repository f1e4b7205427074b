"""What is given as an array: numpy's, a tensor, or lists of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from viz_transformer._bounds import TOKENS
from viz_transformer._text import described
from viz_transformer.errors import UserError

#: 4 GiB as float32. Views of an array can have more elements than any memory, and are not copied.
MOST_ELEMENTS = 2**30
#: 256 MiB as float32. A view that repeats what it holds takes no memory before it is copied.
_MOST_REPEATED = 2**26
#: No array of a trace has so many axes.
_MOST_NESTED = 10
#: What numpy takes, apart from what has a shape.
_PLAIN = (list, tuple, range, int, float, complex, memoryview, bytearray)
#: What was handed over and is still alive, by `id`.
_handed_over: WeakValueDictionary[int, NDArray[Any]] = WeakValueDictionary()


def given_array(value: Any, name: str) -> NDArray[Any]:
    """Return what was given as an array of numbers or truth values, not copied where that can be helped.

    A tensor is detached, whatever device it is on, and a type that numpy does not have (bfloat16, float8,
    quantised) becomes float32.

    Raises:
        UserError: if it holds something else, more than 2^30 numbers, 2^26 where a view repeats them, or
            entries that are masked.
    """
    try:
        if type(value) is not np.ndarray and not _may_be_array(value):
            raise _no_numbers(value, name)
        check_size(name, getattr(value, "shape", ()), MOST_ELEMENTS)
        if hasattr(value, "detach"):
            value = _of_tensor(value.detach().cpu())
        array = np.asarray(value)
    except UserError:
        raise
    except Exception as error:  # a type may do anything when it is to be an array
        raise _no_numbers(value, name) from error
    if array.dtype.kind == "c":
        raise UserError(f"{name} holds complex numbers; give their sizes, abs(weights), or weights.real")
    if array.dtype.kind not in "biuf":
        raise _no_numbers(value, name)
    span = sum((n - 1) * abs(stride) for n, stride in zip(array.shape, array.strides, strict=True))
    if span + array.itemsize < array.nbytes:
        check_size(name, array.shape, _MOST_REPEATED)
    if type(value) is not np.ndarray and _is_masked(value):
        raise UserError(f"{name} is a masked array; give a value for its hidden entries: array.filled(0)")
    return array


def check_size(name: str, shape: Sequence[int], most: int = MOST_ELEMENTS) -> None:
    """Refuse an array of too many numbers.

    Raises:
        UserError: if it has more than `most`.
    """
    if (size := math.prod(shape)) > most:
        raise UserError(
            f"{name} has shape {list(shape)}, {size:,} numbers, and at most {most:,} are "
            "shown; give fewer layers, heads or tokens"
        )


def _is_masked(value: Any) -> bool:
    """Tell whether an array has masked entries, or one of several in a list, where numpy forgets them."""
    if isinstance(value, list | tuple) and value and not isinstance(value[0], int | float):
        return any(map(_is_masked, value))
    return bool(np.ma.is_masked(value))


def _of_tensor(tensor: Any) -> NDArray[Any]:
    """Return a tensor's numbers."""
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    has_type = not tensor.is_floating_point() or hasattr(np, str(tensor.dtype).removeprefix("torch."))
    return (tensor if has_type else tensor.float()).resolve_conj().resolve_neg().numpy()


def _may_be_array(value: Any) -> bool:
    """Tell what numpy can take as an array from what has no end, such as a list that holds itself."""
    for _ in range(_MOST_NESTED):
        if not isinstance(value, list | tuple) or not value:
            return hasattr(value, "shape") or isinstance(value, _PLAIN)
        value = value[0]
    return False


def hand_over(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it; the caller keeps no other way to write to its memory.

    A trace then takes it without a copy even where the memory is another library's.
    """
    array.setflags(write=False)
    _handed_over[id(array)] = array
    return array


def never_changes(array: NDArray[Any]) -> bool:
    """Return whether an array is constant: it is read-only, and its memory its own or handed over."""
    is_ours = array.base is None or _handed_over.get(id(array)) is array
    return is_ours and not array.flags.writeable


def given_sequence(value: Any) -> tuple[Any, ...]:
    """Return the items of a list, a tuple, a range, an array or a tensor; of anything else none.

    Of more than any sentence has tokens, such as a range without end, the first are returned.
    """
    first = slice(TOKENS.most + 1)
    try:
        if getattr(value, "ndim", None) == 1:
            value = value[first].tolist()
    except Exception:  # a type may do anything when it is to be a list
        return ()
    return tuple(value[first]) if isinstance(value, list | tuple | range) else ()


def _no_numbers(value: Any, name: str) -> UserError:
    return UserError(
        f"{name} is {described(value)}, and an array of numbers is expected; give a numpy array, a tensor or "
        "lists of numbers"
    )
