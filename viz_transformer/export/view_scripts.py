"""The scripts of a page's views: each as a whole, or ours in one, which carries what they share once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from viz_transformer.export.inline_module import Script, escape_end_tags, inline_module
from viz_transformer.widgets.base.bundle import STATIC, built


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
