"""Views that are used for long in a notebook: what page and kernel hold, and what waits between them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.long_use import (
    FLAGS,
    SEED,
    STOPS,
    Held,
    Used,
    held,
    one_of_each,
    still,
    table_of,
    use,
)
from benchmarks.table import Goal, Table
from tests.support.ui_jupyterlab import TIMEOUT_S, LabPage, LabServer, guard
from tests.support.ui_windows import LAPTOP, kernels_find_this_clone
from tools.ensure import CHROMIUM_FLAGS, find_chromium

#: Makes a view whose questions all go to the kernel, and what resets and measures it.
_CELL = """
import gc, tracemalloc
from ipywidgets.widgets.widget import _instances
from tests.support.ui_views import EVERY_VIEW
from viz_transformer.widgets.base.view import View

session = get_ipython().kernel.session
tracemalloc.start()
view = EVERY_VIEW[{name!r}]()
views = [each for each in _instances.values() if isinstance(each, View)]
for each in views:
    each.engine = {{}}
first = [
    {{name: getattr(each, name) for name in each.keys if not name.startswith("_") and name != "layout"}}
    for each in views
]

def reset():
    for each, state in zip(views, first):
        with each.hold_trait_notifications():
            for name, value in state.items():
                setattr(each, name, value)

def traced():
    gc.collect()
    session.digest_history.clear()  # Jupyter's own: a line for each message, up to 65,536
    return tracemalloc.get_traced_memory()[0]
"""
#: Keys are the view's: JupyterLab would keep each event, and the nodes that it went through, until the next
#: of its shortcuts. And no file is saved.
_ALONE = "jupyterapp.evtKeydown = () => {}; HTMLAnchorElement.prototype.click = () => {};"
#: How many messages of the page the kernel has not dealt with.
BACKLOG = """[...panel.sessionContext.session.kernel._futures.values()]
    .filter(({ msg }) => msg.header.msg_type === "comm_msg").length"""


def used_in_notebook(lab: LabPage, name: str, stops: tuple[int, ...]) -> tuple[Used, int]:
    """Show a view in a new notebook, use it at random, and measure after so many interactions each.

    Returns the view that was used, and how many messages waited for the kernel when most did.
    """
    page = lab.page
    metrics = page.context.new_cdp_session(page)
    make(lab, name)
    alone = held(metrics)
    show(lab)
    rounds: list[Held] = []
    done = backlog = 0
    for stop in stops:
        use(page, SEED + stop, stop - done)
        backlog = max(backlog, page.evaluate(BACKLOG))
        until_answered(page)
        lab.value("reset()")
        until_answered(page)
        of_view = {figure: count - alone[figure] for figure, count in held(metrics).items()}
        rounds.append({**of_view, "kernel": lab.value("traced()")})
        done = stop
    return Used(name, rounds, lab.errors), backlog


def make(lab: LabPage, name: str) -> None:
    """Make a view in a new notebook, all of whose questions go to the kernel."""
    lab.open_cells(_CELL.format(name=name), "view")
    lab.run_cell(0)


def show(lab: LabPage) -> None:
    """Show the view that was made, and keep JupyterLab out of what is done with it."""
    lab.run_cell(1)
    lab.page.wait_for_function("document.querySelector('.vt')?.dataset.vtDrawn > 0")
    lab.page.evaluate(_ALONE)


def until_answered(page: Page) -> None:
    """Wait until the kernel has dealt with every message, and the view draws no more."""
    page.wait_for_function(f"{BACKLOG} === 0", timeout=1000 * TIMEOUT_S)
    still(page)
    page.wait_for_function(f"{BACKLOG} === 0", timeout=1000 * TIMEOUT_S)


def run(*flags: str) -> Table:
    """Use a view of each kind in a notebook of its own, or only those after the flag `--only`."""
    used, backlogs = [], {}
    with (
        tempfile.TemporaryDirectory() as folder,
        kernels_find_this_clone(),
        LabServer(Path(folder)) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=[*CHROMIUM_FLAGS, *FLAGS])
        for name in flags[1:] or one_of_each():
            context = browser.new_context(viewport=LAPTOP, accept_downloads=False)
            guard(context)
            lab = LabPage(context.new_page(), server, Path(folder))
            one, backlogs[name] = used_in_notebook(lab, name, STOPS)
            context.close()
            server.end_kernels()
            used.append(one)
            print(" | ".join(one.cells()), flush=True)
        browser.close()
    most = max(backlogs, key=lambda name: backlogs[name])
    goal = Goal("at most 10 messages wait for the kernel", f"{backlogs[most]} ({most})", backlogs[most] <= 10)
    return table_of("Long use, in a notebook", TEXT, used, goal)


TEXT = """\
As above, for a view of each kind in JupyterLab, all of whose questions go to the kernel. *Heap*, *nodes*
and *listeners* are what the page holds more than before the view was shown. *Kernel*: memory that Python
has given out since it began to make the view.
`python -m benchmarks long_use_kernel --write` measures this again.
"""
