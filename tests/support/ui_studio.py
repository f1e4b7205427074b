"""A studio on a page, for the tests that look at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, expect

from tests.support.ui_jupyterlab import next_frames

SENTENCE = "the teacher lost her book"
OPENED: dict[str, Any] = {"kind": "Cross-attention", "layer": 1, "head": 2, "word": "su"}
NAMES = {
    "model": "The whole model",
    "heads": "Its heads",
    "head": "One head by hand",
    "off": "Heads off",
    "masks": "Masks",
    "positions": "Positions",
    "writing": "Writing",
    "block": "A block",
    "vectors": "Vectors",
    "training": "Training",
}
#: The rooms that show a head, of which these tests know all that is chosen.
OF_A_HEAD = ("model", "heads", "head")
#: What is in each room.
INSIDE = {
    "model": ".vt-architecture",
    "heads": ".vt-explorer",
    "head": ".vt-stepper",
    "off": ".vt-head-lab",
    "masks": ".vt-mask-lab",
    "positions": ".vt-position-lab",
    "writing": ".vt-beam-stepper",
    "block": ".vt-block-lab",
    "vectors": ".vt-embedding-map",
    "training": ".vt-training-scrubber",
}
#: How each room says which attention it shows, by what the others say.
IN_MODEL = {
    "Cross-attention": "Cross-attention, decoder layer",
    "Encoder self-attention": "Self-attention, encoder layer",
    "Decoder self-attention": "Masked self-attention, decoder layer",
}


@dataclass
class Studio:
    """A studio on a page."""

    root: Locator

    @property
    def open(self) -> Locator:
        """The room that is seen."""
        return self.root.locator(".vt-studio-room:not([hidden])")

    def door(self, room: str) -> Locator:
        return self.root.locator(".vt-studio-row").get_by_role("button", name=NAMES[room])

    @property
    def list(self) -> Locator:
        """The rooms, where there is no space for a row of doors."""
        return self.root.locator(".vt-studio-list")

    def is_listed(self) -> bool:
        """Whether there is a list, once there is one or a row."""
        expect(self.root.locator(".vt-studio-list, .vt-studio-doors")).to_have_count(1)
        return self.list.count() > 0

    def go(self, room: str) -> None:
        """Go through a door, or choose it from the list."""
        if self.is_listed():
            self.list.select_option(room)
        else:
            self.door(room).click()
        self.stands_in(room)

    def stands_in(self, room: str) -> None:
        if self.is_listed():
            expect(self.list).to_have_value(room)
        else:
            expect(self.door(room)).to_have_attribute("aria-current", "true")
        inside = self.open.locator(INSIDE[room])
        expect(self.open).to_have_count(1)
        expect(inside).to_be_visible()
        next_frames(inside)

    def press(self, name: str) -> None:
        self.root.locator(".vt-studio-row").get_by_role("button", name=name).click()

    def press_back_to_the_end(self) -> None:
        """Press Back until there is nothing before."""
        back = self.root.locator(".vt-studio-row").get_by_role("button", name="Back")
        back.evaluate(
            """async (back) => {
                while (!back.disabled) {
                    back.click();
                    await new Promise(requestAnimationFrame);
                }
            }"""
        )
        expect(back).to_be_disabled()

    def shows(self, room: str, kind: str, layer: int, head: int, word: str) -> None:
        """Wait until a room is open, and shows an attention and a word that attends."""
        self.stands_in(room)
        if room != "model":
            expect(self.open.locator(".vt-title")).to_have_text(f"{kind} · layer {layer} · head {head}")
        else:
            expect(self.open.locator(".vt-chosen-box b")).to_have_text(f"{IN_MODEL[kind]} {layer}")
            expect(self.open.locator(".vt-of-heads [aria-pressed=true]")).to_have_text(str(head))
            expect(self.open.locator(".vt-headline")).to_contain_text(f"ing {word}, ")  # the same word
        expect(self.open.locator(".vt-header .vt-chip[aria-pressed=true]").last).to_have_text(word)

    def reads(self, sentence: str) -> None:
        """Wait until the open room shows a sentence."""
        for word in sentence.split():
            expect(self.open.locator(".vt-header .vt-chips")).to_contain_text(word)

    def choose_word(self, word: str) -> None:
        self.open.locator(".vt-header button.vt-chip").filter(has_text=word).last.click()
