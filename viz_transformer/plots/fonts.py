"""The installed fonts that have the characters of labels, whatever their script."""

from __future__ import annotations

from functools import cache

import matplotlib as mpl
from matplotlib.font_manager import FontEntry, FontProperties, findfont, fontManager, get_font

#: The fonts that some label needed besides the usual one, in the order in which they were.
_needed: dict[str, None] = {}


def has_glyph(char: str) -> bool:
    """Return whether a font has a character; one that the usual font lacks is used from now on."""
    if char.isascii():
        return True
    installed = tuple(entry.fname for entry in fontManager.ttflist)
    name = _font_of(char, tuple(FontProperties().get_family()), installed)
    if name:
        _needed[name] = None
    return name is not None


def wider_fonts() -> list[str]:
    """Return the fonts that labels so far need besides the usual one."""
    return list(_needed)


@cache
def _font_of(char: str, usual: tuple[str, ...], installed: tuple[str, ...]) -> str | None:
    """Return the font that has a character: "" for the usual one, None if no font has it.

    Args:
        char: the character.
        usual: the families that the user chose.
        installed: the files of the fonts that matplotlib knows; when it learns another, all are looked
            through again.
    """
    if _holds(findfont(FontProperties(family=list(usual))), char):
        return ""
    return next((entry.name for entry in sorted(_others(), key=_rank) if _holds(entry.fname, char)), None)


def _others() -> list[FontEntry]:
    """Return the fonts of the system; matplotlib's own are for formulas, or draw boxes for all characters."""
    own = mpl.get_data_path()
    return [
        entry
        for entry in fontManager.ttflist
        if not entry.fname.startswith(own) and "LastResort" not in entry.name.replace(" ", "")
    ]


def _rank(entry: FontEntry) -> tuple[bool, bool, str]:
    """Sort upright and regular fonts first, and all by name, so that a machine always takes the same."""
    return entry.style != "normal", entry.weight != 400, entry.name


def _holds(path: str, char: str) -> bool:
    try:
        return bool(get_font(path).get_char_index(ord(char)))
    except (OSError, RuntimeError):  # a font of pictures, which matplotlib cannot draw
        return False
