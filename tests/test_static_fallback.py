"""Still pictures: what stands behind a live view where nothing runs. tests/ui opens them."""

from __future__ import annotations

import base64
import io
import re
import sys

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from matplotlib.figure import Figure
from PIL import Image

from viz_transformer.widgets.base import static_fallback as module
from viz_transformer.widgets.base.static_fallback import StaticFallbackMixin, figure_to_png, render_static
from viz_transformer.widgets.base.view import View

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


class Bars(View):
    """Three bars."""

    _esm = "export default { render() {} };"

    def alt_text(self) -> str:
        return 'Three "bars" <b>&'

    def figure(self) -> Figure:
        figure, ax = plt.subplots(figsize=(4, 3))
        ax.bar([0, 1, 2], [3, 1, 2])
        return figure


class Box(StaticFallbackMixin, ipywidgets.VBox):
    """A box as the labs make them."""


class Broken(Bars):
    def figure(self) -> Figure:
        raise RuntimeError("matplotlib fails here")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """The outputs that a notebook would get, in order."""
    outputs: list[dict] = []
    InteractiveShell.instance()
    monkeypatch.setattr("IPython.display.display", lambda data, **_: outputs.append(data))
    return outputs


def images(text: str) -> list[tuple[str, Image.Image]]:
    """The alternative text and the picture of each image in a piece of HTML."""
    found = re.findall(r'<img [^>]*alt="([^"]*)" src="data:image/png;base64,([^"]*)">', text)
    return [(alt, Image.open(io.BytesIO(base64.b64decode(data)))) for alt, data in found]


def test_the_live_view_comes_first_and_its_picture_after(shown: list[dict]) -> None:
    view = Bars()
    view._ipython_display_()
    live, told = shown
    assert set(live) == {WIDGET_VIEW}
    assert live[WIDGET_VIEW]["model_id"] == view.model_id
    assert told["text/plain"] == view.alt_text()
    ((alt, image),) = images(told["text/html"])
    assert alt == "Three &quot;bars&quot; &lt;b&gt;&amp;"
    assert image.size == (400, 300)
    assert f'width="{image.width}" height="{image.height}"' in told["text/html"]


def test_the_picture_is_the_figure(shown: list[dict]) -> None:
    figure = Bars().figure()
    figure.canvas.draw()
    figure.set_dpi(100)
    figure.canvas.draw()
    drawn = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)
    data, *_ = figure_to_png(figure)
    kept = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    assert np.abs(kept - drawn).max() <= 24
    assert np.median(np.abs(kept - drawn)) <= 2


def test_a_box_is_shown_with_its_words_and_all_its_views(shown: list[dict]) -> None:
    Box(
        [
            ipywidgets.Text("the cat", description="English"),
            ipywidgets.HTML("<b>el gato</b>"),
            ipywidgets.HBox([Bars(), Bars()]),
            ipywidgets.Button(description="no words of its own"),
        ]
    )._ipython_display_()
    text = shown[1]["text/html"]
    assert re.findall(r"<p>(.*?)</p>", text) == ["English: the cat", "el gato"]
    assert len(images(text)) == 2
    assert shown[1]["text/plain"].splitlines()[:2] == ["English: the cat", "el gato"]


def test_a_picture_that_cannot_be_drawn_leaves_the_view(shown: list[dict]) -> None:
    Broken()._ipython_display_()
    assert [set(output) for output in shown] == [{WIDGET_VIEW}]


def test_a_still_leaves_no_figure_open_and_holds_nothing_to_fetch_or_run() -> None:
    before = plt.get_fignums()
    text, _ = render_static(Bars())
    assert plt.get_fignums() == before
    assert not re.search(r"https?:|<script|<link|@import|url\(| on\w+=", text)


def test_a_picture_keeps_small() -> None:
    noise = Figure(figsize=(12, 12))
    noise.add_axes((0, 0, 1, 1)).imshow(np.random.default_rng(0).random((600, 600)))
    data, width, height = figure_to_png(noise)
    assert len(data) <= module._MOST_BYTES
    assert width == height < 1200


def test_a_terminal_shows_one_line() -> None:
    shell = InteractiveShell.instance()
    shell.display_formatter.ipython_display_formatter.enabled = False  # as a terminal's is
    try:
        data, _ = shell.display_formatter.format(Bars())
    finally:
        shell.display_formatter.ipython_display_formatter.enabled = True
    assert "Bars" in data["text/plain"]


def test_importing_views_draws_nothing() -> None:
    """matplotlib is loaded by the first picture, not by the import."""
    import subprocess

    code = "import sys, viz_transformer.widgets.base.static_fallback; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
