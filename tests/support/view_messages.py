"""What a view sends to its page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from viz_transformer.widgets.base.view import View


@contextmanager
def messages(view: View) -> Iterator[list[set[str]]]:
    """Yield the list that each message of state to the page is added to, as its trait names."""
    sent: list[set[str]] = []

    def publish(msg_type: str, data: dict[str, Any], **_: Any) -> None:
        if msg_type == "comm_msg" and data["method"] == "update":
            sent.append(set(data["state"]) | {path[0] for path in data["buffer_paths"]})

    wait_until_sent(view)
    with mock.patch.object(view.comm, "publish_msg", publish):
        yield sent
        wait_until_sent(view)


def wait_until_sent(view: View) -> None:
    """Wait until all changes of a view are sent: those of a frame are sent at its end."""
    while view._waiting or view._frame is not None:
        time.sleep(0.002)
