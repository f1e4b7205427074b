"""Labels of tokens: whatever a token holds, it is drawn as plain text, in a font that has it."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

import matplotlib as mpl
from matplotlib.font_manager import FontEntry, FontProperties, findfont, fontManager, get_font

from viz_transformer._text import code_point

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
    """Return the font that has a character: "" for the usual families, None if no font has it.

    When another font is installed, all files (`installed`) are looked through again.
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


_LONGEST = 24  # characters
#: What tokenizers write for spaces, at the beginning of a token, and for breaks and tabs: no letter follows.
_SPACES, _BREAKS = re.compile("^[Ġ▁]+"), re.compile(r"[Ċĉ](?!(?![ĊĉĠ])[^\W\d_])")

#: Letters, marks and a symbol without ink, besides white space, controls and format characters.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
#: They change how their neighbours are drawn: joined or apart, as text or in colour, as which flag.
_JOINING = re.compile(
    "[\u200c\u200d\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
)
#: Format characters that are seen: signs that span the digits after them.
_SPANNING = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")


def visible(token: str) -> str:
    """Return a token as it is shown: without invisible characters, or such as break or turn the line.

    A tokenizer's sign for a space, at the beginning, is a dot, and that for a line break is ``⏎``.
    A character that cannot be seen is named by its code point, ``<U+00A0>``; one that joins its
    neighbours does so, unless no character of the token is visible. widgets/base/text.ts does the same for
    the interactive views.

    >>> visible("\\u202e12.50")
    '<U+202E>12.50'
    """
    if token == "":
        return "∅"
    if token.isascii() and token.isprintable():
        return "␣" * len(token) if token.strip(" ") == "" else token
    token = _SPACES.sub(lambda found: "·" * len(found[0]), token)
    token = _BREAKS.sub(lambda found: "⏎" if found[0] == "Ċ" else "⇥", token)
    token = re.sub("[\n\r\u2028\u2029]", "⏎", token).replace("\t", "⇥")
    is_seen = not all(char == " " or _is_hidden(char) for char in token)
    return "".join(
        code_point(char) if _is_hidden(char) and not (is_seen and _JOINING.match(char)) else char
        for char in token
    )


def _is_hidden(char: str) -> bool:
    """Return whether a character, other than a space, is one that cannot be seen."""
    hidden = unicodedata.category(char) in {"Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs"}
    return char != " " and bool((hidden and not _SPANNING.match(char)) or _BLANK.match(char))


def label(token: str) -> str:
    """Return a token as an axis label: visible, elided if very long, and with no glyph missing."""
    text = visible(token)
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return "".join(char if has_glyph(char) else code_point(char) for char in text)


def label_font(weight: str = "normal", size: float | None = None) -> FontProperties:
    """Return the user's font, followed by those that the labels so far need for other scripts."""
    return FontProperties(family=[*FontProperties().get_family(), *wider_fonts()], size=size, weight=weight)


def label_style(weight: str = "normal", size: float | None = None) -> dict[str, Any]:
    """Return matplotlib's options for a token: in `label_font`, and two dollar signs are no formula."""
    return {"fontproperties": label_font(weight, size), "parse_math": False}
