"""Exported pages elsewhere: in a sandboxed frame of another page, below a path, and under Back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import nbformat
import pytest
from playwright.sync_api import FrameLocator, Page, expect

import viz_transformer as vt
from tests.support.exported_pages import served_folder
from tests.support.hand_made_traces import hostile_trace, make_trace
from tests.support.on_screen import type_text
from tests.support.ui_jupyterlab import errors_of
from tests.support.ui_staged import STAGED
from tests.support.ui_windows import PHONE, kernels_find_this_clone
from viz_transformer.errors import FileError
from viz_transformer.export.site import write_site
from viz_transformer.widgets.explorer import explore

DRAWN = re.compile(r"[1-9]\d*")
KEEPS_NOTHING = "This browser keeps nothing of this page: what you answer lasts until it is closed."
TITLE = 'Who "looks" <where>'
#: A frame of a stranger, which says to everyone that it is as high as it likes.
STRANGER = """<iframe srcdoc="<script>
for (const height of [5000, NaN, -1, 1e9, '9000', {}])
    parent.postMessage({'viz-transformer': {height}}, '*');
parent.postMessage('told', '*');
</script>" sandbox="allow-scripts"></iframe>"""
#: What a hostile page may tell a page in its frame.
MESSAGES = """(frame) => {
    const said = [null, 1, "set", {"viz-transformer": {height: 1}}, {type: "set", layer: 1}, [[]], {id: 0}];
    for (const each of said) frame.contentWindow.postMessage(each, "*");
}"""


def host_of(page: Path, more: str = "") -> Path:
    """Write a course's page that shows an exported one as its lines say, in the same folder."""
    lines = page.with_name(f"{page.stem}.embed.html").read_text(encoding="utf-8")
    # A script of the host's own, which hears what everybody hears.
    hears = "<script>window.heard = []; addEventListener('message', ({data}) => heard.push(data));</script>"
    text = f"<!doctype html><title>A course</title>{hears}<p>Text</p>{lines}{more}"
    host = page.with_name("host.html")
    host.write_text(text, encoding="utf-8")
    return host


def framed(page: Page) -> FrameLocator:
    return page.frame_locator("iframe.viz-transformer")


def test_in_a_sandboxed_frame_a_page_works_says_its_height_and_listens_to_nobody(
    page: Page, tmp_path: Path
) -> None:
    folder = tmp_path / "week #1, a?b 100%"
    folder.mkdir()
    views = [vt.predict_number("How many heads?", 8, name="p1"), explore(hostile_trace(), query=0)]
    exported = vt.export_html(views, folder / "who looks #1.html", title=TITLE, embed=True)
    errors = errors_of(page)
    page.goto(host_of(exported, STRANGER).as_uri())
    page.wait_for_function("heard.includes('told')")

    inner = framed(page)
    frame = page.locator("iframe.viz-transformer")
    assert frame.get_attribute("title") == TITLE
    explorer = inner.locator(".vt-explorer")
    expect(explorer).to_have_attribute("data-vt-drawn", DRAWN)
    expect(inner.locator(".vt-note")).to_have_text([KEEPS_NOTHING])
    asked = inner.locator(".vt-prediction")
    asked.get_by_role("textbox").fill("8")
    asked.get_by_role("textbox").press("Enter")
    expect(asked).to_contain_text("You said 8")

    title = inner.locator(".vt-title")
    expect(title).to_contain_text("layer 0 · head 0")
    frame.evaluate(MESSAGES)
    inner.locator(".vt-heads canvas").first.press("ArrowRight")
    expect(title).to_contain_text("layer 0 · head 1")
    # As high as the page says, whatever strangers say, and the page is not as high as its frame.
    needed = inner.locator("body").evaluate("(body) => Math.ceil(body.getBoundingClientRect().height)")
    expect(frame).to_have_attribute("height", str(needed))
    assert needed < 1600
    assert page.evaluate("history.length") == 2, "the Back button is the host's: about:blank and the host"
    assert page.evaluate("window.pwned") is None
    assert errors == []


def test_the_lines_replace_only_lines_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    for _ in range(2):
        assert vt.export_html(explore(make_trace()), path, embed=True) == path
    lines = tmp_path / "page.embed.html"
    lines.write_text("my notes", encoding="utf-8")
    path.unlink()
    with pytest.raises(FileError, match=r"embed\.html"):
        vt.export_html(explore(make_trace()), path, embed=True)
    assert (lines.read_text(encoding="utf-8"), path.exists()) == ("my notes", False)


