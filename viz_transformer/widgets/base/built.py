"""The views' built scripts and styles, one of each a view (`hatch_build.py` builds them)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from viz_transformer.widgets.base.hot_reload import VARIABLE, followed

if TYPE_CHECKING:
    from anywidget._file_contents import VirtualFileContents

_PACKAGE = Path(__file__).parents[2]
_STATIC = _PACKAGE / "static"


def built_script(view: str) -> str | VirtualFileContents:
    """Return the script of a view, by the name of its folder."""
    return followed(lambda: _read(f"{view}.js"))


def built_style(view: str) -> str | VirtualFileContents:
    """Return the style sheet of a view, likewise."""
    return followed(lambda: _read(f"{view}.css"))


def _read(name: str) -> str:
    if os.environ.get(VARIABLE):
        done = subprocess.run([sys.executable, _PACKAGE.parent / "hatch_build.py"], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
    try:
        return (_STATIC / name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ImportError(
            f"the package was installed without its views ({name} is missing); install it again, in a clone with: "
            "pip install -e ."
        ) from error
