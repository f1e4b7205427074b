"""The part of a large trace that a page carries: which heads, in how many bits, and what is offered."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.exported_pages import page_data
from tests.support.hand_made_traces import make_trace
from tests.support.javascript import answers_in_node
from viz_transformer.errors import UserError
from viz_transformer.export import export_html
from viz_transformer.trace import ForwardTrace
from viz_transformer.widgets.explorer import explore
from viz_transformer.widgets.explorer.part import Packer, Part, pack_weights
from viz_transformer.widgets.explorer.trace_view import TraceView
from viz_transformer.widgets.softmax_lab import softmax_lab


def large_trace(n_layers: int = 3, n_heads: int = 4, n_tokens: int = 96) -> ForwardTrace:
    scores = 2 * np.random.default_rng(0).standard_normal((n_layers, n_heads, n_tokens, n_tokens))
    weights = np.exp(scores)
    return ForwardTrace(
        source_tokens=[f"w{i}" for i in range(n_tokens)],
        encoder_attention=weights / weights.sum(axis=-1, keepdims=True),
    )


def carried(path: Path, what: str) -> list[list[Any]]:
    answers = page_data(path)["views"][0]["state"]["answers"]
    return [request[what] for request, _ in answers if what in request]


def test_a_page_carries_the_layers_and_heads_that_are_named(tmp_path: Path) -> None:
    view = explore(large_trace())
    path = export_html(view, tmp_path / "part.html", layers=[2, 0], heads=range(1, 3))
    assert carried(path, "head") == [["encoder", layer, head] for layer in (0, 2) for head in (1, 2)]
    assert carried(path, "rollout") == [["encoder", 0], ["encoder", 2]]
    assert carried(path, "measure") == [["encoder"]], "labels of all heads, for the wall"
    whole = export_html(view, tmp_path / "whole.html")
    assert len(carried(whole, "head")) == 12, "the view itself has forgotten the part"


def test_large_bytes_stand_in_elements_of_their_own(tmp_path: Path) -> None:
    page = export_html(explore(large_trace()), tmp_path / "page.html").read_text(encoding="utf-8")
    blocks = re.findall(r'<script type="text/plain" id="vt-block-(\d+)">([\w+/=]+)</script>', page)
    assert [int(number) for number, _ in blocks] == list(range(len(blocks)))
    assert len(blocks) >= 12  # heads
    assert page.index("vt-block-0") > page.index("vt-scripts")


UNPACK = """([packed, entry]) => Array.from(unpack(packed, {...entry, masked: entry.masked && Uint8Array.from(
    entry.masked)}))"""


def unpacked(packed: dict[str, Any], masked: np.ndarray, limit: float | None = None) -> np.ndarray:
    """Weights as a page reads them."""
    rows, cols = masked.shape
    entry = {"rows": rows, "cols": cols, "limit": limit, "masked": masked.ravel().astype(int).tolist()}
    read = answers_in_node({"unpack": "widgets/explorer/packed_weights.ts"}, UNPACK, [packed, entry])
    return np.reshape(read, masked.shape).astype(np.float32)


@pytest.mark.parametrize("limit", [None, 1.0])
def test_what_python_packs_the_page_unpacks(limit: float | None) -> None:
    weights = large_trace(n_tokens=64).encoder_attention[0, 0] - (0 if limit is None else 0.05)
    weights[3] /= 100  # a faint row
    masked = ~np.tri(64, dtype=bool)
    causal = np.where(masked, np.float32(0), weights)
    for bits, shown in ((16, weights), (8, weights), (16, causal), (8, causal)):
        is_whole = shown is weights
        sent = pack_weights(shown, None if is_whole else ~masked, bits, limit)
        packed = {"weights": sent, "dtype": f"packed{bits}", "whole": is_whole}
        read = unpacked(packed, masked, limit)
        if bits == 16:
            scale = np.float32(limit or 1)
            np.testing.assert_array_equal(read, (shown / scale).astype(np.float16).astype(np.float32) * scale)
            continue
        step = np.minimum(1 / 255 if limit is None else limit / 127, np.abs(shown).max(1, keepdims=True) / 15)
        assert (np.abs(read - shown) <= step / 2 + 1e-7).all()
        assert (read[3] != 0).any()


def test_in_8_bits_only_the_whole_is_read_as_the_whole() -> None:
    weights = np.array([[1, 0], [np.float32(0.9999), 1e-4]], np.float32)
    read = unpacked(
        {"weights": pack_weights(weights, None, 8, None), "dtype": "packed8", "whole": True}, weights > 1
    )
    assert read[0, 0] == pytest.approx(1, abs=1e-6)
    assert 0.995 < read[1, 0] < 0.997


def test_what_no_head_may_attend_to_is_left_out_where_it_is_zero() -> None:
    weights = np.full((2, 2, 80, 80), 1 / 79, dtype=np.float32)
    weights[..., 79] = 0  # padding
    view = TraceView(ForwardTrace(source_tokens=["w"] * 80, encoder_attention=weights))
    masked, packer = view.masked("encoder"), Packer(view, Part(bits=16))
    kept = packer.head("encoder", 0, 0)
    assert "whole" not in kept
    assert len(kept["weights"]) == 2 * 79 * 80
    np.testing.assert_array_equal(unpacked(kept, masked), weights[0, 0].astype(np.float16))
    (rolled,) = packer.replies([{"rollout": ["encoder", 1], "version": 0}])
    assert rolled["whole"], "padding is made of itself"
    assert unpacked(rolled, masked)[79, 79] == pytest.approx(0.25, abs=0.002)


def test_weights_below_a_threshold_are_left_out_and_counted() -> None:
    view = TraceView(large_trace())
    weights = view.head("encoder", 1, 2)
    packed = Packer(view, Part(bits=16, threshold=0.004)).head("encoder", 1, 2)
    read = unpacked(packed, np.zeros(weights.shape, dtype=bool))
    small = weights < 0.004
    np.testing.assert_array_equal(read, np.where(small, 0, weights.astype(np.float16)))
    assert packed["lost"] == pytest.approx(weights[small].sum() / weights.sum())


def test_a_page_grows_with_the_weights_that_are_not_masked(tmp_path: Path) -> None:
    """Of random weights zlib saves a tenth; a decoder has half of an encoder's, and 8 bits take half."""
    full = large_trace(n_tokens=256).encoder_attention
    causal = np.tril(full)
    half = ForwardTrace(target_tokens=["w"] * 256, decoder_attention=causal / causal.sum(-1, keepdims=True))
    views = {"whole": explore(large_trace(n_tokens=256)), "half": explore(half)}
    sizes = {
        (name, bits): export_html(view, tmp_path / f"{name}.html", bits=bits).stat().st_size
        for name, view in views.items()
        for bits in (8, 16)
    }
    base = 0.35e6
    assert sizes["whole", 16] - base == pytest.approx(12 * 256 * 256 * 2 * 4 / 3 * 0.9, rel=0.2)
    assert sizes["half", 16] - base == pytest.approx((sizes["whole", 16] - base) / 2, rel=0.2)
    assert sizes["whole", 8] - base < 0.55 * (sizes["whole", 16] - base)


