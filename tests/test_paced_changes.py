"""Changes set in a fast loop: at most one message a frame, and the last state always arrives."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from jupyter_client.manager import start_new_kernel

import viz_transformer as vt
from tests.support.view_messages import wait_until_sent

N, FRAME_S = 3_000, 1 / 60


def shown() -> Any:
    """Return a view of five layers of five heads."""
    return vt.explore(vt.capture(np.full((5, 5, 3, 3), 1 / 3), tokens=["a", "b", "c"]))


def loop(view: Any) -> None:
    for i in range(N):
        view.layer = i % 5
        assert view.layer == i % 5  # Python reads what it set
    view.head, view.layer = 3, 2


def in_a_thread(view: Any, work: Callable[[Any], None] = loop) -> None:
    thread = threading.Thread(target=work, args=(view,))
    thread.start()
    thread.join()


def in_asyncio(view: Any) -> None:
    async def turns(view: Any) -> None:
        for i in range(N):
            view.layer = i % 5
            if i % 100 == 0:
                await asyncio.sleep(0)
        view.head, view.layer = 3, 2

    in_a_thread(view, lambda view: asyncio.run(turns(view)))  # this one may have a loop of a browser's test


def test_a_fast_loop_sends_a_message_a_frame_and_its_last_state() -> None:
    ways: tuple[Callable[[Any], None], ...] = (loop, in_a_thread, in_asyncio)
    for way in ways:
        view, page, n_messages = shown(), {}, 0
        wait_until_sent(view)

        def publish(msg_type: str, data: dict[str, Any], page: dict[str, Any] = page, **_: Any) -> None:
            nonlocal n_messages
            n_messages += 1
            page |= data["state"]

        begun = time.monotonic()
        with mock.patch.object(view.comm, "publish_msg", publish):
            way(view)
            wait_until_sent(view)
        n_frames = (time.monotonic() - begun) / FRAME_S
        assert n_messages <= n_frames + 1, way
        assert (page["layer"], page["head"]) == (view.layer, view.head) == (2, 3), way


def test_an_answer_comes_after_the_changes_before_it_and_a_page_gets_no_older_value_back() -> None:
    view, sent = shown(), []
    wait_until_sent(view)
    with mock.patch.object(view.comm, "publish_msg", lambda _, data, **__: sent.append(data)):
        view.layer = 1  # sent at once
        view.layer = 2
        view.head = 4
        view.send({"reply": 1})
        assert [data["method"] for data in sent] == ["update", "update", "custom"]
        assert sent[1]["state"] == {"layer": 2, "head": 4}
        view.layer = 3
        view.set_state({"layer": 0})  # as the page chose
        wait_until_sent(view)
    assert view.layer == 0
    assert not any("layer" in data["state"] for data in sent[3:] if data["method"] == "update")


def test_a_cell_that_sets_a_view_ten_thousand_times_ends_and_keeps_its_output() -> None:
    kernel, client = start_new_kernel(kernel_name="python3")
    cell = (
        "import numpy as np, viz_transformer as vt\n"
        "view = vt.explore(vt.capture(np.full((5, 5, 3, 3), 1 / 3), tokens=list('abc')))\n"
        "for i in range(10_000):\n    view.layer = i % 5\n"
        "view.layer, view.head = 2, 3\n"
        "print('ended')\n"
    )
    try:
        page, dates, text = {}, [], ""
        client.execute(cell)
        while not text or (page.get("layer"), page.get("head")) != (2, 3):
            message = client.get_iopub_msg(timeout=60)
            content = message["content"]
            if message["msg_type"] == "comm_msg" and content["data"]["method"] == "update":
                dates.append(message["header"]["date"])
                page |= content["data"]["state"]
            text += content.get("text", "")
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
    assert text == "ended\n"
    assert len(dates) <= (dates[-1] - dates[0]).total_seconds() / FRAME_S + 1


def test_nothing_waits_where_there_is_no_page() -> None:
    view = shown()
    assert not view._waiting  # what was set before the page was there came with the view
    wait_until_sent(view)
    view.close()
    view.layer = 1
    wait_until_sent(view)
    assert view.layer == 1
