import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.config import ModelConfig
from viz_transformer.model.positional import make_positions, sinusoidal_encoding


def config(positional):
    return ModelConfig(vocab_size=9, d_model=8, n_heads=2, max_length=12, positional=positional)


def test_sinusoids_by_hand():
    # d_model 4: the second pair turns 10000^(2/4) = 100 times more slowly than the first.
    expected = [
        [0.0, 1.0, 0.0, 1.0],
        [0.84147098, 0.54030231, 0.00999983, 0.99995000],
        [0.90929743, -0.41614684, 0.01999867, 0.99980001],
    ]
    torch.testing.assert_close(sinusoidal_encoding(3, 4), torch.tensor(expected))


@given(st.integers(0, 5000), st.integers(1, 32), st.data())
def test_sinusoids_follow_the_papers_formula(position, half, data):
    i = data.draw(st.integers(0, half - 1))
    d_model = 2 * half
    encoding = sinusoidal_encoding(1, d_model, start=position)[0]
    angle = position / 10_000 ** (2 * i / d_model)
    assert encoding[2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
    assert encoding[2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("positional", ["sinusoidal", "learned", "none"])
@given(start=st.integers(0, 11), data=st.data())
def test_a_start_cuts_from_the_same_table(positional, start, data):
    length = data.draw(st.integers(1, 12 - start))
    positions = make_positions(config(positional))
    part = positions(length, start)
    assert part.shape == (length, 8)
    assert torch.equal(part, positions(12)[start : start + length])


def test_only_learned_positions_have_parameters():
    counts = {
        name: sum(parameter.numel() for parameter in make_positions(config(name)).parameters())
        for name in ("sinusoidal", "learned", "none")
    }
    assert counts == {"sinusoidal": 0, "learned": 12 * 8, "none": 0}
    assert not make_positions(config("sinusoidal")).state_dict()


def test_no_positions_are_zeros():
    assert (make_positions(config("none"))(5) == 0).all()


def test_learned_positions_get_gradients_where_they_were_used():
    positions = make_positions(config("learned"))
    positions(2, start=3).sum().backward()
    used = positions.embedding.weight.grad.abs().sum(dim=1) > 0
    assert used.nonzero().flatten().tolist() == [3, 4]


def test_learned_positions_are_scaled_like_words():
    positions = make_positions(config("learned"))
    torch.testing.assert_close(positions(12), positions.embedding.weight * math.sqrt(8))
