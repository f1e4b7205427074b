"""bertviz's head view and model view of a trace."""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from viz_transformer._files import atomic_write
from viz_transformer._html import source_hash
from viz_transformer._text import shown
from viz_transformer.bertviz_views import page
from viz_transformer.bertviz_views.drawings import Drawing, drawings_of
from viz_transformer.bertviz_views.page import read_script
from viz_transformer.errors import UserError
from viz_transformer.trace import KINDS, ForwardTrace

#: What a view shows while its notebook is not trusted, or in a browser without frames.
_UNSEEN = "This is a view by bertviz. Run the cell again, or trust this notebook, to see it."

# In JupyterLab the frame's colours follow the notebook's theme: a browser hands the
# `color-scheme` of a frame element on to the page inside.
_THEME = """<style>
body[data-jp-theme-light="true"] .vt-bertviz { color-scheme: light }
body[data-jp-theme-light="false"] .vt-bertviz { color-scheme: dark }
</style>
"""
_FRAME = """<iframe class="vt-bertviz" title="{title}" sandbox="allow-scripts" width="100%" \
height="{height}" frameborder="0" srcdoc="{page}">{unseen}</iframe>"""
_OUR_FRAME = re.compile(_FRAME.format(title='[^"<>]*', height=r"\d{1,5}", page='([^"<>]*)', unseen="[^<>]*"))
#: The frame of a view, perhaps of another version.
FRAME = re.compile(r'<iframe class="vt-bertviz"[^<>]*>[^<]*</iframe>')


@dataclass(frozen=True)
class BertvizView:
    """One of bertviz's views of one trace; a notebook shows it as the value of a cell.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> view = vt.bertviz_views.head_view(trace)
    >>> view.title
    'bertviz head view: encoder self-attention, decoder self-attention, cross-attention'

    Attributes:
        html: the whole page, one text that needs nothing else.
        title: what it shows, for its frame and the window it is opened in.
        height_px: how high the page is where it has room for bertviz's own width.
    """

    html: str = field(repr=False)
    title: str
    height_px: int

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file that opens offline, whole or not at all; returns its path.

        Raises:
            FileError: if the file cannot be written.
        """
        with atomic_write(path) as part:
            part.write_text(self.html, encoding="ascii", newline="\n")
        return Path(path)

    def _repr_html_(self) -> str:
        """Return the page in a frame that runs its own scripts and reaches nothing around it."""
        return _THEME + _FRAME.format(
            title=html.escape(self.title),
            height=self.height_px,
            page=html.escape(self.html),
            unseen=_UNSEEN,
        )


def frame_scripts(frame: str) -> set[str]:
    """Return the hashes of the scripts in a view's frame; none if it is not as this version makes them."""
    found = _OUR_FRAME.fullmatch(frame)
    scripts = re.findall(r"<script>(.*?)</script>", html.unescape(found[1]), re.DOTALL) if found else []
    hashes = set(map(source_hash, scripts))
    return hashes if hashes <= page.script_hashes() else set()


def head_view(
    trace: ForwardTrace,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    kind: str | None = None,
    display_mode: str | None = None,
    max_megabytes: float = 50.0,
) -> BertvizView:
    """Show one layer at a time as bertviz's head view: a line from each query to each key.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> view = vt.bertviz_views.head_view(trace, layers=[1])

    Args:
        trace: what to show.
        layers: the layers to show, counted from 0; None for all. A kind that has none of them
            is left out.
        heads: the heads to show, counted from 0; None for all.
        kind: "encoder", "decoder" or "cross"; None for every kind that the trace has.
        display_mode: "light" or "dark"; None to follow the notebook or the browser.
        max_megabytes: the largest page to build, in units of 10⁶ bytes.

    Raises:
        UserError: if bertviz is not installed, the trace has nothing to show for the choice, or
            the page would be larger than `max_megabytes`.
    """
    return _view("head_view", trace, layers, heads, kind, display_mode, max_megabytes)


def model_view(
    trace: ForwardTrace,
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    kind: str | None = None,
    display_mode: str | None = None,
    max_megabytes: float = 50.0,
) -> BertvizView:
    """Show every head of every layer at once as bertviz's model view; a click enlarges one.

    Takes the same arguments as `head_view` and raises the same errors.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> view = vt.bertviz_views.model_view(trace, kind="cross")

    Args:
        trace: and the others: as in `head_view`.
        layers: the layers to show, counted from 0; None for all.
        heads: the heads to show, counted from 0; None for all.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``; None for every kind that the trace has.
        display_mode: ``"light"`` or ``"dark"``; None to follow the notebook or the browser.
        max_megabytes: the largest page to build, in units of 10⁶ bytes.
    """
    return _view("model_view", trace, layers, heads, kind, display_mode, max_megabytes)


def _view(
    name: str,
    trace: ForwardTrace,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None,
    kind: str | None,
    display_mode: str | None,
    max_megabytes: float,
) -> BertvizView:
    if not isinstance(trace, ForwardTrace):
        raise UserError(
            f"{name} shows a ForwardTrace, not a {type(trace).__name__}; make one with "
            "vt.capture(model, …) or vt.ForwardTrace(…)"
        )
    if display_mode not in (None, "light", "dark"):
        raise UserError(
            f"display_mode={display_mode!r} is unknown; give 'light', 'dark', or None to follow the notebook"
        )
    drawings = drawings_of(trace, layers, heads, kind)
    script = read_script(name)
    megabytes = (page.fixed_bytes(script) + sum(each.n_bytes for each in drawings)) / 1e6
    if not megabytes <= max_megabytes:
        raise UserError(
            f"{name} would be a page of {megabytes:.0f} MB, over max_megabytes={shown(max_megabytes)}; "
            f"show less of it, as in layers=[0, 1], heads=[0, 1] or kind={drawings[0].kinds[0]!r}, "
            f"or allow it with max_megabytes={math.ceil(megabytes)}"
        )
    title = _title(name, drawings)
    return BertvizView(
        html=page.build(name, title, drawings, script, display_mode),
        title=title,
        height_px=page.height_px(name, drawings),
    )


def _title(name: str, drawings: Sequence[Drawing]) -> str:
    kinds = [KINDS[kind].label for each in drawings for kind in each.kinds]
    return f"bertviz {name.replace('_', ' ')}: {', '.join(kinds)}"
