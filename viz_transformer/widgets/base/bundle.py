"""Bundles: a view's script and style sheet, each built into one file (`tools/bundles.py`).

A widget's module is imported from a blob, and a blob cannot import other files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from viz_transformer.widgets.base.hot_reload import followed

if TYPE_CHECKING:
    from anywidget._file_contents import VirtualFileContents

STATIC = Path(__file__).parents[2] / "static"


def bundle(module: str | Path) -> str | VirtualFileContents:
    """Return the built script of a widget.

    Args:
        module: the ``__file__`` of the Python module, beside which the script is.
    """
    return followed(lambda: built(f"{Path(module).parent.name}.js"))


def styles(module: str | Path) -> str | VirtualFileContents:
    """Return the style of the stage, followed by that of the view whose Python module this is.

    Args:
        module: the ``__file__`` of the Python module.
    """
    name = Path(module).parent.name
    return followed(lambda: shared_style() + built(f"{name}.style.css"))


def shared_style() -> str:
    """Return the style that begins the style of each view."""
    return built("stage.style.css")


def built(name: str) -> str:
    """Return a built file.

    Raises:
        ImportError: if it was not built.
    """
    try:
        return (STATIC / name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ImportError(
            f"viz_transformer was installed without its views ({name} is missing); install it again, "
            "in a clone with: pip install -e ."
        ) from error
