"""What The block in depth says in prose, held to the models that it speaks of."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.support.lessons import Lesson
from viz_transformer.exercises import exercise
from viz_transformer.experiments.depth import gradients_by_depth, losses_by_depth
from viz_transformer.model import Interventions
from viz_transformer.widgets.block_lab.live import block_spread

# The deep models are many layers: without a check of every shape they take a third of the time.
pytestmark = pytest.mark.usefixtures("shapes_unchecked")

LESSON = Lesson("block")
SENTENCE = "the black cat sleeps"


def embedded(translator, *sentences: str) -> torch.Tensor:
    ids = [translator.vocabulary.source_ids(sentence) for sentence in sentences]
    with torch.no_grad():
        return translator.model.embed_source(torch.tensor(ids))


def test_the_feed_forward_network_holds_nearly_as_many_numbers_as_attention(translator) -> None:
    block = translator.model.encoder.layers[0]
    counts = {name: sum(p.numel() for p in part.parameters()) for name, part in block.named_children()}
    assert len(counts) == 4  # “Four parts.”
    assert 0.9 < counts["feed_forward"] / counts["self_attention"] < 1
    assert counts["self_attention_residual"] < 0.01 * counts["self_attention"]


@torch.no_grad()
def test_two_lines_are_the_block(translator) -> None:
    block = translator.model.encoder.layers[0]
    x = embedded(translator, SENTENCE)
    assert x.shape == (1, 5, 64)
    h = block.self_attention_residual.norm(x + block.self_attention(x, x)[0])
    output = block.feed_forward_residual.norm(h + block.feed_forward(h))
    of_the_block, _ = block(x, torch.ones(1, 1, 1, 5, dtype=torch.bool))
    torch.testing.assert_close(output, of_the_block, atol=1e-5, rtol=0)


def test_layer_norm_gives_every_word_mean_0_and_spread_1(translator) -> None:
    x = embedded(translator, SENTENCE)
    before, after = x.std(-1, correction=0), F.layer_norm(x, (64,))
    assert before.max() > 1.4 * before.min()
    assert after.mean(-1).abs().max() < 0.005
    assert (after.std(-1, correction=0) - 1).abs().max() < 0.005


def test_a_sentence_depends_on_its_neighbour_with_batch_norm_alone(translator) -> None:
    cow = embedded(translator, SENTENCE, "the white cow sleeps")
    queen = embedded(translator, SENTENCE, "the queen sees me")
    for axes, changes in ((-1, False), ((0, 1), True)):
        one, other = (
            ((x - x.mean(axes, keepdim=True)) / x.std(axes, keepdim=True, correction=0))[0]
            for x in (cow, queen)
        )
        assert ((one - other).abs().max() > 0.5) == changes
        assert changes or torch.equal(one, other)


def test_attention_moves_information_between_tokens(translator) -> None:
    """In the view every word notices; in the first block, where words attend to <eos>, hardly any."""
    vocabulary = translator.vocabulary
    words = vocabulary.tokens_of(vocabulary.source_ids(SENTENCE))
    cat, end = words.index("cat"), words.index("<eos>")
    others = np.array([word not in ("cat", "<eos>") for word in words])
    for changed in range(5):
        last = block_spread(translator, SENTENCE, changed)["self-attention"]
        assert last.min() > 0.05
    first = {place: block_spread(translator, SENTENCE, place, layer=0) for place in (cat, end)}
    assert first[cat]["self-attention"][others].max() < 0.005  # “hardly change”
    assert first[end]["self-attention"].min() > 0.5
    with torch.no_grad():
        _, weights = translator.model.encoder.layers[0].self_attention(*[embedded(translator, SENTENCE)] * 2)
    assert weights[0, :, :end, end].min() > 0.95  # “almost only to `<eos>`”


def test_the_translator_relies_on_its_sums_and_on_its_norms(translator) -> None:
    sentence = "the dog sees the cat"
    whole = translator.translate(sentence).text
    assert whole == "el perro ve el gato"
    for changes in (Interventions(residual=False), Interventions(layer_norm=False)):
        assert translator.translate(sentence, interventions=changes).text != whole


def test_post_norm_gradients_fade_with_depth_and_without_sums_the_first_layers_get_none() -> None:
    fading = []
    for n_layers in (2, 6, 12, 24):
        post, pre = (gradients_by_depth(n_layers, norm) for norm in ("post", "pre"))
        fading.append(post.decoder[-1] / post.decoder[0])
        assert pre.decoder[0] > pre.decoder[-1]  # “it is larger than that of the last, at every depth”
    assert fading == sorted(fading)
    assert fading[-1] > 1000
    # “The encoder's line falls far less”
    assert max(post.encoder) / min(post.encoder) < 0.02 * fading[-1]
    # Without norms the numbers overflow.
    assert not np.isfinite(gradients_by_depth(24, "none").decoder[0])
    for n_layers in (6, 24):
        found = gradients_by_depth(n_layers, residual=False)
        assert max(found.decoder[: n_layers // 2]) < 1e-20  # “a computer can't tell from 0”
        assert min(found.decoder[-1], *found.encoder) > 0.1
    assert not LESSON.lacks("The *encoder's* gradient stays large even then")


def test_pre_norm_learns_where_post_norm_is_stuck() -> None:
    post, pre = (losses_by_depth(8, norm, n_steps=20) for norm in ("post", "pre"))
    assert pre[-1] < 0.4  # “nearly there”
    assert post[-1] > 1.5  # “far behind”
    assert "losses_by_depth(8, norm, n_steps=20)" in LESSON["train"]


def test_the_table_of_three_stacks_was_measured() -> None:
    found = {
        "A": gradients_by_depth(6, "pre").decoder,
        "B": gradients_by_depth(6, "post", residual=False).decoder,
        "C": gradients_by_depth(6, "post").decoder,
    }
    for name, measured in found.items():
        (row,) = re.findall(rf"^\| \*\*{name}\*\* \|(.*)\|$", LESSON["exercise-5"], re.MULTILINE)
        told = [float(value) for value in row.split("|")]
        layers = [measured[layer] for layer in (0, 1, 3, 5)]
        np.testing.assert_allclose(told, layers, rtol=0.06, atol=1e-16)
    assert exercise("block.4").check(["pre-norm", "no sums", "post-norm"]).passed


def test_each_wrong_answer_gets_its_message() -> None:
    # A message names functions and the parts of a block in a word each.
    block = exercise("block.3").check(lambda x, attention, norm_1, feed_forward, norm_2: x).message
    layer = exercise("block.2").check(lambda layer, x: None).message
    assert "(x, attention, norm_1, feed_forward, norm_2) has the right shape" in block
    assert "layer=reads_its_neighbour" in layer
    assert "0x" not in block + layer
    assert "\n" not in block + layer
