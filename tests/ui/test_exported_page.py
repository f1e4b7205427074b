"""Exported pages, opened from disk or served with the strictest policy that a host can send."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import pytest
import traitlets
from PIL import Image
from playwright.sync_api import ConsoleMessage, Page, expect

import viz_transformer as vt
from tests.support.exported_pages import page_scripts, policy_of, served
from tests.support.hand_made_traces import HOSTILE, attention, hostile_trace, make_trace
from tests.support.javascript import bundled
from tests.support.ui_jupyterlab import next_frames
from tests.support.ui_pages import open_view, picture
from tests.support.ui_windows import LAPTOP, SMALL
from viz_transformer._html import source_hash
from viz_transformer.errors import UserError
from viz_transformer.export import export_html
from viz_transformer.widgets.base.static_fallback import figure_to_image
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.explorer import explore

#: What a strict host adds: no text may become a script, or markup, by way of a string.
TRUSTED_TYPES = "require-trusted-types-for 'script'"

DRAWN = re.compile(r"[1-9]\d*")


class Square(View):
    """Asks for the square of a number, and for its bytes; knows the first ones beforehand."""

    _esm = bundled(
        """
        import { connectKernel } from "./widgets/base/kernel.ts";
        export default {
          async render({ model, el }) {
            el.className = "square";
            const kernel = connectKernel(model);
            const show = async () => {
              const reply = await kernel.ask({ nested: [{ n: model.get("n") }], of: "n" })
                .catch((error) => ({ text: error.message, bytes: [] }));
              const bytes = Array.from(new Uint8Array(reply.bytes.buffer ?? []));
              el.textContent = `${reply.text} ${bytes}`;
            };
            el.tabIndex = 0;
            el.onkeydown = async () => { model.set("n", model.get("n") + 1); await show(); };
            await show();
          },
        };
        """
    )
    n = traitlets.Int(0).tag(sync=True)

    def questions(self) -> list[dict]:
        return [{"of": "n", "nested": [{"n": n}]} for n in range(3)]

    def alt_text(self) -> str:
        return f"The square of {self.n}."


def square(request: dict) -> dict:
    n = request["nested"][0]["n"]
    if n == 2:
        raise UserError("two is </script> too many")
    return {"text": f"{n} squared", "bytes": bytes([n, n * n])}


class Loose(anywidget.AnyWidget):
    """What a strict page must not run: text that would be code, a style by attribute, a fetch."""

    _esm = """
    export default {
      async render({ model, el }) {
        const tried = {};
        try { tried.eval = eval("1"); } catch { tried.eval = "refused"; }
        try { tried.function = new Function("return 1")(); } catch { tried.function = "refused"; }
        try { await import(URL.createObjectURL(new Blob(["1"], { type: "text/javascript" }))); }
        catch { tried.blob = "refused"; }
        try { await fetch("data:,1"); } catch { tried.fetch = "refused"; }
        const note = document.createElement("p");
        note.setAttribute("style", "color: rgb(1, 2, 3)");
        el.append(note);
        tried.style = getComputedStyle(note).color === "rgb(1, 2, 3)" ? "taken" : "refused";
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        try { el.append(script); } catch { /* the host forbids it */ }
        tried.script = window.ran ? "ran" : "refused";
        note.className = "tried";
        note.textContent = JSON.stringify(tried);
      },
    };
    """


@pytest.fixture
def refusals(page: Page) -> list[str]:
    """What the page's policy refused, and errors; a favicon that the server lacks is neither."""
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(str(error)))

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and "favicon" not in str(message.location):
            heard.append(message.text)

    page.on("console", hear)
    return heard


