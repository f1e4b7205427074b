"""The sections of a page, for the contents and the search of a site."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_HEADINGS = ("h1", "h2", "h3")
_UNREAD = ("script", "style", "noscript", "summary", "svg", "figure")


@dataclass(frozen=True)
class Section:
    """A part of a page, from one heading to the next.

    Attributes:
        anchor: the heading's id, empty if it has none.
        level: 1, 2 or 3.
        heading: its text.
        text: what follows it, without code's colours and pictures.
    """

    anchor: str
    level: int
    heading: str
    text: str


def sections_of(page: str) -> tuple[Section, ...]:
    """Return the sections of a page's HTML in order; what is before the first heading is left out."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return tuple(
        Section(
            anchor,
            level,
            heading=_plain("".join(reader.headings[number])).removesuffix("¶").strip(),
            text=_plain("".join(reader.texts[number])),
        )
        for number, (anchor, level) in enumerate(reader.places)
    )


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


class _Reader(HTMLParser):
    """A parser that gathers each heading and the text after it."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[tuple[str, int]] = []  # of each heading its id and level
        self.headings: list[list[str]] = []
        self.texts: list[list[str]] = []
        self._in_heading = False
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unread += tag in _UNREAD
        if tag in _HEADINGS:
            self._in_heading = True
            self.places.append((dict(attrs).get("id") or "", int(tag[1])))
            self.headings.append([])
            self.texts.append([])
        elif self.places:
            self.texts[-1].append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _UNREAD
        if tag in _HEADINGS:
            self._in_heading = False

    def handle_data(self, data: str) -> None:
        if self.places and not self._unread:
            (self.headings if self._in_heading else self.texts)[-1].append(data)
