"""What lesson 9 says in prose, held to the parts and to torch's own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.support.lessons import Lesson
from viz_transformer.exercises import exercise, lent
from viz_transformer.exercises.against_torch import with_torch
from viz_transformer.widgets.block_lab.live import block_spread

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

LESSON = Lesson("9")


def size(module: nn.Module) -> int:
    return sum(each.numel() for each in module.parameters())


def test_the_counts_are_right(translator) -> None:
    attention, network = lent.MultiHeadAttention(64, 4), lent.feed_forward(64, 128)
    assert f"{size(attention):,}" == "16,640"
    assert f"{size(network):,}" == "16,576"
    assert not LESSON.lacks("= 16,640", "= 16,576", cell="count-text")
    assert size(translator.model.encoder.layers[0].self_attention) == 16_640
    with torch.device("meta"):
        large = lent.Transformer(37_000, 512, 8, 2048, 6)
    sizes = {
        part: sum(each.numel() for name, each in large.named_parameters() if part in name) / 1e6
        for part in ("attention", "feed_forward", "table")
    }
    assert [round(each) for each in sizes.values()] == [19, 25, 19]
    assert round(size(large) / 1e6) == 63
    assert "63 million" in LESSON["predict-share"]


def test_the_worked_example_is_right() -> None:
    given = torch.tensor([3.0, 9, 11, 17])
    assert (given.mean(), given.var(correction=0)) == (10, 25)
    assert nn.functional.layer_norm(given, (4,)).tolist() == pytest.approx([-1.4, -0.2, 0.2, 1.4], abs=1e-4)


def test_in_training_batch_norm_mixes_sentences_and_at_inference_it_does_not() -> None:
    norm, one = nn.BatchNorm1d(8), torch.randn(4, 8)
    together = [torch.cat([one, other]) for other in torch.randn(2, 4, 8)]
    for is_training in (True, False):
        first, second = (norm.train(is_training)(each)[:4] for each in together)
        assert torch.equal(first, second) != is_training
    first, second = (lent.LayerNorm(8)(each)[:4] for each in together)
    assert torch.equal(first, second)


def test_one_changed_word_changes_no_other_in_the_feed_forward_network(translator) -> None:
    spread = block_spread(translator, "the black cat sleeps", 2)["feed-forward"]
    assert [each > 1e-4 for each in spread] == [False, False, True, False, False]


def test_the_whole_equals_torchs_with_the_same_parameters() -> None:
    found = LESSON.run("whole-picture", "feed-forward", "torch-equal")
    assert found["difference"] < 1e-5
    assert not LESSON.lacks("must give the same logits", cell="torch-text")
    mixed = lent.Transformer(35, 32, 4, 64, 2)
    for parameter in mixed.parameters():
        nn.init.normal_(parameter, std=0.5)
    with torch.no_grad():
        torch.testing.assert_close(
            with_torch(mixed)(found["source"], found["target"]),
            mixed(found["source"], found["target"]),
            atol=1e-4,
            rtol=1e-4,
        )


def test_a_class_that_is_not_written_yet_is_no_wrong_answer() -> None:
    class LayerNorm(lent.LayerNorm):
        def forward(self, x):
            return ...

    assert not exercise("9.1").check(LayerNorm).answered
    assert not exercise("9.1").check(nn.LayerNorm).passed
