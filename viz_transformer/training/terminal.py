"""A training at the terminal or in a notebook: its progress bar, and Ctrl-C between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from tqdm.auto import tqdm

from viz_transformer.training.run import StepRecord


def with_bar(records: Iterable[StepRecord], done: int, total: int) -> Iterator[StepRecord]:
    """Yield the records, showing the steps done of all, the loss and the speed."""
    with tqdm(records, initial=done, total=total, unit="step") as bar:
        for record in bar:
            bar.set_postfix(
                {
                    "loss": f"{record.loss:.4f}",
                    "accuracy": f"{record.token_accuracy:.1%}",
                    "tokens/s": f"{record.tokens_per_second:,.0f}",
                },
                refresh=False,
            )
            yield record


@contextmanager
def interruption() -> Iterator[threading.Event]:
    """Let the first Ctrl-C set the event, which the caller checks; a second one interrupts.

    In a notebook, Ctrl-C is the button that interrupts the kernel. Outside the main thread, where
    Python receives no signals, and where Ctrl-C is ignored, as in a script's background job, the
    event is never set.
    """
    asked = threading.Event()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):  # None: not ours
        yield asked
        return

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
