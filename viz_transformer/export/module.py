"""A view's ES module as a script that stands in a page, where it can be named by its hash."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass

from viz_transformer.errors import UserError

_DEFAULT = re.compile(r"^([ \t]*)export[ \t]+default[ \t]+", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import\b(?!\s*[.(])", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """The text of an inline ``<script type="module">``, and the name that it registers under."""

    name: str
    text: str


def inline(module: str) -> Script:
    """Return a module as an inline script that leaves its view in ``globalThis.vtViews[name]``.

    An inline module script has a scope of its own and may export, but nobody can import it. So its
    default export becomes an assignment; the rest stays as it is written. The name follows from the
    text: a view's script, and so its hash, is the same in every page.

    Raises:
        UserError: if the module has no default export, or imports others, which would be fetched.
    """
    module = _in_one_element(module)
    if imported := _IMPORT.search(module):
        line = module[imported.start() :].lstrip().partition("\n")[0]
        raise UserError(
            f"a view whose module imports others cannot be exported, and this one says "
            f"{line!r:.60}; join its parts into one module"
        )
    name = hashlib.sha256(module.encode()).hexdigest()[:16]
    # The semicolon: a line before it may end without one.
    target = f'\\1;(globalThis.vtViews ??= {{}})["{name}"] = '
    text, n_found = _DEFAULT.subn(target, module)
    if n_found != 1:
        raise UserError(
            f"a view's module must hold one 'export default', and this one holds {n_found}; write "
            "export default { render }"
        )
    return Script(name, text)


def inline_style(style: str) -> str:
    """Return a style sheet as the text of a ``<style>`` element."""
    return _one_kind_of_line(style).replace("</", "<\\/")


def source_hash(text: str) -> str:
    """Return what a content-security policy calls an inline script or style: ``'sha256-…'``."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _in_one_element(script: str) -> str:
    """Write a script so that no text in it ends its element; the strings mean what they meant."""
    script = re.sub("</(?=script)", r"<\\/", _one_kind_of_line(script), flags=re.IGNORECASE)
    return script.replace("<!--", "<\\!--")


def _one_kind_of_line(text: str) -> str:
    # What a browser makes of a text as it reads the page, and hashes.
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
