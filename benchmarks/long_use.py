"""Views that are used for long in a page: memory, nodes and listeners, round after round."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.table import Goal, Table
from tests.support.ui_jupyterlab import errors_of, guard, open_exported
from tests.support.ui_views import EVERY_VIEW
from tests.support.ui_windows import LAPTOP
from tools.ensure import CHROMIUM_FLAGS, find_chromium
from viz_transformer.export import export_html

#: After how many interactions a view is measured: what is made once is made in the first round.
STOPS = (400, 800, 1_200, 1_600, 2_000)
#: What may be more after the last round than after the first.
MARGIN = 0.05
SEED = 1
#: Machine code that Chromium makes of what runs often grows with use, and is not the views'.
FLAGS = ("--js-flags=--no-opt --no-maglev",)
#: Finds the view in a page.
ROOT = "document.querySelector('.vt')"

#: What is held, by name: bytes of `heap`, JavaScript's, with the arrays outside it; `nodes` of the page, with
#: those that only a script still knows; `listeners` for events. A kernel adds figures of its own.
Held = dict[str, int]

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


def growths(rounds: list[Held]) -> dict[str, float]:
    """Return by which share each figure has grown, if every round had added what the least did.

    What is made once adds to one round, and what depends on the view's state goes up and down; a leak adds
    to each.
    """
    first, times = rounds[0], len(rounds) - 1
    least = {name: min(after[name] - before[name] for before, after in pairwise(rounds)) for name in first}
    return {name: times * max(0, least[name]) / first[name] for name in first}


def held(metrics: CDPSession) -> Held:
    """Measure what the page of a session holds."""
    for _ in range(3):  # what one collection frees may hold more
        metrics.send("HeapProfiler.collectGarbage")
    heap = metrics.send("Runtime.getHeapUsage")
    counters = metrics.send("Memory.getDOMCounters")
    n_bytes = heap["usedSize"] + heap.get("backingStorageSize", 0)
    return {"heap": int(n_bytes), "nodes": counters["nodes"], "listeners": counters["jsEventListeners"]}


def used_in_page(page: Page, path: Path, stops: tuple[int, ...]) -> tuple[list[Held], list[str]]:
    """Open an exported page, use its first view at random, and measure after so many interactions each.

    Returns what was held, and the errors that scripts raised.

    Before each measurement the view goes back to what it first showed, so that equal states are compared.
    """
    page.add_init_script(_WATCH_MODELS)
    open_exported(page, path, ".vt-root")
    errors = errors_of(page)
    metrics = page.context.new_cdp_session(page)
    found, done = [], 0
    for stop in stops:
        use(page, SEED + stop, stop - done)
        page.evaluate("vtReset.forEach((reset) => reset())")
        still(page)
        found.append(held(metrics))
        done = stop
    return found, errors


def use(page: Page, seed: int, times: int) -> None:
    """Interact with the view of a page."""
    page.evaluate(
        f"async ([seed, times]) => {{{_JS}\nawait useAtRandom({ROOT}, seed, times); }}", [seed, times]
    )


def still(page: Page) -> None:
    """Wait until the view of a page draws no more."""
    page.evaluate(f"async () => {{{_JS}\nawait untilStill({ROOT}); }}")


def one_of_each() -> list[str]:
    """Return the name of a view of each class."""
    first = {type(make()).__name__: name for name, make in reversed(EVERY_VIEW.items())}
    return list(first.values())[::-1]


@dataclass(frozen=True)
class Used:
    """A view that was used: what it held after each round, and the errors that scripts raised."""

    name: str
    rounds: list[Held]
    errors: list[str]

    def growth(self) -> float:
        """Return by which share the figure that grew most has grown."""
        return max(growths(self.rounds).values())

    def cells(self) -> tuple[str, ...]:
        """Return the view's row."""
        pairs = ((name, self.rounds[0][name], self.rounds[-1][name]) for name in self.rounds[0])
        figures = (f"{_told(name, first)} → {_told(name, last)}" for name, first, last in pairs)
        return (self.name, *figures, f"{self.growth():+.1%}", str(len(self.errors)))


def _told(name: str, figure: int) -> str:
    return f"{figure / 2**20:.2f} MiB" if name in ("heap", "kernel") else f"{figure:,}"


def table_of(title: str, text: str, used: list[Used], *goals: Goal) -> Table:
    """Return the section of views that were used for long."""
    worst = max(used, key=Used.growth)
    return Table(
        title=title,
        text=text,
        columns=("view", *used[0].rounds[0], "growth", "errors"),
        rows=tuple(each.cells() for each in used),
        goals=(
            Goal(
                f"{STOPS[-1]:,} interactions let no figure grow by more than {MARGIN:.0%}",
                f"{worst.growth():+.1%} ({worst.name})",
                worst.growth() <= MARGIN,
            ),
            *goals,
        ),
    )


def run(*flags: str) -> Table:
    """Use a view of each kind in its exported page, or only those after the flag `--only`."""
    used = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*CHROMIUM_FLAGS, *FLAGS])
        for name in flags[1:] or one_of_each():
            path = export_html(EVERY_VIEW[name](), Path(folder, "page.html"))
            context = browser.new_context(viewport=LAPTOP, accept_downloads=False)
            guard(context)
            used.append(Used(name, *used_in_page(context.new_page(), path, STOPS)))
            context.close()
            print(" | ".join(used[-1].cells()), flush=True)
        browser.close()
    return table_of("Long use, in a page", TEXT, used)


ROUNDS = f"""\
{STOPS[-1]:,} times by clicks, keys, wheel, fields and sliders at random (seed {SEED}), in {len(STOPS)}
rounds. After each the view goes back to its first state, all garbage is collected and it is measured. Each
cell says what was held after the first round and after the last. *Growth* is that of the figure that grew
most, if each of the {len(STOPS) - 1} rounds after the first had added what the least of them did: what is
made once adds to one round, a leak to each. *Errors* are those that scripts raised meanwhile."""

TEXT = f"""\
A view of each kind in its exported page is used {ROUNDS}
*Heap*: JavaScript's, with its arrays. *Nodes* and *listeners*: all that the browser knows of, seen or not.
`python -m benchmarks long_use --write` measures this again.
"""
