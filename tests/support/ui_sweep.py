"""What is asked of every view in an exported page; each question returns what is wrong, or nothing.

What these questions need of a view is all that they know of it:

* its root has `data-vt-drawn`, a number of frames above 0 once it is drawn (`ROOT`);
* what folds is a button with `aria-expanded`, or `details`;
* what a key or a pointer works on has a role and an accessible name, and a `tabindex` of 0 if Tab reaches it;
* on paper the page is as it is after the event `beforeprint`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Locator, Page, expect

from tests.support.ui_jupyterlab import errors_of, next_frames
from tests.support.ui_rooms import NARROW, PHONE, ROOMS, sizes_of

ROOT = "[data-vt-drawn]"
WINDOW = {"width": 1280, "height": 800}
#: Text that would be markup, and would tell so, if anything took it for that.
MARKUP = "</script><img src=x onerror='window.pwned=1'><script>window.pwned=2</script>"

#: What Tab should reach now: enabled and in sight, one of a group that the arrow keys walk through.
_CONTROLS = """(root) =>
    [...root.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter(
        (node) => node.tabIndex >= 0 && !node.disabled && node.checkVisibility({ visibilityProperty: true }),
    )"""
_NAME = """(node) => node.getAttribute("aria-label") || node.labels?.[0]?.textContent.trim()
    || document.getElementById(node.getAttribute("aria-labelledby"))?.textContent.trim()
    || node.textContent.trim() || node.title"""
#: All that a view shows, but for its pixels: its markup without the count of frames, and where the focus is.
_SHOWN = """(root) => root.outerHTML.replace(/data-vt-drawn="\\d+"/g, "")
    + [...root.querySelectorAll("*")].indexOf(document.activeElement)"""
_WALKED_BY_ARROWS = ("grid", "application", "slider", "gridcell", "option")
#: What is scrolled sideways, or cut off, on paper.
_CUT_OFF = """(root) => [...root.querySelectorAll("*")]
    .filter((node) => ["auto", "scroll"].includes(getComputedStyle(node).overflowX)
        && node.scrollWidth > node.clientWidth + 1)
    .map((node) => node.outerHTML.slice(0, 80))"""
#: What is dark on paper, or can be pressed elsewhere.
_NOT_FOR_PAPER = """(root) =>
    [root, ...root.querySelectorAll(".vt-staged, .vt-menu, .vt-play, .vt-sheet-handle")]
    .filter((node) => node.matches(".vt-staged") ? node.dataset.theme !== "light"
        : node !== root && node.checkVisibility())
    .map((node) => `${node.className} on paper`)"""
_ZOOMED = """(root) => [...root.querySelectorAll("*")].filter((node) => node.style.zoom).length"""

_AXE = Path(__file__).parents[1] / "ui" / "vendor" / "axe-core-4.14.1.min.js"
_RUN = """async () => {
    const { violations } = await axe.run({ resultTypes: ["violations"] });
    return violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map((found) => ({
        rule: found.id,
        elements: found.nodes.slice(0, 5).map((node) => node.html.slice(0, 160)),
        why: found.nodes[0].failureSummary,
    }));
}"""


class OpenedView:
    """A view in a page of its own, opened from disk; `heard` is what went wrong, `asked` what was fetched."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.heard = errors_of(page)
        self.asked: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.set_viewport_size(WINDOW)
        page.emulate_media(color_scheme="light", forced_colors="none")
        page.goto(path.as_uri())
        self.address = path.as_uri()
        self.root: Locator = page.locator(ROOT).first
        expect(self.root).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))

    def look(self, scheme: str, forced: str = "none") -> None:
        """Switch the colours that the reader prefers, or forces, and wait until they are drawn."""
        self.page.emulate_media(color_scheme=scheme, forced_colors=forced)
        next_frames(self.root)

    def unfold(self) -> None:
        """Press every button that shows a part."""
        self.root.evaluate(
            """(root) => root.querySelectorAll("button[aria-expanded='false'], details:not([open]) > summary")
                .forEach((button) => button.click())"""
        )
        next_frames(self.root)


