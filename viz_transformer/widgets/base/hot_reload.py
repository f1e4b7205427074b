"""Hot reload: scripts and styles that follow their files while the package is edited (`make dev`)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anywidget._file_contents import VirtualFileContents

#: `make dev` sets this variable for JupyterLab and its kernels.
VARIABLE = "VIZ_TRANSFORMER_DEV"

_WIDGETS = Path(__file__).parents[1]
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

    for _ in watch(_WIDGETS):
        for read, contents in list(_followed):
            try:
                text = read()
                if text != contents.contents:
                    contents.contents = text  # anywidget sends it to every open view
            except Exception as error:  # half-saved files; the next save is read as well
                logging.getLogger(__name__).warning("a view was not reloaded: %s", error)
