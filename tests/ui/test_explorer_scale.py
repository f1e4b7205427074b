"""Large traces in JupyterLab: what travels when, in what order, and what is left behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.support.ui_explorer import Explorer
from tests.support.ui_jupyterlab import LabPage, LabServer
from viz_transformer.export import export_html
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import explore

pytestmark = pytest.mark.slow

#: A model of 12 layers of 12 heads; the same seed gives the same weights here and in the kernel.
MAKE = """
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
SHOW = "view = vt.explore(make({n}), wall=False)\nview"

#: Counts what the kernel sends to the page, and how often the page asks.
LISTEN = """
window.received = 0;
window.asked = [];
window.WebSocket = class extends WebSocket {
    constructor(...address) {
        super(...address);
        this.addEventListener('message', ({data}) => {
            window.received += data.byteLength ?? data.length;
        });
    }
    send(data) {
        const text = typeof data === 'string' ? data : new TextDecoder().decode(data);
        for (const [found] of text.matchAll(/"ask":{"(head|aggregate|rollout|measure|exact)"/g)) {
            window.asked.push(found);
        }
        super.send(data);
    }
};
"""


def made(n_tokens: int, seed: int = 0) -> ForwardTrace:
    scope: dict[str, Any] = {}
    exec(MAKE, scope)
    return scope["make"](n_tokens, seed)


def open_explorer(lab: LabPage, n_tokens: int) -> Explorer:
    """Open a notebook that shows an explorer of a large trace, drawn by its first run."""
    lab.page.add_init_script(LISTEN)
    lab.open_cells(MAKE, SHOW.format(n=n_tokens))
    lab.run_cell(0)
    lab.page.evaluate("window.received = 0")
    lab.run_cell(1)
    explorer = Explorer(lab.output(1))
    explorer.wait_until_drawn()
    expect(explorer.matrix).to_be_visible()
    return explorer


def press(lab: LabPage, explorer: Explorer, *keys: str) -> None:
    explorer.heads.focus()
    for key in keys:
        lab.page.keyboard.press(key)


def read_weight(lab: LabPage, explorer: Explorer, query: int) -> float:
    """Pin the first key of a query in the kernel, and return what the page then says of it."""
    lab.run(f"view.query, view.key = {query}, 0")
    found = re.compile(rf", {query}, 0\] = \d")
    expect(explorer.detail).to_have_text(found)
    return float(explorer.detail.text_content().split(" = ")[1])


def test_sixty_four_tokens_fit_in_a_notebook(lab: LabPage, lab_server: LabServer) -> None:
    open_explorer(lab, 64)
    received = lab.page.evaluate("window.received")
    assert received <= 700_000, f"{received} bytes came over the websocket"
    lab.command("docmanager:save")
    path = next(
        path
        for path in lab_server.root.glob("test_*.ipynb")
        if path.name == lab.page.evaluate("panel.context.path")
    )
    saved = nbformat.read(path, as_version=4)
    assert saved.metadata.get("widgets"), "the views' state is in the notebook"
    assert path.stat().st_size <= 700_000, f"{path.stat().st_size} bytes were saved"


def test_each_head_that_is_looked_at_shows_its_own_weights(lab: LabPage) -> None:
    explorer = open_explorer(lab, 128)
    weights = made(128).decoder_attention
    for keys, layer, head in (((), 0, 0), (("ArrowDown",) * 3, 3, 0), (("ArrowRight",) * 5, 3, 5)):
        press(lab, explorer, *keys)
        expect(explorer.title).to_have_text(f"Decoder self-attention · layer {layer} · head {head}")
        lab.wait_for_value("(view.layer, view.head)", (layer, head))
        shown = read_weight(lab, explorer, query=40)
        assert shown == pytest.approx(weights[layer, head, 40, 0], rel=0.002)
    assert lab.errors == []


def test_thirty_fast_changes_end_on_the_last(lab: LabPage) -> None:
    explorer = open_explorer(lab, 128)
    lab.run("view.layer = 5")
    expect(explorer.title).to_contain_text("layer 5")
    lab.page.wait_for_function("requestIdleCallback(() => {}) || true")
    lab.page.evaluate("window.asked.length = 0")
    explorer.heads.evaluate(
        """(canvas) => {
            for (let i = 0; i < 30; i++) {
                const key = i < 6 ? 'ArrowDown' : i % 3 === 2 ? 'ArrowLeft' : 'ArrowRight';
                canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
            }
        }"""
    )
    expect(explorer.title).to_have_text("Decoder self-attention · layer 11 · head 8")
    lab.wait_for_value("(view.layer, view.head)", (11, 8))
    shown = read_weight(lab, explorer, query=40)
    assert shown == pytest.approx(made(128).decoder_attention[11, 8, 40, 0], rel=0.002)
    asked = lab.page.evaluate("window.asked.filter((one) => one.includes('head')).length")
    assert asked < 12, "the heads that were passed by were not all fetched"


