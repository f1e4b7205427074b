"""Hot reload: scripts and styles that follow their files while the package is edited (`make dev`)."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anywidget._file_contents import VirtualFileContents

#: `make dev` sets this variable for JupyterLab and its kernels.
VARIABLE = "VIZ_TRANSFORMER_DEV"

_PACKAGE = Path(__file__).parents[2]
_followed: list[tuple[Callable[[], str], VirtualFileContents]] = []


def followed(read: Callable[[], str]) -> str | VirtualFileContents:
    """Return what `read` returns: text, or while developing, text that is read again on each change."""
    if not os.environ.get(VARIABLE):
        return read()
    # anywidget's own, and private: imported only where a developer asks for it.
    from anywidget._file_contents import VirtualFileContents

    contents = VirtualFileContents(read())
    if not _followed:
        Thread(target=_watch, name="hot reload", daemon=True).start()
    _followed.append((read, contents))
    return contents


def _watch() -> None:
    from watchfiles import watch

    for _ in watch(*(_PACKAGE / room for room in ("widgets", "engine", "shared.json"))):
        if error := _build():  # half-saved files; the next save is built as well
            logging.getLogger(__name__).warning("a view was not reloaded: %s", error)
            continue
        for read, contents in list(_followed):
            text = read()
            if text != contents.contents:
                contents.contents = text  # anywidget sends it to every open view


def _build() -> str:
    """Build the views again; returns what is wrong with one, if anything is."""
    command = [sys.executable, "-m", "tools.bundles"]
    done = subprocess.run(command, cwd=_PACKAGE.parent, capture_output=True, text=True)
    return done.stderr if done.returncode else ""
