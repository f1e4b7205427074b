"""The explorer in JupyterLab: what is chosen goes both ways, and large traces travel in parts."""

from __future__ import annotations

import re

import nbformat
import pytest
from playwright.sync_api import expect

from tests.support.ui_explorer import MAKE, Explorer, places
from tests.support.ui_jupyterlab import LabPage, LabServer

SHOW = "view = vt.explore(trace, wall=False, picture='matrix')\nview"

#: A model of 12 layers of 12 heads.
LARGE = """
import numpy as np
import viz_transformer as vt

def make(n_tokens, seed=0):
    random = np.random.default_rng(seed)
    weights = np.empty((12, 12, n_tokens, n_tokens), dtype=np.float32)
    for layer in weights:  # one by one: no second copy of it all
        scores = random.standard_normal(layer.shape, dtype=np.float32)
        np.exp(2 * scores, out=layer)
        layer *= np.tri(n_tokens, dtype=np.float32)
        layer /= layer.sum(axis=-1, keepdims=True)
    names = [f"s{seed}w{i}" for i in range(n_tokens)]
    return vt.ForwardTrace(target_tokens=names, decoder_attention=weights)

"""

#: Counts the bytes that the kernel sends to the page, and the heads that the page asks for.
LISTEN = """
window.received = 0;
window.asked = 0;
window.WebSocket = class extends WebSocket {
    constructor(...address) {
        super(...address);
        this.addEventListener('message', ({data}) => {
            window.received += data.byteLength ?? data.length;
        });
    }
    send(data) {
        const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
        window.asked += text.split('"ask":{"head"').length - 1;
        super.send(data);
    }
};
"""


def open_explorer(lab: LabPage, make: str) -> Explorer:
    """Open a notebook that shows an explorer of the `trace` that a cell makes."""
    lab.page.add_init_script(LISTEN)
    lab.open_cells(make, SHOW)
    lab.run_cell(0)
    lab.page.evaluate("window.received = 0")
    lab.run_cell(1)
    explorer = Explorer(lab.output(1))
    explorer.wait_until_drawn()
    expect(explorer.matrix).to_be_visible()
    return explorer


@pytest.mark.slow
def test_choices_reach_the_kernel_and_come_from_it(lab: LabPage) -> None:
    explorer = open_explorer(lab, MAKE)
    root, heads = explorer.root, places(explorer.heads)
    chosen = "(view.kind, view.layer, view.head)"
    explorer.heads.click(position=heads[-1])
    lab.wait_for_value(chosen, ("cross", 1, 1))
    explorer.heads.click(position=heads[0])
    lab.wait_for_value(chosen, ("encoder", 0, 0))
    for key, layer, head in (("ArrowRight", 0, 1), ("ArrowDown", 1, 1), ("ArrowUp", 0, 1)):
        lab.page.keyboard.press(key)
        lab.wait_for_value(chosen, ("encoder", layer, head))
    expect(explorer.heads).to_be_focused()  # JupyterLab leaves the keys alone
    assert lab.page.evaluate("panel.content.activeCellIndex") == 1
    root.get_by_role("button", name="Lines", exact=True).click()
    lab.wait_for_value("view.picture", "lines")
    word = places(explorer.words)[0]
    for query in (0, None):  # a second click lets go of the word
        explorer.words.click(position=word)
        lab.wait_for_value("(view.query, view.key)", (query, None))

    lab.run("view.trace = make(('good', 'morning'), ('<sos>', 'buenos', 'dias'))")
    lab.run("view.kind, view.layer, view.head, view.query, view.key = 'cross', 1, 0, 2, 1")
    expect(explorer.title).to_have_text("Cross-attention · layer 1 · head 0")
    expect(explorer.pair).to_contain_text("dias to morning")
    lab.run("view.trace, view.layer, view.head, view.query, view.key = trace, 0, 0, None, None")
    expect(explorer.title).to_have_text("Cross-attention · layer 0 · head 0")

    explorer.heads.click(position=heads[-1], modifiers=["Control"])
    lab.wait_for_value("(view.aggregate, view.selected)", ("mean", [[0, 0], [1, 1]]))
    root.get_by_role("button", name="Options", exact=True).click()
    root.get_by_role("combobox", name="Show").select_option("max")
    root.get_by_role("combobox", name="Sort heads by").select_option("entropy")
    root.get_by_role("checkbox", name="Hide special tokens").click()
    root.get_by_role("searchbox").fill("ga")
    lab.page.keyboard.press("Escape")
    root.get_by_role("button", name="Text size").click()
    lab.wait_for_value(
        "(view.aggregate, view.order, view.hide_special, view.search, view.text_size)",
        ("max", "entropy", True, "ga", 1.25),
    )
    root.get_by_role("button", name="Linked").click()
    lab.wait_for_value("view.linked", True)
    expect(root.locator(".vt-columns span")).to_have_count(4)  # it is drawn, as wide as it will be
    box = explorer.words.bounding_box()
    explorer.words.click(position={"x": box["width"] * 0.95, "y": 30})  # a word written before
    lab.wait_for_value("(view.kind, view.query, view.key)", ("decoder", None, 1))
    lab.wait_for_value("(view.linked_heads['cross'], view.selected)", ([1, 1], []))

    lab.run("view.linked, view.aggregate, view.selected = False, 'mean', [[0, 0], [1, 0]]")
    expect(explorer.title).to_have_text("Decoder self-attention · mean of 2 heads: 0·0, 1·0")
    lab.run("view.threshold, view.hide_special, view.search = 0.25, False, ''")
    expect(root.locator(".vt-notes")).to_contain_text("Weights below 0.25 are not drawn.")
    root.get_by_role("button", name="Options", exact=True).click()
    expect(root.get_by_role("searchbox")).to_have_value("")
    lab.run(
        "from dataclasses import replace\n"
        "view.trace = replace(trace, encoder_position_bias=np.zeros((1, 2, 4, 4)))\n"
        "view.kind, view.aggregate, view.query = 'encoder', 'head', 1"
    )
    root.get_by_role("combobox", name="Attends by").select_option("positions alone")
    lab.wait_for_value("view.attends_by", "positions")
    expect(explorer.pair).to_contain_text("0.25")
    assert lab.errors == []


