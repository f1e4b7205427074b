"""bertviz on our traces, in a real browser: from disk, in a frame, and in JupyterLab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Frame, Page, expect

from tests.support.hand_made_traces import HOSTILE, attention, hostile_trace, make_trace, uneven_trace
from tests.support.ui_jupyterlab import LabPage, LabServer, errors_of
from tests.support.ui_windows import LAPTOP, SMALL, guarded_lab
from viz_transformer.bertviz_views import BertvizView, head_view, model_view
from viz_transformer.trace import ForwardTrace

#: The weights of the lines in a part of the picture, in the order in which they stand there.
OPACITIES = "lines => lines.map(line => Number(line.getAttribute('stroke-opacity')))"
SIZES = """() => {
    const root = document.documentElement;
    return [root.scrollHeight, innerHeight, root.scrollWidth, innerWidth];
}"""
COLOURS = """() => [
    getComputedStyle(document.querySelector("svg text")).fill,
    getComputedStyle(document.body).backgroundColor,
]"""
INK_AND_PAPER = {
    "light": ["rgb(20, 23, 31)", "rgb(255, 255, 255)"],
    "dark": ["rgb(228, 230, 236)", "rgb(17, 17, 17)"],
}


@pytest.fixture
def errors(page: Page) -> Iterator[list[str]]:
    """Hold a test's page to no error."""
    errors = errors_of(page)
    yield errors
    assert errors == []


def open_view(page: Page, shown: BertvizView, folder: Path) -> None:
    """Open a view's page from disk, drawn."""
    page.goto(shown.save(folder / "view.html").as_uri())
    assert_drawn(page)


def assert_drawn(page: Page | Frame) -> None:
    sections = page.locator("section")
    assert sections.count() > 0
    for section in sections.all():
        expect(section).to_have_attribute("data-drawn", "true")
        assert section.locator("svg line").count() > 0


def opacities(page: Page | Frame, selector: str) -> np.ndarray:
    return np.array(page.locator(selector).evaluate_all(OPACITIES))


