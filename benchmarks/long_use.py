"""Views that are used for long: memory, nodes and listeners after 500 and after 2,000 interactions."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from benchmarks.table import Goal, Table
from tests.support.ui_jupyterlab import LabPage, LabServer, errors_of, guard, open_exported
from tests.support.ui_views import EVERY_VIEW
from tests.support.ui_windows import LAPTOP, ROOT
from tools.ensure import CHROMIUM_FLAGS, find_chromium
from viz_transformer.export import export_html

#: What is measured after so many interactions, and again after so many more.
WARM, LONG = 500, 2_000
#: What may be more after LONG than after WARM.
MARGIN = 0.05
SEED = 1
#: Machine code that Chromium makes of what runs often grows with use, and is not the views'.
FLAGS = ("--js-flags=--no-opt --no-maglev",)

_JS = re.sub(r"^export ", "", Path(__file__).with_suffix(".js").read_text("utf-8"), flags=re.MULTILINE)

#: Keeps the models of a page's views, with the first value of each trait that is set, and saves no file.
_WATCH_MODELS = """
globalThis.vtReset = [];
const watched = (model) => {
    const [first, set] = [new Map(), model.set];
    model.set = (name, value) => {
        if (!first.has(name)) first.set(name, model.get(name));
        set(name, value);
    };
    vtReset.push(() => first.forEach((value, name) => set(name, value)));
};
globalThis.vtViews = new Proxy({}, {
    set(views, name, widget) {
        views[name] = typeof widget === "function" ? widget : {
            ...widget,
            render: (given) => (watched(given.model), widget.render(given)),
        };
        return true;
    },
});
HTMLAnchorElement.prototype.click = () => {};
"""


@dataclass(frozen=True)
class Held:
    """What a view holds, once everything that can be freed is.

    Attributes:
        heap: bytes of JavaScript's heap, and of the arrays outside it.
        nodes: of the page, with those that only a script still knows.
        listeners: for events.
        kernel: bytes of the kernel's memory; None in a page, which has none.
    """

    heap: int
    nodes: int
    listeners: int
    kernel: int | None = None

    def growth(self, before: Held) -> float:
        """Return by which share the figure that grew most has grown."""
        pairs = zip(astuple(self), astuple(before), strict=True)
        return max(now / max(1, then) - 1 for now, then in pairs if now is not None)


def held(metrics: CDPSession) -> Held:
    """Measure what the page of a session holds."""
    for _ in range(3):  # what one collection frees may hold more
        metrics.send("HeapProfiler.collectGarbage")
    heap = metrics.send("Runtime.getHeapUsage")
    counters = metrics.send("Memory.getDOMCounters")
    n_bytes = heap["usedSize"] + heap.get("backingStorageSize", 0)
    return Held(int(n_bytes), counters["nodes"], counters["jsEventListeners"])


def used_in_page(page: Page, path: Path, stops: tuple[int, ...]) -> list[Held]:
    """Open an exported page, use its first view at random, and measure after so many interactions each.

    Before each measurement the view goes back to what it first showed, so that equal states are compared.
    """
    page.add_init_script(_WATCH_MODELS)
    open_exported(page, path, ".vt")
    errors = errors_of(page)
    metrics = page.context.new_cdp_session(page)
    found, done = [], 0
    for stop in stops:
        use(page, "document.querySelector('.vt')", SEED + stop, stop - done)
        page.evaluate("vtReset.forEach((reset) => reset())")
        still(page, "document.querySelector('.vt')")
        found.append(held(metrics))
        done = stop
    assert errors == [], errors
    return found


def use(page: Page, root: str, seed: int, times: int) -> None:
    """Interact with a view, which an expression finds, and wait until it has drawn what follows."""
    page.evaluate(
        f"async ([seed, times]) => {{{_JS}\nawait useAtRandom({root}, seed, times); }}", [seed, times]
    )


def still(page: Page, root: str) -> None:
    """Wait until a view draws no more."""
    page.evaluate(f"async () => {{{_JS}\nawait untilStill({root}); }}")


#: Shows a view whose questions go to the kernel, and goes back to what it first showed.
_IN_KERNEL = """
from benchmarks.memory import resident_bytes
from tests.support.ui_views import EVERY_VIEW

view = EVERY_VIEW[{name!r}]()
view.engine = {{}}
ours = [name for name in view.keys if not name.startswith("_") and name not in ("layout", "live", "engine")]
first = {{name: getattr(view, name) for name in ours}}

def reset():
    for name, value in first.items():
        view.set_trait(name, value)