def findings(page: Page) -> list[dict[str, Any]]:
    """Return what axe-core (MPL-2.0) holds for serious or critical, with the elements that it is about."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"{_AXE.read_text(encoding='utf-8')};\nnull")  # null: axe itself is no answer
    return page.evaluate(_RUN)


def in_light(view: OpenedView) -> Any:
    """Ask axe-core."""
    view.look("light")
    return findings(view.page)


def rooms(view: OpenedView) -> Any:
    """Measure it in each window: seen whole on a laptop and a projector, and never too wide."""
    sizes = sizes_of(view.root, {**ROOMS, "phone": PHONE, "narrow": NARROW})
    view.page.set_viewport_size(WINDOW)
    too_tall = [f"{name}: {sizes[name]}" for name, room in ROOMS.items() if sizes[name].height > room.height]
    return too_tall + [f"{name}: {size}" for name, size in sizes.items() if size.too_wide]


def tab(view: OpenedView) -> Any:
    """Go through it with Tab: every control in sight is reached, and has a name."""
    names = view.root.evaluate(
        f"""(root) => {{
            window.controls = ({_CONTROLS})(root);
            window.reached = new Set();
            root.addEventListener("focusin", ({{ target }}) => reached.add(target));
            getSelection().collapse(root, 0);
            return controls.map({_NAME});
        }}"""
    )
    for _ in range(len(names) + 2):
        view.page.keyboard.press("Tab")
    missed = view.root.evaluate(
        """() => controls.filter((control) => control.isConnected && !reached.has(control))
            .map((control) => control.outerHTML.slice(0, 160))"""
    )
    return missed + [f"control {index} has no name" for index, name in enumerate(names) if not name]


def arrows(view: OpenedView) -> Any:
    """Press arrow keys on what they should work on: it shows something else then."""
    walked = view.root.evaluate_handle(
        f"""(root) => ({_CONTROLS})(root)
            .filter((node) => {list(_WALKED_BY_ARROWS)}.includes(node.getAttribute("role")))"""
    )
    dead = []
    for index in range(walked.evaluate("(walked) => walked.length")):
        before = view.root.evaluate(
            f"(root, [walked, index]) => (walked[index].focus(), ({_SHOWN})(root))", [walked, index]
        )
        for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
            view.page.keyboard.press(key)
            next_frames(view.root)
            if view.root.evaluate(_SHOWN) != before:
                break
        else:
            dead.append(walked.evaluate("(walked, index) => walked[index].outerHTML.slice(0, 160)", index))
    return dead


def unfolded_in_light(view: OpenedView) -> Any:
    """Ask axe-core, everything unfolded."""
    view.unfold()
    return in_light(view)


def unfolded_in_dark(view: OpenedView) -> Any:
    """Ask axe-core in dark colours, which the view must have taken."""
    view.unfold()
    view.look("dark")
    ground = view.root.evaluate(
        "(root) => getComputedStyle(root).backgroundColor.match(/[0-9.]+/g).map(Number)"
    )
    found = findings(view.page)
    return found if sum(ground[:3]) < 200 else [*found, f"its background is {ground}"]


def in_forced_colours(view: OpenedView) -> Any:
    """Ask axe-core in the colours that the reader forces on every page."""
    view.look("dark", "active")
    found = findings(view.page)
    view.look("light")
    return found


def on_paper(view: OpenedView) -> Any:
    """Print a dark page: it is light, whole, without buttons; afterwards nothing on the screen is smaller."""
    view.page.set_viewport_size({"width": 690, "height": 900})
    view.look("dark")
    next_frames(view.root)
    next_frames(view.root)
    before = view.root.evaluate(_ZOOMED)
    view.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    view.page.emulate_media(media="print")
    cut_off = view.root.evaluate(_CUT_OFF) + view.root.evaluate(_NOT_FOR_PAPER)
    view.page.emulate_media(media="screen")
    view.page.evaluate("dispatchEvent(new Event('afterprint'))")
    view.look("light")
    after = view.root.evaluate(_ZOOMED)
    view.page.set_viewport_size(WINDOW)
    return cut_off if before == after else [*cut_off, f"{after} parts are as small as on paper"]


def typed_markup(view: OpenedView) -> Any:
    """Type markup into each field: here and in what the view shows anyway, it stays text."""
    for field in view.root.get_by_role("textbox").or_(view.root.get_by_role("searchbox")).all():
        if field.is_visible() and field.is_editable():
            field.fill(MARKUP)
            field.press("Enter")
    next_frames(view.root)
    return view.root.evaluate(
        """(root) => [
            ...(window.pwned === undefined ? [] : ["a script in a text ran"]),
            ...[...root.querySelectorAll("script, iframe, [onerror], [onload], img[src='x']")]
                .map((node) => node.outerHTML.slice(0, 160)),
        ]"""
    )


def fetched(view: OpenedView) -> Any:
    """Return what it fetched from anywhere, itself and what it carries apart."""
    return [url for url in view.asked if url != view.address and not url.startswith(("data:", "blob:"))]


def went_wrong(view: OpenedView) -> Any:
    """Return exceptions and console errors, among them whatever the page's policy refused."""
    return view.heard


Question = Callable[[OpenedView], Any]


def wrong_with(view: OpenedView, questions: Iterable[Question]) -> dict[str, Any]:
    """Ask all questions, one after the other, and return what is wrong, by question."""
    wrong = {}
    for question in questions:
        try:
            found = question(view)
        except (AssertionError, PlaywrightError) as error:
            found = str(error)
        if found:
            wrong[question.__name__] = found
    return wrong