class Heads:
    """The heads of an explorer's first layer, and which of them is chosen."""

    def __init__(self, page: Page, folder: Path) -> None:
        """Open the page of an explorer after another one."""
        self.page = page
        page.goto("about:blank")
        page.goto(vt.export_html(explore(make_trace(n_heads=16)), folder / "page.html").as_uri())
        self.are_at(0)

    def are_at(self, head: int) -> None:
        expect(self.page.locator(".vt-title")).to_contain_text(f"layer 0 · head {head}")

    def move(self, *to: int) -> None:
        """Choose the next heads; they are one step once the history holds it."""
        for head in to:
            self.page.locator(".vt-heads canvas").first.press("ArrowRight")
            self.are_at(head)
        self.page.wait_for_function(
            "head => history.state?.['viz-transformer'].snapshots.at(-1)?.[0]?.head === head", arg=to[-1]
        )


def test_back_and_forward_return_to_what_was_shown(page: Page, tmp_path: Path) -> None:
    errors = errors_of(page)
    heads = Heads(page, tmp_path)
    heads.move(1)
    heads.move(2, 3)  # in one go
    page.go_back()
    heads.are_at(1)
    page.go_forward()
    heads.are_at(3)
    page.go_back()
    page.reload()
    heads.are_at(1)
    page.go_back()
    heads.are_at(0)
    page.go_back()
    expect(page).to_have_url("about:blank")
    assert errors == []


def test_a_page_that_is_loaded_again_answers_its_sentence_again(
    page: Page, tmp_path: Path, translator: vt.Translator
) -> None:
    """The numbers of another sentence are too large for the history, also those of a view inside a studio."""
    errors = errors_of(page)
    page.goto(vt.export_html(vt.studio(translator, "the cat sleeps"), tmp_path / "page.html").as_uri())
    headline = page.locator(".vt-studio .vt-headline")
    expect(headline).to_contain_text("gato")
    type_text(page.locator(".vt-studio"), "the teacher lost her book")
    expect(headline).to_contain_text("maestra")
    held = "(text) => JSON.stringify(history.state).includes(text)"
    page.wait_for_function(held, arg="maestra")  # else what follows is part of the same step
    page.get_by_role("button", name="libro", exact=True).click()
    said = "Writing libro, this head looks at book"
    expect(headline).to_contain_text(said)
    page.wait_for_function(held, arg='"query":4')
    page.reload()
    expect(headline).to_contain_text(said)
    page.goto("about:blank")
    page.go_back()
    expect(headline).to_contain_text(said)
    page.go_back()
    expect(headline).to_contain_text("maestra")
    page.go_back()
    expect(headline).to_contain_text("gato")
    assert errors == []


def test_the_address_carries_what_is_chosen(page: Page, tmp_path: Path) -> None:
    errors = errors_of(page)
    heads = Heads(page, tmp_path)
    plain = page.url
    heads.move(1)
    expect(page).to_have_url(f"{plain}#kind=cross&layer=0&head=1&linked=true")
    heads.move(2)
    expect(page).to_have_url(re.compile(r"&head=2&"))
    page.go_back()
    expect(page).to_have_url(re.compile(r"&head=1&"))
    page.evaluate("location.hash = '#kind=decoder&layer=1&head=5&query=2'")  # as if written by hand
    title = page.locator(".vt-title")
    expect(title).to_have_text("Decoder self-attention · layer 1 · head 5")
    page.go_back()
    heads.are_at(1)
    page.goto("about:blank")
    page.goto(f"{plain}#layer=1&head=3&query=1&kind=encoder")
    expect(title).to_have_text("Encoder self-attention · layer 1 · head 3")
    expect(page.locator(".vt-headline")).to_contain_text("Reading")
    page.goto("about:blank")
    page.goto(f"{plain}#layer=99&head=3&query=<img src=x onerror=alert(1)>")
    heads.are_at(0)
    expect(page.locator(".vt-note")).to_contain_text("Its address asks for layer=99, query=<img src=x")
    assert errors == []


