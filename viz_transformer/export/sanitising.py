"""A notebook's HTML, of which a page takes what it shows, and no code.

All HTML that a page has from a notebook goes through `sanitised`: its text, its outputs, and what nbconvert
makes of them. The page's policy would not run their scripts either; here they are taken out, and named.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from html.parser import HTMLParser

import nh3

#: MathML as latex2mathml writes it.
_MATHML = {
    "math", "menclose", "mfenced", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom",
    "mprescripts", "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable",
    "mtd", "mtext", "mtr", "munder", "munderover",
}  # fmt: skip
_MATHML_ATTRIBUTES = {
    "accent", "accentunder", "columnalign", "columnlines", "columnspacing", "depth", "display",
    "displaystyle", "fence", "form", "frame", "height", "linethickness", "lspace", "mathbackground",
    "mathcolor", "mathsize", "mathvariant", "maxsize", "minsize", "movablelimits", "notation", "rowalign",
    "rowlines", "rowspacing", "rspace", "scriptlevel", "separator", "stretchy", "symmetric", "voffset",
    "width",
}  # fmt: skip
_MORE_TAGS = {"audio", "font", "input", "progress", "section", "source", "tfoot", "video"}
_TAGS = nh3.ALLOWED_TAGS | _MATHML | _MORE_TAGS
_OF_EVERY_TAG = {
    "align", "class", "data-exercise", "dir", "height", "id", "lang", "role", "style", "title", "valign",
    "width",
}  # fmt: skip
_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    **dict.fromkeys(_MATHML, _MATHML_ATTRIBUTES),
    "*": _OF_EVERY_TAG,
    "a": {"href", "name"},
    "audio": {"controls", "loop", "muted", "src"},
    "details": {"open"},
    "font": {"color", "face", "size"},
    "input": {"checked"},
    "ol": {"reversed", "start", "type"},
    "progress": {"max", "value"},
    "source": {"src", "type"},
    "table": {*nh3.ALLOWED_ATTRIBUTES["table"], "border"},
    "video": {"controls", "loop", "muted", "poster", "src"},
}
#: Their text is a program, or is read by none but a browser.
_WITHOUT_TEXT = {"iframe", "noscript", "object", "script", "style", "svg", "template", "textarea", "title"}
#: What fetches in a style, however it is written, and what fixes an element over the page.
_UNSAFE_STYLE = re.compile(r"url|image|src|\\|position", re.IGNORECASE)
#: What a page finds its own parts by, and its scripts each other.
_OUR_IDS = ("vt-", "vtViews", "vtEngines")
_STYLE_SHEET = re.compile(r"<style[^<>]*>([^<]*)</style>")


def sanitised(text: str) -> str:
    """Return HTML without what would run, be fetched, be sent, or be fixed over the page."""
    return nh3.clean(
        text,
        tags=_TAGS,
        clean_content_tags=_WITHOUT_TEXT,
        attributes=_ATTRIBUTES,
        attribute_filter=_kept,
        generic_attribute_prefixes={"aria-"},
        # A list of tasks has boxes to tick; other fields are left out.
        set_tag_attribute_values={"input": {"type": "checkbox", "disabled": ""}},
        url_schemes={"data", "http", "https", "mailto"},
        link_rel=None,
    )


def _kept(tag: str, attribute: str, value: str) -> str | None:
    """Return an attribute's value, or None to leave it out."""
    is_data = re.sub(r"[\0-\x20]", "", value).lower().startswith("data:")
    if attribute in ("src", "poster"):  # anything else would be fetched
        safe = is_data
    elif attribute == "href":
        safe = not is_data
    elif attribute == "style":
        safe = not _UNSAFE_STYLE.search(value)
    else:
        safe = not (attribute == "id" and value.startswith(_OUR_IDS))
    return value if safe else None


def with_cell_styles(text: str) -> str:
    """Return HTML in which the colours of pandas' cells are attributes, not rules of a style sheet."""
    styles: dict[str, str] = {}

    def other_rules(sheet: re.Match[str]) -> str:
        others = []
        for rule in sheet[1].split("}"):
            selectors, _, style = rule.partition("{")
            names = [each.strip() for each in selectors.split(",")]
            if all(re.fullmatch(r"#T_\w+", name) for name in names):
                styles.update({name[1:]: " ".join(style.split()) for name in names})
            else:
                others.append(rule)
        rest = "}".join(others)
        return f"<style>{rest}</style>" if rest.strip() else ""

    def styled(cell: re.Match[str]) -> str:
        return f'{cell[0]} style="{html.escape(styles[cell[1]])}"' if cell[1] in styles else cell[0]

    return re.sub(r'\bid="(T_\w+)"', styled, _STYLE_SHEET.sub(other_rules, text))


def left_out(before: str, after: str) -> Counter[str]:
    """Return what sanitising has taken out, by name: ``{"script": 2, "onerror of img": 1}``."""
    return _names(_STYLE_SHEET.sub(_unknown, before)) - _names(after)


def _unknown(sheet: re.Match[str]) -> str:
    """Return a style sheet unless it goes with pandas' tables or our views: a page has its own for them."""
    return "" if ".dataframe" in sheet[1] or "vt-" in sheet[1] else sheet[0]


def _names(text: str) -> Counter[str]:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.names


class _Reader(HTMLParser):
    """A parser that counts elements, and the attributes that run, fetch, lead somewhere or have a style."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names[tag] += tag not in ("html", "head", "body")
        for name, _ in attrs if tag in _TAGS else ():
            if name.startswith("on") or name in ("href", "src", "poster", "srcset", "style"):
                self.names[f"{name} of {tag}"] += 1
