"""What is given as an array: numpy's, a tensor, or lists of numbers."""

from __future__ import annotations

import math
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from viz_transformer._text import described
from viz_transformer.errors import UserError

#: 4 GiB as float32. Views of an array can have more elements than any memory, and are not copied.
MOST_ELEMENTS = 2**30
#: What was handed over and is still alive, by `id`.
_handed_over: WeakValueDictionary[int, NDArray[Any]] = WeakValueDictionary()


def given_array(value: Any, name: str) -> NDArray[Any]:
    """Return what was given as an array of numbers or truth values, not copied where that can be helped.

    A tensor is detached, whatever device it is on, and bfloat16, which numpy does not have, becomes float32.

    Raises:
        UserError: if it holds something else, or more than 2^30 numbers.
    """
    try:
        size = math.prod(getattr(value, "shape", ()))
        if size > MOST_ELEMENTS:
            raise UserError(
                f"{name} has shape {list(value.shape)}, {size:,} numbers, and at most {MOST_ELEMENTS:,} are "
                "shown; give fewer layers, heads or tokens"
            )
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            value = value.float() if str(value.dtype) == "torch.bfloat16" else value
            value = value.numpy()
        array = np.asarray(value)
    except UserError:
        raise
    except Exception as error:  # a type may do anything when it is to be an array
        raise _no_numbers(value, name) from error
    if array.dtype.kind not in "biuf":
        raise _no_numbers(value, name)
    return array


def hand_over(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only and return it; the caller keeps no other way to write to its memory.

    A trace then takes it without a copy even where the memory is another library's.
    """
    array.setflags(write=False)
    _handed_over[id(array)] = array
    return array


def never_changes(array: NDArray[Any]) -> bool:
    """Tell whether nobody can write to an array: it is read-only, and its memory its own or handed over."""
    is_ours = array.base is None or _handed_over.get(id(array)) is array
    return is_ours and not array.flags.writeable


def given_sequence(value: Any) -> tuple[Any, ...]:
    """Return the items of a list, a tuple, a range or an array; of anything else none."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return tuple(value.tolist())
    return tuple(value) if isinstance(value, list | tuple | range) else ()


def _no_numbers(value: Any, name: str) -> UserError:
    return UserError(
        f"{name} is {described(value)}, and an array of numbers is expected; give a numpy array, a tensor or "
        "lists of numbers"
    )
