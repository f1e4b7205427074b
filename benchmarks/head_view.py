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
from benchmarks.table import Goal, Table
from tests.ui.lab_page import TIMEOUT_S, LabPage, LabServer, guard
from tools.ensure import CHROMIUM_FLAGS, find_chromium

N_LAYERS, N_HEADS = 6, 8
TOKEN_COUNTS = (16, 64, 128)
#: Each view is drawn this many times, and each layer but the first is switched to once.
REPEATS = 5

ATTENTION = f"""
import numpy as np

def attention(n_tokens):
    scores = 2 * np.random.default_rng(0).standard_normal(
        ({N_LAYERS}, {N_HEADS}, n_tokens, n_tokens), dtype=np.float32)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)

def tokens(n_tokens):
    return [f"w{{i}}" for i in range(n_tokens)]
"""


@dataclass(frozen=True)
class View:
    """How one of the views is made, seen to be there, and switched to its next layer.

    Attributes:
        prepare: Python that imports what `make` needs.
        make: Python that defines ``make(n_tokens)``; what it returns stands ready as ``ready``.
        show: Python that shows ``ready``; this cell is measured.
        painted: a CSS selector for what is in the output once the view is drawn.
        switch: a JavaScript function of the output's node that sends the next layer's event.
    """

    name: str
    prepare: str
    make: str
    show: str
    painted: str
    switch: str


EXPLORER = View(
    name="explorer",
    prepare="import viz_transformer as vt\nvt.explore, vt.ForwardTrace",
    make="def make(n):\n"
    "    return vt.ForwardTrace(source_tokens=tokens(n), encoder_attention=attention(n))",
    show="vt.explore(ready)",
    painted="[data-vt-drawn]",
    switch="""(output) => output.querySelector('.vt-heads canvas').dispatchEvent(
        new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}))""",
)
BERTVIZ = View(
    name="bertviz",
    prepare="import torch\nfrom bertviz import head_view",
    make="def make(n):\n"
    "    layers = tuple(torch.from_numpy(layer[None]) for layer in attention(n))\n"
    "    return layers, tokens(n)",
    show="head_view(*ready)",
    painted="svg line",
    switch="""(output) => {
        const layer = output.querySelector('select#layer');
        layer.selectedIndex += 1;
        layer.dispatchEvent(new Event('change', {bubbles: true}));
    }""",
)

#: Counts every byte that the kernel sends to the page.
COUNT_BYTES = """
window.bytesReceived = 0;
window.WebSocket = class extends WebSocket {
    constructor(...address) {
        super(...address);
        this.addEventListener('message', ({data}) => {
            window.bytesReceived += data.byteLength ?? data.length;
        });
    }
};
"""

#: The end of the main thread's next frame: after its callbacks, styles, layout and paint.
END_OF_FRAME = """
const endOfFrame = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now());
    channel.port2.postMessage(null);
}));
const settled = () => new Promise((done) => requestIdleCallback(done));
const output = panel.content.activeCell.outputArea.node;
"""

#: Runs the active cell; returns [milliseconds to the first paint or null, bytes].
FIRST_PAINT = """async ([painted, seconds]) => {%s
    panel.content.activeCell.outputArea.model.clear();
    await settled();
    const [start, before] = [performance.now(), window.bytesReceived];
    const finished = jupyterapp.commands.execute('notebook:run-cell');
    while (!output.querySelector(painted)) {
        if (performance.now() - start > 1000 * seconds) return [null, 0];
        await new Promise(requestAnimationFrame);
    }
    const end = await endOfFrame();
    await finished;
    return [end - start, window.bytesReceived - before];
}"""

#: Switches the layer; returns the milliseconds from the event to the end of the next frame.
SWITCH = """async () => {%s
    await endOfFrame();
    await settled();
    const start = performance.now();
    (%s)(output);
    return await endOfFrame() - start;
}"""


@dataclass
class Measured:
    """What one view took at one size."""

    n_bytes: int = 0
    paint_ms: list[float] = field(default_factory=list)
    switch_ms: list[float] = field(default_factory=list)


