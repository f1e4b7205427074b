"""The explorer in JupyterLab as the sentence grows: what is sent, and how soon it answers."""

from __future__ import annotations

import statistics
import tempfile
from importlib.metadata import version
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks.lab_view import EXPLORER, Bench
from benchmarks.table import Goal, Table
from tests.support.ui_jupyterlab import LabServer
from tools.ensure import CHROMIUM_FLAGS, find_chromium

N_LAYERS, N_HEADS = 12, 12
TOKEN_COUNTS = (16, 64, 128, 256, 512, 1024)
#: The largest that is held to the goal, and one frame at 60 Hz.
GOAL_TOKENS, FRAME_MS = 512, 1000 / 60
PAINTS, ACTIONS, ARRIVALS = 3, 21, 3
ACTION_NAMES = {"hover": "hover", "head": "change of head", "layer": "change of layer"}


def measure(bench: Bench, n_tokens: int) -> tuple[tuple[str, ...], dict[str, float]]:
    """Return a row of the table, and the median work of each action in milliseconds."""
    bench.make_ready(N_LAYERS, N_HEADS, n_tokens)
    paints = [bench.paint() for _ in range(PAINTS)]
    measuring = statistics.median(bench.work(None, 0) for _ in range(ACTIONS))
    work = {}
    for name in ACTION_NAMES:
        times = [bench.work(name, number) - measuring for number in range(ACTIONS + 1)]
        work[name] = statistics.median(times[1:])  # the first of its kind warms up
    arrivals = [bench.act_until_still("layer", number) for number in range(ARRIVALS)]
    row = (
        str(n_tokens),
        f"{paints[-1][1] / 1e6:.2f} MB",
        f"{statistics.median(ms for ms, _ in paints):.0f} ms",
        *(f"{ms:.1f} ms" for ms in work.values()),
        f"{statistics.median(arrivals):.0f} ms",
    )
    return row, work


def run() -> Table:
    """Measure every size in one notebook, from the smallest."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LabServer(Path(folder) / "lab") as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS))
        bench = Bench(browser, server, EXPLORER)
        results = {n_tokens: measure(bench, n_tokens) for n_tokens in TOKEN_COUNTS}
        browser_version = browser.version
        browser.close()
    return Table(
        title="The explorer as the sentence grows",
        text=TEXT,
        columns=(
            "tokens",
            "payload",
            "first paint",
            *(f"{action}, work" for action in ACTION_NAMES.values()),
            "new head drawn whole after",
        ),
        rows=tuple(row for row, _ in results.values()),
        goals=tuple(goal(name, {n: work[name] for n, (_, work) in results.items()}) for name in ACTION_NAMES),
        versions=(
            ("Chromium", browser_version),
            *((name, version(name)) for name in ("jupyterlab", "anywidget")),
        ),
    )


def goal(name: str, work_ms: dict[int, float]) -> Goal:
    """Return the goal of one action at the sizes that are held to it."""
    worst = max(ms for n_tokens, ms in work_ms.items() if n_tokens <= GOAL_TOKENS)
    return Goal(
        f"{ACTION_NAMES[name]} within one frame of main-thread work ({FRAME_MS:.1f} ms), up to "
        f"{GOAL_TOKENS} tokens",
        f"{worst:.1f} ms at most",
        worst <= FRAME_MS,
    )


TEXT = f"""\
One attention, softmax(2 · randn) in float32, {N_LAYERS} layers × {N_HEADS} heads, in JupyterLab;
medians of {PAINTS} paints, {ACTIONS} events and {ARRIVALS} arrivals.

- *Payload*: all bytes that the kernel sends to the page while the cell runs.
- *First paint*: from the start of the cell to the end of the main thread's first frame with the
  view in it.
- *Work*: the processor time of the page's main thread from the event to the end of the next frame
  (handlers, callbacks, styles, layout and paint), less that of measuring where nothing happens. The
  wait for the frame is no work.
- *New head drawn whole after*: from a change of layer to the last redraw that followed from it,
  with the question to the kernel and its answer where the weights were not yet in the page.
"""