@pytest.mark.slow
def test_back_leaves_the_page_after_ten_steps_however_many_there_were(page: Page, tmp_path: Path) -> None:
    heads = Heads(page, tmp_path)
    for head in range(1, 14):
        heads.move(head)
    for head in range(12, 2, -1):
        page.go_back()
        heads.are_at(head)
    page.go_back()
    expect(page).to_have_url("about:blank")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first page of a site of two notebooks, whose folder has a name that needs quoting."""
    folder = tmp_path_factory.mktemp("elsewhere")
    texts = ("# 1 · One\n\nText.", "# 2 · Two\n\nText.")
    view = "import viz_transformer as vt\nfrom tests.support.hand_made_traces import make_trace\n"
    for number, text in enumerate(texts, 1):
        cells = [
            nbformat.v4.new_markdown_cell(text),
            nbformat.v4.new_code_cell(f"{view}vt.explore(make_trace())"),
            nbformat.v4.new_markdown_cell("\n\n".join(["In [head 0·2](#set:head=2)."] + 12 * [text[8:]])),
            nbformat.v4.new_code_cell('vt.predict_number("How many heads?", 8, name="p1")'),
        ]
        kernel = {"name": "python3", "display_name": "Python 3"}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(notebook, folder / f"0{number}_lesson.ipynb")
    with kernels_find_this_clone():
        return write_site(sorted(folder.glob("*.ipynb")), folder / "a course #2", title="A course")


@pytest.mark.slow
def test_a_site_works_below_a_path_and_in_a_sandboxed_frame(page: Page, site: Path) -> None:
    errors = errors_of(page)
    with served_folder(site.parents[1]) as address:
        page.goto(f"{address}/{quote(site.parent.name)}/")
        page.locator(".vt-lessons a").first.click()
        expect(page.locator(".vt-explorer")).to_have_attribute("data-vt-drawn", DRAWN)
        page.locator(".vt-way-on").scroll_into_view_if_needed()
        page.get_by_role("link", name="Course").click()
        expect(page.locator(".vt-done").first).to_have_text("0 of 1 answered · ✓ read")
        page.locator(".vt-search").fill("two")
        page.locator(".vt-found a").first.click()
        expect(page.locator("h1")).to_contain_text("2 · Two")

        lines = f'<iframe sandbox="allow-scripts" class="viz-transformer" src="{quote(site.parent.name)}/">'
        (site.parents[1] / "host.html").write_text(f"<!doctype html>{lines}</iframe>", encoding="utf-8")
        page.goto(f"{address}/host.html")
        inner = framed(page)
        expect(inner.locator(".vt-note")).to_have_text([KEEPS_NOTHING])
        inner.locator(".vt-lessons a").first.click()
        expect(inner.locator(".vt-note")).to_have_text([KEEPS_NOTHING])
        expect(inner.locator(".vt-explorer")).to_have_attribute("data-vt-drawn", DRAWN)
        page.evaluate("history.back()")  # in the frame: Playwright's own waits for the page around it
        expect(inner.locator(".vt-lessons b")).to_have_text(["One", "Two"])
    assert errors == []


@pytest.mark.slow
def test_on_a_phone_headline_and_picture_stay_in_sight_while_their_text_is_read(
    new_page: Callable[..., Page], site: Path
) -> None:
    page = new_page(viewport=PHONE)
    page.goto(site.with_name("01_lesson.html").as_uri())
    title = page.locator(".vt-explorer .vt-title")
    expect(title).to_contain_text("layer 0 · head 0")
    word = page.get_by_role("button", name="head 0·2")
    word.evaluate("(word) => scrollTo(0, word.getBoundingClientRect().top - 0.75 * innerHeight)")
    cut = page.locator(".vt-shortened")
    expect(cut).to_have_count(1)
    bar = page.locator(".vt-site-bar").bounding_box()
    headline, picture = (page.locator(f".vt-{part}").first.bounding_box() for part in ("headline", "picture"))
    assert bar["y"] + bar["height"] <= headline["y"] < headline["y"] + 60
    assert picture["y"] + picture["height"] < 0.65 * PHONE["height"]
    word.click()  # where the rest of the view would lie over it
    expect(title).to_contain_text("layer 0 · head 2")
    page.keyboard.press("Shift+Tab")
    expect(cut).to_have_css("clip-path", "none")  # the keyboard is in the view: all of it is shown


@pytest.mark.slow
def test_without_scripts_the_sites_first_page_says_what_is_missing(
    new_page: Callable[..., Page], site: Path
) -> None:
    context = new_page().context.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.as_uri())
    expect(page.locator("body > .vt-instead")).to_be_visible()
    page.get_by_role("link", name=re.compile("One")).first.click()
    expect(page.get_by_text("The views of this page are still pictures")).to_be_visible()
    expect(page.locator(".vt-view svg").first).to_be_visible()
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", STAGED)
def test_every_view_is_whole_in_a_frame_of_its_height(page: Page, tmp_path: Path, name: str) -> None:
    errors = errors_of(page)
    host = host_of(vt.export_html(STAGED[name](), tmp_path / "page.html", embed=True))
    for size in ({"width": 1000, "height": 700}, PHONE):
        page.set_viewport_size(size)
        page.goto(host.as_uri())
        inner = framed(page)
        expect(inner.locator(".vt-root").first).to_have_attribute("data-vt-drawn", DRAWN)
        expect(inner.locator("html")).to_have_attribute("data-framed", "")
        page.wait_for_function(
            """() => new Promise((done) => {
                const frame = document.querySelector("iframe.viz-transformer");
                const before = frame.height;
                let n = 0;
                const look = () => {
                    if (frame.height !== before) return done(false);
                    return ++n > 20 ? done(before !== "720") : requestAnimationFrame(look);
                };
                look();
            })"""
        )
        scrolled = inner.locator("html").evaluate(
            "(root) => [root.scrollWidth - innerWidth, root.scrollHeight - innerHeight]"
        )
        assert max(scrolled) <= 0, (name, size)
    assert errors == []
