"""The classes of Hugging Face whose captures were found right, and so need no check of their own.

``verified_classes.json`` holds their names and the version of transformers;
``python -m benchmarks capture_models --write`` writes it.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

LISTED = Path(__file__).with_suffix(".json")
_OWN = ("transformers.", "torch.")


def is_verified(model: Any) -> bool:
    """Return whether a model is of a verified class, and is run as its library wrote it.

    It is not where somebody changed a part of it: by a class of their own, a hook, another forward or
    another function for attention.
    """
    kernel = getattr(model.config, "_attn_implementation", None)
    base = type(getattr(model, "base_model", model))
    return (
        base.__module__.startswith("transformers.")
        and base.__name__ in verified_classes()
        and kernel in (None, "eager", "sdpa")
        and all(map(_is_as_written, model.modules()))
    )


@cache
def verified_classes() -> frozenset[str]:
    """Return the names of the verified classes of the installed transformers; none of another version."""
    table = json.loads(LISTED.read_text(encoding="utf-8"))
    return frozenset(table["classes"] if table["transformers"] == version("transformers") else ())


def _is_as_written(part: Any) -> bool:
    kind = type(part)
    return (
        kind.__module__.startswith(_OWN)
        and kind.forward.__module__.startswith(_OWN)
        and "forward" not in vars(part)
        and not part._forward_hooks
        and not part._forward_pre_hooks
    )
