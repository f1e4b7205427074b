"""What Masks in torch says in prose, held to the models, the mask lab and torch itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.analysis import lowest_loss
from viz_transformer.corpus import SentencePair, translation_tokens
from viz_transformer.experiments.peeking import train_peeking
from viz_transformer.model import attend
from viz_transformer.model.masks import causal_mask

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

LESSON = Lesson("masks")
SENTENCES = ["the black cat is very tired", "Maria sees the queen"]
RIGHT = {"side": "right", "padding": True, "causal": True, "mistake": "none"}


@pytest.fixture
def vectors() -> tuple[nn.MultiheadAttention, torch.Tensor]:
    """The lesson's attention and its four vectors [1, 4, 8]."""
    torch.manual_seed(0)
    x = torch.randn(1, 4, 8)
    return nn.MultiheadAttention(8, num_heads=1, batch_first=True), x


@pytest.mark.weekly
def test_a_loss_below_the_lowest_possible_gives_peeking_away() -> None:
    """“A little above the lowest possible”, and “far below” without the mask."""
    shares = translation_tokens("the teacher sleeps")
    people = {("la", "maestra"), ("el", "profesor"), ("el", "maestro"), ("la", "profesora")}
    assert {spanish[:2] for spanish in shares} == people
    hundred = [
        SentencePair(("the", "teacher", "sleeps"), spanish, ())
        for spanish, share in shares.items()
        for _ in range(round(100 * share))
    ]
    assert len(hundred) == 100
    lowest = lowest_loss([shares])
    with_the_mask, without = (train_peeking(hundred, look_ahead=each).loss for each in (False, True))
    assert lowest < with_the_mask < lowest + 0.04
    assert without < 0.2 * lowest


@pytest.fixture(scope="module")
def lab(translator):
    return vt.mask_lab(translator, SENTENCES)


def leaks(lab, kind: str = "decoder", **mistaken) -> np.ndarray:
    """Where an output moves that must not, bool [batch, query, key]; the lab stays so set."""
    for name, value in {"kind": kind, **RIGHT, **mistaken}.items():
        setattr(lab, name, value)
    changes = lab.measure()["changes"].transpose(0, 2, 1)
    return (changes > 1e-4) & lab.batch.real[:, :, None] & ~lab.batch.allowed


@torch.no_grad()
def test_one_mask_means_the_opposite_in_torchs_two_attentions(vectors) -> None:
    attention, x = vectors
    may = torch.tensor([[True, True, True, False]]).expand(4, 4)
    one = F.scaled_dot_product_attention(x, x, torch.eye(4)[None], attn_mask=may)
    _, other = attention(x, x, x, attn_mask=may)
    assert (one[0, :, 3] == 0).all()
    assert (other[0, :, 3] == 1).all()


@torch.no_grad()
def test_a_look_ahead_mask_passes_for_padding_where_the_batch_is_as_long(vectors) -> None:
    attention, _ = vectors
    look_ahead = ~causal_mask(4)[0, 0]
    three, four = torch.randn(3, 4, 8), torch.randn(4, 4, 8)
    with pytest.raises((AssertionError, RuntimeError), match="3"):
        attention(three, three, three, key_padding_mask=look_ahead)
    _, weights = attention(four, four, four, key_padding_mask=look_ahead)
    assert (weights[0] > 0).sum(-1).tolist() == [1] * 4
    assert (weights[-1] > 0).all()


@torch.no_grad()
def test_a_row_without_keys_has_three_answers(vectors) -> None:
    attention, x = vectors
    scores, nothing = torch.tensor([[2.0, 1.0, 0.0]]), torch.zeros(1, 3, dtype=torch.bool)
    query, keys = x[0, :1], x[0, :3]
    lowest = torch.finfo(scores.dtype).min
    assert scores.masked_fill(~nothing, -torch.inf).softmax(-1).isnan().all()
    assert attention(query, keys, keys, attn_mask=~nothing)[1].isnan().all()
    equal = torch.full((1, 3), 1 / 3)
    torch.testing.assert_close(scores.masked_fill(~nothing, lowest).softmax(-1), equal)
    unit = torch.eye(3)
    assert (F.scaled_dot_product_attention(query, keys, unit, attn_mask=nothing) == 0).all()
    assert (attend(query, keys, keys, nothing)[1] == 0).all()


def test_nan_in_a_row_that_no_loss_reads_reaches_every_weight(vectors) -> None:
    attention, x = vectors
    closed = ~causal_mask(4)[0, 0]
    closed[0] = True
    step = torch.optim.SGD(attention.parameters(), lr=0.1)
    loss = attention(x, x, x, attn_mask=closed)[0][0, 1:].square().mean()
    loss.backward()
    assert torch.isfinite(loss)
    assert attention.in_proj_weight.grad.isnan().all()
    step.step()
    assert attention.in_proj_weight.isnan().all()
    assert attention.out_proj.weight.isnan().all()


def test_each_mistake_leaks_where_the_lesson_says(lab) -> None:
    assert lab.batch.keys[0][3] == "negro"
    assert lab.measure()["replacements"][0][3] == "negra"
    # Without a padding mask nothing leaks in the decoder, while padding stands on the right.
    assert not leaks(lab, padding=False).any()
    assert leaks(lab, padding=False, side="left").any()
    # With the source's padding for the target's, a word leaks into its own row.
    places = np.argwhere(leaks(lab, mistake="source_as_target"))
    assert len(places)
    assert (places[:, 1] == places[:, 2]).all()
    # The colleague's meter: keys 5 and 6 of the second sentence are padding, and 1 of its targets.
    for made, moved in (
        ({"padding": False}, [True, True]),
        ({"mistake": "inverted"}, [True, True]),
        ({"mistake": "target_padding"}, [True, False]),
    ):
        found = leaks(lab, "cross", causal=False, **made)
        assert lab.batch.keys[1][4:] == ["<eos>", "<pad>", "<pad>"]
        assert not found[0].any(), made
        assert [bool(found[1, :, key].any()) for key in (5, 6)] == moved, made
    assert lab.batch.targets[1].count("<pad>") == 1
    # With left padding the first row of the second sentence is empty.
    leaks(lab, side="left")
    assert not lab.mask[1, 0, 0].any()
    assert lab.mask[1, 0, 1:].any(-1).all()
