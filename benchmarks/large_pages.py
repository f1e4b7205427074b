"""Large exported pages: how soon all heads are seen, how soon one opens, and the memory it takes."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

from benchmarks.frames import HELPERS
from benchmarks.table import Goal, Table
from tools.ensure import CHROMIUM_FLAGS, find_chromium

#: Layers, heads and tokens.
SHAPES = ((12, 12, 256), (12, 12, 512), (32, 32, 256))
REPEATS = 3
MOST_S, MOST_MB = 5, 150

#: Tells when the first frame with the view in it has ended, in ms since the page was asked for.
WATCH = f"""(async () => {{{HELPERS}
    const drawn = () => document.querySelector('.vt-explorer')?.dataset.vtDrawn;
    while (!document.body || !drawn()) await new Promise(requestAnimationFrame);
    window.drawnMs = [await endOfFrame()];
}})();"""

#: Opens the head that is chosen; returns the ms until its weights are drawn.
OPEN_HEAD = f"""async () => {{{HELPERS}
    const heads = document.querySelector('.vt-all-heads canvas');
    const press = (key) => heads.dispatchEvent(new KeyboardEvent('keydown', {{key, bubbles: true}}));
    press('ArrowDown');
    press('ArrowRight');
    await endOfFrame();
    const start = performance.now();
    press('Enter');
    const root = document.querySelector('.vt-explorer');
    const isOpen = () => root.querySelector('.vt-place').dataset.mode !== 'wall'
        && root.querySelector('.vt-headline').textContent !== 'This head is on its way';
    let end = await endOfFrame();
    while (!isOpen()) end = await endOfFrame();
    return end - start;
}}"""


class Opened(NamedTuple):
    """One opening: times in ms, the heap in MB."""

    drawn_ms: float
    loaded_ms: float
    heap_mb: float
    head_ms: float
    heap_with_head_mb: float


def open_page(browser: Browser, path: Path) -> Opened:
    """Open a page, and one head of it that is not the first."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, bypass_csp=True)
    page = context.new_page()
    devtools = context.new_cdp_session(page)

    def heap_mb() -> float:
        heap = devtools.send("Runtime.getHeapUsage")
        return (heap["usedSize"] + heap.get("backingStorageSize", 0)) / 1e6

    page.add_init_script(WATCH)
    page.goto(path.as_uri(), wait_until="load", timeout=120_000)
    drawn_ms = page.wait_for_function("window.drawnMs", timeout=120_000).json_value()[0]
    loaded_ms = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    before = heap_mb()
    opened = Opened(drawn_ms, loaded_ms, before, page.evaluate(OPEN_HEAD), heap_mb())
    context.close()
    return opened


def run() -> Table:
    """Make and open each page."""
    rows: list[tuple[str, ...]] = []
    medians: list[Opened] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS))
        for shape in SHAPES:
            path = Path(folder) / "page.html"
            command = [sys.executable, "-m", "benchmarks.pages", "wall", *map(str, shape), str(path)]
            written = subprocess.run(command, check=True, capture_output=True, text=True)
            runs = [open_page(browser, path) for _ in range(REPEATS)]
            median = Opened(*(statistics.median(values) for values in zip(*runs, strict=True)))
            medians.append(median)
            rows.append(
                (
                    "{} × {} × {}".format(*shape),
                    f"{path.stat().st_size / 1e6:.0f} MB",
                    f"{float(written.stdout.split()[-1]):.1f} s",
                    f"{median.drawn_ms:.0f} ms",
                    f"{median.loaded_ms:.0f} ms",
                    f"{median.heap_mb:.0f} MB",
                    f"{median.head_ms:.0f} ms",
                    f"{median.heap_with_head_mb:.0f} MB",
                )
            )
        browser_version = browser.version
        browser.close()
    worst_ms = max(one.drawn_ms for one in medians)
    worst_mb = max(one.heap_with_head_mb for one in medians)
    return Table(
        title="Large pages",
        text=TEXT,
        columns=(
            "layers × heads × tokens",
            "page",
            "written in",
            "all heads seen after",
            "page read after",
            "heap",
            "a head opens in",
            "heap with it",
        ),
        rows=tuple(rows),
        goals=(
            Goal(f"all heads seen within {MOST_S} s", f"{worst_ms / 1000:.1f} s", worst_ms <= 1000 * MOST_S),
            Goal(f"at most {MOST_MB} MB of heap", f"{worst_mb:.0f} MB", worst_mb <= MOST_MB),
        ),
        versions=(("Chromium", browser_version),),
    )


TEXT = f"""\
One attention, softmax(2 · randn), as the offline page of `vt.export_html(vt.explore(trace))`, opened from
disk; medians of {REPEATS}.

- *Written in*: one call of both, with the imports that they need.
- *All heads seen after*: from the request for the page to the end of the first frame with the wall of
  heads in it. The weights stand further down, and are still being read.
- *Page read after*: to the end of the page's load event; from here on every head can be opened.
- *Heap*: JavaScript's, with the bytes of its arrays. The page's own text is the browser's.
- *A head opens in*: from the key to the end of the frame in which its weights are drawn.
"""
