"""The attention explorer against bertviz's head_view: the same attention, in one JupyterLab."""

from __future__ import annotations

import statistics
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks import peers
from benchmarks.lab_view import BERTVIZ, EXPLORER, Bench
from benchmarks.table import Goal, Table
from tests.support.ui_jupyterlab import LabServer
from tools.ensure import CHROMIUM_FLAGS, find_chromium

N_LAYERS, N_HEADS = 6, 8
TOKEN_COUNTS = (16, 64, 128)
#: Each view is drawn this many times, and each layer but the first is switched to once.
REPEATS = 5


@dataclass
class Measured:
    """What one view took at one size."""

    n_bytes: int = 0
    paint_ms: list[float] = field(default_factory=list)
    switch_ms: list[float] = field(default_factory=list)
    hover_ms: list[float] = field(default_factory=list)


def measure(browser: Browser, server: LabServer, n_tokens: int) -> tuple[Measured, Measured]:
    """Measure both views at one size, by turns, so that a busy moment meets both."""
    with ExitStack() as stack:
        stack.callback(server.end_kernels)
        benches: list[tuple[Bench, Measured]] = []
        for view in (EXPLORER, BERTVIZ):
            bench = Bench(browser, server, view)
            stack.callback(bench.close)
            bench.make_ready(N_LAYERS, N_HEADS, n_tokens)
            benches.append((bench, Measured()))
        for _ in range(REPEATS):
            for bench, measured in benches:
                paint_ms, measured.n_bytes = bench.paint()
                measured.paint_ms.append(paint_ms)
        for number in range(1, N_LAYERS):
            for bench, measured in benches:
                measured.switch_ms.append(bench.act("layer", number))
        for number in range(1, REPEATS + 1):
            for bench, measured in benches:
                measured.hover_ms.append(bench.act("hover", number))
        return benches[0][1], benches[1][1]


def run() -> Table:
    """Measure both views at every size, and hold the largest to the goals."""
    peers.install()
    with (
        tempfile.TemporaryDirectory() as folder,
        LabServer(Path(folder) / "lab") as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS))
        results = {n_tokens: measure(browser, server, n_tokens) for n_tokens in TOKEN_COUNTS}
        browser_version = browser.version
        browser.close()

    rows = []
    for n_tokens, (ours, theirs) in results.items():
        for measured, name in ((ours, "explorer"), (theirs, "bertviz head_view")):
            cells = (
                f"{measured.n_bytes / 1e6:.2f} MB",
                f"{statistics.median(measured.paint_ms):.0f} ms",
                f"{statistics.median(measured.switch_ms):.0f} ms",
                f"{statistics.median(measured.hover_ms):.0f} ms",
            )
            rows.append((str(n_tokens), name, *cells))
        rows.append((str(n_tokens), "ratio", *(f"{ratio:.1f} ×" for ratio in ratios(ours, theirs))))
    return Table(
        title="The explorer against bertviz's head view",
        text=TEXT,
        columns=("tokens", "view", "payload", "first paint", "switch of layer", "hover"),
        rows=tuple(rows),
        goals=goals(*results[TOKEN_COUNTS[-1]]),
        versions=(
            ("Chromium", browser_version),
            *((name, version(name)) for name in ("jupyterlab", "anywidget", "bertviz")),
        ),
    )


def ratios(ours: Measured, theirs: Measured) -> tuple[float, ...]:
    """Return how many times more bytes and time, to paint, switch and hover, theirs takes."""
    times = ("paint_ms", "switch_ms", "hover_ms")
    return (
        theirs.n_bytes / ours.n_bytes,
        *(
            statistics.median(getattr(theirs, name)) / statistics.median(getattr(ours, name))
            for name in times
        ),
    )


def goals(ours: Measured, theirs: Measured) -> tuple[Goal, ...]:
    """Return the goals at the largest size, with what was reached."""
    wanted = (
        (20, "payload at most 1/20 of bertviz's"),
        (10, "first paint at least 10 × faster"),
        (50, "switch of layer at least 50 × faster"),
    )
    return tuple(
        Goal(f"{text}, at {TOKEN_COUNTS[-1]} tokens", f"{ratio:.1f} ×", ratio >= least)
        for (least, text), ratio in zip(wanted, ratios(ours, theirs), strict=False)
    )


TEXT = f"""\
One attention, softmax(2 · randn) in float32, {N_LAYERS} layers × {N_HEADS} heads, is shown by
both views in JupyterLab, in the same browser, by turns; medians of {REPEATS}.

- *Payload*: all bytes that the kernel sends to the page while the cell runs. The explorer sends
  each weight in two bytes or fewer (four where all of them fit in 256 KiB); bertviz sends JSON,
  twice.
- *First paint*: from the start of the cell to the end of the main thread's first frame with the
  view in it.
- *Switch of layer*, *hover*: from the start of the input event to the end of the main thread's
  next frame, with the wait for that frame, up to 16.7 ms.

bertviz fetches require.js, jQuery and D3 from a CDN; here they are served from this machine, and
each view has been shown once, small, before it is measured. All eight heads are on in bertviz, as
it starts; the explorer shows all {N_LAYERS * N_HEADS} heads small and one large.
"""
