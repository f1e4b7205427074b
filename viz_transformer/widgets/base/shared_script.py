"""The script and style of a view class, which a notebook holds once, however many of its views it shows."""

from __future__ import annotations

import zlib

import anywidget
import traitlets

from viz_transformer.errors import UserError
from viz_transformer.widgets.base.bundle import built

#: What each view has for a script of its own.
LOADER = built("load_script.js")

#: What a script or a style may unpack to: a hundred times ours, and no more than a page may take.
_MOST_BYTES = 20_000_000

_made: dict[tuple[str, str], SharedScript] = {}


class SharedScript(anywidget.AnyWidget):
    """A widget that carries the script and the style of views; it draws nothing, and the views refer to it.

    Attributes:
        script: an ES module, compressed; see `unpacked`.
        sheet: a style sheet, likewise. Not `style`, which JupyterLab takes for a model.
    """

    _esm = "export default {};"

    script = traitlets.Bytes(help="an ES module, zlib").tag(sync=True)
    sheet = traitlets.Bytes(help="a style sheet, zlib").tag(sync=True)


def shared_script(script: object, style: str) -> SharedScript | None:
    """Return the widget of a script and a style: the one that there is already, if it was not closed.

    None outside a Jupyter kernel, where no state is saved and one process may serve many pages, each with
    widgets of its own (marimo); and for a script that follows its file, see `hot_reload`.
    """
    if not in_kernel() or not isinstance(script, str):
        return None
    made = _made.get((script, style))
    if made is None or made.comm is None:
        made = SharedScript(script=packed(script), sheet=packed(style))
        _made[script, style] = made
    return made


def in_kernel() -> bool:
    """Whether a Jupyter kernel runs this."""
    from IPython import get_ipython

    return hasattr(get_ipython(), "kernel")


def packed(text: str) -> bytes:
    """Return a script or a style as such a widget carries it."""
    return zlib.compress(text.encode(), level=9)


def unpacked(packed: bytes) -> str:
    """Return the text that a shared script or style holds.

    Raises:
        UserError: if it is damaged, or unpacks to far more than a script.
    """
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(packed, _MOST_BYTES).decode()
    except (zlib.error, ValueError):
        text = None
    if text is None or not unpacking.eof:
        raise UserError("a view's script is damaged; run its notebook and save it again")
    return text
