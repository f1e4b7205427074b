"""The ground under every view: a small anywidget, in JupyterLab, talks to Python both ways."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.ui_jupyterlab import LabPage, guard

COUNTER = """
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = '''
    export default {
      render({ model, el }) {
        const button = document.createElement("button");
        button.className = "counter";
        const show = () => { button.textContent = `clicked ${model.get("clicks")}`; };
        button.onclick = () => {
          model.set("clicks", model.get("clicks") + 1);
          model.save_changes();
        };
        model.on("change:clicks", show);
        show();
        el.append(button);
      },
    };
    '''
    clicks = traitlets.Int(0).tag(sync=True)

counter = Counter()
counter
"""


def test_a_widget_shows_on_the_first_run_and_talks_both_ways(lab: LabPage) -> None:
    lab.open_cells(COUNTER)
    lab.run_all()
    button = lab.output(0).locator("button.counter")
    expect(button).to_have_text("clicked 0")

    button.click()
    expect(button).to_have_text("clicked 1")
    lab.wait_for_value("counter.clicks", 1)
    assert lab.run("print(counter.clicks)") == "1\n"

    lab.run("counter.clicks = 41")
    expect(button).to_have_text("clicked 41")
    assert lab.errors == []


def test_the_page_outlives_a_restart_of_its_kernel(lab: LabPage) -> None:
    lab.open_cells(COUNTER)
    lab.run_all()
    lab.restart_kernel()
    assert lab.run("print('alive')") == "alive\n"
    lab.run_cell(0)
    expect(lab.output(0).locator("button.counter")).to_have_text("clicked 0")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_theme_can_be_switched(lab: LabPage, theme: str) -> None:
    lab.open_cells("1")
    assert lab.page.evaluate("document.body.dataset.jpThemeLight") == "true"  # no test's leavings
    lab.set_theme("dark")
    lab.set_theme(theme)
    background = lab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(map(int, background.removeprefix("rgb(").removesuffix(")").split(",")))
    assert (lightness < 300) == (theme == "dark"), background


def test_a_cell_that_raises_fails_the_test_that_ran_it(lab: LabPage) -> None:
    lab.open_cells("1 / 0")
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        lab.run_cell(0)


def test_a_request_that_would_leave_the_machine_is_refused_and_counted(
    browser: Browser, tmp_path: Path
) -> None:
    """The guard is what "nothing is fetched" rests on, so it is tried on a page that does fetch."""
    page_file = tmp_path / "leaks.html"
    page_file.write_text(
        "<script src='https://example.org/a.js'></script><img src='http://example.org/b.png'>"
        "<script>new WebSocket('ws://example.org/c'); fetch('//example.org/d').catch(() => 0)"
        "</script><img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>"
    )
    context = browser.new_context()
    left = guard(context)
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.wait_for_load_state("networkidle")
    context.close()
    assert {url.rpartition("/")[2] for url in left} >= {"a.js", "b.png", "c"}
