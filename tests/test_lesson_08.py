"""What lesson 8 says in prose, held to the models and the mask lab."""

from __future__ import annotations

import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.corpus.batches import pad
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.exercises import exercise, lent
from viz_transformer.experiments.peeking import train_peeking
from viz_transformer.model import Interventions, masks

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

LESSON = Lesson("8")
SENTENCES = ["the black cat is very tired", "Maria sees the queen"]


@torch.no_grad()
def test_seen_padding_changes_every_vector_and_hidden_padding_none(translator) -> None:
    model, vocabulary = translator.model, translator.vocabulary
    rows = [vocabulary.source_ids(text) for text in SENTENCES]
    source = torch.from_numpy(pad(rows, vocabulary.pad_id))
    alone = model.encode(source[1:, :5])[0]
    for hidden, largest in ((False, 0.02), (True, 1e-4)):
        in_batch = model.encode(source, Interventions(padding_mask=hidden))[1, :5]
        change = (in_batch - alone).abs().amax(-1)
        assert ((change < largest) == hidden).all()


def test_without_the_look_ahead_mask_the_loss_is_as_low_and_the_translations_wrong() -> None:
    losses, right = [], []
    for look_ahead in (False, True):
        learned, loss = train_peeking(SIX_PAIRS, look_ahead=look_ahead)
        found = [learned.translate(" ".join(pair.source)).text == " ".join(pair.target) for pair in SIX_PAIRS]
        right.append(sum(found))
        losses.append(loss)
    assert losses[1] == pytest.approx(losses[0], rel=0.05)
    assert losses[0] < 0.1
    assert right[0] == 6
    assert right[1] <= 3


def test_the_leak_meter_says_what_the_lesson_says() -> None:
    found = LESSON.run("mask-lab", "padded", "leak-meter-written")
    moved = {
        looks_ahead: found["leak_meter"](found["logits_of"](looks_ahead), found["written"], 3, found["negra"])
        for looks_ahead in (False, True)
    }
    assert (moved[False][:3] < 1e-4).all()  # “positions 0, 1 and 2 don't change”
    assert (moved[True][:3] > 0.01).all()
    assert not LESSON.lacks("*negro*, became *negra*")


def test_the_lab_opens_with_a_leak_and_has_the_mistakes_that_are_named(translator) -> None:
    lab = vt.mask_lab(translator, SENTENCES)

    def leaks(**state: object) -> int:
        right = {"kind": "decoder", "side": "right", "padding": True, "causal": True, "mistake": "none"}
        for name, value in {**right, **state}.items():
            setattr(lab, name, value)
        changes = lab.measure()["changes"].transpose(0, 2, 1)
        return int(((changes > 1e-4) & lab.batch.real[:, :, None] & ~lab.batch.allowed).sum())

    assert not lab.causal
    assert leaks(causal=False) > 0 == leaks()
    assert leaks(mistake="source_as_target") > 0
    assert leaks(kind="cross", causal=False, mistake="target_padding") > 0


@torch.no_grad()
def test_what_students_write_is_what_the_package_computes() -> None:
    ids = torch.tensor([[3, 4, 0], [5, 0, 0]])
    assert torch.equal(lent.padding_mask(ids, 0), masks.padding_mask(ids, 0))
    assert torch.equal(lent.causal_mask(5), masks.causal_mask(5)[0, 0])
    query, key, value = torch.randn(3, 2, 4, 5, 8)
    mask = lent.causal_mask(5)
    theirs = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(lent.attend(query, key, value, mask)[0], theirs)
    assert exercise("8.4").check(lent.attend).answered