class Bench:
    """One view in one notebook, ready to be measured."""

    def __init__(self, browser: Browser, server: LabServer, view: View, n_tokens: int) -> None:
        self._context = browser.new_context(viewport={"width": 1280, "height": 720})
        self._refused = guard(self._context)
        peers.serve(self._context)
        self._context.add_init_script(COUNT_BYTES)
        self._lab = LabPage(self._context.new_page(), server, Path(tempfile.gettempdir()))
        self._view = view
        self.measured = Measured()
        self._lab.open_cells(ATTENTION, view.prepare, view.make, "ready = make(4)", view.show)
        for index in range(4):
            self._lab.run_cell(index)
        # A view's first run loads scripts too (and bertviz's may fail while require.js loads):
        # both are given one of four tokens, not counted.
        if self._first_paint(10)[0] is None and self._first_paint(10)[0] is None:
            raise RuntimeError(f"{view.name} draws nothing: {self._lab.errors}, {self._refused}")
        self._lab.run(f"ready = make({n_tokens})")

    def _first_paint(self, seconds: float) -> tuple[float | None, int]:
        self._lab.select_cell(4)
        ms, n_bytes = self._lab.page.evaluate(
            FIRST_PAINT % END_OF_FRAME, [self._view.painted, seconds]
        )
        return ms, n_bytes

    def measure_paint(self) -> None:
        """Show the view anew."""
        self._lab.page.bring_to_front()
        ms, self.measured.n_bytes = self._first_paint(TIMEOUT_S)
        if ms is None:
            raise RuntimeError(f"{self._view.name} drew nothing: {self._lab.errors}")
        self.measured.paint_ms.append(ms)

    def measure_switch(self) -> None:
        """Go to the next layer."""
        self._lab.page.bring_to_front()
        self.measured.switch_ms.append(
            self._lab.page.evaluate(SWITCH % (END_OF_FRAME, self._view.switch))
        )

    def close(self) -> None:
        """Close the page."""
        self._context.close()


def measure(browser: Browser, server: LabServer, n_tokens: int) -> tuple[Measured, Measured]:
    """Measure both views at one size, by turns, so that a busy moment meets both."""
    with ExitStack() as stack:
        stack.callback(server.end_kernels)
        benches = []
        for view in (EXPLORER, BERTVIZ):
            benches.append(Bench(browser, server, view, n_tokens))
            stack.callback(benches[-1].close)
        for _ in range(REPEATS):
            for bench in benches:
                bench.measure_paint()
        for _ in range(N_LAYERS - 1):
            for bench in benches:
                bench.measure_switch()
        return benches[0].measured, benches[1].measured


def run() -> Table:
    """Measure both views at every size, and hold the largest to the goals."""
    peers.install()
    with (
        tempfile.TemporaryDirectory() as folder,
        LabServer(Path(folder) / "lab") as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=list(CHROMIUM_FLAGS)
        )
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
            )
            rows.append((str(n_tokens), name, *cells))
        rows.append((str(n_tokens), "ratio", *(f"{ratio:.1f} ×" for ratio in ratios(ours, theirs))))
    return Table(
        title="The explorer against bertviz's head view",
        text=TEXT,
        columns=("tokens", "view", "payload", "first paint", "switch of layer"),
        rows=tuple(rows),
        goals=goals(*results[TOKEN_COUNTS[-1]]),
        versions=(
            ("Chromium", browser_version),
            *((name, version(name)) for name in ("jupyterlab", "anywidget", "bertviz")),
        ),
    )


def ratios(ours: Measured, theirs: Measured) -> tuple[float, float, float]:
    """Return how many times more bytes, time to paint and time to switch theirs takes."""
    return (
        theirs.n_bytes / ours.n_bytes,
        statistics.median(theirs.paint_ms) / statistics.median(ours.paint_ms),
        statistics.median(theirs.switch_ms) / statistics.median(ours.switch_ms),
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
        for (least, text), ratio in zip(wanted, ratios(ours, theirs), strict=True)
    )


TEXT = f"""\
One attention, softmax(2 · randn) in float32, {N_LAYERS} layers × {N_HEADS} heads, is shown by
both views in JupyterLab, in the same browser, by turns; medians of {REPEATS}.

- *Payload*: all bytes that the kernel sends to the page while the cell runs. The explorer sends
  each weight in two bytes (four where all of them fit in 256 KiB); bertviz sends JSON, twice.
- *First paint*: from the start of the cell to the end of the main thread's first frame with the
  view in it.
- *Switch of layer*: from the start of the input event to the end of the main thread's next frame.

bertviz fetches require.js, jQuery and D3 from a CDN; here they are served from this machine, and
each view has been shown once, small, before it is measured. All eight heads are on in bertviz, as
it starts; the explorer shows all {N_LAYERS * N_HEADS} heads small and one large.
"""
