"""Export of views to one HTML file that opens from disk, offline, and stays interactive."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import ipywidgets

from viz_transformer._files import given_path
from viz_transformer._text import given_heading
from viz_transformer.errors import UserError
from viz_transformer.export.page import (
    check_replaceable,
    check_size,
    page_pieces,
    place_beside,
    progress_line,
    write_lines,
    write_page,
)
from viz_transformer.export.page_parts import (
    carried_part,
    expected_bytes,
    parts_of_live,
    ready_for_export,
    smaller_part,
)
from viz_transformer.widgets.base.static_fallback import shown_text
from viz_transformer.widgets.base.view import View

__all__ = ["export_html"]


def export_html(
    views: ipywidgets.Widget | Sequence[ipywidgets.Widget],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    max_megabytes: float = 50,
    layers: Iterable[int] | None = None,
    heads: Iterable[int] | None = None,
    bits: int | None = None,
    threshold: float = 0.0,
    embed: bool = False,
) -> Path:
    """Write one view or several into one HTML file, whole or not at all; returns its path.

    The page holds each view's module, state and bytes, and fetches nothing: its content-security
    policy names its own scripts and styles by their hashes and allows nothing else. Each view opens
    as it is selected now and can be used as in the notebook, without Python. What a view would ask
    a model is answered from its `questions()`, asked now: of a large model that takes minutes, in which a
    line on stderr says how far it is. Of a lab, the views and the words go into
    the page; its controls, which need Python, are left out, and the page says so.

    >>> import viz_transformer as vt
    >>> trace = vt.load_translator().trace("the black cat sleeps")
    >>> vt.export_html(vt.explore(trace), "attention.html").name
    'attention.html'

    The page's address says what is chosen in an explorer, in the first one if there are several: with
    ``#layer=1&head=2&query=3`` behind its name it opens there. *Back* undoes, as in any page.

    With `embed` the file `attention.embed.html` is written beside it: an ``<iframe>`` to paste into
    a course's page, and a script by which the frame becomes as high as its page.

    >>> page = vt.export_html(vt.explore(trace), "attention.html", embed=True)
    >>> page.with_name("attention.embed.html").read_text().partition(" title")[0]
    '<iframe class="viz-transformer" src="attention.html"'

    Args:
        views: a view, a lab, or a list of them.
        path: the file to write.
        title: the heading of the page; None takes the sentence of the first explorer.
        max_megabytes: a page larger than this many megabytes (10^6 bytes) is not written.
        layers: of explorers' large traces (more than 256 KiB as float32), the layers whose heads
            the page carries, counted from 0; None is all. The others are seen small.
        heads: the heads of each of these layers, likewise.
        bits: of each weight of these, 16 or 8. In 8 bits a page shows whole percents, and says so. None
            takes 16, or 8 where all weights together would take more than 2 MB in 16.
        threshold: leave out the weights of these heads that are smaller, such as 0.001, for a smaller page,
            which says how much of the attention that was.
        embed: write the lines for another page, too. Where that page is in another folder or on
            another server, the address of this one must be put into its `src`.

    Raises:
        UserError: if `views` is empty or holds something that is not a view; if the page would be
            larger than `max_megabytes`; or if no view has such layers, heads, bits or threshold.
        FileError: if the file cannot be written, or is there already and no page of ours.
    """
    path = given_path(path)
    check_replaceable(path)
    beside = place_beside(path) if embed else None
    listed = [views] if isinstance(views, ipywidgets.Widget) else views
    if not isinstance(listed, Sequence) or not all(isinstance(view, ipywidgets.Widget) for view in listed):
        raise UserError(
            f"export_html takes a view or a list of views, not {views!r:.60}; make one with vt.explore(trace)"
        )
    if not listed:
        raise UserError("export_html was given no view; make one with vt.explore(trace)")
    title = _heading(listed) if title is None else given_heading(title)
    with progress_line(path.name):  # a studio makes its rooms
        widgets = ready_for_export(listed)

    def offer() -> str:
        return smaller_part(widgets, max_megabytes)

    with carried_part(widgets, layers=layers, heads=heads, bits=bits, threshold=threshold):
        expected = sum(map(expected_bytes, widgets))
        check_size(path, expected, max_megabytes, offer)  # before any is asked
        parts = parts_of_live(widgets)
        with progress_line(path.name):
            places = [parts.add(view.model_id) for view in listed]
    addresses = ((view.model_id, view.address()) for view in listed if isinstance(view, View))
    if first := next(((model_id, rules) for model_id, rules in addresses if rules), None):
        parts.name_in_address(*first)
    if not parts.views:
        raise UserError(
            f"export_html found no view in {type(listed[0]).__name__}; make one with vt.explore(trace)"
        )
    written = write_page(path, page_pieces(title, places, parts), max_megabytes=max_megabytes, offer=offer)
    if beside:
        write_lines(beside, written, title)
    return written


def _heading(views: Sequence[ipywidgets.Widget]) -> str:
    headings = (view.heading() for view in views if isinstance(view, View))
    return shown_text(next((heading for heading in headings if heading.strip()), "Attention"))
