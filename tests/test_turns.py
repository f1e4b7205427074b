"""A message from the page is dealt with in the thread that runs cells, between two of them."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from viz_transformer.widgets.base import turns
from viz_transformer.widgets.base.turns import in_turn


@pytest.fixture
def done() -> list[str]:
    """The names of the threads in which work was done."""
    return []


def dealt_with_in(monkeypatch: pytest.MonkeyPatch, loop: asyncio.AbstractEventLoop) -> None:
    cells = SimpleNamespace(add_callback=loop.call_soon_threadsafe)
    monkeypatch.setattr(turns, "_loop_of_cells", lambda: cells)


def test_without_a_kernel_it_is_done_at_once(done: list[str]) -> None:
    message = threading.Thread(target=in_turn, args=(lambda: done.append("done"),))
    message.start()
    message.join()
    assert done == ["done"]


def test_between_cells_it_is_done_where_cells_run(monkeypatch: pytest.MonkeyPatch, done: list[str]) -> None:
    async def kernel() -> None:
        dealt_with_in(monkeypatch, asyncio.get_running_loop())
        in_turn(lambda: done.append(threading.current_thread().name))
        await asyncio.to_thread(in_turn, lambda: done.append(threading.current_thread().name))

    asyncio.run(kernel())
    assert done == ["MainThread", "MainThread"]


def test_while_a_cell_runs_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch, done: list[str]) -> None:
    async def kernel() -> None:
        dealt_with_in(monkeypatch, asyncio.get_running_loop())
        messages = [threading.Thread(target=in_turn, args=(lambda n=n: done.append(n),)) for n in "ab"]
        for message in messages:  # a cell that runs until the messages have been handed over
            message.start()
            message.join()
        assert done == []
        await asyncio.sleep(0)
        assert done == ["a", "b"]

    asyncio.run(kernel())


def test_work_that_fails_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[str] = []

    async def kernel() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, told: failed.append(str(told["exception"])))
        dealt_with_in(monkeypatch, loop)
        await asyncio.to_thread(in_turn, lambda: {}["head"])

    asyncio.run(kernel())
    assert failed == ["'head'"]
