"""Views in the classic notebook, in Voilà and in marimo: seen once, in the host's colours, and answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.support.on_screen import type_text
from tests.support.ui_explorer import Explorer, places
from tests.support.ui_hosts import host_environment, marimo, voila
from tests.support.ui_jupyterlab import TIMEOUT_S, LabServer
from tests.support.ui_studio import NAMES, OPENED, SENTENCE, Studio

pytestmark = pytest.mark.weekly

TIMEOUT_MS = TIMEOUT_S * 1000

WHITE = "rgb(255, 255, 255)"
VOILAS_DARK = "rgb(17, 17, 17)"
MARIMOS_DARK = "rgb(24, 28, 26)"

#: Before its kernel has told of itself, the classic notebook runs cells too, and then takes their views away.
READY = """() => {
    const {info_reply, comm_manager} = window.Jupyter?.notebook?.kernel ?? {};
    return info_reply?.status && 'jupyter.widget' in comm_manager.targets;
}"""
EXPLORER = """\
import viz_transformer as vt
translator = vt.load_translator()
view = vt.explore(translator.trace("the black cat sleeps"))
view.observe(lambda change: view.set_trait("layer", 0), "head")  # Python's answer to a click on a head
view"""
#: Views that hold an explorer, each in a way of its own.
OUTER = {
    "translation-lab": """\
import viz_transformer as vt
translator = vt.load_translator()
vt.translation_lab(translator, "the black cat sleeps")""",
    "tour": """\
steps = [{"caption": f"Layer {layer}.", "state": {"layer": layer}} for layer in (0, 1)]
vt.tour(vt.explore(translator.trace("the black cat sleeps")), steps)""",
    "trace-switch": """\
traces = {text: translator.trace(text) for text in ("the cat sleeps", "the dogs sleep")}
switch = vt.trace_switch(traces, kind="encoder")
switch.explorer.query, switch.explorer.key = 1, 2
switch""",
}
STUDIO = f"import viz_transformer as vt\nvt.studio(vt.load_translator(), {SENTENCE!r})"
LAB = 'vt.head_lab(translator, "the black cat sleeps", engine="kernel")'


def notebook_of(*sources: str) -> str:
    """Return a notebook of Jupyter's that has these cells."""
    kernel = {"name": "python3", "display_name": "Python 3"}
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}))


def marimos_notebook_of(*sources: str) -> str:
    """Return a notebook of marimo's that has these cells, which all define what others use."""
    cells = ["@app.cell\ndef _():\n    " + source.replace("\n", "\n    ") for source in sources]
    return "\n\n".join(["import marimo", "app = marimo.App()", *cells]) + "\n"


def check_looks(page: Page, theme: str, ground: str, stills: int) -> None:
    """Each view is seen once, in the host's colours; its still has come, and steps back."""
    for name in ("explorer", "head-lab"):
        page.locator(f".vt-{name}[data-vt-drawn]").first.wait_for()
    expect(page.locator(".vt-still")).to_have_count(stills)
    for name in ("explorer", "head-lab"):
        view = page.locator(f".vt-{name}")
        expect(view).to_have_count(1)
        expect(view).to_have_attribute("data-theme", theme)
        expect(view).to_have_css("background-color", ground)
        expect(view).to_be_visible()
    expect(page.locator(".vt-still img").filter(visible=True)).to_have_count(0)
    words = page.locator(".vt-head-lab .vt-written .vt-word")
    expect(words).to_have_text(["el", "gato", "negro", "duerme", "<eos>"])


def check_answers(page: Page) -> None:
    """A click reaches Python, and Python's answer the view: by a trait, and by a message."""
    explorer = Explorer(page.locator("body"))
    explorer.heads.scroll_into_view_if_needed()
    explorer.heads.click(position=places(explorer.heads)[-1])
    expect(explorer.title).to_contain_text("layer 0 · head 3")  # the click says layer 1

    lab = page.locator(".vt-head-lab")
    head = lab.get_by_role("button", name=re.compile("^cross layer 1 head 2, "))
    head.click()  # chosen
    head.click()  # switched off
    expect(lab.locator(".vt-headline")).to_contain_text("Without cross head 1·2")
    expect(lab.locator(".vt-line")).to_contain_text(re.compile(r"Loss 0\.\d+ → "))