def middle(page: Page, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.usefixtures("errors")
@pytest.mark.parametrize("make", [make_trace, uneven_trace])
def test_both_views_draw_every_weight(page: Page, tmp_path: Path, make: Callable[[], ForwardTrace]) -> None:
    trace = make()
    for view in (head_view, model_view):
        open_view(page, view(trace), tmp_path)
        apart = page.locator("section").count() > 1
        for index, kind in enumerate(trace.kinds):
            weights = trace.attention(kind)
            root = f"#bertviz-{index}" if apart else "#bertviz-0"
            if not apart:
                page.locator("#filter").select_option(kind.capitalize())
            if view is model_view:
                np.testing.assert_allclose(opacities(page, f"{root} line"), weights.ravel(), atol=1e-6)
                continue
            for layer in range(len(weights)):
                page.locator(f"{root} #layer").select_option(str(layer))
                drawn = opacities(page, f"{root} #attention line") * weights.shape[1]
                np.testing.assert_allclose(drawn, weights[layer].ravel(), atol=1e-6)
                left = page.locator(f"{root} #left text").all_text_contents()
                right = page.locator(f"{root} #right text").all_text_contents()
                assert left == list(trace.query_tokens(kind))
                assert right == list(trace.key_tokens(kind))


@pytest.mark.usefixtures("errors")
def test_they_answer_the_pointer(page: Page, tmp_path: Path) -> None:
    trace = make_trace()
    open_view(page, head_view(trace, heads=[2], kind="cross"), tmp_path)
    page.locator("#left text").nth(1).hover()
    expect(page.locator("line[visibility='visible']")).to_have_count(5)
    boxes = page.locator("#right .attentionBoxes rect")
    shown = boxes.evaluate_all("boxes => boxes.map(box => Number(box.style.opacity))")
    np.testing.assert_allclose(shown, trace.cross_attention[0, 2, 1], atol=1e-5)

    open_view(page, model_view(trace, layers=[1], heads=[1, 3]), tmp_path)
    page.mouse.click(*middle(page, "#attn_background_0_1"))
    expect(page.locator(".detail").filter(has_text="Layer")).to_have_text("Layer 1, Head 3")
    np.testing.assert_allclose(
        opacities(page, ".detail line"), trace.encoder_attention[1, 3].ravel(), atol=1e-6
    )


@pytest.mark.usefixtures("errors")
@pytest.mark.parametrize("view", [head_view, model_view])
def test_hostile_tokens_are_text(page: Page, tmp_path: Path, view: Callable[..., BertvizView]) -> None:
    open_view(page, view(hostile_trace()), tmp_path)
    if view is model_view:
        page.mouse.click(*middle(page, "#attn_background_0_0"))
    words = page.locator("#left text, .detail .token").all_text_contents()
    assert {word for word in HOSTILE if len(word) < 48} - {"\ud800"} <= set(words)
    assert "x" * 47 + "…" in words
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, b, #vis script").count() == 0


@pytest.mark.usefixtures("errors")
def test_many_lines_are_drawn_when_asked_for(page: Page, tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(65)]
    trace = ForwardTrace(source_tokens=words, encoder_attention=attention(10, 10, 65, 65))
    page.goto(model_view(trace).save(tmp_path / "view.html").as_uri())
    expect(page.get_by_role("button", name="Draw 422,500 lines")).to_be_visible()
    assert page.locator("line").count() == 0
    # The head view draws one layer of them at a time.
    open_view(page, head_view(trace, heads=[0, 1]), tmp_path)


@pytest.mark.parametrize("view", [head_view, model_view])
def test_two_in_one_page_fit_their_frames_and_follow_the_reader_s_colours(
    page: Page, tmp_path: Path, view: Callable[..., BertvizView]
) -> None:
    frames = "".join(view(trace)._repr_html_() for trace in (make_trace(), uneven_trace()))
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html>{frames}", encoding="utf-8")
    for scheme, window in (("light", LAPTOP), ("dark", SMALL)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(window)
        page.goto(path.as_uri())
        page.wait_for_load_state()
        assert len(page.frames) == 3
        for frame in page.frames[1:]:
            assert_drawn(frame)
            high, room, wide, width = frame.evaluate(SIZES)
            assert high <= room
            assert wide <= width
            assert frame.evaluate(COLOURS) == INK_AND_PAPER[scheme]
            # Neither page reaches into the other.
            reach = "() => { try { return Boolean(parent.document) } catch { return false } }"
            assert frame.evaluate(reach) is False
        assert page.evaluate("[typeof jQuery, typeof d3, typeof requirejs]") == ["undefined"] * 3


def test_the_model_view_follows_the_colours_unless_one_is_asked_for(page: Page, tmp_path: Path) -> None:
    tile = page.locator("#attn_background_0_0")
    page.emulate_media(color_scheme="light")
    open_view(page, model_view(make_trace(), display_mode="dark"), tmp_path)
    expect(tile).to_have_attribute("fill", "black")
    open_view(page, model_view(make_trace()), tmp_path)
    expect(tile).to_have_attribute("fill", "white")
    page.emulate_media(color_scheme="dark")
    expect(tile).to_have_attribute("fill", "black")
    page.locator("#filter").select_option("Cross")
    expect(page.locator("svg")).to_have_count(1)
    np.testing.assert_allclose(opacities(page, "line"), make_trace().cross_attention.ravel(), atol=1e-6)


@pytest.fixture
def themed_lab(browser: Browser, lab_server: LabServer) -> Iterator[LabPage]:
    """Return JupyterLab in a browser whose own preference no test has fixed."""
    with guarded_lab(lab_server, browser, color_scheme="null") as lab:
        yield lab


@pytest.mark.slow
def test_in_jupyterlab_it_is_drawn_on_the_first_run(themed_lab: LabPage) -> None:
    lab = themed_lab
    lab.open_cells(
        "import viz_transformer as vt\nfrom tests.support.hand_made_traces import uneven_trace",
        "vt.bertviz_views.head_view(uneven_trace())",
        "vt.bertviz_views.model_view(uneven_trace(), kind='cross')",
    )
    lab.run_all()
    trace = uneven_trace()
    frames = {}
    for cell, weights in ((1, trace.encoder_attention[0] / 4), (2, trace.cross_attention)):
        lab.select_cell(cell)
        frame = lab.output(cell).locator("iframe").element_handle().content_frame()
        frame.wait_for_selector("section[data-drawn]")
        assert_drawn(frame)
        np.testing.assert_allclose(opacities(frame, "#bertviz-0 line"), weights.ravel(), atol=1e-6)
        assert frame.evaluate("document.documentElement.scrollHeight <= innerHeight")
        frames[cell] = frame
    lab.set_theme("dark")
    frames[2].wait_for_selector("#attn_background_0_0[fill='black']")
    assert lab.errors == []
