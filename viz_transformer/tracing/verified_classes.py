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
    """Return whether a model is of a verified class, all of whose parts and functions are the library's."""
    kernel = getattr(model.config, "_attn_implementation", None)
    base = type(getattr(model, "base_model", model))
    return (
        base.__module__.startswith("transformers.")
        and base.__name__ in verified_classes()
        and kernel in (None, "eager", "sdpa")
        and all(type(part).__module__.startswith(_OWN) for part in model.modules())
        and all(type(part).forward.__module__.startswith(_OWN) for part in model.modules())
    )


def is_as_its_class(model: Any) -> bool:
    """Return whether no part of a model has a hook, or a forward that others of its class do not have."""
    return not any(
        "forward" in vars(part) or part._forward_hooks or part._forward_pre_hooks for part in model.modules()
    )


@cache
def verified_classes() -> frozenset[str]:
    """Return the names of the verified classes of the installed transformers; none of another version."""
    table = json.loads(LISTED.read_text(encoding="utf-8"))
    return frozenset(table["classes"] if table["transformers"] == version("transformers") else ())