def test_the_classic_notebook_is_white_on_a_dark_system_too(
    new_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = new_page(scheme="light")
    with LabServer(tmp_path, "nbclassic", **host_environment()) as server:
        (server.root / "views.ipynb").write_text(notebook_of(EXPLORER, LAB))
        page.goto(server.address("views.ipynb"))
        page.wait_for_function(READY)
        page.evaluate("Jupyter.notebook.execute_all_cells()")
        check_looks(page, "light", WHITE, 2)
        check_answers(page)
        page.emulate_media(color_scheme="dark")
        check_looks(page, "light", WHITE, 2)


def test_voila_in_its_light_and_its_dark_theme(new_page: Callable[..., Page], tmp_path: Path) -> None:
    (tmp_path / "views.ipynb").write_text(notebook_of(EXPLORER, LAB))
    page = new_page()
    with voila(tmp_path, "views.ipynb") as url:
        for theme, ground in {"light": WHITE, "dark": VOILAS_DARK}.items():
            page.goto(f"{url}/?theme={theme}")
            check_looks(page, theme, ground, 2)
            check_answers(page)


@pytest.fixture(scope="module")
def marimos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a marimo with three notebooks."""
    folder = tmp_path_factory.mktemp("marimo")
    wrapped = f"import marimo as mo\nmo.ui.anywidget({LAB})"
    (folder / "views.py").write_text(marimos_notebook_of(EXPLORER, wrapped))
    (folder / "outer.py").write_text(marimos_notebook_of(*OUTER.values()))
    (folder / "studio.py").write_text(marimos_notebook_of(STUDIO))
    with marimo(folder) as url:
        yield url


def test_marimo_bare_and_wrapped_follows_the_system(new_page: Callable[..., Page], marimos: str) -> None:
    page = new_page(scheme="light")
    page.goto(f"{marimos}/?file=views.py")
    check_looks(page, "light", WHITE, 0)
    check_answers(page)
    page.emulate_media(color_scheme="dark")
    check_looks(page, "dark", MARIMOS_DARK, 0)


def test_marimo_shows_a_view_inside_a_view(new_page: Callable[..., Page], marimos: str) -> None:
    page = new_page(scheme="dark")
    page.goto(f"{marimos}/?file=outer.py")
    lab, tour, switch = (page.locator(f".vt-{name}") for name in OUTER)
    for outer in (lab, tour, switch):
        inner = outer.locator(".vt-explorer")
        inner.locator("canvas").first.wait_for()
        expect(inner).to_have_css("background-color", MARIMOS_DARK)

    type_text(lab, "the dogs sleep")
    expect(lab.locator(".vt-translated")).to_have_text("los perros duermen")
    tour.get_by_role("button", name="Next ▶").click()
    expect(Explorer(tour).title).to_contain_text("layer 1")
    expect(Explorer(switch).pair).to_contain_text("cat to sleeps")
    switch.get_by_role("button", name="the dogs sleep", exact=True).click()
    expect(Explorer(switch).pair).to_contain_text("dogs to sleep")


def test_marimo_carries_a_choice_through_the_doors_of_a_studio(
    new_page: Callable[..., Page], marimos: str
) -> None:
    page = new_page()
    page.goto(f"{marimos}/?file=studio.py")
    studio = Studio(page.locator(".vt-studio"))
    studio.shows("heads", **OPENED)
    studio.choose_word("maestra")
    for room in NAMES:  # each is made when it is opened
        studio.go(room)
        expect(studio.open.get_by_role("alert").filter(visible=True)).to_have_count(0)
    for room in ("head", "model", "heads"):
        studio.go(room)
        studio.shows(room, **{**OPENED, "word": "maestra"})
    studio.open.get_by_role("button", name="Numbers").click()  # the column is narrow
    studio.open.get_by_role("button", name="One head by hand").click()
    studio.shows("head", **{**OPENED, "word": "maestra"})
    studio.press("Back")
    studio.shows("heads", **{**OPENED, "word": "maestra"})
