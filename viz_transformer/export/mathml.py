"""TeX formulas as MathML, which browsers draw without a script."""

from __future__ import annotations

import html
import re
from xml.etree import ElementTree

from nbconvert.filters.markdown_mistune import IPythonRenderer

_MATHML = "{http://www.w3.org/1998/Math/MathML}m"
_DISPLAY = re.compile(r"\s*(?:\$\$(.*?)\$\$|\\\\\[(.*?)\\\\\])\s*", re.DOTALL)


class MathRenderer(IPythonRenderer):
    """nbconvert's Markdown renderer, with MathML in place of TeX."""

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
        tags = {element.tag for element in ElementTree.fromstring(made).iter()}
    except Exception:  # one unreadable formula must not fail the whole page
        made, tags = "", set()
    # The converter leaves unknown commands as they are, and HTML inside a text.
    if made and "\\" not in made and all(tag.startswith(_MATHML) for tag in tags):
        return made
    return f"<code>{html.escape(tex.strip())}</code>"
