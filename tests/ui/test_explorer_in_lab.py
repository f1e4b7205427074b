"""The attention explorer where it is used: in JupyterLab, in a browser, with a live kernel."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.ui_explorer import MAKE, Explorer, places
from tests.support.ui_jupyterlab import LabPage
from tests.support.ui_windows import LAPTOP, LOOKS

SHOW = "view = vt.explore(trace)\nview"

#: Each token, and how it is to be read.
HOSTILE = {
    "</script><script>window.pwned=1</script>": "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>": "<img src=x onerror=window.pwned=1>",
    "<b>bold</b>": "<b>bold</b>",
    "a\u2028b": "a⏎b",
    "שלום": "שלום",
    "e\u0301\u0323": "e\u0301\u0323",
    "": "∅",
}


@pytest.fixture(scope="module")
def opened(kept_lab: LabPage) -> LabPage:
    """Return a notebook whose cells have been run for the first time."""
    kept_lab.open_cells(MAKE, SHOW)
    kept_lab.run_all()
    return kept_lab


@pytest.fixture
def explorer(opened: LabPage) -> Explorer:
    """Return an explorer that was just made, in the notebook that is open."""
    opened.set_theme("light")
    opened.page.set_viewport_size(LAPTOP)
    opened.run_cell(1)
    explorer = Explorer(opened.output(1))
    explorer.wait_until_drawn()
    opened.errors.clear()
    return explorer


def test_it_draws_on_the_first_run(opened: LabPage) -> None:
    lab, explorer = opened, Explorer(opened.output(1))
    explorer.wait_until_drawn()
    for theme, size in LOOKS:
        look = f"{theme}-{size['width']}x{size['height']}"
        lab.set_theme(theme)
        lab.page.set_viewport_size(size)
        lab.select_cell(1)
        expect(explorer.root).to_have_attribute("data-theme", theme)
        expect(explorer.title).to_have_text("Cross-attention · layer 0 · head 0")
        assert min(explorer.colours().values()) > 10, (look, explorer.colours())
        hidden = explorer.root.evaluate("(root) => root.scrollWidth - root.clientWidth")
        assert hidden == 0, f"{look}: {hidden} pixels of the explorer stand outside its output"
        lab.screenshot(f"explorer-{look}")
    assert lab.errors == []


def test_a_click_on_a_head_is_read_in_the_kernel(opened: LabPage, explorer: Explorer) -> None:
    found = places(explorer.heads)
    last, first = found[-1], found[0]

    explorer.heads.click(position=last)
    expect(explorer.title).to_have_text("Cross-attention · layer 1 · head 1")
    opened.wait_for_value("(view.kind, view.layer, view.head)", ("cross", 1, 1))

    explorer.heads.click(position=first)
    expect(explorer.title).to_have_text("Encoder self-attention · layer 0 · head 0")
    opened.wait_for_value("(view.kind, view.layer, view.head)", ("encoder", 0, 0))
    assert opened.run("print(view.layer, view.head)") == "0 0\n"


def test_a_click_on_a_word_pins_it_and_a_second_lets_go(opened: LabPage, explorer: Explorer) -> None:
    first = places(explorer.words)[0]
    explorer.words.click(position=first)
    opened.wait_for_value("(view.query, view.key)", (0, None))
    explorer.words.click(position=first)
    opened.wait_for_value("(view.query, view.key)", (None, None))


def test_python_moves_the_view(opened: LabPage, explorer: Explorer) -> None:
    opened.run("view.layer, view.head = 1, 0")
    expect(explorer.title).to_have_text("Cross-attention · layer 1 · head 0")

    opened.run("view.query, view.key = 2, 1")
    weight = opened.value("float(trace.cross_attention[1, 0, 2, 1])")
    expect(explorer.pair).to_contain_text(f"gato to black: {weight:.2f}, rank ")

    opened.run("view.kind = 'decoder'")
    expect(explorer.title).to_have_text("Decoder self-attention · layer 1 · head 0")

    opened.run("view.trace = make(('good', 'morning'), ('<sos>', 'buenos', 'dias'))\nview.query = 2")
    expect(explorer.pair).to_contain_text("dias to ")


def test_what_is_chosen_of_the_options_is_read_in_the_kernel_and_set_by_it(
    opened: LabPage, explorer: Explorer
) -> None:
    root = explorer.root
    found = places(explorer.heads)
    explorer.heads.click(position=found[-1], modifiers=["Control"])
    opened.wait_for_value("(view.aggregate, view.selected)", ("mean", [[0, 0], [1, 1]]))
    root.get_by_role("button", name="Options", exact=True).click()
    root.get_by_role("combobox", name="Show").select_option("max")
    root.get_by_role("combobox", name="Sort heads by").select_option("entropy")
    root.get_by_role("button", name="Hide special tokens").click()
    root.get_by_role("searchbox").fill("ga")
    root.get_by_role("button", name="larger text").click()
    opened.wait_for_value(
        "(view.aggregate, view.order, view.hide_special, view.search, view.text_size)",
        ("max", "entropy", True, "ga", 1.25),
    )
    root.get_by_role("button", name="Linked").click()
    opened.wait_for_value("view.linked", True)
    expect(root.locator(".vt-columns span")).to_have_count(4)  # it is drawn, as wide as it will be
    box = explorer.words.bounding_box()
    explorer.words.click(position={"x": box["width"] * 0.95, "y": 10})  # a word read before
    opened.wait_for_value("(view.kind, view.query, view.key)", ("decoder", None, 1))
    opened.wait_for_value("(view.linked_heads['cross'], view.selected)", ([1, 1], []))

    opened.run("view.linked, view.aggregate, view.selected = False, 'mean', [[0, 0], [1, 0]]")
    expect(explorer.title).to_have_text("Decoder self-attention · mean of 2 heads: 0·0, 1·0")
    opened.run("view.threshold, view.hide_special, view.search = 0.25, False, ''")
    expect(root.locator(".vt-notes")).to_contain_text("Weights below 0.25 are not drawn.")
    expect(root.get_by_role("searchbox")).to_have_value("")
    opened.run(
        "from dataclasses import replace\n"
        "view.trace = replace(trace, encoder_position_bias=np.zeros((1, 2, 4, 4)))\n"
        "view.kind, view.aggregate, view.query = 'encoder', 'head', 1"
    )
    root.get_by_role("combobox", name="Attends by").select_option("positions alone")
    opened.wait_for_value("view.attends_by", "positions")
    expect(root.locator(".vt-notes")).to_contain_text("By positions alone")
    expect(explorer.pair).to_contain_text("0.25")
    assert opened.errors == []


def test_each_weight_under_the_pointer_is_the_trace_s(opened: LabPage, explorer: Explorer) -> None:
    cells = places(explorer.matrix)
    seen = set()
    for cell in cells[:: max(1, len(cells) // 12)]:
        explorer.matrix.hover(position=cell)
        expect(explorer.detail).to_contain_text("=")
        name, _, shown = explorer.detail.inner_text().partition(" = ")
        weight = opened.value(f"float({name})")
        assert float(shown) == pytest.approx(weight, rel=1e-5)
        layer, head, query, key = map(int, re.findall(r"\d+", name))
        assert (layer, head) == (0, 0)
        words = opened.value(f"(trace.target_tokens[{query}], trace.source_tokens[{key}])")
        expect(explorer.pair).to_contain_text(f"{words[0]} to {words[1]}: {weight:.2f}, ")
        seen.add((query, key))
    assert len(seen) >= 6


def test_arrow_keys_move_the_selection_and_jupyterlab_leaves_them(
    opened: LabPage, explorer: Explorer
) -> None:
    opened.run("view.kind = 'encoder'")
    opened.select_cell(1)
    explorer.heads.focus()
    for key, layer, head in (
        ("ArrowRight", 0, 1),
        ("ArrowDown", 1, 1),
        ("ArrowLeft", 1, 0),
        ("ArrowUp", 0, 0),
    ):
        opened.page.keyboard.press(key)
        opened.wait_for_value("(view.layer, view.head)", (layer, head))
        expect(explorer.heads).to_be_focused()

    explorer.matrix.focus()
    opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("ArrowRight")
    opened.wait_for_value("(view.query, view.key)", (0, 1))
    opened.page.keyboard.press("Escape")
    opened.wait_for_value("(view.query, view.key)", (None, None))
    expect(explorer.matrix).to_be_focused()
    assert opened.page.evaluate("panel.content.activeCellIndex") == 1


def test_the_view_outlives_a_restart_of_its_kernel(opened: LabPage, explorer: Explorer) -> None:
    opened.restart_kernel()
    opened.run_cell(0)
    opened.run_cell(1)
    shown = Explorer(opened.output(1))
    shown.wait_until_drawn()
    opened.run("view.head = 1")
    expect(shown.title).to_have_text("Cross-attention · layer 0 · head 1")


def test_a_long_text_is_scrolled_to_its_last_word(lab: LabPage) -> None:
    many = "trace = make([f's{i}' for i in range(100)], [f't{i}' for i in range(100)])"
    lab.open_cells(MAKE, many, SHOW)
    lab.run_all()
    explorer = Explorer(lab.output(2))
    explorer.wait_until_drawn()
    explorer.words.hover()
    lab.page.mouse.wheel(0, 10_000)
    # At the end of the scroll, the end of the last word is the end of the canvas.
    lab.page.wait_for_function(
        """() => {
            const scroller = document.querySelector('.vt-scroll');
            const [whole, canvas] = [scroller.firstChild, scroller.querySelector('canvas')];
            return scroller.scrollTop + canvas.clientHeight === whole.clientHeight;
        }"""
    )
    explorer.words.click(position=places(explorer.words)[-1])
    lab.wait_for_value("(view.query, view.key)", (None, 99))
    expect(explorer.pair).to_contain_text("to s99: ")
    lab.screenshot("explorer-100-tokens-scrolled")


def test_hostile_tokens_are_text(lab: LabPage) -> None:
    lab.open_cells(MAKE, f"trace = make({tuple(HOSTILE)!r}, {tuple(HOSTILE)!r})", SHOW)
    lab.run_all()
    explorer = Explorer(lab.output(2))
    explorer.wait_until_drawn()
    for index, shown in enumerate(HOSTILE.values()):
        lab.run(f"view.query, view.key = {index}, {index}")
        expect(explorer.pair.locator("bdi").first).to_have_text(shown)
    lab.select_cell(2)
    lab.screenshot("explorer-hostile-tokens")
    assert explorer.root.locator("script, img").count() == 0
    assert lab.page.evaluate("window.pwned") is None
    assert lab.errors == []
