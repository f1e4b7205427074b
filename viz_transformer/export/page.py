"""The HTML of an exported page, its size limit, the lines that show it in another, and how far it is."""

from __future__ import annotations

import html
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from viz_transformer._files import atomic_write, text_beside
from viz_transformer._html import policy_element, script_json, source_hash
from viz_transformer._text import shown
from viz_transformer._work import Work
from viz_transformer.errors import FileError, UserError
from viz_transformer.export.inline_module import inline_style, view_scripts
from viz_transformer.export.page_parts import PageParts, deflated
from viz_transformer.widgets.base.bundle import built

_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{policy}
<title>{title}</title>
<style>{style}</style>
</head>
<body data-jp-theme-light>
{body}
</body>
</html>
"""

#: The note of a page until its script runs, and above the still pictures of its views where none can.
NOT_RUNNING = (
    '<p class="vt-instead">The views of this page are still pictures in few colours: its scripts do not run, '
    "because this browser or the policy of the site that serves it (Content-Security-Policy) does not allow "
    "it. Saved and opened from a disk, it works.</p>"
)

#: The last of the views' scripts, which run in order: by it the page's own script learns that they did.
_ALL_RAN = 'dispatchEvent(new Event("vt-views"));'

#: What every page of ours begins with.
_BEGINNING = f'{_DOCUMENT.partition("{policy}")[0]}<meta http-equiv="Content-Security-Policy"'.encode()


def document(
    title: str, body: str, *, styles: Sequence[str], policy: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Return an HTML document in our colours, whose policy allows its own styles by hash.

    The styles, as `inline_style` returns them, follow the colours; see `policy_element` for the policy.
    """
    style = "\n".join([inline_style(text_beside(__file__, "theme.css")), *styles])
    allowed = {"style-src": [source_hash(style)], **(policy or {})}
    return _DOCUMENT.format(
        policy=policy_element(allowed),
        title=html.escape(title),
        style=style,
        body=body,
    )


def page_pieces(title: str, places: Sequence[str], parts: PageParts) -> list[str]:
    """Return a page whose policy allows its own scripts and styles by hash, and nothing else.

    In pieces, each large block one of them: joined, a trace of 200 megabytes would be copied again
    and again.
    """
    main = "\n".join([NOT_RUNNING, "<main>", f"<h1>{html.escape(title)}</h1>", *places, "</main>"])
    text = document(
        title,
        f"{main}\n{_data_and_scripts(parts)}",
        styles=[inline_style(text_beside(__file__, "page.css")), *parts.styles],
        policy={"script-src": [source_hash(text) for text in script_texts(parts)], "img-src": ["data:"]},
    )
    above, end = text.rsplit("</body>", 1)
    return [above, *_block_elements(parts), f"</body>{end}"]


def script_texts(parts: PageParts) -> list[str]:
    """Return the scripts of a page: the views', which it holds compressed, and last its own."""
    return [*view_scripts(parts.scripts), _ALL_RAN, page_script("page.js")]


def page_script(name: str) -> str:
    """Return one of our own scripts as the text of an inline module."""
    return built(name)


def script_elements(parts: PageParts) -> str:
    """Return the data of a page and its scripts, for the end of the body."""
    return "".join([_data_and_scripts(parts), "\n", *_block_elements(parts)])


def _data_and_scripts(parts: PageParts) -> str:
    data = script_json({"views": parts.views})
    *views, own = script_texts(parts)
    return "\n".join(
        [
            f'<script type="application/json" id="vt-page">{data}</script>',
            f'<script type="text/plain" id="vt-scripts">{deflated(json.dumps(views).encode())}</script>',
            # It does not wait for the blocks: the views are drawn while these still load.
            f'<script type="module" async>{own}</script>',
        ]
    )


def _block_elements(parts: PageParts) -> Iterator[str]:
    for number, block in enumerate(parts.blocks):
        yield f'<script type="text/plain" id="vt-block-{number}">'
        yield block
        yield "</script>\n"


