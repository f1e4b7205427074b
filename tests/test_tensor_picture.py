"""Pictures of tensors: the shape in words, the numbers that are written, and what is not finite."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from jaxtyping import Float
from torch import Tensor, nn

import viz_transformer as vt
from viz_transformer.export.sanitising import sanitised


def text_of(picture: vt.show_tensor) -> str:
    return re.sub(r"<[^>]*>|\s+", " ", picture._repr_html_())


@pytest.mark.parametrize(
    ("shape", "axes", "told"),
    [
        ((), None, "No axes: a single number"),
        ((3,), None, "3: 3 numbers"),
        ((2, 4), None, "2 × 4: 2 rows, each with 4 numbers"),
        ((2, 4), ["words", "numbers"], "2 × 4: 2 words, each with 4 numbers"),
        ((1, 5, 8), "batch query d_k", "1 × 5 × 8: 1 batch, each with 5 queries, each with d_k = 8"),
        ((2, 1), Float[Tensor, "batch queries"], "2 × 1: 2 batches, each with 1 query"),
        ((2, 3, 4), "head 3 key", "2 × 3 × 4: 2 heads, each with 3 rows, each with 4 keys"),
    ],
)
def test_the_shape_is_told_in_words(shape: tuple[int, ...], axes: object, told: str) -> None:
    picture = vt.show_tensor(torch.zeros(shape), axes)
    assert picture.shape_text == told
    assert told in text_of(picture)
    assert told in repr(picture)


def test_every_number_of_a_small_tensor_is_written_below_its_axes() -> None:
    text = text_of(vt.show_tensor([[[0.5, -1.25], [2, 0]]], "head word number"))
    assert "head 0, ↓ word, → number" in text
    assert re.findall(r"−?\d\.\d\d", text) == ["−1.25", "2.00", "0.31", "0.50", "−1.25", "2.00", "0.00"]
    assert "float64 · −1.25 to 2.00, mean 0.313" in text
    assert "True" in text_of(vt.show_tensor(torch.tensor([True, False])))
    assert "int64 · 1 to 49,151" in text_of(vt.show_tensor(torch.tensor([1, 49_151])))


def test_the_colour_is_stronger_for_a_larger_value_and_another_below_zero() -> None:
    colours = re.findall(r"rgba\((\d+), .*?, ([\d.]+)\)", vt.show_tensor([1.0, 2.0, -2.0])._repr_html_())
    (one, weak), (two, strong), (below, as_strong) = colours
    assert one == two != below
    assert float(weak) < float(strong) == float(as_strong)


def test_what_is_no_number_or_infinite_is_marked_and_counted() -> None:
    x = torch.tensor([[1.0, torch.nan], [torch.inf, -torch.inf]])
    picture = vt.show_tensor(x)
    assert picture.values_text == "float32 · 1.00 · 1 NaN · 2 infinite"
    assert picture._repr_html_().count("dashed") == 3
    assert vt.show_tensor(torch.full((2,), torch.nan)).values_text == "float32 · 2 NaN"
    assert "1,000 numbers" in text_of(vt.show_tensor(torch.full((1000,), torch.nan)))
    assert vt.show_tensor(torch.zeros(0, 4)).shape_text == "0 × 4: 0 rows, each with 4 numbers"


def test_larger_tensors_are_drawn_by_colour_and_huge_ones_summarised() -> None:
    sheets = vt.show_tensor(torch.rand(8, 40, 40), "head query key")._repr_html_()
    assert sheets.count("<img") == 6
    assert "and 2 more like these" in sheets
    huge = text_of(vt.show_tensor(torch.arange(1_000_000.0).view(1000, 1000)))
    assert "1000 × 1000: 1,000 rows" in huge
    assert "How often: 0 " + "█" * 32 in re.sub(r"\s+", " ", huge)
    assert len(re.findall("…", huge)) == 8


def test_it_stays_as_it_is_in_a_page() -> None:
    for x in (torch.rand(3, 4), torch.rand(40, 40), torch.rand(2, 300, 2)):
        text = vt.show_tensor(x)._repr_html_()
        kept = sanitised(text)
        for part in ("rgba(", "<td", "<img", "overflow: auto", "padding: 3px 8px"):
            assert kept.count(part) == text.count(part)


@pytest.mark.parametrize(
    ("x", "axes", "told"),
    [
        ("abc", None, "draws real numbers; these values are of the type <U3"),
        ([[1, 2], [3]], None, "cannot be read"),
        (torch.zeros(2, dtype=torch.complex64), None, "complex64"),
        (torch.zeros(2, device="meta"), None, "cannot be read"),
        (None, None, "of the type object"),
        (torch.zeros(2, 3), "word", r"has 2 axes, and 1 names are given: \['word'\]"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(x: object, axes: object, told: str) -> None:
    with pytest.raises(vt.UserError, match=told) as refused:
        vt.show_tensor(x, axes)
    assert "\n" not in str(refused.value)


def test_a_hostile_name_is_text() -> None:
    assert "<script" not in vt.show_tensor(np.zeros((2, 2)), ["<script>", "b"])._repr_html_()


def test_a_notebook_draws_every_tensor_until_it_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = InteractiveShell.instance().display_formatter.formatters["text/html"]
    monkeypatch.setattr(drawn, "enabled", True)  # as it is in a notebook
    vt.show_tensor.on()
    assert "2 rows" in drawn(torch.zeros(2, 3))
    assert "3 numbers" in drawn(nn.Parameter(torch.zeros(3)))
    assert drawn(torch.zeros(2, dtype=torch.complex64)) is None
    vt.show_tensor.off()
    assert drawn(torch.zeros(2, 3)) is None
