"""Exported pages as files: what they hold, and what they refuse. tests/ui opens them."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import anywidget
import numpy as np
import pytest
import traitlets

from tests.hand_made import HOSTILE, hostile_trace, make_trace
from viz_transformer.errors import FileError, UserError
from viz_transformer.export import export_html
from viz_transformer.widgets.bundle import bundle
from viz_transformer.widgets.explorer import explore


def page_data(path: Path) -> dict:
    text = path.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="vt-page">(.*?)</script>', text, re.S)
    return json.loads(data)


def test_a_page_holds_state_bytes_and_module(tmp_path: Path) -> None:
    trace = make_trace()
    view = explore(trace, kind="decoder", layer=1, head=3, query=2)
    path = export_html(view, tmp_path / "page.html")
    assert path == tmp_path / "page.html"
    data = page_data(path)
    assert data["modules"] == [bundle("explorer.js")]
    state = data["views"][0]["state"]
    assert set(state) == {"about", "live", "data", "kind", "layer", "head", "query", "key"}
    assert (state["kind"], state["layer"], state["head"]) == ("decoder", 1, 3)
    assert (state["query"], state["key"]) == (2, None)
    weights = base64.b64decode(state["data"]["kinds"][1]["weights"]["base64"])
    shown = np.frombuffer(weights, "<f4").reshape(2, 4, 5, 5)
    np.testing.assert_array_equal(shown, trace.decoder_attention)


def test_views_of_one_class_share_their_module(tmp_path: Path) -> None:
    class Other(anywidget.AnyWidget):
        _esm = "export default { render({ model, el }) { el.textContent = model.get('word'); } };"
        word = traitlets.Unicode("hello").tag(sync=True)

    views = [explore(make_trace()), Other(), explore(make_trace())]
    data = page_data(export_html(views, str(tmp_path / "page.html")))
    assert len(data["modules"]) == 2
    assert [view["module"] for view in data["views"]] == [0, 1, 0]
    assert data["views"][1]["state"] == {"word": "hello"}


def test_hostile_text_stays_inside_its_place(tmp_path: Path) -> None:
    title = "</title><script>window.pwned=3</script>"
    path = export_html(explore(hostile_trace()), tmp_path / "page.html", title=title)
    text = path.read_text(encoding="utf-8")
    assert "<script>window.pwned" not in text
    assert "<img" not in text
    assert "\u2028" not in text
    assert text.count("</script>") == 2
    assert page_data(path)["views"][0]["state"]["data"]["kinds"][0]["queries"][:-1] == [
        *HOSTILE[:-1]
    ]


def test_a_page_names_nothing_to_fetch(tmp_path: Path) -> None:
    text = export_html(explore(make_trace()), tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|<link|\bsrc=|@import|url\(", text)
    assert "default-src 'none'" in text


def test_a_page_that_cannot_be_written_leaves_all_as_it_was(tmp_path: Path) -> None:
    view = explore(make_trace())
    with pytest.raises(FileError, match=r"cannot write .*nowhere.*choose a folder that exists"):
        export_html(view, tmp_path / "nowhere" / "page.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(FileError, match=r"folder\.html"):
        export_html(view, tmp_path / "folder.html")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


@pytest.mark.parametrize("wrong", [[], (), "view", None, 3, [1], {"a": 1}])
def test_what_is_no_view_is_refused(wrong: object, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"vt\.explore"):
        export_html(wrong, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