def test_a_page_of_more_than_two_megabytes_takes_eight_bits(tmp_path: Path) -> None:
    told = {}
    for n_tokens in (192, 320):
        view = explore(large_trace(n_tokens=n_tokens))
        path = export_html(view, tmp_path / "page.html")
        state = page_data(path)["views"][0]["state"]
        told[n_tokens] = state["data"]["carried"]["bits"]
        (reply,) = [reply for request, reply in state["answers"] if request.get("head") == ["encoder", 2, 3]]
        assert reply["dtype"] == f"packed{told[n_tokens]}"
        assert "dtype" not in view.answer({"head": ["encoder", 0, 1], "version": 0}), "of a kernel"
    assert told == {192: 16, 320: 8}


def test_a_page_that_is_too_large_names_settings_that_fit(tmp_path: Path) -> None:
    view = explore(large_trace(n_tokens=256))

    def refused(limit: float) -> str:
        with pytest.raises(UserError) as told:
            export_html(view, tmp_path / "page.html", max_megabytes=limit)
        assert "\n" not in str(told.value)
        return str(told.value)

    assert "; give bits=8 (about 0.6 MB), or allow it with max_megabytes=3" in refused(2)
    assert "; give layers=range(2), bits=8 (about 0.5 MB), or allow it" in refused(0.5)
    assert "; show less, or allow it" in refused(0.1)
    assert export_html(view, tmp_path / "page.html", max_megabytes=2, bits=8).exists()


def test_a_part_that_the_trace_does_not_have_is_refused(tmp_path: Path) -> None:
    none = r"is no list of layers of this trace; give whole numbers from 0 to 2"
    for part, message in (
        ({"layers": [3]}, rf"layers=\[3\] {none}"),
        ({"layers": []}, rf"layers=\[\] {none}"),
        ({"heads": "all"}, "heads='all' is no list of heads"),
        ({"heads": 2}, "heads=2 is no list of heads"),
        ({"heads": [True]}, "whole numbers from 0 to 3"),
        ({"bits": 4}, "bits=4; choose 16, or 8"),
    ):
        with pytest.raises(UserError, match=message):
            export_html(explore(large_trace()), tmp_path / "page.html", **part)
    with pytest.raises(UserError, match="there is no explorer here; leave them out"):
        export_html(softmax_lab(), tmp_path / "page.html", bits=8)
    assert not list(tmp_path.iterdir())


def test_a_small_trace_is_carried_whole(tmp_path: Path) -> None:
    path = export_html(explore(make_trace()), tmp_path / "page.html", layers=[0], bits=8)
    assert "traces" in page_data(path)["views"][0]["state"]["data"]