def test_views_of_several_classes_are_alive_under_a_policy_in_the_header(
    page: Page, tmp_path: Path, refusals: list[str]
) -> None:
    title = "</title><script>window.pwned=3</script><b>"
    views = [
        explore(make_trace(), layer=1),
        Square(answer=square, traits={"n": 1}),
        explore(hostile_trace(), query=0, picture="matrix"),
    ]
    path = export_html(views, tmp_path / "page.html", title=title)
    policy = "; ".join(" ".join([name, *sources]) for name, sources in policy_of(path).items())
    with served(path, f"{policy}; {TRUSTED_TYPES}") as address:
        page.goto(address)
        for root in page.locator(".vt-explorer").all():
            expect(root).to_have_attribute("data-vt-drawn", DRAWN)
        titles = page.locator(".vt-title")
        expect(titles).to_have_text([f"Cross-attention · layer {layer} · head 0" for layer in (1, 0)])
        page.locator(".vt-heads canvas").first.press("ArrowRight")
        expect(titles).to_have_text(
            ["Cross-attention · layer 1 · head 1", "Cross-attention · layer 0 · head 0"]
        )
        page.get_by_role("button", name="What am I looking at?").first.click()
        expect(page.locator(".vt-help").first).to_be_visible()
        page.keyboard.press("Escape")
        page.locator(".vt-head canvas").last.press("ArrowRight")
        expect(page.locator(".vt-pair").last).to_contain_text(f"{HOSTILE[0]} to {HOSTILE[1]}: ")
        assert page.title() == title
        expect(page.locator("h1")).to_have_text(title)
        assert page.evaluate("window.pwned") is None
        assert refusals == []


def test_under_a_policy_that_allows_no_script_a_line_says_so_and_views_are_still_pictures(
    page: Page, tmp_path: Path
) -> None:
    view = explore(make_trace(), layer=1)
    path = export_html([view, Square(traits={"n": 3})], tmp_path / "page.html")
    with served(path, "default-src 'self'") as address:
        page.goto(address)
        line = page.locator("body > .vt-instead")
        expect(line).to_contain_text("still pictures")
        expect(line).to_be_visible()
        expect(page.get_by_text("The square of 3.")).to_be_visible()
        expect(page.get_by_text(view.alt_text())).to_be_visible()
        shown = Image.open(BytesIO(page.locator(".vt-view svg").screenshot())).convert("RGB")
    off = []
    for view.head in range(4):
        true = figure_to_image(view.figure(), 100).resize(shown.size)
        off.append(np.abs(np.asarray(shown, int) - np.asarray(true, int)).mean())
    assert 2 * off[0] < min(off[1:]), "the picture is the head's that was chosen"
    page.goto(path.as_uri())
    expect(page.locator(".vt-explorer")).to_have_attribute("data-vt-drawn", DRAWN)
    expect(page.locator(".vt-instead")).to_have_count(0)


def test_a_request_that_needs_a_model_is_answered_or_explained(
    page: Page, tmp_path: Path, refusals: list[str]
) -> None:
    page.goto(export_html(Square(answer=square), tmp_path / "page.html").as_uri())
    shown = page.locator(".square")
    for text in ("0 squared 0,0", "1 squared 1,1", "two is </script> too many "):
        expect(shown).to_have_text(text)
        shown.press("a")
    expect(shown).to_contain_text("needs the running notebook")
    assert refusals == []


def test_the_policy_holds_for_the_views_too(page: Page, tmp_path: Path) -> None:
    page.goto(export_html(Loose(), tmp_path / "page.html").as_uri())
    tried = page.locator(".tried")
    expect(tried).to_contain_text("refused")
    names = ("eval", "function", "blob", "fetch", "style", "script")
    assert json.loads(tried.inner_text()) == dict.fromkeys(names, "refused")


def test_a_view_that_fails_shows_an_error_and_the_others_work(page: Page, tmp_path: Path) -> None:
    class Broken(anywidget.AnyWidget):
        _esm = "export default { render() { throw new Error('<i>no</i>'); } };"

    class Misspelt(anywidget.AnyWidget):
        _esm = "export default { render( };"

    views = [Broken(), Misspelt(), explore(make_trace())]
    page.goto(export_html(views, tmp_path / "page.html").as_uri())
    expect(page.locator(".vt-explorer")).to_have_attribute("data-vt-drawn", DRAWN)
    expect(page.locator(".vt-failed")).to_have_text(
        [re.compile("could not draw.*<i>no</i>"), re.compile("its script did not run")]
    )


