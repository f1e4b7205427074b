"""The package's JavaScript, for tests that run it in Node."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[2] / "viz_transformer"


def module_path(path: str) -> Path:
    """Return where a script, such as ``"widgets/base/js/text.js"``, stands."""
    return _PACKAGE / path


def module_url(path: str) -> str:
    """Return the address of a script, such as ``"widgets/base/js/text.js"``, for an import."""
    return module_path(path).as_uri()