def check_weight(lab: LabPage, explorer: Explorer, layer: int, head: int, query: int = 40) -> None:
    """Pin the first key of a query in the kernel, and compare what the page then says of it."""
    expect(explorer.title).to_have_text(f"Decoder self-attention · layer {layer} · head {head}")
    lab.wait_for_value("(view.layer, view.head)", (layer, head))
    lab.run(f"view.query, view.key = {query}, 0")
    expect(explorer.detail).to_have_text(re.compile(rf", {query}, 0\] = \d"))
    weight = lab.value(f"float(view.trace.decoder_attention[{layer}, {head}, {query}, 0])")
    shown = float(explorer.detail.text_content().split(" = ")[1])
    assert shown == pytest.approx(weight, rel=0.002)


@pytest.mark.slow
def test_each_head_that_is_looked_at_is_fetched(lab: LabPage) -> None:
    explorer = open_explorer(lab, f"{LARGE}trace = make(128)")
    check_weight(lab, explorer, 0, 0)
    explorer.heads.focus()
    for _ in range(3):
        lab.page.keyboard.press("ArrowDown")
    check_weight(lab, explorer, 3, 0)

    # Thirty fast changes end on the last, and the heads that were passed by are not all fetched.
    lab.page.evaluate("window.asked = 0")
    explorer.heads.evaluate(
        """(canvas) => {
            for (let i = 0; i < 30; i++) {
                const key = i < 8 ? 'ArrowDown' : i % 3 === 2 ? 'ArrowLeft' : 'ArrowRight';
                canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
            }
        }"""
    )
    check_weight(lab, explorer, 11, 7)
    assert 0 < lab.page.evaluate("window.asked") < 12

    # New words never stand beside old weights: a head is fetched while the trace changes under it.
    for seed in (1, 2, 3):
        lab.run(f"view.layer, view.head = 2, 3 + {seed}; view.trace = make(128, seed={seed})")
    check_weight(lab, explorer, 2, 6)
    expect(explorer.pair).to_contain_text("s3w40")
    assert lab.errors == []


@pytest.mark.slow
def test_sixty_four_tokens_fit_in_a_notebook(lab: LabPage, lab_server: LabServer) -> None:
    open_explorer(lab, f"{LARGE}trace = make(64)")
    received = lab.page.evaluate("window.received")
    assert received <= 700_000, f"{received} bytes came over the websocket"
    lab.command("docmanager:save")
    path = lab_server.root / lab.page.evaluate("panel.context.path")
    assert nbformat.read(path, as_version=4).metadata.get("widgets"), "no state of the views is saved"
    assert path.stat().st_size <= 700_000, f"{path.stat().st_size} bytes were saved"


@pytest.mark.weekly
def test_a_thousand_tokens_open_and_answer(lab: LabPage) -> None:
    """1024 tokens: 604 MB of weights in the kernel, twice that while the trace is made."""
    explorer = open_explorer(lab, f"{LARGE}trace = make(1024)")
    received = lab.page.evaluate("window.received")
    assert received < 4_000_000, f"{received} bytes came before anything was asked for"
    explorer.heads.focus()
    lab.page.keyboard.press("ArrowDown")
    lab.page.keyboard.press("ArrowRight")
    check_weight(lab, explorer, 1, 1, query=600)
    assert min(explorer.colours().values()) > 10
    assert lab.errors == []