def test_new_words_never_stand_beside_old_weights(lab: LabPage) -> None:
    explorer = open_explorer(lab, 128)
    lab.run("view.layer, view.head = 2, 2")
    for seed in (1, 2, 3):  # a head is fetched while the trace changes under it
        lab.run(f"view.head = 3 + {seed}; view.trace = make(128, seed={seed}); view.query = 40")
    lab.run("view.key = 0")
    expect(explorer.pair).to_contain_text("s3w40")
    shown = read_weight(lab, explorer, query=40)
    assert shown == pytest.approx(made(128, 3).decoder_attention[2, 6, 40, 0], rel=0.002)
    assert lab.errors == []


def test_five_hundred_changes_leave_nothing_in_page_or_kernel(lab: LabPage) -> None:
    explorer = open_explorer(lab, 64)
    devtools = lab.page.context.new_cdp_session(lab.page)

    def used() -> tuple[int, int]:
        """The bytes in use in the page and in the kernel, once what is done with is let go."""
        for _ in range(3):
            devtools.send("HeapProfiler.collectGarbage")
        page = devtools.send("Runtime.getHeapUsage")
        in_page = page["usedSize"] + page.get("backingStorageSize", 0)
        in_kernel = lab.value("(gc.collect(), tracemalloc.get_traced_memory()[0])[1]")
        return in_page, in_kernel

    def change(times: int) -> None:
        explorer.heads.evaluate(
            """async (canvas, times) => {
                for (let i = 0; i < times; i++) {
                    const keys = ['ArrowRight', 'ArrowDown', 'ArrowLeft', 'ArrowUp'];
                    const key = keys[Math.floor(i / 9) % 4];
                    canvas.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
                    await new Promise(requestAnimationFrame);
                }
            }""",
            times,
        )
        lab.wait_for_value("(view.layer, view.head)", tuple(now()))

    def now() -> list[int]:
        numbers = re.findall(r"\d+", explorer.title.text_content())
        return [int(number) for number in numbers]

    lab.run("import gc, tracemalloc; tracemalloc.start()")
    change(72)  # twice around: every head on the way has been here
    grown = []
    before = used()
    for _ in range(3):
        change(500)
        after = used()
        grown.append((after[0] - before[0], after[1] - before[1]))
        before = after
    # A head is 16 kB here: five hundred that stayed would be 8 MB, every time. What the page does once
    # while it warms up (code compiled, a menu built) it does not do every time.
    in_page, in_kernel = zip(*grown, strict=True)
    assert min(in_page) < 1_000_000, grown
    assert min(in_kernel) < 300_000, grown


def test_a_thousand_tokens_open_and_answer(lab: LabPage) -> None:
    """1024 tokens: 604 MB of weights in the kernel, twice that while the trace is made."""
    explorer = open_explorer(lab, 1024)
    received = lab.page.evaluate("window.received")
    assert received < 4_000_000, f"{received} bytes came before anything was asked for"
    press(lab, explorer, "ArrowDown", "ArrowRight")
    expect(explorer.title).to_have_text("Decoder self-attention · layer 1 · head 1")
    lab.wait_for_value("(view.layer, view.head)", (1, 1))
    shown = read_weight(lab, explorer, query=600)
    exact = lab.value("float(view.trace.decoder_attention[1, 1, 600, 0])")
    expect(explorer.detail).to_contain_text(f"{float(f'{exact:.6g}'):g}"[:6])
    assert shown == pytest.approx(exact, rel=0.002)
    assert min(explorer.colours().values()) > 10
    assert lab.errors == []


def test_a_page_holds_every_head_of_a_large_trace(new_page: Callable[..., Page], tmp_path: Path) -> None:
    view = explore(made(64), query=40, key=0)
    weights = view.trace.decoder_attention
    page = new_page()
    page.goto(export_html(view, tmp_path / "page.html").as_uri())
    root = page.locator(".vt-explorer")
    root.locator(".vt-heads canvas").focus()
    for layer in range(12):
        expect(root.locator(".vt-title")).to_contain_text(f"layer {layer} · head {layer}")
        expect(root.locator(".vt-detail")).to_contain_text(f"[{layer}, {layer}, 40, 0] = ")
        shown = float(root.locator(".vt-detail").text_content().split(" = ")[1])
        expected = np.float16(weights[layer, layer, 40, 0])
        assert shown == pytest.approx(float(expected), rel=0.001)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
