"""Take the README's moving picture: a sentence typed into a page, and the head that decides *maestra*.

`make picture` calls this. It needs Chromium, as the tests do, and nothing from the network.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, expect

import viz_transformer as vt
from tools.browser import open_page, picture

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "translation.webp"
SIZE: ViewportSize = {"width": 1120, "height": 720}
#: Where to click, in pixels of what is clicked: head 1 of the encoder's layer 1, and the word *teacher*.
HEAD, TEACHER = (135, 53), (30, 16)
#: An arrow that shows where the mouse is, which a screenshot leaves out.
POINTER = """() => {
    const pointer = document.body.appendChild(document.createElement("div"));
    Object.assign(pointer.style, {
        position: "fixed", left: "-40px", width: "16px", height: "22px", background: "#111", zIndex: 9999,
        pointerEvents: "none", filter: "drop-shadow(0 0 1.5px white)",
        clipPath: "polygon(0 0, 0 80%, 27% 62%, 48% 100%, 66% 92%, 46% 56%, 78% 56%)",
    });
    addEventListener("mousemove", ({clientX, clientY}) =>
        Object.assign(pointer.style, {left: `${clientX}px`, top: `${clientY}px`}));
}"""


@dataclass
class Film:
    """Pictures of a page, each with how long it stays.

    Attributes:
        page: the page, open on a translation lab.
        frames: the pictures so far.
        stays_ms: milliseconds that each of them stays.
        mouse: where the mouse is, in pixels of the page.
    """

    page: Page
    frames: list[Image.Image] = field(default_factory=list)
    stays_ms: list[int] = field(default_factory=list)
    mouse: tuple[float, float] = (620.0, 420.0)

    def take(self, stays_ms: int) -> None:
        """Add what the page shows now."""
        self.frames.append(picture(self.page))
        self.stays_ms.append(stays_ms)

    def click(self, what: str, place: tuple[float, float]) -> None:
        """Move the mouse to a place of an element, a picture for each step, wait as a hand does and click."""
        box = self.page.locator(what).bounding_box()
        assert box, f"{what} is not on the page"
        (from_x, from_y), (x, y) = self.mouse, (box["x"] + place[0], box["y"] + place[1])
        for share in (0.2, 0.5, 0.8, 0.95, 1.0):
            self.page.mouse.move(from_x + share * (x - from_x), from_y + share * (y - from_y))
            self.take(60)
        self.take(250)
        self.page.mouse.click(x, y)
        self.mouse = (x, y)

    def type(self, sentence: str, translation: str, *, keeping: int = 0) -> None:
        """Type a sentence, a picture for each letter after the first `keeping`, and see it translated."""
        pencil = self.page.get_by_role("button", name="Another sentence")
        if pencil.get_attribute("aria-expanded") == "false":
            pencil.click()
        field = self.page.get_by_label("English")
        for end in range(keeping, len(sentence) + 1):
            field.fill(sentence[:end])
            self.take(70)
        field.press("Enter")
        expect(self.page.locator(".vt-translated")).to_have_text(translation)

    def save(self, path: Path) -> None:
        """Write the pictures as one that moves, for ever."""
        first, *others = self.frames
        first.save(
            path,
            save_all=True,
            append_images=others,
            duration=self.stays_ms,
            loop=0,
            quality=80,
            method=6,
            minimize_size=True,
        )


def play(film: Film) -> None:
    """Type a sentence, find the head that reads *her*, then change the word and see what follows."""
    film.take(1200)
    film.type("the teacher lost her book", "la maestra perdió su libro")
    film.take(1500)
    film.click(".vt-heads canvas", HEAD)
    expect(film.page.locator(".vt-title")).to_have_text(re.compile("Encoder.*layer 1 · head 1"))
    film.take(900)
    film.click(".vt-chips button:has-text('teacher')", TEACHER)
    expect(film.page.locator(".vt-pair").first).to_contain_text("teacher to her")
    film.take(2600)
    film.type("the teacher lost his book", "el profesor perdió su libro", keeping=len("the teacher lost h"))
    film.take(3200)


def main() -> None:
    """Write the picture."""
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, open_page(SIZE) as page:
        lab = vt.translation_lab(vt.load_translator(), "the black cat sleeps")
        page.goto(vt.export_html(lab, Path(folder) / "lab.html", title="Which head attends where").as_uri())
        page.locator(".vt-explorer[data-vt-drawn]").wait_for()
        page.evaluate(POINTER)
        film = Film(page)
        play(film)
    film.save(PICTURE)


if __name__ == "__main__":
    main()
