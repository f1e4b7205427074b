"""A message from the page is dealt with in the thread that runs cells, between two of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from viz_transformer.widgets.base import cell_thread
from viz_transformer.widgets.base.cell_thread import on_cell_thread


class Cells:
    """The loop of the thread that runs cells, which here is the one that runs the test."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.add_callback = self._waiting.put

    def take_up(self) -> None:
        """Do what waits longest; wait for it, if nothing does."""
        self._waiting.get()()


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> Cells:
    loop = Cells()
    monkeypatch.setattr(cell_thread, "_loop_of_cells", lambda: loop)
    return loop


def message(work: Callable[[], object]) -> threading.Thread:
    """Have another thread deal with a message."""
    thread = threading.Thread(target=on_cell_thread, args=(work,))
    thread.start()
    return thread


def test_without_a_kernel_it_is_done_at_once() -> None:
    done: list[str] = []
    message(lambda: done.append("done")).join()
    assert done == ["done"]


def test_in_the_thread_of_cells_it_is_done_at_once(cells: Cells) -> None:
    done: list[str] = []
    on_cell_thread(lambda: done.append("done"))
    assert done == ["done"]


def test_between_cells_it_is_done_where_cells_run(cells: Cells) -> None:
    done: list[threading.Thread] = []
    thread = message(lambda: done.append(threading.current_thread()))
    cells.take_up()
    thread.join()
    assert done == [threading.main_thread()]


def test_while_a_cell_runs_messages_are_put_off_and_kept_in_order(cells: Cells) -> None:
    done: list[str] = []
    for name in "ab":
        message(lambda name=name: done.append(name)).join()  # the cell
    assert done == []
    cells.take_up()
    cells.take_up()
    assert done == ["a", "b"]


def test_work_that_fails_is_waited_for_no_longer(cells: Cells) -> None:
    thread = message(lambda: {}["head"])
    with pytest.raises(KeyError, match="head"):
        cells.take_up()
    thread.join()


def test_a_message_behind_work_that_takes_long_is_read_meanwhile(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_thread, "_DONE_S", 0.0)
    read = threading.Event()
    thread = message(read.wait)
    behind = threading.Thread(target=lambda: (thread.join(), read.set()))
    behind.start()
    cells.take_up()  # ends when the thread of messages was free for the next
    behind.join()
