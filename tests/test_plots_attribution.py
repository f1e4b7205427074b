"""Logit lenses, shares of a logit and patching maps: what is drawn is what was found."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.hand_made_traces import HOSTILE
from viz_transformer.errors import UserError
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


def lens(**changes) -> LogitLens:
    found = {
        "tokens": TOKENS,
        "top_tokens": np.array([[["a", "b"]] * 3, [["b", "a"]] * 3]),
        "top_probabilities": np.array([[[0.4, 0.1]] * 3, [[0.9, 0.05]] * 3], dtype=np.float32),
        "answers": ("b", "b", "c"),
        "answer_probabilities": np.array([[0.1, 0.1, 0.0], [0.9, 0.9, 0.01]], dtype=np.float32),
        "answer_ranks": np.array([[2, 2, 7], [1, 1, 5]]),
    }
    return LogitLens(**found | changes)


def parts(**changes) -> LogitAttribution:
    found = {
        "tokens": TOKENS,
        "position": 2,
        "token": "on",
        "against": None,
        "heads": np.array([[0.5, -2.0, 0.0], [0.25, 1.0, -0.001]], dtype=np.float32),
        "mlps": np.array([0.5, -0.25], dtype=np.float32),
        "embedding": 0.125,
        "bias": -0.1,
        "logit": 0.024,
    }
    return LogitAttribution(**found | changes)


def patched(what: str = "positions", **changes) -> PatchingMap:
    found = {
        "what": what,
        "values": np.array([[1.0, 3.0, 2.0], [1.0, 0.0, 5.0]]),
        "clean": 3.0,
        "corrupted": 1.0,
        "metric": "logit of $x$ − y",
        "clean_tokens": TOKENS,
        "corrupted_tokens": ("the", "dog", "sat"),
    }
    return PatchingMap(**found | changes)


def drawn(ax) -> np.ndarray:
    return np.ma.filled(ax.images[0].get_array(), np.nan)


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def ticks(labels) -> list[str]:
    return [text.get_text() for text in labels]


def test_a_lens_has_its_tokens_in_the_cells_and_the_answer_in_bold() -> None:
    ax = plot_logit_lens(lens())
    np.testing.assert_array_equal(drawn(ax), lens().top_probabilities[..., 0])
    assert ax.images[0].get_clim() == (0, 1)
    assert texts(ax) == ["a", "a", "a", "b", "b", "b"]
    assert [text.get_fontweight() for text in ax.texts] == ["normal"] * 3 + ["bold", "bold", "normal"]
    assert ticks(ax.get_yticklabels()) == ["embedding", "layer 0"]
    assert ticks(ax.get_xticklabels()) == list(TOKENS)


def test_a_lens_may_show_the_rank_of_the_answer() -> None:
    ax = plot_logit_lens(lens(), show="answer")
    np.testing.assert_array_equal(drawn(ax), lens().answer_probabilities)
    assert texts(ax) == ["2", "2", "7", "1", "1", "5"]
    assert ax.get_title("left") == "Rank of the answer after each layer"


def test_a_lens_tells_from_where_on_the_answer_is_first() -> None:
    said = describe_logit_lens(lens())
    assert "after cat: b, from layer 0 on; after sat: c, never first" in said
    assert plot_logit_lens(lens()).figure.alt_text == said
    always = lens(answer_ranks=np.ones((2, 3), dtype=np.int64))
    assert "from embedding on" in describe_logit_lens(always)


def test_the_shares_of_heads_and_networks_stand_on_a_scale_around_0() -> None:
    ax = plot_attribution(parts(against="mat"))
    values = drawn(ax)
    np.testing.assert_array_equal(values[:, :3], parts().heads)
    assert np.isnan(values[:, 3]).all()
    np.testing.assert_array_equal(values[:, 4], parts().mlps)
    assert ax.images[0].get_clim() == (-2, 2)
    assert ticks(ax.get_xticklabels()) == ["0", "1", "2", "", "network"]
    assert texts(ax)[:4] == ["+0.50", "−2.00", "0.00", "+0.50"]
    assert texts(ax)[-2] == "0.00"
    assert ax.get_title("left") == (
        "logit of on − mat at sat = 0.02\n= −0.25 heads +0.25 networks +0.12 embedding −0.10 bias"
    )
    assert "layer 0 head 1 −2.00, layer 1 head 1 +1.00, layer 0 head 0 +0.50" in ax.figure.alt_text


def test_a_patching_map_is_drawn_from_corrupted_to_clean() -> None:
    ax = plot_patching(patched())
    np.testing.assert_array_equal(drawn(ax), [[0, 1, 0.5], [0, -0.5, 2]])
    assert ax.images[0].get_clim() == (-2, 2)
    assert ticks(ax.get_xticklabels()) == ["the", "cat|dog", "sat"]
    assert ax.get_title("left") == "logit of $x$ − y: 1.00 corrupted, 3.00 clean"
    assert "layer 1 position 2 (sat) +2.00, layer 0 position 1 (cat|dog) +1.00" in ax.figure.alt_text


def test_a_map_of_heads_names_heads() -> None:
    ax = plot_patching(patched("heads", values=np.array([[1.0, 1.0, 1.0, 4.0]])))
    assert ticks(ax.get_xticklabels()) == ["0", "1", "2", "3"]
    assert "layer 0 head 3 +1.50" in describe_patching(patched("heads", values=np.array([[1.0, 1, 1, 4]])))


def test_many_cells_have_no_text_and_nothing_at_all_is_white() -> None:
    ax = plot_patching(patched("heads", values=np.ones((40, 40))))
    assert not ax.texts
    assert ax.images[0].get_clim() == (-1, 1)


def test_a_figure_is_drawn_where_it_is_wanted() -> None:
    from matplotlib import pyplot as plt

    _, axes = plt.subplots(1, 3)
    assert plot_logit_lens(lens(), axes[0]) is axes[0]
    assert plot_attribution(parts(), axes[1]) is axes[1]
    assert plot_patching(patched(), axes[2]) is axes[2]


def test_hostile_tokens_are_text(tmp_path) -> None:
    n = len(HOSTILE)
    odd = lens(
        tokens=HOSTILE,
        top_tokens=np.array([[[token] for token in HOSTILE]], dtype=object),
        top_probabilities=np.full((1, n, 1), 0.5, dtype=np.float32),
        answers=HOSTILE,
        answer_probabilities=np.full((1, n), 0.5, dtype=np.float32),
        answer_ranks=np.ones((1, n), dtype=np.int64),
    )
    plot_logit_lens(odd).figure.savefig(tmp_path / "lens.png")
    plot_attribution(parts(token=HOSTILE[0], against=HOSTILE[9])).figure.savefig(tmp_path / "parts.png")
    assert (tmp_path / "parts.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: plot_logit_lens(lens(), show="rank"), "choose 'top'"),
        (lambda: lens(answer_ranks=np.ones((2, 4))), r"answer_ranks of this LogitLens has shape \[2, 4\]"),
        (lambda: parts(mlps=np.ones(3)), "mlps of this LogitAttribution"),
        (lambda: patched(values=np.ones((2, 4))), "values of this PatchingMap"),
    ],
)
def test_what_does_not_fit_is_refused(make, message) -> None:
    with pytest.raises(UserError, match=message):
        make()


def test_what_was_found_cannot_be_changed() -> None:
    given = np.ones((2, 3))
    found = patched(values=given)
    given[0, 0] = 9
    assert found.values[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        found.values[0, 0] = 2
