"""The split into heads on paper is the split that the model makes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from viz_transformer.errors import UserError
from viz_transformer.model.attention import MultiHeadAttention
from viz_transformer.plots import plot_split

WORDS = ("the", "black", "cat")


pytestmark = pytest.mark.usefixtures("no_window")


def owners(figure) -> list[np.ndarray]:
    return [np.asarray(ax.images[0].get_array()) for ax in figure.axes]


def test_each_head_gets_a_piece_of_every_word() -> None:
    whole, *heads = owners(plot_split(WORDS, 8, 2))
    assert np.array_equal(whole, np.repeat(np.arange(3), 8).reshape(3, 8))
    assert len(heads) == 2
    for head in heads:
        assert np.array_equal(head, np.repeat(np.arange(3), 4).reshape(3, 4))


def test_the_numbers_are_those_that_the_model_gives_its_heads() -> None:
    x = torch.arange(24.0).reshape(1, 3, 8)
    heads = MultiHeadAttention(8, 2)._split_heads(x)[0]  # [head, word, d_head]
    figure = plot_split(WORDS, 8, 2)
    for ax, numbers in zip(figure.axes[1:], heads, strict=True):
        wanted = [f"{WORDS[int(n) // 8]} {int(n) % 8}" for n in numbers.ravel()]
        assert [text.get_text() for text in ax.texts] == wanted


def test_reshape_alone_gives_a_head_the_numbers_of_some_words() -> None:
    _, first, second = owners(plot_split(WORDS, 8, 2, transposed=False))
    wanted = torch.arange(24).reshape(2, 3, 4) // 8
    assert np.array_equal(first, wanted[0])
    assert np.array_equal(second, wanted[1])
    alone = plot_split(("the", "black"), 4, 2, transposed=False)
    assert "head 0 holds numbers of the; head 1 holds numbers of black" in alone.alt_text


def test_wide_vectors_are_drawn_without_names() -> None:
    figure = plot_split([f"<b>{n}$" for n in range(25)], 64, 4)
    assert not figure.axes[0].texts
    figure.canvas.draw()


@pytest.mark.parametrize("n_heads", [1, 2, 4, 8])
def test_what_is_written_does_not_touch(n_heads: int) -> None:
    figure = plot_split(("the", "black", "cat", "sleeps"), 8, n_heads)
    figure.canvas.draw()
    titles = [ax._left_title.get_window_extent() for ax in figure.axes[1:]]
    sleeps = [text.get_window_extent() for text in figure.axes[0].texts[-8:]]
    for boxes in (titles, sleeps):
        assert all(one.x1 < other.x0 for one, other in pairwise(boxes))
    assert titles[-1].x1 < figure.bbox.x1


@pytest.mark.parametrize(("words", "n_heads"), [((), 2), (WORDS, 3), (WORDS, 0)])
def test_what_cannot_be_cut_is_refused(words: tuple, n_heads: int) -> None:
    with pytest.raises(UserError, match="cannot be cut"):
        plot_split(words, 8, n_heads)
