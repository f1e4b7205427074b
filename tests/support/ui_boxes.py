"""Whether text can be read: what lies on other text, what is cut off, and what is too small.

Text on a canvas has no boxes in a page, so the page must note what it writes there: `note_canvas_text`.
"""

from __future__ import annotations

from playwright.sync_api import Locator, Page

from tests.support.ui_jupyterlab import next_frames

#: Pixels of text in a view: LOOK allows none below.
LEAST_SIZE = 13

_NOTE = """(() => {
    const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
    Object.assign(CanvasRenderingContext2D.prototype, {
        clearRect(...box) {
            this.canvas.noted = [];
            return clearRect.apply(this, box);
        },
        fillText(text, x, y, ...rest) {
            const of = this.measureText(text);
            const { a, b, d, e, f } = this.getTransform();
            if (!b && text.trim()) (this.canvas.noted ??= []).push({
                text,
                size: d * Number.parseFloat(this.font.match(/[0-9.]+(?=px)/)[0]),
                left: a * (x - of.actualBoundingBoxLeft) + e,
                right: a * (x + of.actualBoundingBoxRight) + e,
                top: d * (y - of.actualBoundingBoxAscent) + f,
                bottom: d * (y + of.actualBoundingBoxDescent) + f,
            });
            return fillText.call(this, text, x, y, ...rest);
        },
    });
})()"""

_FAULTS = """(root, least) => {
    const CLOSE = 3; // pixels by which boxes may run into each other: letters do not fill theirs
    const found = new Set();
    const texts = [];
    const short = (text) => `“${text.trim().replace(/\\s+/g, " ").slice(0, 40)}”`;
    const named = (node) => node.localName + [...node.classList].map((each) => `.${each}`).join("");
    // What only a screen reader is told.
    const isUnseen = (node) => node && node !== root
        && (getComputedStyle(node).clipPath === "inset(50%)" || isUnseen(node.parentElement));
    const isOut = (box) => box.right - box.left < 1 || box.bottom - box.top < 1;
    const within = (box, by) => ({
        left: Math.max(box.left, by.left), right: Math.min(box.right, by.right),
        top: Math.max(box.top, by.top), bottom: Math.min(box.bottom, by.bottom),
    });
    // What is left of a text's box by the elements around it; of what is cut off, a fault is noted.
    function seen(box, node, text) {
        for (let around = node; around && around !== root.parentElement; around = around.parentElement) {
            const style = getComputedStyle(around);
            const { display, overflowX, overflowY } = style;
            if (display === "inline" || (overflowX === "visible" && overflowY === "visible")) continue;
            if (around instanceof SVGElement && around.localName !== "svg") continue;
            const by = around.getBoundingClientRect();
            const cut = (overflow) => ["hidden", "clip"].includes(overflow);
            const across = Math.max(by.left - box.left, box.right - by.right);
            const down = Math.max(by.top - box.top, box.bottom - by.bottom);
            const endsAcross = style.textOverflow === "ellipsis" && style.writingMode === "horizontal-tb";
            const endsDown = (style.textOverflow === "ellipsis" && !endsAcross)
                || style.webkitLineClamp !== "none";
            if (!endsAcross && cut(overflowX) && across > CLOSE)
                found.add(`${short(text)} is cut off by ${named(around)}: ${Math.round(across)} px across`);
            else if (!endsDown && cut(overflowY) && down > CLOSE)
                found.add(`${short(text)} is cut off by ${named(around)}: ${Math.round(down)} px down`);
            box = within(box, {
                left: overflowX === "visible" ? -Infinity : by.left,
                right: overflowX === "visible" ? Infinity : by.right,
                top: overflowY === "visible" ? -Infinity : by.top,
                bottom: overflowY === "visible" ? Infinity : by.bottom,
            });
            if (isOut(box)) return null;
        }
        if (box.right > document.documentElement.clientWidth + 1)
            found.add(`${short(text)} runs out of the window`);
        return box;
    }
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
        const node = text.parentElement;
        if (!text.data.trim() || node.closest("script, style") || isUnseen(node)) continue;
        if (!node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        range.selectNodeContents(text);
        const turned = node instanceof SVGGraphicsElement ? node.getScreenCTM() : null;
        const boxes = [...range.getClientRects()].filter((box) => !isOut(box));
        if (!boxes.length) continue;
        const scale = turned ? Math.hypot(turned.a, turned.b) : (node.currentCSSZoom ?? 1);
        const size = Number.parseFloat(getComputedStyle(node).fontSize) * scale;
        if (size < least - 0.05) found.add(`${short(text.data)} is ${size.toFixed(1)} px small`);
        for (const { left, right, top, bottom, height } of boxes) {
            // A line's box has room for accents and for what hangs below: most letters have neither.
            const box = { left, right, top: top + 0.2 * height, bottom: bottom - 0.2 * height };
            const rest = seen(box, node, text.data);
            if (rest && !turned?.b) texts.push({ of: text, text: text.data, ...rest });
        }
    }
    for (const canvas of root.querySelectorAll("canvas")) {
        const { left, top, width } = canvas.getBoundingClientRect();
        if (!canvas.checkVisibility({ visibilityProperty: true }) || !canvas.width) continue;
        const by = width / canvas.width;
        for (const noted of canvas.noted ?? []) {
            const box = {
                left: left + noted.left * by, right: left + noted.right * by,
                top: top + noted.top * by, bottom: top + noted.bottom * by,
            };
            if (noted.left < -2 || noted.right > canvas.width + 2)
                found.add(`${short(noted.text)} runs out of its canvas`);
            const rest = seen(within(box, canvas.getBoundingClientRect()), canvas, noted.text);
            if (rest && !isOut(rest)) texts.push({ of: noted, text: noted.text, ...rest });
        }
    }
    texts.forEach((one, at) => {
        for (const other of texts.slice(at + 1)) {
            if (one.of === other.of) continue;
            const shared = within(one, other);
            const [across, down] = [shared.right - shared.left, shared.bottom - shared.top];
            if (across > CLOSE && down > CLOSE)
                found.add(`${short(one.text)} and ${short(other.text)} overlap:`
                    + ` ${Math.round(across)} px across and ${Math.round(down)} down`);
        }
    });
    return [...found];
}"""


