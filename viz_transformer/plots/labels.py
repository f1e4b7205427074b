"""Labels of tokens: whatever a token holds, it is drawn as plain text."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from matplotlib.font_manager import FontProperties

from viz_transformer._text import code_point
from viz_transformer.plots.fonts import has_glyph, wider_fonts

_LONGEST = 24  # characters
#: What tokenizers write for spaces, at the beginning of a token, and for breaks and tabs: no letter follows.
_SPACES, _BREAKS = re.compile("^[Ġ▁]+"), re.compile(r"[Ċĉ](?!(?![ĊĉĠ])[^\W\d_])")

#: Letters, marks and a symbol without ink, besides white space, controls and format characters.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
#: They say how their neighbours are drawn: joined or apart, as text or in colour, as which flag.
_JOINING = re.compile(
    "[\u200c\u200d\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef]"
)
#: Format characters that are seen: signs that span the digits after them.
_SPANNING = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd]")


def visible(token: str) -> str:
    """Return a token as it is shown: nothing invisible, nothing that would break or turn the line.

    A tokenizer's sign for a space, at the beginning, is a dot, and that for a line break is ``⏎``.
    A character that cannot be seen is named by its code point, ``<U+00A0>``; one that joins its
    neighbours does so, unless nothing in the token is seen. widgets/base/text.ts does the same for
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
    """Return how matplotlib must draw a token: in `label_font`, and two dollar signs are no formula."""
    return {"fontproperties": label_font(weight, size), "parse_math": False}
