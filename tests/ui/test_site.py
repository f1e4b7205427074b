"""The static site in a real browser: its views alive, its formulas drawn, nothing asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import nbformat
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

import viz_transformer as vt
from tests.support.on_screen import type_text
from tests.support.ui_jupyterlab import errors_of
from tests.support.ui_studio import SENTENCE, Studio
from tests.support.ui_windows import LAPTOP, NARROWEST, PHONE, SMALL, kernels_find_this_clone
from viz_transformer.export.site import write_site

DRAWN = re.compile(r"[1-9]\d*")
FIRST = r"""# 1 · One & <b>two</b>

**The question:** is *this* <i>text</i>?

The scale is $1/\sqrt{d_k}$, and

* In a list, `viz_transformer/model/families/of_encoders_and_decoders.py`.

$$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^T}{\sqrt{d_k}}\right) V$$
"""
SHOW = """
import viz_transformer as vt
from tests.support.hand_made_traces import make_trace
open("left_behind.txt", "w").write("a lesson may write files")
from IPython.display import HTML, Markdown
display(HTML(f"<div>{'wide' * 40}</div>"), Markdown(f"`{'wide' * 40}`"))
vt.explore(make_trace(), layer=1)
"""
SET = (
    "In [head 0·2](#set:layer=0&head=2) and in [query 1](#set:query=1), as a [matrix](#set:picture=matrix); "
    "[nobody's](#set:colour=red)."
)
DRAW = """
import matplotlib.pyplot as plt
figure, ax = plt.subplots()
ax.plot([0, 1], color="black")
display(figure, vt.figure_lab(lambda n: figure, {"n": [1, 2]}))
"""
ASK = 'vt.predict_number("How many heads?", 8, unit="heads")'
EXPLAIN = 'vt.explain("Why eight?", "There are two layers with four heads each.")'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, translator: vt.Translator) -> Iterator[Path]:
    """The first page of a site of two notebooks and a studio."""
    folder = tmp_path_factory.mktemp("site")
    for name, text in (("01_first", FIRST), ("02_second", "# 2 · Second")):
        cells = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell(SHOW)]
        cells.append(nbformat.v4.new_markdown_cell(SET))
        cells += [nbformat.v4.new_code_cell(text) for text in (DRAW, ASK)]
        cells.append(nbformat.v4.new_markdown_cell("There are eight."))
        cells.append(nbformat.v4.new_code_cell(EXPLAIN))
        cells.append(nbformat.v4.new_markdown_cell("## Next\n\nWhat comes next."))
        kernel = {"name": "python3", "display_name": "Python 3"}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(notebook, folder / f"{name}.ipynb")
    with kernels_find_this_clone():
        notebooks = sorted(folder.glob("*.ipynb"))
        studio = vt.studio(translator, SENTENCE)
        yield write_site(notebooks, folder / "site", title="A course", studio=studio)
    assert not list(folder.rglob("left_behind.txt"))


def test_every_lesson_of_the_site_is_reached_and_its_views_work(page: Page, site: Path) -> None:
    heard = errors_of(page)
    page.on("request", lambda request: heard.append(request.url))
    page.goto(site.as_uri())
    assert page.title() == "A course"
    entries = page.locator(".vt-lessons li")
    expect(entries.locator("b")).to_have_text(["One & <b>two</b>", "Second"])
    expect(entries.locator("i")).to_have_text(["1", "2"])
    expect(entries.first).to_contain_text("Is this <i>text</i>?")
    expect(page.locator(".vt-course")).to_have_count(0)  # the drawing is of the course, not of any notebooks
    entries.first.locator("a").click()
    explorer = page.locator(".vt-explorer")
    explorer.scroll_into_view_if_needed()
    expect(explorer).to_have_attribute("data-vt-drawn", DRAWN)
    title = explorer.locator(".vt-title")
    expect(title).to_contain_text("layer 1 · head 0")
    explorer.locator("canvas").first.focus()
    page.keyboard.press("ArrowRight")
    expect(title).to_contain_text("layer 1 · head 1")

    bar = page.locator(".vt-site-bar")
    expect(bar.locator(".vt-here")).to_have_text("1 · One & <b>two</b>")
    bar.get_by_role("link", name="2 · Second").click()
    expect(page.locator("h1")).to_contain_text("2 · Second")
    expect(page.locator(".vt-explorer")).to_have_attribute("data-vt-drawn", DRAWN)
    page.locator(".vt-way-on").get_by_role("link", name="1 · One").click()
    bar.get_by_role("link", name="Course").click()
    assert page.url == site.as_uri()
    names = ["index.html", "01_first.html", "02_second.html", "01_first.html", "index.html"]
    assert heard == [site.with_name(name).as_uri() for name in names]
    assert page.evaluate("window.pwned") is None


def test_the_first_page_leads_to_a_studio_that_reads_sentences_of_ones_own(page: Page, site: Path) -> None:
    heard = errors_of(page)
    page.on("request", lambda request: heard.append(request.url))
    page.goto(site.as_uri())
    page.get_by_role("link", name="The studio").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("The studio")
    studio = Studio(page.locator(".vt-studio"))
    studio.stands_in("heads")
    type_text(studio.open, "she runs")
    studio.go("model")
    studio.reads("she runs")
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    page.locator(".vt-site-bar").get_by_role("link", name="Course").click()
    assert heard == [site.as_uri(), site.with_name("studio.html").as_uri(), site.as_uri()]


def test_what_follows_a_question_waits_behind_a_curtain_until_it_is_answered(page: Page, site: Path) -> None:
    for name in ("01_first", "02_second"):
        page.goto(site.with_name(f"{name}.html").as_uri())
        asked, answer = page.locator(".vt-prediction").first, page.get_by_text("There are eight.")
        code = page.locator(".code_cell:has(.vt-prediction) > .vt-folded").first
        asked.scroll_into_view_if_needed()
        expect(asked).to_contain_text("The text below is hidden until you answer.")
        expect(answer).to_be_hidden()
        expect(code).to_be_hidden()
        if name == "01_first":
            asked.get_by_role("button", name="Show it without predicting").click()
        else:
            asked.get_by_role("textbox").fill("4")
            asked.get_by_role("textbox").press("Enter")
            expect(asked).to_contain_text("You said 4 heads; it is 8 heads.")
        expect(answer).to_be_visible()
        expect(code).to_be_visible()
        expect(asked).not_to_contain_text("curtain")
        expect(page.get_by_text("What comes next.")).to_be_visible()


def test_words_in_the_prose_set_the_view_above_them(page: Page, site: Path) -> None:
    page.goto(site.with_name("01_first.html").as_uri())
    title = page.locator(".vt-explorer .vt-title")
    expect(title).to_contain_text("layer 1 · head 0")
    head = page.get_by_role("button", name="head 0·2")
    query = page.get_by_role("button", name="query 1")
    expect(head).to_have_attribute("aria-pressed", "false")
    address = page.url
    head.click()
    expect(title).to_contain_text("layer 0 · head 2")
    expect(head).to_have_attribute("aria-pressed", "true")
    query.focus()
    page.keyboard.press("Space")
    expect(query).to_have_attribute("aria-pressed", "true")
    expect(head).to_have_attribute("aria-pressed", "true")
    page.locator(".vt-explorer canvas").first.focus()
    page.keyboard.press("ArrowRight")
    expect(head).to_have_attribute("aria-pressed", "false")
    matrix, mode = page.get_by_role("button", name="matrix", exact=True), page.locator(".vt-place")
    expect(mode).to_have_attribute("data-mode", "linked")
    expect(matrix).to_have_attribute("aria-pressed", "false")  # though it is what `picture` is
    matrix.click()
    expect(mode).to_have_attribute("data-mode", "matrix")
    expect(matrix).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Linked").click()
    expect(matrix).to_have_attribute("aria-pressed", "false")
    assert page.url == address
    # What no view has stays a link.
    expect(page.get_by_role("link", name="nobody's")).to_have_count(1)


def test_the_bar_stays_one_line_beside_long_titles(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(viewport=SMALL)
    page.goto(site.with_name("02_second.html").as_uri())
    bar = page.locator(".vt-site-bar")
    height = bar.bounding_box()["height"]
    page.evaluate("document.querySelector('.vt-here').textContent = 'A long title, '.repeat(20)")
    for size in (SMALL, PHONE):
        page.set_viewport_size(size)
        assert bar.bounding_box()["height"] == height
        expect(bar.locator("summary")).to_be_in_viewport()
        expect(bar.get_by_role("link", name="Course")).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_code_that_only_builds_a_view_is_folded_and_its_view_begins_with_its_text(
    page: Page, site: Path
) -> None:
    page.goto(site.with_name("02_second.html").as_uri())
    cells = page.locator(".code_cell:has(> .vt-folded)")
    expect(cells).to_have_count(2)  # the other cells print, or show what is no view
    folded = cells.first
    expect(folded.locator("summary")).to_have_text("Python, 1 line")
    page.get_by_role("button", name="Show it without predicting").click()
    code = folded.locator(".input")
    expect(code).to_be_hidden()
    folded.locator("summary").click()
    expect(code).to_contain_text("vt.predict_number")
    expect(page.locator(".vt-figure-and-text", has_text="There are eight.")).to_be_visible()


def test_the_contents_mark_read_lessons_and_can_be_searched(page: Page, site: Path) -> None:
    errors = errors_of(page)
    page.goto(site.with_name("02_second.html").as_uri())
    page.locator(".vt-way-on").scroll_into_view_if_needed()
    # Not wait_for_function: it looks again by `eval`, which the page's policy refuses.
    page.evaluate(
        """async () => {
            const kept = () => Object.keys(localStorage).some((key) => key.endsWith('/02_second'));
            for (let n = 0; n < 600 && !kept(); n++) await new Promise(requestAnimationFrame);
        }"""
    )
    page.goto(site.as_uri())
    done = page.locator(".vt-lessons .vt-done")
    expect(done).to_have_text(["", "✓ read"])
    assert page.locator("progress").evaluate("(bar) => bar.value / bar.max") == 0.5
    expect(page.locator(".vt-next")).to_contain_text("One")

    assert errors == []
    page.evaluate(
        """for (const key of Object.keys(localStorage)) localStorage.setItem(key, '{"read": [2]}')"""
    )
    page.evaluate("localStorage.setItem('viz-transformer', 'no JSON')")
    page.reload()
    expect(page.locator(".vt-note")).to_contain_text("cannot be read. It was put aside.")
    expect(done).to_have_text(["", ""])
    assert errors == []

    field = page.get_by_role("searchbox", name="Search all lessons")
    field.fill("SCÁLE")  # whatever the case and the accents
    expect(page.locator(".vt-lessons")).to_be_hidden()
    found = page.locator(".vt-found li")
    expect(found).to_have_count(1)
    expect(found.locator("mark")).to_have_text("scale")
    field.fill("nowhere to be found")
    expect(page.locator(".vt-found")).to_contain_text("No match")
    field.fill("")
    expect(page.locator(".vt-lessons")).to_be_visible()
    field.fill("scale")
    found.get_by_role("link").click()
    expect(page.locator("h1")).to_contain_text("1 · One")


def test_the_theme_is_the_system_s_until_it_is_switched(new_page: Callable[..., Page], site: Path) -> None:
    page = new_page(viewport=LAPTOP, scheme="dark")
    page.goto(site.with_name("01_first.html").as_uri())
    explorer = page.locator(".vt-explorer")
    expect(explorer).to_have_attribute("data-theme", "dark")
    page.locator(".vt-more summary").click()
    switch = page.get_by_role("button", name="Theme")
    switch.click()
    larger = page.get_by_role("button", name="Larger text")
    larger.click()
    expect(page.locator("body")).to_have_css("font-size", "20px")
    page.locator(".vt-more summary").click()
    expect(switch).to_have_text("Theme: light")
    expect(explorer).to_have_attribute("data-theme", "light")
    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    page.goto(site.as_uri())  # every page keeps to it
    expect(page.locator("body")).to_have_css("font-size", "20px")
    page.locator(".vt-more summary").click()
    expect(page.get_by_role("button", name="Theme")).to_have_text("Theme: light")
    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")


def test_on_a_dark_page_a_figure_has_the_page_s_own_background(
    new_page: Callable[..., Page], site: Path
) -> None:
    page = new_page(scheme="dark")
    page.goto(site.with_name("02_second.html").as_uri())
    page_is = page.evaluate("getComputedStyle(document.body).backgroundColor")
    figures = page.locator(".output_png img, .vt-figure")
    expect(figures).to_have_count(2)
    for figure in figures.all():
        figure.scroll_into_view_if_needed()
        shown = Image.open(BytesIO(figure.screenshot())).convert("RGB")
        assert "rgb({}, {}, {})".format(*shown.getpixel((12, 12))) == page_is
        assert min(most for _, most in shown.getextrema()) > 220, "what was black is light"


def test_formulas_are_drawn_by_the_browser(page: Page, site: Path) -> None:
    page.goto(site.with_name("01_first.html").as_uri())
    formulas = page.locator("math")
    expect(formulas).to_have_count(2)
    root = formulas.first.locator("msqrt").bounding_box()
    assert root["width"] > 5
    assert root["height"] > 5
    line = formulas.last.bounding_box()
    assert line["height"] > 1.5 * formulas.first.bounding_box()["height"]
    fraction = formulas.last.locator("mfrac")
    above, below = (part.bounding_box() for part in fraction.locator("xpath=./*").all())
    assert above["y"] + above["height"] <= below["y"] + 1
    expect(page.locator("main")).not_to_contain_text("\\sqrt")
    expect(page.locator("main")).not_to_contain_text("$")


def test_it_fits_every_window(page: Page, site: Path) -> None:
    for name in ("index", "01_first"):
        for size in (LAPTOP, SMALL, PHONE, NARROWEST):
            page.set_viewport_size(size)
            page.goto(site.with_name(f"{name}.html").as_uri())
            expect(page.locator(".vt-explorer")).to_have_count(int(name != "index"))
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], (name, size)