def test_where_a_views_script_is_not_allowed_to_run_a_message_is_shown(page: Page, tmp_path: Path) -> None:
    path = export_html(explore(make_trace()), tmp_path / "page.html")
    of_view = source_hash(page_scripts(path)[0])
    text = path.read_text(encoding="utf-8").replace(of_view, source_hash("another"))
    path.write_text(text, encoding="utf-8")
    page.goto(path.as_uri())
    expect(page.locator(".vt-failed")).to_contain_text("could not draw its views")


def test_the_parts_of_an_explorer_do_not_overlap(page: Page, tmp_path: Path) -> None:
    words = tuple(f"word{i}" for i in range(64))
    trace = make_trace(words, words, words, n_layers=4, n_heads=8)
    root = open_view(page, tmp_path, explore(trace, query=1, key=2))
    parts = (".vt-heads canvas", ".vt-place canvas", ".vt-told", ".vt-header")
    for window in (LAPTOP, SMALL, {"width": 480, "height": 720}):
        page.set_viewport_size(window)
        next_frames(root)
        next_frames(root)
        boxes = [root.locator(part).bounding_box() for part in parts]
        for i, one in enumerate(boxes):
            assert one["x"] >= 0
            assert one["x"] + one["width"] <= window["width"]
            for other in boxes[i + 1 :]:
                beside = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
                above = one["y"] + one["height"] <= other["y"] or other["y"] + other["height"] <= one["y"]
                assert beside or above, f"{one} lies over {other} in {window}"


def test_a_page_that_turns_dark_draws_its_canvases_anew(page: Page, tmp_path: Path) -> None:
    root = open_view(page, tmp_path, explore(make_trace()))
    light = picture(root.locator(".vt-place canvas"))
    page.emulate_media(color_scheme="dark")
    expect(root).to_have_attribute("data-theme", "dark")
    next_frames(root)
    assert picture(root.locator(".vt-place canvas")) != light


def test_a_part_in_eight_bits_says_what_it_holds_and_how_it_is_made(page: Page, tmp_path: Path) -> None:
    words = tuple(f"word{i}" for i in range(96))
    trace = vt.ForwardTrace(source_tokens=words, encoder_attention=attention(3, 4, 96, 96))
    view = explore(trace, layer=1, head=2, query=5)
    path = export_html(view, tmp_path / "page.html", layers=[1], bits=8, threshold=0.001)
    page.goto(path.as_uri())
    root = page.locator(".vt-explorer")
    expect(root).to_have_attribute("data-vt-drawn", DRAWN)
    expect(page.locator("h1")).to_have_text(re.compile(r"^word0 word1 .* …$"))
    expect(root.locator(".vt-line")).to_contain_text(
        re.compile(r"8 bits: whole percents\. Below 0\.001 left out: \d")
    )
    bars = root.get_by_role("list", name="weights")
    expect(bars).to_contain_text("%")
    assert not re.search(r"\d\.\d", bars.inner_text())
    expect(root.locator(".vt-headline")).to_contain_text(re.compile(r"looks .*: \d+%$"))

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    root.get_by_role("button", name="Copy as Python").click()
    expect(root.locator(".vt-copy [aria-live]")).to_have_text("Copied.")
    lines = page.evaluate("navigator.clipboard.readText()")
    assert lines == root.locator(".vt-copy pre").inner_text()
    names: dict[str, Any] = {"vt": vt, "trace": trace}
    exec(lines, names)
    assert repr(names["view"]) == repr(view)

    page.goto(f"{path.as_uri()}#layer=2&head=0")
    expect(root.locator(".vt-headline")).to_have_text(
        "This page has layer 1 alone; write it again with 2 in layers=."
    )
