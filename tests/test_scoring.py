"""Scoring functions against loops that cannot be wrong, and the softmax by hand."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model import Transformer, attend
from viz_transformer.model.attention import MultiHeadAttention, attend_fused
from viz_transformer.model.masks import causal_mask
from viz_transformer.model.scoring import (
    AdditiveScore,
    dot,
    make_score,
    scaled_dot,
    softmax_steps,
)

sizes = st.integers(1, 5)


@given(sizes, sizes, sizes, sizes, sizes)
def test_additive_scores_pair_every_query_with_every_key(batch, n_heads, n_q, n_k, d_head):
    score = AdditiveScore(n_heads, d_head)
    query, key = torch.randn(batch, n_heads, n_q, d_head), torch.randn(batch, n_heads, n_k, d_head)
    scores = score(query, key)
    assert scores.shape == (batch, n_heads, n_q, n_k)
    for b, h, i, j in itertools.product(*map(range, scores.shape)):
        inner = (score.w_q[h] @ query[b, h, i] + score.w_k[h] @ key[b, h, j]).tanh()
        torch.testing.assert_close(scores[b, h, i, j], score.v[h] @ inner)


def test_dot_and_scaled_dot_by_hand():
    query, key = torch.tensor([[1.0, 2, 3, 4]]), torch.tensor([[1.0, 1, 1, 1], [0, 0, 0, 2]])
    torch.testing.assert_close(dot(query, key), torch.tensor([[10.0, 8]]))
    torch.testing.assert_close(scaled_dot(query, key), torch.tensor([[5.0, 4]]))


@pytest.mark.parametrize("scoring", ["scaled_dot", "dot", "additive"])
@given(batch=sizes, n_q=sizes, n_k=sizes, share=st.sampled_from([0.3, 0.7, 1.0]))
def test_fused_equals_traced_for_every_score(scoring, batch, n_q, n_k, share):
    score = make_score(scoring, 2, 4)
    query, key = torch.randn(batch, 2, n_q, 4), torch.randn(batch, 2, n_k, 4)
    value = torch.randn(batch, 2, n_k, 3)
    mask = torch.rand(batch, 1, 1, n_k) < share
    traced, weights = attend(query, key, value, mask, score=score)
    fused, none = attend_fused(query, key, value, mask, score=score)
    assert none is None
    torch.testing.assert_close(fused, traced, atol=1e-5, rtol=1e-5)
    expected = score(query, key).masked_fill(~mask, -math.inf).softmax(-1).nan_to_num(0)
    torch.testing.assert_close(weights, expected)


def test_torch_s_attention_is_used_only_for_scores_that_it_has(monkeypatch):
    scales = []
    fused = F.scaled_dot_product_attention

    def seen(*args, scale):
        scales.append(scale)
        return fused(*args, scale=scale)

    monkeypatch.setattr(F, "scaled_dot_product_attention", seen)
    x = torch.randn(1, 2, 3, 4)
    for scoring in ("scaled_dot", "dot", "additive"):
        attend_fused(x, x, x, score=make_score(scoring, 2, 4))
    assert scales == [None, 1.0]


def test_the_configuration_chooses_the_score():
    config = {"vocab_size": 9, "d_model": 8, "n_heads": 2, "d_ff": 8, "max_length": 8}
    models = {}
    for scoring in ("scaled_dot", "dot", "additive"):
        torch.manual_seed(0)
        models[scoring] = Transformer(ModelConfig(scoring=scoring, **config)).eval()
    count = {name: sum(p.numel() for p in model.parameters()) for name, model in models.items()}
    assert count["scaled_dot"] == count["dot"]
    # In each of 6 + 2 * 6 attentions and 2 heads: W_q and W_k, 4 by 4, and v.
    assert count["additive"] - count["dot"] == 18 * 2 * (16 + 16 + 4)
    ids = torch.tensor([[3, 4, 5]])
    logits = [model(ids, ids) for model in models.values()]
    assert not torch.allclose(logits[0], logits[1])
    assert not torch.allclose(logits[1], logits[2])


def test_additive_parameters_learn():
    attention = MultiHeadAttention(8, 2, scoring="additive")
    x = torch.randn(2, 3, 8)
    attention(x, x)[0].square().sum().backward()
    for name in ("w_q", "w_k", "v"):
        assert getattr(attention.score, name).grad.abs().max() > 0


def test_the_softmax_of_the_article():
    steps = softmax_steps([-3, 2, -1, 0])
    expected = torch.tensor([0.0056533, 0.83902451, 0.04177257, 0.11354962])
    torch.testing.assert_close(steps.weights, expected, atol=1e-7, rtol=1e-6)
    assert steps.largest.tolist() == [2]
    assert steps.shifted.tolist() == [-5, 0, -3, -2]
    torch.testing.assert_close(steps.exponentials, torch.tensor([-5.0, 0, -3, -2]).exp())
    torch.testing.assert_close(steps.total, steps.exponentials.sum()[None])


def test_the_softmax_survives_a_thousand_where_the_plain_formula_does_not():
    scores = torch.tensor([1000.0, 999.0, -1000.0])
    assert (scores.exp() / scores.exp().sum()).isnan().any()
    weights = softmax_steps(scores).weights
    torch.testing.assert_close(weights, torch.tensor([0.7310586, 0.2689414, 0.0]))
    assert softmax_steps([0.0, -math.inf]).weights.tolist() == [1, 0]  # a hidden key gets nothing


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=8))
def test_the_steps_end_where_torch_does(scores):
    tensor = torch.tensor([scores, scores[::-1]])
    torch.testing.assert_close(softmax_steps(tensor).weights, tensor.softmax(-1))


def test_a_row_without_a_largest_score_is_refused():
    for scores, message in (
        ([], r"shape \[0\]"),
        ([math.nan, 1.0], "the largest score of a row is nan"),
        ([math.inf, 1.0], "is inf"),
        ([-math.inf, -math.inf], "is -inf.*leave at least one key"),
    ):
        with pytest.raises(UserError, match=message):
            softmax_steps(scores)


@pytest.mark.usefixtures("shapes_unchecked")
def test_an_unknown_score_and_a_wrong_mask_are_refused():
    with pytest.raises(UserError, match="scoring='cosine' is unknown"):
        make_score("cosine", 2, 4)
    x = torch.randn(1, 2, 3, 4)
    for attention, scoring in itertools.product((attend, attend_fused), ("scaled_dot", "additive")):
        with pytest.raises(UserError, match=r"\[1, 1, 2, 2\].*\[1, 2, 3, 3\]"):
            attention(x, x, x, causal_mask(2), score=make_score(scoring, 2, 4))
