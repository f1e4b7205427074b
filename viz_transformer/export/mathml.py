"""TeX formulas as MathML, which browsers draw without a script."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

from nbconvert.filters.markdown_mistune import IPythonRenderer

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_MATHML = f"{{{_NAMESPACE}}}m"
_THIN_SPACE = "0.167em"
_CLOSING = frozenset(")]|}")
_DISPLAY = re.compile(r"\s*(?:\$\$(.*?)\$\$|\\\\\[(.*?)\\\\\])\s*", re.DOTALL)


class MathRenderer(IPythonRenderer):
    """nbconvert's Markdown renderer, with MathML in place of TeX."""

    def inline_html(self, html: str) -> str:
        """Return a tag in a line of text as it is: nbconvert's own, in search of images, would close each."""
        return super().inline_html(html) if "<img" in html else html

    def inline_math(self, body: str) -> str:
        """Return a formula in a line of text."""
        return mathml(body)

    def block_math(self, body: str) -> str:
        """Return a formula on a line of its own."""
        return mathml(body, block=True)

    def multiline_math(self, text: str) -> str:
        """Return a formula of several lines."""
        found = _DISPLAY.fullmatch(text)
        return mathml(found[1] or found[2] or "", block=True) if found else html.escape(text)

    def latex_environment(self, name: str, body: str) -> str:
        """Return a formula written as an environment."""
        return mathml(f"\\begin{{{name}}}{body}\\end{{{name}}}", block=True)


def mathml(tex: str, *, block: bool = False) -> str:
    """Return TeX as MathML; as code if it cannot be read, or where latex2mathml is missing."""
    try:
        from latex2mathml.converter import convert

        made = convert(tex.strip(), display="block" if block else "inline")
        root = ElementTree.fromstring(made)
        tags = {element.tag for element in root.iter()}
    except Exception:  # one unreadable formula must not fail the whole page
        made, tags = "", set()
    # The converter leaves unknown commands as they are, and HTML inside a text.
    if made and "\\" not in made and all(tag.startswith(_MATHML) for tag in tags):
        for row in list(root.iter()):
            _space(row)
        ElementTree.register_namespace("", _NAMESPACE)
        return ElementTree.tostring(root, encoding="unicode")
    return f"<code>{html.escape(tex.strip())}</code>"


def _space(row: ElementTree.Element) -> None:
    """Space one row as TeX does: b sin x, not bsinx, and [−1, not [ − 1, as the converter leaves them."""
    before: ElementTree.Element | None = None
    n_bars = 0
    for part in list(row):
        is_function = _is_function(part)
        if part.text == "|":  # bars come in pairs, around a size
            part.set("form", "postfix" if n_bars % 2 else "prefix")
            n_bars += 1
        elif part.text == "\u2212" and _is_operator(before):
            part.set("form", "prefix")
        elif before is not None and (
            (is_function and not _is_operator(before)) or (_is_function(before) and part.tag != f"{_MATHML}o")
        ):
            row.insert(list(row).index(part), ElementTree.Element(f"{_MATHML}space", width=_THIN_SPACE))
        before = part


def _is_function(part: ElementTree.Element) -> bool:
    """Whether a part is the name of a function, such as sin."""
    return part.tag == f"{_MATHML}i" and len(part.text or "") > 1 and not part.attrib


def _is_operator(part: ElementTree.Element | None) -> bool:
    """Whether what follows a part begins a term: after an operator, a comma or an opening bracket."""
    return part is not None and part.tag == f"{_MATHML}o" and part.text not in _CLOSING
