"""Where views with a live model were before: each name is one of `viz_transformer` itself."""

from __future__ import annotations

from typing import Any

import viz_transformer


def __getattr__(name: str) -> Any:
    """Return the public name."""
    return getattr(viz_transformer, name)