view
"""

#: Counts the messages to the kernel that it has not dealt with, and the most that there were.
_COUNT_MESSAGES = """() => {
    window.waiting = { now: 0, most: 0 };
    panel.sessionContext.session.kernel.anyMessage.connect((_, { msg, direction }) => {
        const { header, content, parent_header } = msg;
        if (direction === "send" && header.msg_type === "comm_msg") waiting.now += 1;
        const idle = header.msg_type === "status" && content.execution_state === "idle";
        if (direction === "recv" && idle && parent_header.msg_type === "comm_msg") waiting.now -= 1;
        waiting.most = Math.max(waiting.most, waiting.now);
    });
}"""


def used_in_notebook(lab: LabPage, name: str, stops: tuple[int, ...]) -> tuple[list[Held], int]:
    """Use a view in JupyterLab as `used_in_page` does; also return how many messages waited at most."""
    lab.open_cells(_IN_KERNEL.format(name=name))
    lab.run_all()
    root = "panel.content.widgets[0].outputArea.node.querySelector('.vt')"
    lab.page.wait_for_function(f"Number({root}?.dataset.vtDrawn) > 0")
    lab.page.evaluate(_COUNT_MESSAGES)
    metrics = lab.page.context.new_cdp_session(lab.page)
    found, done = [], 0
    for stop in stops:
        use(lab.page, root, SEED + stop, stop - done)
        lab.page.wait_for_function("waiting.now === 0")
        lab.value("reset()")
        still(lab.page, root)
        in_page = held(metrics)
        found.append(Held(in_page.heap, in_page.nodes, in_page.listeners, lab.value("resident_bytes()")))
        done = stop
    return found, lab.page.evaluate("waiting.most")


def asking_views() -> list[str]:
    """Return the names of the views that a kernel answers; one of each class."""
    names: dict[type, str] = {}
    for name, make in EVERY_VIEW.items():
        view = make()
        if view.live:
            names.setdefault(type(view), name)
    return list(names.values())


@contextmanager
def _fresh_page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=LAPTOP, accept_downloads=False)
    refused = guard(context)
    yield context.new_page()
    context.close()
    assert refused == []


def _rows(
    names: list[str], measure: Callable[[Page, str], tuple[list[Held], str]]
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield a row of the table for each view, and by which share it grew."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*CHROMIUM_FLAGS, *FLAGS])
        for name in names:
            with _fresh_page(browser) as page:
                (before, after), waited = measure(page, name)
            growth = after.growth(before)
            row = (name, *_cells(before, after), waited, f"{growth:+.1%}")
            print(" | ".join(row), flush=True)
            yield row, growth
        browser.close()


def _cells(before: Held, after: Held) -> list[str]:
    def mib(n_bytes: int | None) -> str:
        return "" if n_bytes is None else f"{n_bytes / 2**20:.1f}"

    return [
        f"{mib(before.heap)} → {mib(after.heap)} MiB",
        f"{before.nodes:,} → {after.nodes:,}",
        f"{before.listeners:,} → {after.listeners:,}",
        "–" if after.kernel is None else f"{mib(before.kernel)} → {mib(after.kernel)} MiB",
    ]


def run() -> Table:
    """Use every view in a page, and those that ask a kernel in a notebook."""
    stops = (WARM, LONG)
    with tempfile.TemporaryDirectory() as folder:

        def in_page(page: Page, name: str) -> tuple[list[Held], str]:
            return used_in_page(page, export_html(EVERY_VIEW[name](), Path(folder, "page.html")), stops), "–"

        rows = list(_rows(list(EVERY_VIEW), in_page))
        with LabServer(Path(folder, "lab"), PYTHONPATH=str(ROOT)) as server:

            def in_notebook(page: Page, name: str) -> tuple[list[Held], str]:
                found, waited = used_in_notebook(LabPage(page, server, Path(folder)), name, stops)
                server.reset()
                return found, str(waited)

            kernel_rows = list(_rows(asking_views(), in_notebook))
    rows += [((f"{name}, with a kernel", *cells), growth) for (name, *cells), growth in kernel_rows]
    worst_row, worst = max(rows, key=lambda row: row[1])
    return Table(
        title="Long use",
        text=TEXT,
        columns=("view", "heap", "nodes", "listeners", "kernel", "most waiting", "growth"),
        rows=tuple(row for row, _ in rows),
        goals=(
            Goal(
                f"after {LONG:,} interactions every figure is within {MARGIN:.0%} of that after {WARM}",
                f"{worst:+.1%} ({worst_row[0]})",
                worst <= MARGIN,
            ),
        ),
        page="reliability.md",
    )


TEXT = f"""\
Each view in its exported page, used at random by clicks, keys, wheel, fields and sliders (seed {SEED}),
{LONG:,} times; those that ask a kernel also in JupyterLab, with the engine of the page taken away. Each
cell says what was held after {WARM} interactions and after {LONG:,}, when the view was back in its first
state and all garbage was collected. *Heap*: JavaScript's, with its arrays. *Nodes* and *listeners*: all
that the browser knows of, seen or not. *Kernel*: its resident memory. *Most waiting*: messages to the
kernel that it had not dealt with, at the worst moment; at the end none was left. *Growth* is that of the
figure that grew most.
"""
