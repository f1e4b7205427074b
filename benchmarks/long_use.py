"""Views that are used for long: memory, nodes and listeners after 500 and after 2,000 interactions."""

from __future__ import annotations

import re
import tempfile
from dataclasses import astuple, dataclass
from pathlib import Path

from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.table import Goal, Table
from tests.support.ui_jupyterlab import errors_of, guard, open_exported
from tests.support.ui_views import EVERY_VIEW
from tests.support.ui_windows import LAPTOP
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
    """

    heap: int
    nodes: int
    listeners: int

    def growth(self, before: Held) -> float:
        """Return by which share the figure that grew most has grown."""
        pairs = zip(astuple(self), astuple(before), strict=True)
        return max(now / then - 1 for now, then in pairs)


def held(metrics: CDPSession) -> Held:
    """Measure what the page of a session holds."""
    for _ in range(3):  # what one collection frees may hold more
        metrics.send("HeapProfiler.collectGarbage")
    heap = metrics.send("Runtime.getHeapUsage")
    counters = metrics.send("Memory.getDOMCounters")
    n_bytes = heap["usedSize"] + heap.get("backingStorageSize", 0)
    return Held(int(n_bytes), counters["nodes"], counters["jsEventListeners"])


def used_in_page(page: Page, path: Path, stops: tuple[int, ...]) -> tuple[list[Held], list[str]]:
    """Open an exported page, use its first view at random, and measure after so many interactions each.

    Returns what was held, and the errors that scripts raised.

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
    return found, errors


def use(page: Page, root: str, seed: int, times: int) -> None:
    """Interact with a view, which an expression finds, and wait until it has drawn what follows."""
    page.evaluate(
        f"async ([seed, times]) => {{{_JS}\nawait useAtRandom({root}, seed, times); }}", [seed, times]
    )


def still(page: Page, root: str) -> None:
    """Wait until a view draws no more."""
    page.evaluate(f"async () => {{{_JS}\nawait untilStill({root}); }}")


def one_of_each() -> list[str]:
    """Return the name of a view of each class."""
    first = {type(make()).__name__: name for name, make in reversed(EVERY_VIEW.items())}
    return list(first.values())[::-1]


def run() -> Table:
    """Use a view of each kind in its exported page."""
    rows, growths = [], {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*CHROMIUM_FLAGS, *FLAGS])
        for name in one_of_each():
            path = export_html(EVERY_VIEW[name](), Path(folder, "page.html"))
            context = browser.new_context(viewport=LAPTOP, accept_downloads=False)
            guard(context)
            (before, after), errors = used_in_page(context.new_page(), path, (WARM, LONG))
            context.close()
            growths[name] = after.growth(before)
            rows.append((name, *_cells(before, after), f"{growths[name]:+.1%}", str(len(errors))))
            print(" | ".join(rows[-1]), flush=True)
        browser.close()
    worst = max(growths, key=lambda name: growths[name])
    return Table(
        title="Long use",
        text=TEXT,
        columns=("view", "heap", "nodes", "listeners", "growth", "errors"),
        rows=tuple(rows),
        goals=(
            Goal(
                f"after {LONG:,} interactions every figure is within {MARGIN:.0%} of that after {WARM}",
                f"{growths[worst]:+.1%} ({worst})",
                growths[worst] <= MARGIN,
            ),
        ),
        page="reliability.md",
    )


def _cells(before: Held, after: Held) -> tuple[str, ...]:
    return (
        f"{before.heap / 2**20:.1f} → {after.heap / 2**20:.1f} MiB",
        f"{before.nodes:,} → {after.nodes:,}",
        f"{before.listeners:,} → {after.listeners:,}",
    )


TEXT = f"""\
A view of each kind in its exported page, used at random by clicks, keys, wheel, fields and sliders
(seed {SEED}), {LONG:,} times. Each cell says what was held after {WARM} interactions and after {LONG:,},
when the view was back in its first state and all garbage was collected. *Heap*: JavaScript's, with its
arrays. *Nodes* and *listeners*: all that the browser knows of, seen or not. *Growth* is that of the
figure that grew most. *Errors* are those that scripts raised meanwhile.
"""
