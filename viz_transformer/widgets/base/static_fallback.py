"""Static fallbacks: a picture behind every live view, for a notebook that is only read.

A saved notebook that is opened without its kernel, or where no script runs, cannot show a view. So
two outputs are displayed: the live view, and after it a picture of it. The style that comes with
the picture hides one of the two, depending on what it finds in the page; in an unknown page both
stay. One output with the picture as a second format does not work: JupyterLab prefers the widget's
format, and shows "model not found" instead of trying the other.
"""

from __future__ import annotations

import base64
import html
import io
import logging
import sys
from typing import TYPE_CHECKING, Any

import ipywidgets

from viz_transformer.widgets.base.widget_tree import LiveWidgets, walk_widgets

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

_DPI = 100  # or fewer, if the file would have more than
_MOST_BYTES = 60_000

# A view was drawn without an error; and a part of it has no kernel.
_DRAWN = ":has(.vt-root, .widget-box):not(:has(.jupyter-widgets-error-widget))"
_DISCONNECTED = ":has(.jupyter-widgets-disconnected)"


def shown_text(text: str) -> str:
    """Return a description that its tokens cannot garble: characters that turn the line are named."""
    from viz_transformer.plots.labels import visible

    return visible(text)


def _css_rules(output: str, content: str, failed: str) -> str:
    """Return the rules for a place where `output` follows `output`, and each holds `content`.

    `failed` matches an output that certainly holds no view. No other output is hidden in favour of
    a picture: it is better to show both than to hide a working view.
    """
    static = f"> {content} > .vt-still"
    return f"""
{output}{failed}:has(+ {output} {static}) {{ display: none; }}
{output}{_DRAWN}:not({_DISCONNECTED}) + {output}:has({static}) {{ display: none; }}
{output}{_DRAWN}{_DISCONNECTED} + {output} {static} > :not(.vt-still-note) {{ display: none; }}
{output}:has(+ {output} {static}) .jupyter-widgets-disconnected::before {{ content: none; }}
"""


# JupyterLab, Notebook 7 and nbconvert; the classic notebook; Colab. Where a view fails, these show
# a line of text in its place, and nothing else.
_CONTENT = ":is(.jp-OutputArea-output, .output_subarea)"
_IN_JUPYTER = _css_rules(
    ":is(.jp-OutputArea-child, .output_area, .display_data)",
    _CONTENT,
    f":has(> {_CONTENT}:not(:empty)):not(:has(> {_CONTENT} > *))",
)
# VS Code names its error line.
_IN_VS_CODE = _css_rules(".output_container", ".output > div", ":has(> .output > div > .no-renderer-error)")
_STYLE = f"""
.vt-still img {{ display: block; max-width: 100%; height: auto; background: #fff; }}
@media screen {{
  :is([data-jp-theme-light="false"], .vscode-dark) .vt-still img {{
    filter: invert(0.94) hue-rotate(180deg); mix-blend-mode: lighten;
  }}
}}
.vt-still figure {{ margin: 0; }}
.vt-still p {{ margin: 4px 0; }}
{_IN_JUPYTER}{_IN_VS_CODE}"""
_NOTE = "Saved with the notebook, and not running. Run the cell to use it."


class StaticFallbackMixin:
    """A mixin for widgets that are displayed live, with a static picture of their views behind them."""

    _repr_mimebundle_: Any  # of the widget

    def _ipython_display_(self, **_: Any) -> None:
        """Display the widget first, so that it does not wait for its picture."""
        from IPython.display import display

        bundle = self._repr_mimebundle_()
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        # Without its plain text: where no widget is drawn, the picture replaces it.
        live = {kind: each for kind, each in data.items() if kind != "text/plain"}
        display(live, metadata=metadata, raw=True)
        try:
            static, text = render_static(self)
        except Exception:  # a picture that cannot be drawn must not take the view with it
            logging.getLogger(__name__).debug("no static picture", exc_info=True)
        else:
            display({"text/html": static, "text/plain": text}, raw=True)


def render_static(widget: ipywidgets.Widget) -> tuple[str, str]:
    """Return a widget as static HTML, and as plain text.

    Text in it becomes paragraphs, and each view a PNG picture of its figure with the view's
    alternative text. The HTML includes its style and fetches nothing.
    """
    widgets = LiveWidgets([widget])
    lines, texts = [], []
    for part in walk_widgets(widget.model_id, widgets.state_of):
        if part.kind == "view":
            view = widgets[part.model_id]
            texts.append(shown_text(view.alt_text()))
            figure = view.figure()
            lines.append(_figure(figure, texts[-1]) if figure else f"<p>{html.escape(texts[-1])}</p>")
        elif part.text:
            texts.append(part.text)
            lines.append(f"<p>{html.escape(part.text)}</p>")
    body = "\n".join(lines)
    return (
        f"<style>{_STYLE}</style>\n"
        f'<div class="vt-still">\n{body}\n<p class="vt-still-note"><i>{_NOTE}</i></p>\n</div>',
        "\n".join(texts),
    )


def _figure(figure: Figure, alt: str) -> str:
    data, width, height = figure_to_png(figure)
    return (
        f'<figure><img width="{width}" height="{height}" alt="{html.escape(alt)}" '
        f'src="data:image/png;base64,{base64.b64encode(data).decode("ascii")}"></figure>'
    )


def figure_to_png(figure: Figure, scale: float = 1.0) -> tuple[bytes, int, int]:
    """Return a figure as a small PNG file, its width and its height in pixels; closes the figure.

    A palette takes a third of the bytes of full colour, and its colours hardly differ. With a `scale` above 1
    the file has so many more pixels along each side, for where it is shown larger.
    """
    dpi = scale * _DPI
    data, size = _png(figure, dpi)
    while len(data) > _MOST_BYTES and dpi > 20:
        dpi *= min(0.9, 0.9 * (_MOST_BYTES / len(data)) ** 0.5)  # bytes grow with the area
        data, size = _png(figure, dpi)
    if scale != 1:
        size = tuple(round(_DPI * inches) for inches in figure.get_size_inches())
    return data, *size


def _png(figure: Figure, dpi: float) -> tuple[bytes, tuple[int, int]]:
    from PIL import Image

    image = figure_to_image(figure, dpi)
    file = io.BytesIO()
    palette = image.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette.save(file, format="png", optimize=True)
    return file.getvalue(), image.size


def figure_to_image(figure: Figure, dpi: float) -> Image:
    """Return a figure's pixels in full colour; closes the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(dpi)
    canvas.draw()
    pixels = canvas.buffer_rgba()  # [row, column, 4]
    if "matplotlib.pyplot" in sys.modules:
        # A figure that pyplot holds would be shown a second time, at the end of the cell.
        sys.modules["matplotlib.pyplot"].close(figure)
    return Image.frombuffer("RGBA", (pixels.shape[1], pixels.shape[0]), pixels).convert("RGB")