def write_page(
    path: str | os.PathLike[str],
    text: str | Sequence[str],
    *,
    max_megabytes: float,
    offer: Callable[[], str] = lambda: "",
) -> Path:
    """Write a page, or its pieces, whole or not at all; returns its path. `offer` is as in `check_size`."""
    pieces = [text] if isinstance(text, str) else text
    check_size(path, sum(map(_n_bytes, pieces)), max_megabytes, offer)
    with atomic_write(path) as part, part.open("wb") as file:
        file.writelines(map(_in_utf_8, pieces))  # one by one: all of them are not in memory twice
    return Path(path)


def _n_bytes(piece: str) -> int:
    return len(piece) if piece.isascii() else len(_in_utf_8(piece))


def _in_utf_8(piece: str) -> bytes:
    return piece.encode("utf-8", errors="xmlcharrefreplace")


def check_replaceable(path: Path, beginning: bytes = _BEGINNING) -> None:
    """Refuse to replace a file that does not begin as a page of ours does."""
    if not path.is_file():
        return
    try:
        with path.open("rb") as file:
            is_ours = file.read(len(beginning)) == beginning
    except OSError:
        is_ours = False
    if not is_ours:
        raise FileError(
            f"{str(path)!r} is there already and is no page that viz_transformer wrote; move it away, "
            "give another place to write to, or say --overwrite on the command line"
        )


def check_size(
    path: str | os.PathLike[str],
    n_bytes: int,
    max_megabytes: float,
    offer: Callable[[], str] = lambda: "",
) -> None:
    """Refuse a page that is larger than allowed; `offer` returns arguments with which it would fit."""
    if not max_megabytes > 0:  # nor is NaN
        raise UserError(f"max_megabytes={max_megabytes} is no size; give a number above 0")
    megabytes = n_bytes / 1e6
    if megabytes > max_megabytes:
        smaller = offer()
        less = f"give {smaller}" if smaller else "show less"
        raise UserError(
            f"{os.fspath(path)!r} would take {megabytes:.1f} MB, more than the {shown(max_megabytes)} "
            f"MB that are allowed; {less}, or allow it with max_megabytes={megabytes + 1:.0f}"
        )


_FRAME = '<iframe class="viz-transformer"'
# A page in a sandbox has no origin to compare: `source` says which frame speaks. Only a height is taken.
_LINES = f"""\
{_FRAME} src="{{address}}" title="{{title}}" sandbox="allow-scripts allow-downloads" allowfullscreen \
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
    """Return where the lines for a page are written, unless something is there that is none of ours."""
    place = page.with_name(f"{page.stem}.embed.html")
    check_replaceable(place, _FRAME.encode())
    return place


def write_lines(place: Path, page: Path, title: str) -> None:
    """Write the lines that show a page, to be pasted into one in the same folder."""
    address, title = html.escape(quote(page.name)), html.escape(title)
    with atomic_write(place) as part:
        part.write_text(_LINES.format(address=address, title=title), encoding="utf-8")


#: A page that is written sooner is written without a word.
_QUIET_S = 2.0
#: A file that keeps what is printed gets a line of its own each time, and not so often.
_LINE_PAUSE_S = 30.0


@contextmanager
def progress_line(name: str) -> Iterator[None]:
    """Inside this, work that calls `between_parts` shows on stderr how far the page of this name is.

    Ctrl-C, or the notebook's button that interrupts, ends it.
    """
    start = time.monotonic()
    last = start + _QUIET_S - _LINE_PAUSE_S
    # A terminal and a notebook write over a line.
    is_live = sys.stderr.isatty() or "ipykernel" in sys.modules
    newest, shown = "", ""

    def tell(words: str) -> None:
        nonlocal last, newest, shown
        newest = words or newest
        now = time.monotonic()
        if now - start < _QUIET_S or (not is_live and now - last < _LINE_PAUSE_S):
            return
        last = now
        line = f"Writing {name}: {now - start:.0f} s. {newest}"[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write(f"\r{line:<{len(shown)}}" if is_live else f"{line}\n")
        sys.stderr.flush()
        shown = line

    with Work(tell).under_way():
        try:
            yield
        finally:
            if shown and is_live:
                sys.stderr.write(f"\r{'':<{len(shown)}}\r")
                sys.stderr.flush()
