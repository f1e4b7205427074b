import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model.attention import MultiHeadAttention, attend, attend_fused
from viz_transformer.model.positional import (
    RotaryPositions,
    make_positions,
    sinusoidal_encoding,
)


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
    for name, n_parameters in (("sinusoidal", 0), ("learned", 12 * 8), ("none", 0), ("rotary", 0)):
        positions = make_positions(config(name))
        assert sum(parameter.numel() for parameter in positions.parameters()) == n_parameters, name
        assert list(positions.state_dict()) == (["embedding.weight"] if n_parameters else [])
    for name in ("none", "rotary"):  # nothing is added to the words
        assert (make_positions(config(name))(5) == 0).all()


def test_learned_positions_are_scaled_like_words_and_learn_where_they_were_used():
    positions = make_positions(config("learned"))
    torch.testing.assert_close(positions(12), positions.embedding.weight * math.sqrt(8))
    positions(2, start=3).sum().backward()
    used = positions.embedding.weight.grad.abs().sum(dim=1) > 0
    assert used.nonzero().flatten().tolist() == [3, 4]


def test_an_odd_width_has_no_pairs():
    with pytest.raises(UserError, match=r"a width of 5 is odd.*use 6"):
        sinusoidal_encoding(3, 5)
    with pytest.raises(UserError, match="a width of 5 is odd"):
        RotaryPositions(3, 5)
    with pytest.raises(UserError, match=r"d_head=3 \(d_model=12 / n_heads=4\) is odd"):
        ModelConfig(d_model=12, n_heads=4, positional="rotary")


def test_a_rotary_turn_by_hand():
    # d_head 4: position 1 turns the first pair by 1 and the second by 1/100.
    turned = RotaryPositions(8, 4)(torch.tensor([[1.0, 0, 1, 0], [1, 0, 0, 1]]))
    expected = [
        [1.0, 0.0, 1.0, 0.0],
        [0.54030231, 0.84147098, -0.00999983, 0.99995000],
    ]
    torch.testing.assert_close(turned, torch.tensor(expected))


@given(st.integers(1, 4), st.integers(1, 12), st.integers(1, 8), st.integers(0, 40))
def test_rotary_equals_llamas(batch, length, half, start):
    """Llama pairs x_i with x_(i + d/2); we pair neighbours, as the paper does."""
    from transformers.models.llama.configuration_llama import LlamaConfig
    from transformers.models.llama.modeling_llama import (
        LlamaRotaryEmbedding,
        apply_rotary_pos_emb,
    )

    d_head = 2 * half
    llama = LlamaRotaryEmbedding(
        LlamaConfig(hidden_size=2 * d_head, num_attention_heads=2, max_position_embeddings=64)
    )
    query, key = torch.randn(2, batch, 2, length, d_head).unbind()
    places = torch.arange(start, start + length)[None]  # [1, position]
    cos, sin = llama(query, places)
    halves = torch.cat([torch.arange(0, d_head, 2), torch.arange(1, d_head, 2)])  # ours to theirs
    expected = apply_rotary_pos_emb(query[..., halves], key[..., halves], cos, sin)
    ours = RotaryPositions(64, d_head)
    for x, theirs in zip((query, key), expected, strict=True):
        torch.testing.assert_close(ours(x, start)[..., halves], theirs, atol=1e-5, rtol=1e-5)


@given(st.integers(0, 11), st.data())
def test_a_rotary_start_is_the_same_turn_in_two_parts(start, data):
    length = data.draw(st.integers(1, 12 - start))
    rotary, x = RotaryPositions(12, 6), torch.randn(2, 12, 6)
    part = x[:, start : start + length]
    assert torch.equal(rotary(part, start), rotary(x)[:, start : start + length])


def test_a_rotary_turn_keeps_lengths_has_no_parameters_and_ends():
    rotary, x = RotaryPositions(30, 8), torch.randn(2, 30, 8)
    torch.testing.assert_close(rotary(x).norm(dim=-1), x.norm(dim=-1))
    assert not rotary.state_dict()
    assert not list(rotary.parameters())
    with pytest.raises(UserError, match=r"\[1, 3, 4\] reach position 9, but max_length is 8"):
        RotaryPositions(8, 4)(torch.randn(1, 3, 4), start=6)


@pytest.mark.parametrize("attention", [attend, attend_fused])
def test_rotary_self_attention_depends_on_distances_only(attention):
    heads, x = MultiHeadAttention(16, 2, rotary_length=40).eval(), torch.randn(1, 6, 16)
    here, there = (heads(x, x, None, attention, start)[0] for start in (0, 30))
    torch.testing.assert_close(here, there, atol=1e-5, rtol=1e-5)
    order = torch.tensor([1, 0, 2, 3, 4, 5])
    moved = heads(x[:, order], x[:, order], None, attention)[0][:, order]
    assert not torch.allclose(moved, here)
    unturned = heads(x, x, None, attention, None)[0]
    again = heads(x[:, order], x[:, order], None, attention, None)[0][:, order]
    torch.testing.assert_close(again, unturned)
