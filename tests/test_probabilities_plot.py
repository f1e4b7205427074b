"""`plots.plot_probabilities`: bars with their numbers."""

import pytest

from viz_transformer.errors import UserError
from viz_transformer.plots import plot_probabilities


def test_each_probability_is_a_bar_with_its_number_and_name() -> None:
    ax = plot_probabilities(
        {"la maestra duerme": 0.43, "el $profesor$ duerme": 0.32}, "after \u201cthe teacher\u201d"
    )
    assert [bar.get_width() for bar in ax.patches] == [0.43, 0.32]
    assert [text.get_text() for text in ax.texts] == ["0.430", "0.320"]
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "la maestra duerme",
        "el $profesor$ duerme",
    ]
    ax.figure.canvas.draw()  # no token is read as a formula


@pytest.mark.parametrize(("wrong", "words"), [({}, "no probability"), ({"a": 1.2}, "from 0 to 1")])
def test_what_is_no_probability_is_named(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(UserError, match=words):
        plot_probabilities(wrong)
