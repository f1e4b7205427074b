"""bertviz on our traces: what its page holds, and what is said when it cannot be built."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.hand_made_traces import (
    HOSTILE,
    SOURCE,
    TARGET,
    attention,
    hostile_trace,
    make_trace,
    uneven_trace,
)
from viz_transformer.bertviz_views import BertvizView, head_view, model_view, page
from viz_transformer.errors import FileError, UserError
from viz_transformer.trace import ForwardTrace

BOTH = pytest.mark.parametrize("view", [head_view, model_view])
VENDOR = Path(page.__file__).parent / "vendor"


def data(shown: BertvizView) -> list[dict]:
    """Return what the page gives to bertviz."""
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', shown.html)
    assert len(found) == 1
    return json.loads(found[0])


def weights(drawing: dict, kind: dict) -> np.ndarray:
    sizes = [len(drawing["layers"]), len(drawing["heads"]), len(kind["left"]), len(kind["right"])]
    return np.frombuffer(base64.b64decode(kind["weights"]), dtype="<f4").reshape(sizes)


@BOTH
def test_the_page_holds_every_weight_of_every_kind(view) -> None:
    for trace in (make_trace(), uneven_trace()):
        seen = []
        for drawing in data(view(trace)):
            for kind in drawing["kinds"]:
                seen.append(kind["name"])
                np.testing.assert_array_equal(weights(drawing, kind), trace.attention(kind["name"]))
                assert kind["left"] == list(trace.query_tokens(kind["name"]))
                assert kind["right"] == list(trace.key_tokens(kind["name"]))
        assert seen == list(trace.kinds)


@BOTH
def test_kinds_that_differ_in_layers_or_heads_stand_apart_and_the_page_says_so(view) -> None:
    shown = view(uneven_trace())
    assert [drawing["layers"] for drawing in data(shown)] == [[0, 1], [0, 1, 2], [0, 1, 2]]
    assert [drawing["totalHeads"] for drawing in data(shown)] == [4, 4, 6]
    for text in (
        "Encoder self-attention: 2 layers of 4 heads",
        "Decoder self-attention: 3 layers of 4 heads",
        "Cross-attention: 3 layers of 6 heads",
        "each kind is drawn on its own, and none is left out",
    ):
        assert text in shown.html
    assert "drawn on its own" not in view(make_trace()).html


@BOTH
def test_layers_heads_and_kind_are_chosen(view) -> None:
    trace = uneven_trace()
    shown = view(trace, layers=[2, np.int64(0)], heads=[3, 1], kind="cross")
    (drawing,) = data(shown)
    assert (drawing["layers"], drawing["heads"], drawing["totalHeads"]) == ([2, 0], [3, 1], 6)
    (kind,) = drawing["kinds"]
    expected = trace.cross_attention[[2, 0]][:, [3, 1]]
    np.testing.assert_array_equal(weights(drawing, kind), expected)
    assert "Of 3 layers: 2, 0. Of 6 heads, from left to right: 3, 1." in shown.html
    assert [d["layers"] for d in data(view(trace, layers=[1]))] == [[1], [1], [1]]
    # A kind without the chosen layer has nothing to show.
    assert [d["kinds"][0]["name"] for d in data(view(trace, layers=[2]))] == ["decoder", "cross"]


@BOTH
def test_tokens_are_data_and_never_markup(view) -> None:
    shown = view(hostile_trace())
    (drawing,) = data(shown)
    assert all(kind["left"] == kind["right"] == list(HOSTILE) for kind in drawing["kinds"])
    for text in (shown.html, shown._repr_html_()):
        assert text.isascii()
        for token in HOSTILE[:3]:
            assert token not in text
    # In the frame's attribute nothing ends it, and no element but the frame's is there.
    assert re.findall(r"<(\w+)", shown._repr_html_()) == ["style", "iframe"]


def test_drawing_loads_neither_torch_nor_bertviz() -> None:
    code = (
        "import sys, numpy as np\n"
        "import viz_transformer as vt\n"
        "trace = vt.ForwardTrace(source_tokens=['a'], encoder_attention=np.ones((1, 1, 1, 1)))\n"
        "vt.bertviz_views.head_view(trace)._repr_html_()\n"
        "vt.bertviz_views.model_view(trace)._repr_html_()\n"
        "print({'torch', 'transformers', 'bertviz', 'IPython'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("set()", "")


@BOTH
def test_it_is_saved_whole_without_a_request(view, tmp_path: Path) -> None:
    shown = view(make_trace())
    text = shown.save(tmp_path / "view.html").read_text(encoding="utf-8")
    assert text == shown.html
    assert re.findall(r"<(?:link|img)\b|<script[^>]+src|@import|sourceMappingURL", text) == []
    assert "cdnjs" not in text
    assert "default-src 'none'" in text
    with pytest.raises(FileError, match="cannot write"):
        shown.save(tmp_path / "missing" / "view.html")
    assert [each.name for each in tmp_path.iterdir()] == ["view.html"]


@BOTH
def test_what_does_not_fit_is_named(view) -> None:
    one_kind = ForwardTrace(source_tokens=["a"], encoder_attention=np.ones((1, 1, 1, 1)))
    uneven = ForwardTrace(
        source_tokens=SOURCE,
        target_tokens=TARGET,
        encoder_attention=attention(3, 2, 5, 5),
        decoder_attention=attention(2, 4, 5, 5),
    )
    for trace, arguments, complaint in (
        (make_trace(), {"kind": "self"}, "'self' is unknown; choose one of ['encoder', 'decoder', 'cross']"),
        (make_trace(), {"kind": ["cross"]}, "is unknown; choose one of"),
        (make_trace(), {"layers": [2]}, "layers=[2] does not fit; give different numbers from 0 to 1"),
        (make_trace(), {"layers": [-1]}, "from 0 to 1"),
        (make_trace(), {"layers": [0, 0]}, "give different numbers"),
        (make_trace(), {"layers": []}, "layers=[] does not fit"),
        (make_trace(), {"heads": [0, 4]}, "heads=[0, 4] does not fit; give different numbers from 0 to 3"),
        (make_trace(), {"heads": 1}, "heads=1 is not a list of whole numbers; give one, such as heads=[0]"),
        (make_trace(), {"heads": [0.5]}, "is not a list of whole numbers"),
        (make_trace(), {"display_mode": "sepia"}, "'sepia' is unknown; give 'light', 'dark', or"),
        (make_trace(), {"max_megabytes": float("nan")}, "max_megabytes"),
        (ForwardTrace(source_tokens=["a"]), {}, "no attention to show"),
        (one_kind, {"kind": "cross"}, "kind='cross' is not in this trace; "),
        (np.ones((1, 1, 1, 1)), {}, "shows a ForwardTrace, not a ndarray"),
        (uneven, {"layers": [2], "heads": [3]}, "no kind of attention has both layers [2] and heads [3]"),
    ):
        with pytest.raises(UserError, match=re.escape(complaint)):
            view(trace, **arguments)


@BOTH
def test_a_large_page_is_announced_before_it_is_built(view) -> None:
    words = [f"w{i}" for i in range(64)]
    trace = ForwardTrace(source_tokens=words, encoder_attention=attention(6, 8, 64, 64))
    size = len(view(trace).html) / 1e6
    with pytest.raises(UserError, match="show less of it, as in layers=") as raised:
        view(trace, max_megabytes=1)
    said = re.search(r"a page of (\d+) MB, .* allow it with max_megabytes=(\d+)", str(raised.value))
    assert int(said[1]) == round(size)
    assert len(view(trace, max_megabytes=int(said[2])).html) / 1e6 == pytest.approx(size)
    assert len(view(trace, layers=[0, 1], max_megabytes=1).html) < 1e6


def test_the_known_holes_of_old_libraries_are_out_of_reach() -> None:
    """vendor/README.md lists them; each needs one of these calls."""
    for name in ("head_view", "model_view"):
        script = page.read_script(name)
        assert not re.findall(r"\.html\(|\.ajax\(|\.extend\(|\.getScript\(|\.load\(|parseHTML", script)
        assert all(given.startswith('$("<option />")') for given in re.findall(r"\.append\((\$.*)", script))
        assert set(re.findall(r"d3\.(?:color|rgb|lab|hcl|hsl)\((\w+)\)", script)) <= {"color"}


@BOTH
def test_a_missing_or_unknown_bertviz_is_named(view, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    unknown = importlib.util.spec_from_loader("bertviz", None, is_package=True)
    unknown.submodule_search_locations = [str(tmp_path)]
    for spec, message in (
        (None, 'pip install "viz-transformer[bertviz]"'),
        (unknown, 'pip install "bertviz==1.4.1"'),
    ):
        page.read_script.cache_clear()
        monkeypatch.setattr(page, "find_spec", lambda name, spec=spec: spec)
        with pytest.raises(UserError, match=re.escape(message)):
            view(make_trace())


def test_the_title_is_escaped_and_the_parts_are_named() -> None:
    shown = model_view(make_trace(), kind="decoder")
    assert shown.title == "bertviz model view: decoder self-attention"
    assert f'title="{shown.title}"' in shown._repr_html_()
    assert len(repr(shown)) < 200


def test_each_library_stands_beside_its_licence() -> None:
    for name in ("d3", "jquery"):
        assert len(list(VENDOR.glob(f"{name}-*.min.js"))) == 1
        assert "opyright" in (VENDOR / f"{name}.LICENSE.txt").read_text(encoding="utf-8")