#: Of the words that stand as chips in a view's header: the size of each wherever it is seen, in pixels.
_SIZES = """(root) => {
    const words = new Set([...root.querySelectorAll(".vt-chip")].map((chip) => chip.textContent.trim()));
    const found = {};
    const note = (text, size) => {
        const word = text.replace(/[\u2066-\u2069]/g, "").trim();
        if (words.has(word)) found[word] = Math.min(found[word] ?? Infinity, Math.round(10 * size) / 10);
    };
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
        const node = text.parentElement;
        if (!node.checkVisibility({ visibilityProperty: true })) continue;
        const matrix = node instanceof SVGGraphicsElement ? node.getScreenCTM() : null;
        const scale = matrix ? Math.hypot(matrix.a, matrix.b) : 1;
        note(text.data, Number.parseFloat(getComputedStyle(node).fontSize) * scale);
    }
    for (const canvas of root.querySelectorAll("canvas"))
        for (const { text, size } of (canvas.checkVisibility() && canvas.noted) || [])
            note(text, (size * canvas.getBoundingClientRect().width) / canvas.width);
    return found;
}"""


def sizes_of_words(root: Locator) -> dict[str, float]:
    """Return the smallest size of each word of the sentence in the header, in pixels, wherever it is seen."""
    next_frames(root)
    next_frames(root)
    return root.evaluate(_SIZES)


def note_canvas_text(page: Page) -> None:
    """Let the pages that are opened from now on note which text they write on a canvas, and where."""
    page.add_init_script(_NOTE)


def faults_of_text(root: Locator, least_size: float = LEAST_SIZE) -> list[str]:
    """Return each pair of texts of a view that overlap, each text that is cut off, and each too small.

    What can be scrolled into sight, or ends in an ellipsis, is not cut off; text that is turned overlaps
    nothing. `least_size` is in pixels, and holds for all text but that on a canvas.
    """
    next_frames(root)
    next_frames(root)  # the frame in which a new width is seen, and the one that is drawn for it
    root.evaluate(
        "(root) => root.scrollIntoView({ block: 'end' })"
    )  # a sheet from below lies at its own place
    next_frames(root)
    return root.evaluate(_FAULTS, least_size)
