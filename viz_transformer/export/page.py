"""The page itself: its elements, its policy, its size."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from pathlib import Path

from viz_transformer._files import text_beside, written_whole
from viz_transformer.errors import UserError
from viz_transformer.export.module import inline_style, source_hash
from viz_transformer.export.pieces import Pieces

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
{styles}
</head>
<body>
<main>
<h1>{title}</h1>
{places}
</main>
{scripts}
</body>
</html>
"""


def page_text(title: str, places: Sequence[str], pieces: Pieces) -> str:
    """Return a page whose policy allows its own scripts and styles by hash, and nothing else."""
    texts = script_texts(pieces)
    styles = [inline_style(text_beside(__file__, "page.css")), *pieces.styles]
    policy = {
        "default-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "script-src": [source_hash(text) for text in texts],
        "style-src": [source_hash(style) for style in styles],
        "img-src": ["data:"],
    }
    return _PAGE.format(
        policy="; ".join(f"{name} {' '.join(sources)}" for name, sources in policy.items()),
        title=html.escape(title),
        styles="\n".join(f"<style>{style}</style>" for style in styles),
        places="\n".join(places),
        scripts=script_elements(pieces),
    )


def script_texts(pieces: Pieces) -> list[str]:
    """Return the scripts of a page in the order in which they run: the views', then its own."""
    own = text_beside(__file__, "page.js")
    return [*(script.text for script in pieces.scripts.values()), own]


def script_elements(pieces: Pieces) -> str:
    """Return the data of a page and its scripts, for the end of the body."""
    # ASCII JSON already escapes U+2028 and its like; `<` could end the script element.
    data = json.dumps({"views": pieces.views}, separators=(",", ":")).replace("<", "\\u003c")
    return "\n".join(
        [
            f'<script type="application/json" id="vt-page">{data}</script>',
            *(f'<script type="module">{text}</script>' for text in script_texts(pieces)),
        ]
    )


def write_page(path: str | os.PathLike[str], text: str, *, max_megabytes: float) -> Path:
    """Write a page, whole or not at all; returns its path.

    Raises:
        UserError: if it is larger than `max_megabytes`.
        FileError: if it cannot be written.
    """
    content = text.encode("utf-8", errors="xmlcharrefreplace")
    check_size(path, len(content), max_megabytes)
    with written_whole(path) as part:
        part.write_bytes(content)
    return Path(path)


def check_size(path: str | os.PathLike[str], n_bytes: int, max_megabytes: float) -> None:
    """Refuse a page that is larger than was allowed.

    Raises:
        UserError: if it is.
    """
    megabytes = n_bytes / 1e6
    if megabytes > max_megabytes:
        raise UserError(
            f"{os.fspath(path)!r} would take {megabytes:.1f} MB, more than the {max_megabytes:g} "
            f"MB that are allowed; show less, or allow it with max_megabytes={megabytes + 1:.0f}"
        )
