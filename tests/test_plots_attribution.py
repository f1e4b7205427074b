"""Logit lenses, shares of a logit and patching maps: what is drawn is what was found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt

from tests.support.hand_made_traces import HOSTILE
from tests.support.refusals import assert_refused
from viz_transformer.plots import (
    describe_logit_lens,
    describe_patching,
    plot_attribution,
    plot_logit_lens,
    plot_patching,
)
from viz_transformer.trace import LogitAttribution, LogitLens, PatchingMap

pytestmark = pytest.mark.usefixtures("no_window")

TOKENS = ("the", "cat", "sat")


LENS = LogitLens(
    tokens=TOKENS,
    top_tokens=np.array([[["a", "b"]] * 3, [["b", "a"]] * 3]),
    top_probabilities=np.array([[[0.4, 0.1]] * 3, [[0.9, 0.05]] * 3], dtype=np.float32),
    answers=("b", "b", "c"),
    answer_probabilities=np.array([[0.1, 0.1, 0.0], [0.9, 0.9, 0.01]], dtype=np.float32),
    answer_ranks=np.array([[2, 2, 7], [1, 1, 5]]),
)
PARTS = LogitAttribution(
    tokens=TOKENS,
    position=2,
    token="on",
    against="mat",
    heads=np.array([[0.5, -2.0, 0.0], [0.25, 1.0, -0.001]], dtype=np.float32),
    mlps=np.array([0.5, -0.25], dtype=np.float32),
    embedding=0.125,
    bias=-0.1,
    logit=0.024,
)
PATCHED = PatchingMap(
    what="positions",
    values=np.array([[1.0, 3.0, 2.0], [1.0, 0.0, 5.0]]),
    clean=3.0,
    corrupted=1.0,
    metric="logit of $x$ − y",
    clean_tokens=TOKENS,
    corrupted_tokens=("the", "dog", "sat"),
)


def drawn(ax) -> np.ndarray:
    return np.ma.filled(ax.images[0].get_array(), np.nan)


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def ticks(labels) -> list[str]:
    return [text.get_text() for text in labels]


def test_a_lens_shows_its_tokens_or_the_ranks_of_the_answer() -> None:
    ax = plot_logit_lens(LENS)
    np.testing.assert_array_equal(drawn(ax), LENS.top_probabilities[..., 0])
    assert ax.images[0].get_clim() == (0, 1)
    assert texts(ax) == ["a", "a", "a", "b", "b", "b"]
    assert [text.get_fontweight() for text in ax.texts] == ["normal"] * 3 + ["bold", "bold", "normal"]
    assert ticks(ax.get_yticklabels()) == ["embedding", "layer 0"]
    assert ticks(ax.get_xticklabels()) == list(TOKENS)
    said = describe_logit_lens(LENS)
    assert "after cat: b, from layer 0 on; after sat: c, never first" in said
    assert ax.figure.alt_text == said
    always = replace(LENS, answer_ranks=np.ones((2, 3), dtype=np.int64))
    assert "from embedding on" in describe_logit_lens(always)
    ax = plot_logit_lens(LENS, show="answer")
    np.testing.assert_array_equal(drawn(ax), LENS.answer_probabilities)
    assert texts(ax) == ["2", "2", "7", "1", "1", "5"]
    assert ax.get_title("left") == "Rank of the answer after each layer"


def test_the_shares_of_heads_and_networks_stand_on_a_scale_around_0() -> None:
    ax = plot_attribution(PARTS)
    values = drawn(ax)
    np.testing.assert_array_equal(values[:, :3], PARTS.heads)
    assert np.isnan(values[:, 3]).all()
    np.testing.assert_array_equal(values[:, 4], PARTS.mlps)
    assert ax.images[0].get_clim() == (-2, 2)
    assert ticks(ax.get_xticklabels()) == ["0", "1", "2", "", "network"]
    assert texts(ax)[:4] == ["+0.50", "−2.00", "0.00", "+0.50"]
    assert texts(ax)[-2] == "0.00"
    assert ax.get_title("left") == (
        "logit of on − mat at sat = 0.02\n= −0.25 heads +0.25 networks +0.12 embedding −0.10 bias"
    )
    assert "layer 0 head 1 −2.00, layer 1 head 1 +1.00, layer 0 head 0 +0.50" in ax.figure.alt_text


def test_a_patching_map_is_drawn_from_corrupted_to_clean() -> None:
    ax = plot_patching(PATCHED)
    np.testing.assert_array_equal(drawn(ax), [[0, 1, 0.5], [0, -0.5, 2]])
    assert ax.images[0].get_clim() == (-2, 2)
    assert ticks(ax.get_xticklabels()) == ["the", "cat|dog", "sat"]
    assert ax.get_title("left") == "logit of $x$ − y: 1.00 corrupted, 3.00 clean"
    assert "layer 1 position 2 (sat) +2.00, layer 0 position 1 (cat|dog) +1.00" in ax.figure.alt_text
    heads = replace(PATCHED, what="heads", values=np.array([[1.0, 1.0, 1.0, 4.0]]))
    assert ticks(plot_patching(heads).get_xticklabels()) == ["0", "1", "2", "3"]
    assert "layer 0 head 3 +1.50" in describe_patching(heads)
    many = plot_patching(replace(heads, values=np.ones((40, 40))))
    assert not many.texts
    assert many.images[0].get_clim() == (-1, 1)


def test_a_figure_is_drawn_where_it_is_wanted() -> None:
    _, axes = plt.subplots(1, 3)
    assert plot_logit_lens(LENS, axes[0]) is axes[0]
    assert plot_attribution(PARTS, axes[1]) is axes[1]
    assert plot_patching(PATCHED, axes[2]) is axes[2]


def test_hostile_tokens_are_text(tmp_path) -> None:
    n = len(HOSTILE)
    odd = LogitLens(
        tokens=HOSTILE,
        top_tokens=np.array([[[token] for token in HOSTILE]], dtype=object),
        top_probabilities=np.full((1, n, 1), 0.5, dtype=np.float32),
        answers=HOSTILE,
        answer_probabilities=np.full((1, n), 0.5, dtype=np.float32),
        answer_ranks=np.ones((1, n), dtype=np.int64),
    )
    plot_logit_lens(odd).figure.savefig(tmp_path / "lens.png")
    parts = replace(PARTS, token=HOSTILE[0], against=HOSTILE[9])
    plot_attribution(parts).figure.savefig(tmp_path / "parts.png")
    assert (tmp_path / "parts.png").stat().st_size > 1000


def test_numbers_that_do_not_fit_are_refused() -> None:
    ranks = np.ones((2, 4))
    assert_refused(
        [
            (lambda: plot_logit_lens(LENS, show="rank"), "choose 'top'"),
            (lambda: replace(LENS, answer_ranks=ranks), r"answer_ranks of this LogitLens has shape \[2, 4\]"),
            (lambda: replace(PARTS, mlps=np.ones(3)), "mlps of this LogitAttribution"),
            (lambda: replace(PATCHED, values=np.ones((2, 4))), "values of this PatchingMap"),
        ]
    )


def test_the_numbers_of_a_map_cannot_be_changed() -> None:
    given = np.ones((2, 3))
    found = replace(PATCHED, values=given)
    given[0, 0] = 9
    assert found.values[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        found.values[0, 0] = 2
