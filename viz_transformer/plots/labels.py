"""Labels of tokens: whatever a token holds, it is drawn as plain text."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from matplotlib.font_manager import FontProperties, fontManager

_LONGEST = 24  # characters

# matplotlib's own font lacks these scripts; the first of them that a machine has is used.
_WIDER_FONTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Hiragino Sans",
    "Yu Gothic",
    "Microsoft YaHei",
    "Arial Unicode MS",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
    "Noto Emoji",
)


def visible(token: str) -> str:
    """Return a token as it is shown: nothing invisible, nothing that would break the line.

    widgets/base/js/text.js does the same for the interactive views.
    """
    if token == "":
        return "∅"
    token = re.sub("[\n\r\u2028\u2029]", "⏎", token).replace("\t", "⇥")
    token = re.sub("[\x00-\x1f]", lambda match: chr(0x2400 + ord(match[0])), token)
    return "␣" * len(token) if token.strip(" ") == "" else token


def label(token: str) -> str:
    """Return a token as an axis label: visible, and elided if very long."""
    text = "".join("�" if unicodedata.category(c) == "Cs" else c for c in visible(token))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def label_font(size: float, weight: str = "normal") -> FontProperties:
    """Return the reader's font, followed by those installed that know more scripts."""
    return FontProperties(family=[*FontProperties().get_family(), *wider_fonts()], size=size, weight=weight)


def wider_fonts() -> list[str]:
    """Return the installed fonts that know more scripts, in the order in which they are tried."""
    installed = set(fontManager.get_font_names())
    return [name for name in _WIDER_FONTS if name in installed]


def label_style(size: float, weight: str = "normal") -> dict[str, Any]:
    """Return how matplotlib is to draw a token: in `label_font`, and two dollar signs are no formula."""
    return {"fontproperties": label_font(size, weight), "parse_math": False}
