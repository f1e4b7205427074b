"""Write views as one HTML file that opens from disk, offline, and stays interactive."""

from __future__ import annotations

import base64
import html
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget

from viz_transformer._files import written_whole
from viz_transformer.errors import UserError
from viz_transformer.widgets.bundle import STATIC

# Nothing may be fetched: the page's own text is all that the browser is allowed to use.
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{places}
</main>
<script type="application/json" id="vt-page">{page}</script>
<script type="module">
{script}
</script>
</body>
</html>
"""


def export_html(
    views: anywidget.AnyWidget | Sequence[anywidget.AnyWidget],
    path: str | os.PathLike[str],
    *,
    title: str = "Attention",
) -> Path:
    """Write one view or several into one HTML file, whole or not at all; returns its path.

    The page holds each view's module, state and bytes, and fetches nothing. Each view opens as it
    is selected now and can be used as in the notebook, without Python.

    Raises:
        UserError: if `views` is empty or holds something that is not a view.
        FileError: if the file cannot be written.
    """
    listed = [views] if isinstance(views, anywidget.AnyWidget) else views
    if not isinstance(listed, Sequence) or not all(
        isinstance(view, anywidget.AnyWidget) for view in listed
    ):
        raise UserError(
            f"export_html takes a view or a list of views, not {views!r:.60}; "
            "make one with vt.explore(trace)"
        )
    if not listed:
        raise UserError("export_html was given no view; make one with vt.explore(trace)")
    page = _page(listed, title)
    with written_whole(path) as part:
        part.write_text(page, encoding="utf-8", errors="xmlcharrefreplace", newline="\n")
    return Path(path)


def _page(views: Sequence[anywidget.AnyWidget], title: str) -> str:
    modules: list[str] = []  # each view class brings its module once, however often it is shown
    styles = [(STATIC / "page.css").read_text(encoding="utf-8")]
    shown = []
    for view in views:
        module, style = view.get_state(["_esm"])["_esm"], str(getattr(view, "_css", ""))
        if module not in modules:
            modules.append(module)
        if style not in styles:
            styles.append(style)
        shown.append({"module": modules.index(module), "state": _encode(_own_state(view))})
    page = json.dumps({"modules": modules, "views": shown}, separators=(",", ":"))
    return _PAGE.format(
        title=html.escape(title),
        style="\n".join(styles).replace("</", "<\\/"),
        places="\n".join('<section class="vt-view"></section>' for _ in views),
        # ASCII JSON already escapes U+2028 and its like; `<` could end the script element.
        page=page.replace("<", "\\u003c"),
        script=(STATIC / "page.js").read_text(encoding="utf-8"),
    )


def _own_state(view: anywidget.AnyWidget) -> dict[str, Any]:
    """The traits that the view's own class sends, without the plumbing of a notebook widget."""
    plumbing = anywidget.AnyWidget.class_traits(sync=True)
    return view.get_state([name for name in view.keys if name[0] != "_" and name not in plumbing])


def _encode(value: Any) -> Any:
    """JSON's own types, with bytes as base64: ``{"base64": "…"}``."""
    if isinstance(value, bytes | bytearray | memoryview):
        return {"base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, dict):
        return {name: _encode(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    return value
