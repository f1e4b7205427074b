"""What the lesson on order says in prose, held to the bundled translator and to the formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.support.lessons import Lesson
from viz_transformer.analysis.positions import look_alikes, wavelength
from viz_transformer.exercises import exercise
from viz_transformer.experiments.shift import shift_experiment
from viz_transformer.model import Interventions
from viz_transformer.model.positional import sinusoidal_encoding

LESSON = Lesson("6")
OFF = Interventions(positions=False)


def test_the_opening_picture_shows_both_translations(translator) -> None:
    """“The translation changed with them”, and every vector changes."""
    view = LESSON.run("position-lab")["shown"]
    answer = view.answer({"words": view.words, "order": view.order, "positions_on": True})
    assert [view.words[place] for place in view.order] == ["the", "cat", "sees", "the", "dog"]
    assert answer["translation"] != answer["as_written"], answer
    assert min(answer["moved"]) > 0.01
    assert sorted(np.argsort(answer["moved"])[-2:]) == [1, 4]  # “the two that were exchanged”


def test_without_positions_both_sentences_get_the_same_translation(translator) -> None:
    dog, cat = "the dog sees the cat", "the cat sees the dog"
    assert translator.translate(dog).text != translator.translate(cat).text
    one, other = (translator.translate(text, interventions=OFF).text for text in (dog, cat))
    assert one == other
    # “The decoder's cross-attention adds these vectors up”: whatever it is given to write, it scores alike.
    target = "el perro ve el gato"
    one, other = (translator.log_probs(text, target, OFF) for text in (dog, cat))
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_pair_9_is_the_first_that_never_comes_round() -> None:
    table = sinusoidal_encoding(64, 64).numpy()
    assert wavelength(9, 64) == pytest.approx(83.8, abs=0.05)
    assert wavelength(8, 64) == pytest.approx(62.8, abs=0.05)
    assert 63 in look_alikes(table, 0, 8)
    assert 22 in look_alikes(table, 7, 3)  # the clock begins at a pair that has dots
    for pair in range(32):
        # A hand that comes round sees some place again more than half a turn later.
        again = any(
            other - place > wavelength(pair, 64) / 2
            for place in range(64)
            for other in look_alikes(table, place, pair)
        )
        assert again == (pair < 9), pair
    # “No two rows are alike.”
    apart = np.linalg.norm(table[:, None] - table[None], axis=-1) + np.eye(64) * 9
    assert apart.min() > 0.5


def test_the_table_further_on_is_a_linear_function_of_the_table() -> None:
    """PE(pos + k) = PE(pos) M with one M for all positions, which is the paper's reason for sinusoids."""
    assert LESSON.run("position-lab", "wavelength", "linear")["shown"]
    table = sinusoidal_encoding(64, 64).double()
    for k in (1, 5, 20):
        angles = [k / 10_000 ** (2 * pair / 64) for pair in range(32)]
        turns = [
            torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]]).double() for a in angles
        ]
        torch.testing.assert_close(table[:-k] @ torch.block_diag(*turns), table[k:], atol=1e-4, rtol=0)


def test_the_worked_row_and_the_table_are_those_of_the_model() -> None:
    wanted = exercise("6.3").wanted.reference
    assert [f"{each:.2f}" for each in wanted(4, 4)[3].tolist()] == ["0.14", "-0.99", "0.03", "1.00"]
    assert "= (0.14,\\ -0.99,\\ 0.03,\\ 1.00)" in LESSON["worked-row"]
    torch.testing.assert_close(wanted(64, 64), sinusoidal_encoding(64, 64), atol=1e-5, rtol=0)


def test_scores_change_with_sinusoids_and_not_with_rotary_positions() -> None:
    shift = shift_experiment(n_words=12, shift=10)
    assert shift.sinusoidal.rms_difference > 0.5 * shift.sinusoidal.rms
    assert max(shift.positions.rms_difference, shift.rotary.rms_difference) < 1e-4
