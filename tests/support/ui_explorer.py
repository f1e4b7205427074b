"""The parts of an explorer on a page, for the tests that look at them."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

Place = dict[str, float]


class Explorer:
    """The parts of an explorer that stands in a cell's output."""

    def __init__(self, output: Locator) -> None:
        self.root = output.locator(".vt-explorer")
        self.title = self.root.locator(".vt-title")
        self.pair = self.root.locator(".vt-pair").first
        self.detail = self.root.locator(".vt-detail")
        self.heads = self.root.locator(".vt-heads canvas")
        self.matrix = self.root.locator(".vt-head canvas")
        self.words = self.root.locator(".vt-words canvas")
        self.stage = self.root.locator(".vt-place canvas")

    def wait_until_drawn(self) -> None:
        expect(self.root).to_have_attribute("data-vt-drawn", re.compile(r"[1-9]\d*"))

    def colours(self) -> dict[str, int]:
        """Return how many colours each canvas shows; a blank one shows one."""
        count = """(canvas) => {
            const {width, height} = canvas;
            const {data} = canvas.getContext('2d').getImageData(0, 0, width, height);
            return new Set(new Uint32Array(data.buffer)).size;
        }"""
        parts = {"heads": self.heads, "stage": self.stage}
        self.root.scroll_into_view_if_needed()
        for canvas in parts.values():  # a view out of sight has given its pixels back
            expect(canvas).not_to_have_js_property("width", 0)
        return {name: canvas.evaluate(count) for name, canvas in parts.items()}


def places(canvas: Locator, step: int = 4) -> list[Place]:
    """Return the places of a canvas that answer to the pointer, row by row, `step` pixels apart."""
    return canvas.evaluate(
        """(canvas, step) => {
            const box = canvas.getBoundingClientRect();
            const found = [];
            for (let y = 2; y < box.height; y += step) {
                for (let x = 2; x < box.width; x += step) {
                    canvas.dispatchEvent(new PointerEvent('pointermove',
                        {clientX: box.left + x, clientY: box.top + y}));
                    if (canvas.style.cursor === 'pointer') found.push({x, y});
                }
            }
            canvas.dispatchEvent(new PointerEvent('pointerleave'));
            return found;
        }""",
        step,
    )


#: Two layers of two heads of each kind, every weight different from its neighbours.
MAKE = """
import numpy as np
import viz_transformer as vt

def attention(n_queries, n_keys):
    scores = np.random.default_rng(7).random((2, 2, n_queries, n_keys))
    return scores / scores.sum(axis=-1, keepdims=True)

def make(source, target):
    return vt.ForwardTrace(
        source_tokens=source,
        target_tokens=target,
        encoder_attention=attention(len(source), len(source)),
        decoder_attention=np.tril(attention(len(target), len(target))),
        cross_attention=attention(len(target), len(source)),
    )

trace = make(("the", "black", "cat", "sleeps"), ("<sos>", "el", "gato", "negro", "duerme"))
"""
