"""How much of a view its pictures take, how far what is drawn reaches, and what there is to read and set."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Locator

from tests.support.ui_jupyterlab import next_frames

#: Windows, and the least share of a view there that is heads and stage. A page leaves 40 pixels beside it.
LEAST = {
    "a laptop": (1280, 800, 0.65),
    "a projector": (1024, 768, 0.58),
    "a cell of 900 pixels": (940, 800, 0.60),
}
SPANNED = 0.75  # of the stage below its headline
WORDS, CONTROLS = 40, 6

_MEASURE = """(root) => {
    const boxOf = (node) => node.getBoundingClientRect();
    const areaOf = (node) => node ? boxOf(node).width * boxOf(node).height : 0;
    const view = root.classList.contains("vt-staged") ? root : root.querySelector(".vt-staged");
    const [zones, stage, heads, picture] = [".vt-zones", ".vt-stage", ".vt-heads", ".vt-picture"]
        .map((each) => view.querySelector(each));
    const drawn = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
    const take = ({ left, right, top, bottom }) => {
        drawn.left = Math.min(drawn.left, left);
        drawn.right = Math.max(drawn.right, right);
        drawn.top = Math.min(drawn.top, top);
        drawn.bottom = Math.max(drawn.bottom, bottom);
    };
    for (const canvas of picture.querySelectorAll("canvas")) {
        const { width, height } = canvas;
        const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
        const box = { left: width, right: 0, top: height, bottom: 0 };
        for (let y = 0; y < height; y++)
            for (let x = 0; x < width; x++)
                if (data[4 * (y * width + x) + 3] > 8) {
                    box.left = Math.min(box.left, x);
                    box.right = Math.max(box.right, x + 1);
                    box.top = Math.min(box.top, y);
                    box.bottom = y + 1;
                }
        const { left, top, width: shown } = boxOf(canvas);
        const by = shown / width;
        take({ left: left + by * box.left, right: left + by * box.right,
            top: top + by * box.top, bottom: top + by * box.bottom });
    }
    for (const node of picture.querySelectorAll("svg *, table, img"))
        if (!node.children.length || node.localName === "table") if (boxOf(node).width) take(boxOf(node));
    const text = document.createTreeWalker(picture, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let node = text.nextNode(); node; node = text.nextNode()) {
        range.selectNodeContents(node);
        if (node.data.trim() && node.parentElement.checkVisibility() && boxOf(range).width)
            take(boxOf(range));
    }
    const room = boxOf(picture);
    const within = (from, to, least, most) => Math.max(0, Math.min(to, most) - Math.max(from, least));
    const words = [...stage.querySelectorAll("*")].filter((node) => !node.children.length
            && !node.closest(".vt-headline, .vt-line, bdi, code, table, .vt-unseen, [class*='vt-of-']")
            && node.localName !== "canvas" && boxOf(node).width)
        .flatMap((node) => node.textContent.match(/\\p{L}{2,}/gu) ?? []);
    const controls = [...stage.querySelectorAll("button, select, input")]
        .filter((node) => node.checkVisibility() && !node.closest(".vt-picture, .vt-trail"));
    return {
        share: (areaOf(stage) + areaOf(heads)) / areaOf(zones),
        across: within(drawn.left, drawn.right, room.left, room.right) / room.width,
        down: within(drawn.top, drawn.bottom, room.top, room.bottom) / room.height,
        words: words.length,
        controls: controls.length,
    };
}"""


@dataclass(frozen=True)
class Areas:
    """Shares of 1, and counts.

    Attributes:
        share: of the view's area, what heads and stage take, with the headline.
        across: of the width of the stage below headline and controls, what is drawn spans.
        down: of its height.
        words: on the stage, but for headline and line, words, numbers, code and tokens of the text.
        controls: at the stage's top.
    """

    share: float
    across: float
    down: float
    words: int
    controls: int


def areas_of(root: Locator) -> Areas:
    """Measure a view on the stage, as it stands in its window."""
    next_frames(root)
    next_frames(root)
    return Areas(**root.evaluate(_MEASURE))


def too_little(found: Areas, share: float) -> list[str]:
    """Return what of a view's picture is too small, or too much beside it."""
    short = {"share": share, "across": SPANNED, "down": SPANNED}
    much = {"words": WORDS, "controls": CONTROLS}
    return [
        f"{name} {getattr(found, name):.3f}" for name, least in short.items() if getattr(found, name) < least
    ] + [f"{name} {getattr(found, name)}" for name, most in much.items() if getattr(found, name) > most]
