"""A live view and its still in each host's page: which of the two can be seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from matplotlib.figure import Figure
from playwright.sync_api import Page, expect

from viz_transformer.widgets.base.static_fallback import render_static
from viz_transformer.widgets.base.view import View

#: What a widget is drawn as; each holds the words "live view".
VIEW = '<div class="lm-Widget"><div class="vt-root vt">live view</div></div>'
BOX = '<div class="lm-Widget jupyter-widgets widget-container widget-box"><p>live view</p></div>'
ADRIFT = '<div class="lm-Widget jupyter-widgets-disconnected"><div class="vt-root vt">live view</div></div>'
#: A box that is drawn, around a view whose code could not be loaded.
BROKEN_BOX = """
<div class="lm-Widget jupyter-widgets widget-container widget-box"><p>live view</p>
<div class="jupyter-widgets"><div class="jupyter-widgets-error-widget icon-error"></div></div></div>
"""
ERROR = "Error displaying widget: model not found"


def jupyterlab(live: str, told: str) -> str:
    """Return a cell's outputs as JupyterLab and Notebook 7 lay them out."""
    return f"""
<div class="lm-Widget jp-OutputArea jp-Cell-outputArea">
  <div class="lm-Widget lm-Panel jp-OutputArea-child">
    <div class="lm-Widget jp-OutputPrompt jp-OutputArea-prompt"></div>
    <div class="lm-Widget lm-Panel jupyter-widgets jp-OutputArea-output">{live}</div>
  </div>
  <div class="lm-Widget lm-Panel jp-OutputArea-child">
    <div class="lm-Widget jp-OutputPrompt jp-OutputArea-prompt"></div>
    <div class="lm-Widget jp-RenderedHTMLCommon jp-RenderedHTML jp-OutputArea-output">{told}</div>
  </div>
</div>"""


def nbclassic(live: str, told: str) -> str:
    """Return a cell's outputs as the classic notebook lays them out."""
    return f"""
<div class="output">
  <div class="output_area"><div class="run_this_cell"></div><div class="prompt"></div>
    <div class="output_subarea jupyter-widgets-view" dir="auto">{live}</div></div>
  <div class="output_area"><div class="run_this_cell"></div><div class="prompt"></div>
    <div class="output_subarea output_html rendered_html" dir="auto">{told}</div></div>
</div>"""


def vs_code(live: str, told: str) -> str:
    """Return a cell's outputs as VS Code lays them out, its error line as it writes one."""
    drawn = f"""
    <div class="cell-output-ipywidget-background">
      <div class="cell-output-ipywidget-background"><div class="cell-output"></div>{live}</div>
    </div>"""
    error = f'<div><div class="no-renderer-error">{ERROR}</div><div>model_id</div></div>'
    return f"""
<div class="cell_container">
  <div class="output_container"><div class="output">{error if live == ERROR else drawn}</div></div>
  <div class="output_container"><div class="output"><div>{told}</div></div></div>
</div>"""


def colab(live: str, told: str) -> str:
    """Return a cell's outputs as Colab lays them out, in the frame that it gives a cell."""
    return f"""
<div id="output-area"><span id="output-header"></span><div id="output-body">
  <div class="display_data output-id-1"><div class="output_subarea">{live}</div></div>
  <div class="display_data output-id-2">
    <div class="output_subarea output_html rendered_html">{told}</div></div>
</div></div>"""


def unknown(live: str, told: str) -> str:
    """Return a cell's outputs as nobody lays them out."""
    return f'<section><div class="out">{live}</div><div class="out">{told}</div></section>'


HOSTS: list[Callable[[str, str], str]] = [jupyterlab, nbclassic, vs_code, colab]
MARK = "<style>.jupyter-widgets-disconnected::before { content: 'broken chain'; }</style>"
#: What the host shows in place of the widget, and which of all three can be seen then.
SEEN = {
    "a view": (VIEW, {"live view"}),
    "a box": (BOX, {"live view"}),
    "an error line": (ERROR, {"picture", "note"}),
    "a view whose kernel has ended": (ADRIFT, {"live view", "note"}),
    "a box that lacks a view": (BROKEN_BOX, {"live view", "picture", "note"}),
}


class Bar(View):
    """One bar."""

    _esm = "export default { render() {} };"

    def alt_text(self) -> str:
        return "One bar"

    def figure(self) -> Figure:
        figure = Figure(figsize=(2, 1))
        figure.add_subplot().bar([0], [1])
        return figure


@pytest.fixture(scope="module")
def told() -> str:
    """The still of a view, as it is shown."""
    return render_static(Bar())[0]


def seen(page: Page) -> set[str]:
    """Return which of the parts of an output can be seen; the picture is always there."""
    picture = page.get_by_role("img", name="One bar", include_hidden=True)
    expect(picture).to_have_count(1)
    parts = {
        "live view": page.get_by_text("live view"),
        "inner view": page.get_by_text("inner view"),
        "picture": picture,
        "note": page.locator(".vt-still-note"),
        ERROR: page.get_by_text(ERROR),
    }
    return {name for name, part in parts.items() if part.count() and part.is_visible()}


def test_in_each_host_a_view_or_its_picture_is_seen(page: Page, told: str) -> None:
    wrong = {}
    for host in HOSTS:
        for name, (live, expected) in SEEN.items():
            page.set_content(MARK + host(live, told))
            found = seen(page)
            if found != expected:
                wrong[host.__name__, name] = found
        page.set_content(MARK + host(ADRIFT, told))
        adrift = page.locator(".jupyter-widgets-disconnected")
        if adrift.evaluate("(node) => getComputedStyle(node, '::before').content") != "none":
            wrong[host.__name__, "the mark of a widget without its kernel"] = "is seen"
    assert wrong == {}


def test_a_view_that_is_drawn_after_its_picture_came_is_seen(page: Page, told: str) -> None:
    for host in HOSTS:
        page.set_content(host("<div id='later'></div>", told))
        assert "picture" in seen(page), host
        page.locator("#later").evaluate("(node, view) => { node.innerHTML = view; }", VIEW)
        assert seen(page) & {"live view", "picture"} == {"live view"}, host


def test_in_an_unknown_page_both_are_seen(page: Page, told: str) -> None:
    for live in (VIEW, BOX, ADRIFT):
        page.set_content(unknown(live, told))
        assert seen(page) >= {"live view", "picture"}, live


def test_an_output_widget_keeps_the_view_inside_it(page: Page, told: str) -> None:
    """The output before it is another widget's: it says nothing about the view."""
    inner = jupyterlab('<div class="vt-root vt">inner view</div>', told)
    output_widget = f'<div class="lm-Widget jupyter-widgets jupyter-widget-output">{inner}</div>'
    for host in HOSTS:
        for before, name in ((BOX, "live view"), (ERROR, ERROR)):
            page.set_content(host(before, output_widget))
            assert seen(page) & {"inner view", "picture", name} == {"inner view", name}, (host, name)
