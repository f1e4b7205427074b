"""What holds of every lesson: run in JupyterLab or Jupyter Notebook 7, or exported as a page."""

from __future__ import annotations

import contextlib

from playwright.sync_api import Locator, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from tests.support.ui_jupyterlab import LabPage
from tests.support.ui_windows import ARTIFACTS, ROOT

LESSONS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))

#: What stands outside its cell's output, or shows nothing: one line for each; of one cell or of all.
FAULTS = """
index => {
    const faults = [];
    const of = index === null ? '' : `[data-windowed-list-index='${index}']`;
    for (const area of document.querySelectorAll(`.jp-Cell${of} .jp-OutputArea`)) {
        const box = area.getBoundingClientRect();
        const cell = area.closest('.jp-Cell').dataset.windowedListIndex;
        for (const view of area.querySelectorAll('.vt-root')) {
            const {width, height, right} = view.getBoundingClientRect();
            const size = `${width} by ${height}`;
            if (width < 50 || height < 30) faults.push(`cell ${cell}: a view of ${size}`);
            if (right > box.right + 1) faults.push(`cell ${cell}: ${right - box.right} cut off`);
        }
        // A step of the attention stepper that is still to come is left blank on purpose.
        for (const canvas of area.querySelectorAll('.vt-root :not(.vt-to-come) > canvas')) {
            if (!canvas.width || !canvas.height) continue;
            // JupyterLab skips the cells far from the window, and nothing is drawn there yet.
            if (!canvas.checkVisibility({contentVisibilityAuto: true})) continue;
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            if (!data.some(byte => byte)) faults.push(`cell ${cell}: a blank canvas`);
        }
        if (/Error displaying widget|model not found/.test(area.textContent))
            faults.push(`cell ${cell}: ${area.textContent}`);
    }
    return faults;
}
"""
#: One of a view's controls may change nothing, as an arrow at the last head does; another one is tried then.
_NEXT_MS, _MOVE_MS = 1_000, 10_000
_SETTLED = """
() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))
"""


def cells_with_views(lab: LabPage) -> list[int]:
    """Return the cells that the kernel gave a view to show."""
    return lab.page.evaluate(
        """() => panel.content.widgets.flatMap((cell, index) =>
            (cell.model.outputs?.toJSON() ?? []).some(
                ({data}) => data && 'application/vnd.jupyter.widget-view+json' in data) ? [index] : [])"""
    )


def open_curtains(page: Page) -> None:
    """Show what waits for an answer; behind a curtain may be another one."""
    opened = page.evaluate(
        """async () => {
            for (let n = 0; n < 600 && document.querySelector('.vt-curtained'); n++) {
                for (const skip of document.querySelectorAll('.vt-awaiting .vt-skip'))
                    if (skip.checkVisibility({visibilityProperty: true})) skip.click();
                await new Promise(requestAnimationFrame);
            }
            return !document.querySelector('.vt-curtained');
        }"""
    )
    assert opened


def check_outputs(lab: LabPage, name: str) -> None:
    """Bring every view into sight, and hold all outputs to be whole; a picture is kept of a fault."""
    shown = cells_with_views(lab)
    assert shown
    open_curtains(lab.page)
    for index in shown:
        lab.select_cell(index)
        lab.output(index).locator(".vt-root").first.wait_for()
        with contextlib.suppress(PlaywrightTimeoutError):  # what is still not there is told below
            lab.page.wait_for_function(f"index => ({FAULTS})(index).length === 0", arg=index)
        lab.page.evaluate(_SETTLED)
        if faults := lab.page.evaluate(FAULTS, index):
            picture = ARTIFACTS / f"{name}-{index:02}.png"
            lab.page.screenshot(path=picture)
            raise AssertionError(f"{name}: {faults}; see {picture}")
    assert lab.page.evaluate(FAULTS) == [], name


#: What a view shows, but for its sliders, which show at once what they were set to.
_SHOWN = """
view => JSON.stringify([
    ...[...view.querySelectorAll('canvas')].map(canvas => {
        if (!canvas.width || !canvas.height) return 0;
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        // A number is as good as a picture to see a change by, which a PNG takes long to make.
        return new Int32Array(data.buffer).reduce((sum, pixel) => (Math.imul(sum, 31) + pixel) | 0, 0);
    }),
    ...[...view.querySelectorAll('img')].map(image => image.src),
    ...[...view.querySelectorAll('*')]
        .filter(part => !part.children.length && !part.closest('.vt-slider, select'))
        .map(part => part.textContent),
])
"""
#: Buttons come last, and never one that opens a text, such as what explains the view: pressing it
#: would prove nothing.
_CONTROLS = (
    "input[type=range], select, canvas[tabindex='0'], svg [role=slider]",
    "button:not([aria-expanded])",
)
#: A prediction that was answered says so, and no longer moves.
_VIEWS = ".vt-root:not(.vt-root .vt-root, :has(> .vt-card .vt-verdict))"


def check_answers(lab: LabPage, name: str) -> int:
    """Move something in every view, and hold it to show something else then; count the views."""
    n_views = 0
    for index in cells_with_views(lab):
        lab.select_cell(index)
        lab.output(index).locator(".vt-root").first.wait_for()
        for view in lab.output(index).locator(_VIEWS).all():
            n_views += 1
            check_moves(view, f"{name}, cell {index}")
    return n_views


def check_moves(view: Locator, where: str) -> None:
    """Move something in a view, and hold it to show something else then."""
    shown = view.element_handle()  # a prediction that is answered is none of `_VIEWS` any more
    before = shown.evaluate(_SHOWN)

    def changes(within_ms: int) -> bool:
        with contextlib.suppress(PlaywrightTimeoutError):
            view.page.wait_for_function(
                f"([view, before]) => ({_SHOWN})(view) !== before", arg=[shown, before], timeout=within_ms
            )
            return True
        return False

    controls = (one for kind in _CONTROLS for one in view.locator(kind).all())
    moved = any(_move(control) and changes(_NEXT_MS) for control in controls)
    assert moved or changes(_MOVE_MS), f"{where}: nothing moves the view"


def _move(control: Locator) -> bool:
    """Move a control, and return whether it can be used."""
    if not (control.is_visible() and control.is_enabled()):
        return False
    kind = control.evaluate("one => one.localName")
    if kind == "select":
        control.select_option(index=1 - min(1, control.evaluate("one => one.selectedIndex")))
    elif kind == "button":
        control.click()
    else:
        at_the_end = control.evaluate("one => one.max !== '' && one.value === one.max")
        control.focus()
        for _ in range(2):
            control.press("ArrowLeft" if at_the_end else "ArrowRight")
    return True
