"""The model in the page against the model in the kernel: from a key to the picture, and the sums alone."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, sync_playwright

import viz_transformer as vt
from benchmarks.page_tasks import TASKS, TEXTS, Task, key_to_picture
from benchmarks.table import Goal, Table
from tests.support.ui_jupyterlab import LabPage, LabServer, guard
from tools.ensure import CHROMIUM_FLAGS, find_chromium
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.mask_lab.composition import MaskState
from viz_transformer.widgets.mask_lab.requests import mask_request

REPEATS = 7
WINDOW = {"width": 1280, "height": 900}
FRAME_MS = 1000 / 60
FORWARD = "forward pass with all heads' weights"

#: Runs the engine once: a forward pass, or a lab's answer to a request.
ENGINE = """async ([lab, request, context]) => {
    const {promise} = globalThis.vtEngines.values().next().value;
    const engine = await promise;
    const model = engine.textModel();
    if (lab) engine.answer(lab, {"": model}, request, context);
    else model.trace(request.text, request.target);
}"""

#: Begins to run code in the notebook's kernel, and does not wait for its end.
START_CELL = "(code) => { panel.sessionContext.session.kernel.requestExecute({code}); }"
BUSY_S = 2
COMPUTE = f"""import time
end = time.perf_counter() + {BUSY_S}
while time.perf_counter() < end:
    sum(range(10_000))
"""
WHILE_BUSY = f"the first again, while a cell computes for {BUSY_S} seconds in the kernel"

#: Resolves when a lab is drawn.
DRAWN = """async (root) => {
    while (!document.querySelector(root)?.dataset.vtDrawn) await new Promise(requestAnimationFrame);
}"""


def views(engine: str) -> list[View]:
    """Return the lab of each task."""
    names = {"vt": vt, "translator": vt.load_translator(), "text": TEXTS[-1], "engine": engine}
    return [eval(task.make, names) for task in TASKS]


class InPage:
    """The labs in one exported page, opened from disk."""

    def __init__(self, browser: Browser, path: Path) -> None:
        self._context = browser.new_context(viewport=WINDOW)
        guard(self._context)
        self.page = self._context.new_page()
        self._metrics: CDPSession = self._context.new_cdp_session(self.page)
        self._metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(path.as_uri())
        for task in TASKS:
            self.page.evaluate(DRAWN, task.root)

    def act(self, task: Task, number: int) -> float:
        """Do a task; return the milliseconds from the key to the picture."""
        self.page.bring_to_front()
        start, end = self.page.evaluate(key_to_picture(task), number)
        return end - start

    def work(self, lab: str | None, request: dict[str, Any], context: Any = None) -> float:
        """Ask the engine; return the main thread's milliseconds of processor time."""
        before = self._task_ms()
        self.page.evaluate(ENGINE, [lab, request, context])
        return self._task_ms() - before

    def _task_ms(self) -> float:
        metrics = self._metrics.send("Performance.getMetrics")["metrics"]
        return 1000 * next(each["value"] for each in metrics if each["name"] == "TaskDuration")


class InLab:
    """The labs in one notebook of JupyterLab, computed by its kernel."""

    def __init__(self, browser: Browser, server: LabServer) -> None:
        context = browser.new_context(viewport=WINDOW)
        guard(context)
        self.lab = LabPage(context.new_page(), server, Path(tempfile.gettempdir()))
        setting = (
            "import viz_transformer as vt\n"
            f"translator, text, engine = vt.load_translator(), {TEXTS[-1]!r}, 'kernel'"
        )
        self.lab.open_cells(setting, *(task.make for task in TASKS))
        for index in range(1 + len(TASKS)):
            self.lab.run_cell(index)
        for index, task in enumerate(TASKS):
            self.lab.select_cell(1 + index)
            self.lab.page.evaluate(DRAWN, task.root)

    def act(self, task: Task, number: int) -> float:
        """Do a task; return the milliseconds from the key to the picture."""
        self.lab.page.bring_to_front()
        self.lab.select_cell(1 + TASKS.index(task))
        start, end = self.lab.page.evaluate(key_to_picture(task), number)
        return end - start

    def act_while_busy(self, task: Task, number: int) -> float:
        """Do a task just after a cell has begun that computes for `BUSY_S` seconds."""
        self.lab.page.evaluate(START_CELL, COMPUTE)
        return self.act(task, number)


def opened(browser: Browser, path: Path) -> float:
    """Return the milliseconds from opening a page to the picture of the first sentence typed in it."""
    context = browser.new_context(viewport=WINDOW)
    guard(context)
    page = context.new_page()
    page.goto(path.as_uri(), wait_until="commit")
    page.evaluate(DRAWN, TASKS[0].shown)
    _, end = page.evaluate(key_to_picture(TASKS[0]), 0)
    context.close()
    return end


def processor_ms(act: Callable[[], Any]) -> float:
    """Return the milliseconds of processor time that a call takes."""
    start = time.process_time()
    act()
    return 1000 * (time.process_time() - start)


