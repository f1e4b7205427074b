"""A view's module and style sheet as inline elements of a page, which a policy can name by hash."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import STATIC, built

_DEFAULT = re.compile(r"^([ \t]*)export[ \t]+default[ \t]+", re.MULTILINE)
#: As esbuild writes it, at the end.
_BUILT_DEFAULT = re.compile(r"\bexport\s*\{[^{}]*?([\w$]+) as default[^{}]*\};?\s*\Z")
_IMPORT = re.compile(r"^[ \t]*import\b(?!\s*[.(])", re.MULTILINE)
# A style sheet's strings, which stay; its comments, and space without meaning.
_STYLE_SPACE = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|[ \t]*/\*.*?\*/|^\s+|(?<=[{};,:])\s+|\s+(?={)""",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Script:
    """The text of an inline ``<script type="module">``, and the name that it registers under."""

    name: str
    text: str


def inline_module(module: str, name: str | None = None) -> Script:
    """Return a module as an inline script that leaves its view in ``globalThis.vtViews[name]``.

    An inline module script has its own scope and may export, but cannot be imported. So its
    default export becomes an assignment; the rest stays unchanged. The name is derived from the
    text, unless one is given, so a view's script and its hash are the same in every page.

    Raises:
        UserError: if the module has no default export, or imports others, which would be fetched.
    """
    module = escape_end_tags(module)
    if imported := _IMPORT.search(module):
        line = module[imported.start() :].lstrip().partition("\n")[0]
        raise UserError(
            f"a view whose module imports others cannot be exported, and this one has "
            f"{line!r:.60}; join its parts into one module"
        )
    name = name or hashlib.sha256(module.encode()).hexdigest()[:16]
    # The semicolon: a line before it may end without one.
    target = f';(globalThis.vtViews ??= {{}})["{name}"] = '
    text, n_found = _DEFAULT.subn(rf"\1{target}", _BUILT_DEFAULT.sub(r"\nexport default \1;", module))
    if n_found != 1:
        raise UserError(
            f"a view's module must hold one 'export default', and this one holds {n_found}; write "
            "export default { render }"
        )
    return Script(name, text)


def inline_style(style: str) -> str:
    """Return a style sheet as the text of a ``<style>`` element, without comments and indentation."""
    return _STYLE_SPACE.sub(lambda found: found[1] or "", _normalise_lines(style)).replace("</", "<\\/")


def escape_end_tags(script: str) -> str:
    """Escape whatever would end a script's element; its strings keep their values."""
    script = re.sub("</(?=script)", r"<\\/", _normalise_lines(script), flags=re.IGNORECASE)
    return script.replace("<!--", "<\\!--")


def _normalise_lines(text: str) -> str:
    # As a browser reads the text of a page before it hashes it.
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def view_scripts(scripts: Mapping[str, Script]) -> list[str]:
    """Return the texts of some views' scripts, in whichever way is the shorter."""
    ours = [name for name in scripts if name in _views_by_script()]
    others = [script.text for name, script in scripts.items() if name not in ours]
    whole = [script.text for script in scripts.values()]
    if len(ours) < 2:
        return whole
    return min(whole, [*others, in_one(ours)], key=lambda texts: sum(map(len, texts)))


def in_one(names: Iterable[str]) -> str:
    """Return one script that registers some of our views, under the names of their own scripts."""
    parts = [built(f"{_views_by_script()[name]}.part.js") for name in names]
    texts = [inline_module(part, name).text for part, name in zip(parts, names, strict=True)]
    # A function for each: their variables have the same names.
    return "\n".join(
        [escape_end_tags(built("shared.part.js")), *(f"(() => {{\n{text}\n}})();" for text in texts)]
    )


@cache
def _views_by_script() -> dict[str, str]:
    """Return our views' names by those that their scripts have in a page."""
    views = [path.name.removesuffix(".part.js") for path in STATIC.glob("*.part.js")]
    return {inline_module(built(f"{view}.js")).name: view for view in views if view != "shared"}
