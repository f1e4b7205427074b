"""The lines that show an exported page in a frame of another page."""

from __future__ import annotations

import html
from pathlib import Path
from urllib.parse import quote

from viz_transformer._files import atomic_write
from viz_transformer.export.page import check_replaceable

_BEGINNING = '<iframe class="viz-transformer"'
# A page in a sandbox has no origin to compare: `source` says which frame speaks. Only a height is taken.
_LINES = f"""\
{_BEGINNING} src="{{address}}" title="{{title}}" sandbox="allow-scripts allow-downloads" allowfullscreen \
width="100%" height="720" style="border: 0"></iframe>
<script>
addEventListener("message", ({{{{ source, data }}}}) => {{{{
  const height = data?.["viz-transformer"]?.height;
  for (const frame of document.querySelectorAll("iframe.viz-transformer"))
    if (frame.contentWindow === source && height > 0 && height < 100000) frame.height = Math.ceil(height);
}}}});
</script>
"""


def place_beside(page: Path) -> Path:
    """Return where the lines for a page are written.

    Raises:
        FileError: if something is there that is none of ours.
    """
    place = page.with_name(f"{page.stem}.embed.html")
    check_replaceable(place, _BEGINNING.encode())
    return place


def write_lines(place: Path, page: Path, title: str) -> None:
    """Write the lines that show a page, to be pasted into one in the same folder."""
    address, title = html.escape(quote(page.name)), html.escape(title)
    with atomic_write(place) as part:
        part.write_text(_LINES.format(address=address, title=title), encoding="utf-8")