def sums(page: InPage, kept: list[View], in_page: list[View]) -> dict[str, tuple[float, ...]]:
    """Return the median work in the page and in Python of each question, by turns."""
    translator = vt.load_translator()
    fresh = iter(TEXTS)
    words = kept[-1].words
    lengths = tuple(map(len, words["source"]))

    # Each time another cell is painted, so that no side has kept its answer.
    cells = itertools.cycle(
        (0, query, key, True) for query in range(lengths[0]) for key in range(query + 1, lengths[0])
    )

    def painted() -> dict[str, Any]:
        return mask_request(words, MaskState(lengths=lengths, painted=(next(cells),)), "leaks")

    beam = {"method": "beam", "beam_width": 8, "length_penalty": 0.6}
    # Of each task, the engine's lab and a request about a text.
    asked: tuple[tuple[str, Callable[[str], dict[str, Any]]], ...] = (
        ("translation_lab", lambda text: {"text": text}),
        ("beam_stepper", lambda text: {"text": text, **beam}),
        ("head_lab", lambda text: {"sentence": text, "each": 0}),
        ("mask_lab", lambda _: painted()),
    )
    target = list(translator.translate(TEXTS[-1]).tokens)
    found = {
        FORWARD: by_turns(
            lambda: page.work(None, {"text": next(fresh), "target": target}),
            lambda: processor_ms(lambda: translator.trace(next(fresh), target)),
        )
    }
    for task, view, other, (lab, request) in zip(TASKS, kept, in_page, asked, strict=True):
        engine = partial(page.work, lab, context=other.engine["context"])
        found[task.name] = by_turns(
            lambda engine=engine, request=request: engine(request=request(next(fresh))),
            lambda view=view, request=request: processor_ms(
                partial(view.answer, request(next(fresh)))
            ),
        )  # fmt: skip
    return found


def acting(act: Callable[[Task, int], float], task: Task) -> Callable[[], float]:
    """Return a function that does a task, each time about something new."""
    numbers = itertools.count()
    return lambda: act(task, next(numbers))


def by_turns(*acts: Callable[[], float]) -> tuple[float, ...]:
    """Return the medians of what each returns; the first of each warms up."""
    times = [[act() for act in acts] for _ in range(1 + REPEATS)][1:]
    return tuple(statistics.median(each) for each in zip(*times, strict=True))


def run() -> Table:
    """Measure every task by turns, then the sums behind it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        LabServer(Path(folder) / "lab") as server,
        sync_playwright() as playwright,
    ):
        in_page, kept = views("page"), views("kernel")
        paths = {
            name: vt.export_html(each, Path(folder) / f"{name}.html")
            for name, each in {"four": in_page, "carrying": kept, "one": in_page[0]}.items()
        }
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS))
        page, lab = InPage(browser, paths["four"]), InLab(browser, server)
        pictures = {task.name: by_turns(acting(page.act, task), acting(lab.act, task)) for task in TASKS}
        first = TASKS[0]
        pictures[WHILE_BUSY] = by_turns(acting(page.act, first), acting(lab.act_while_busy, first))
        work = sums(page, kept, in_page)
        (opening,) = by_turns(lambda: opened(browser, paths["one"]))
        sizes = {name: path.stat().st_size for name, path in paths.items()}
        browser_version = browser.version
        browser.close()
    return table(pictures, work, opening, sizes, browser_version)


def table(
    pictures: dict[str, tuple[float, ...]],
    work: dict[str, tuple[float, ...]],
    opening: float,
    sizes: dict[str, int],
    browser_version: str,
) -> Table:
    """Return what was measured, with its goals."""
    rows = [
        ("page opened from disk, to its first typed sentence drawn", "–", "–", f"{opening:.0f} ms", "–", "–"),
        (FORWARD, *(f"{ms:.1f} ms" for ms in work[FORWARD]), "–", "–", "–"),
    ]
    for name, (here, there) in pictures.items():
        sums_of = [f"{ms:.1f} ms" for ms in work[name]] if name in work else ["–", "–"]
        rows.append((name, *sums_of, f"{here:.0f} ms", f"{there:.0f} ms", f"{there / here:.1f} ×"))
    sentence, beam, ranking, *_ = pictures
    ratio = pictures[sentence][1] / pictures[sentence][0]
    limits = (
        (opening, 1000, "the page answers its first typed sentence within a second of being opened"),
        (work[FORWARD][0], FRAME_MS, "a forward pass with all weights within the work of one frame"),
        (work[beam][0], 100, "beam search of width 8 within 100 ms of work"),
        (work[ranking][0], 300, "the ranking of all heads within 300 ms of work"),
    )
    return Table(
        title="The model in the page against the model in the kernel",
        text=TEXT.format(
            repeats=REPEATS,
            **{name: f"{size / 1e6:.2f} MB" for name, size in sizes.items()},
            ratio=f"{sizes['four'] / sizes['carrying']:.2f}",
        ),
        columns=("what", "work, page", "work, Python", "picture, page", "picture, JupyterLab", "ratio"),
        rows=tuple(rows),
        goals=(
            *(Goal(f"{text} ({most:.4g} ms)", f"{ms:.1f} ms", ms <= most) for ms, most, text in limits),
            Goal(
                "from a key to the translation and all heads at least 5 × faster than JupyterLab's kernel",
                f"{ratio:.1f} ×",
                ratio >= 5,
            ),
        ),
        versions=(
            ("Chromium", browser_version),
            *((name, version(name)) for name in ("jupyterlab", "anywidget", "torch")),
        ),
    )


TEXT = """\
The bundled translator and a sentence of 13 tokens, in four labs: the translation lab, the beam
stepper, the head lab and the mask lab. They stand in one exported page, opened from disk, where
the engine answers; and in one notebook of JupyterLab, where the kernel does. Both are open in
one browser and asked by turns, each time about something new; medians of {repeats}.

- *Picture*: from the key or the slider's event to the end of the frame that shows the whole answer.
  The page was still for 0.3 seconds before; the browser then begins a frame at once.
- *Work*: processor time of the sums alone, of the page's main thread and of Python, by turns too.
- *While a cell computes*: a question to the kernel waits until the cell has ended, so that no model is asked
  while a cell trains it. The page's engine does not wait.

Bytes: the page of the four labs takes {four} with the model in it. Without the model it takes
{carrying} and carries answers in its place, to what its buttons can ask and nothing else: {ratio} ×.
The translation lab's page, with the model, takes {one}; it is the one that is opened from disk.
"""
