"""Changes of a view are sent at most once a frame, however fast a loop sets them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from ipywidgets import Widget

#: Screens show 60 pictures a second.
_FRAME_S = 1 / 60


class PacedChanges(Widget):
    """A widget that collects the changes of a frame in one message.

    The first change is sent at once, those of the frame that it begins together at its end, with the values
    that they have then: by a thread, because the cell that sets them may not end for a long time. JupyterLab
    would otherwise drop what else a notebook sends, and show an earlier state for minutes.
    """

    def __init__(self, **traits: Any) -> None:
        """Make a widget; see `ipywidgets.Widget`."""
        self._pace = threading.RLock()
        self._waiting: set[str] = set()
        self._frame: threading.Timer | None = None
        self._frame_ends = 0.0
        super().__init__(**traits)

    def send_state(self, key: str | Iterable[str] | None = None) -> None:
        """Send traits to the page, all by default: now, or with the others at the end of the frame."""
        with self._pace:
            self._waiting |= set(self.keys if key is None else [key] if isinstance(key, str) else key)
            if self._frame is None or time.monotonic() >= self._frame_ends:
                self._send_waiting()

    def send(self, content: Any, buffers: Any = None) -> None:
        """Send a message to the page, after the changes that came before it."""
        with self._pace:
            self._send_waiting()
            super().send(content, buffers)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Accept what was chosen in the page, which then needs no older value of it."""
        with self._pace:
            self._waiting -= sync_data.keys()
        super().set_state(sync_data)

    def _send_waiting(self) -> None:
        """Send what waits, and begin a frame; the lock is held."""
        waiting, self._waiting = self._waiting, set()
        if not waiting or self.comm is None:  # before the page is there, or when the view was closed
            return
        super().send_state(waiting)
        if self._frame is not None:
            self._frame.cancel()
        self._frame_ends = time.monotonic() + _FRAME_S
        self._frame = threading.Timer(_FRAME_S, self._end_frame)
        self._frame.daemon = True
        self._frame.start()

    def _end_frame(self) -> None:
        with self._pace:
            if threading.current_thread() is self._frame:  # else another frame has begun meanwhile
                self._frame = None
                self._send_waiting()
