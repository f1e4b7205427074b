"""The explorer in motion: how long the main thread works in each frame while numbers or marks move."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

import viz_transformer as vt
from benchmarks.table import Goal, Table
from tools.ensure import CHROMIUM_FLAGS, find_chromium

TEXT_SHOWN = "the animal did not cross the street because it was too tired"  # with its end 13 tokens
FRAME_MS = 1000 / 60
WARM, CHANGES = 6, 36  # changes of the head or of the picture, before and while it is measured
MOTION_MS = 700  # numbers move for 350 ms, dots flow for 600
PICTURES: dict[str, dict[str, Any]] = {
    "linked columns": {"linked": True},
    "lines of one head": {"linked": False, "picture": "lines"},
}
TABS = ("Linked", "Matrix", "Lines", "All heads", "Table", "Matrix")  # each to the next, and round again
CLICK = (
    "name => [...document.querySelectorAll('.vt-tabs button')].find((b) => b.textContent === name).click()"
)
_CATEGORIES = ["toplevel", "devtools.timeline"]


def traced(session: CDPSession, act: Callable[[], None]) -> list[dict[str, Any]]:
    """Return Chromium's trace events of what happens while `act` runs."""
    events: list[dict[str, Any]] = []
    ended: list[bool] = []
    session.on("Tracing.dataCollected", lambda sent: events.extend(sent["value"]))
    session.on("Tracing.tracingComplete", lambda _: ended.append(True))
    session.send("Tracing.start", {"traceConfig": {"includedCategories": _CATEGORIES}})
    act()
    session.send("Tracing.end")
    while not ended:
        session.send("Browser.getVersion")  # takes what has come in meanwhile
    return events


def work_per_frame(events: list[dict[str, Any]]) -> list[float]:
    """Return the processor time of the page's main thread from each animation frame to the next, in ms.

    It holds the frame's callbacks, styles, layout and paint, and what the thread does before the next one.
    """
    frames = [each for each in events if each["name"] == "FireAnimationFrame"]
    if not frames:
        return []
    thread = (frames[0]["pid"], frames[0]["tid"])
    tasks = sorted(
        (each["ts"], each["ts"] + each.get("dur", 0), each.get("tdur", each.get("dur", 0)))
        for each in events
        if each["name"] == "ThreadControllerImpl::RunTask"
        and each["ph"] == "X"
        and (each["pid"], each["tid"]) == thread
    )
    drawn = {
        start for start, end, _ in tasks if any(start <= frame["ts"] <= end for frame in frames)
    }  # several callbacks of one frame are in one task
    return [
        sum(spent for start, _, spent in tasks if first <= start < following) / 1000
        for first, following in pairwise(sorted(drawn))
    ]


def to_another_head(page: Page, change: int) -> None:
    """Go there and back through the four heads of a layer."""
    page.keyboard.press("ArrowRight" if change // 3 % 2 == 0 else "ArrowLeft")


def to_another_picture(page: Page, change: int) -> None:
    """Go round the pictures of a head."""
    page.evaluate(CLICK, TABS[change % len(TABS)])


def in_motion(page: Page, path: Path, step: Callable[[Page, int], None]) -> list[float]:
    """Open a page with an explorer, change it again and again, and return the work of each frame."""
    page.goto(path.as_uri())
    page.locator(".vt-heads canvas").focus()

    def go(changes: int) -> None:
        for change in range(changes):
            step(page, change)
            page.wait_for_timeout(MOTION_MS)

    go(WARM)
    return work_per_frame(traced(page.context.new_cdp_session(page), lambda: go(CHANGES)))


def share_of(frames: list[float], part: float) -> float:
    """Return the value that a part of the frames do not exceed."""
    return sorted(frames)[min(len(frames) - 1, int(part * len(frames)))]


def run() -> Table:
    """Measure each picture of the bundled translator's 24 heads that moves, and the ways between them."""
    trace = vt.load_translator().trace(TEXT_SHOWN)
    found = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(CHROMIUM_FLAGS))
        cases = [(f"{name}, to another head", traits, to_another_head) for name, traits in PICTURES.items()]
        cases.append(("to another picture", {}, to_another_picture))
        for name, traits, step in cases:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            path = vt.export_html(vt.explore(trace, **traits), Path(folder) / "page.html")
            found[name] = in_motion(page, path, step)
            page.close()
        version = browser.version
        browser.close()
    worst = max(share_of(frames, 0.95) for frames in found.values())
    return Table(
        title="The explorer in motion",
        text=TEXT,
        columns=("motion", "frames", "median", "95th percentile", "worst", "frames over 16.7 ms"),
        rows=tuple(
            (
                name,
                str(len(frames)),
                f"{statistics.median(frames):.1f} ms",
                f"{share_of(frames, 0.95):.1f} ms",
                f"{max(frames):.1f} ms",
                str(sum(each > FRAME_MS for each in frames)),
            )
            for name, frames in found.items()
        ),
        goals=(
            Goal(
                f"95 of 100 frames in motion within {FRAME_MS:.1f} ms of main-thread work",
                f"{worst:.1f} ms",
                worst <= FRAME_MS,
            ),
        ),
        versions=(("Chromium", version),),
    )


TEXT = f"""\
The bundled translator's 24 heads at a sentence of 13 tokens, in an exported page of 1280 × 800 pixels.
{CHANGES} times the head is changed by an arrow key; its weights then move to those of the next head
for 350 ms, and dots flow along the arcs for 600 ms. As often the picture is changed, round linked columns,
matrix, lines, all heads and table; the marks of the weights then move for 350 ms. The work of a frame is the
processor time of the page's main thread, by Chromium's own trace, from one animation frame to the next:
callbacks, styles, layout and paint. The machine's two cores were shared with other work.
"""
