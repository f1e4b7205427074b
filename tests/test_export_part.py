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
from viz_transformer.widgets.explorer.part import eight_bits
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
    assert [int(number) for number, _ in blocks] == list(range(15))  # 12 heads, and 3 rollouts
    assert page.index("vt-block-0") > page.index("globalThis.vtViews ??= {}")


def test_eight_bits_are_off_by_no_more_than_the_page_says() -> None:
    first, second = large_trace(n_tokens=512).encoder_attention[0, :2]  # weights far below 1/255
    for weights in (first.copy(), first - second):
        weights[3] = 0
        sent = eight_bits(weights)
        decode = {"decodeEightBits": "widgets/base/weights.ts"}
        shown = answers_in_node(decode, "(sent) => Array.from(decodeEightBits(sent, 512))", bytes(sent))
        off = np.abs(np.reshape(shown, (512, 512)) - weights)
        assert (off <= np.abs(weights).max(axis=1, keepdims=True) / 254 + 1e-7).all()
        assert len(sent) == 512 * 516


def test_a_page_in_eight_bits_is_half_as_large(tmp_path: Path) -> None:
    view = explore(large_trace(n_tokens=256))
    sizes = {bits: export_html(view, tmp_path / f"{bits}.html", bits=bits).stat().st_size for bits in (8, 16)}
    with view.carrying(bits=8):
        assert view.export_bytes() == pytest.approx(sizes[8], rel=0.4)
        assert view.answer({"head": ["encoder", 0, 1], "version": 0})["dtype"] == "uint8"
        assert "dtype" not in view.answer({"exact": ["encoder", 0, 1, 2, 3], "version": 0})
    assert sizes[16] - sizes[8] == pytest.approx(15 * 256 * 256 * 4 / 3, rel=0.05)


def test_a_page_that_is_too_large_names_settings_that_fit(tmp_path: Path) -> None:
    view = explore(large_trace(n_tokens=256))

    def refused(limit: float) -> str:
        with pytest.raises(UserError) as told:
            export_html(view, tmp_path / "page.html", max_megabytes=limit)
        assert "\n" not in str(told.value)
        return str(told.value)

    assert "; give bits=8 (about 1 MB), or allow it with max_megabytes=4" in refused(2)
    assert "; give layers=range(2), bits=8 (about 1 MB), or allow it" in refused(1)
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
