"""What the lesson on encoder and decoder says in prose, held to the models that it speaks of."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch import nn

from tests.support.lessons import Lesson
from viz_transformer.config import ModelConfig, count_parameters
from viz_transformer.exercises import exercise
from viz_transformer.model.attention_hooks import watched
from viz_transformer.plots.model_summary import n_learned, shares
from viz_transformer.widgets.model_summary_lab.live import model_summary_lab, summary_of

# A short training is among them: without a check of every shape it takes a third of the time.
pytestmark = pytest.mark.usefixtures("shapes_unchecked")

LESSON = Lesson("encoder_and_decoder")
SENTENCE = "the black cat does not sleep"


def base(**changes: int):
    return summary_of(**model_summary_lab().values | changes)


@torch.no_grad()
def test_the_walk_has_the_stated_shapes(translator) -> None:
    model, vocabulary = translator.model, translator.vocabulary
    source = torch.tensor([vocabulary.source_ids(SENTENCE)])
    target = torch.tensor([vocabulary.target_ids(translator.translate(SENTENCE).text)])
    memory = model.encode(source)
    logits = model.decode(target[:, :-1], memory, model.padding_mask(source))
    said = (f"Each of its {source.shape[1]} tokens", f"a vector of {memory.shape[2]} numbers")
    said += (
        f"each of the {logits.shape[1]} written tokens",
        f"the {logits.shape[2]} words that may come next",
    )
    assert not LESSON.lacks(*said, cell="walk-text")
    assert torch.equal(logits.argmax(-1), target[:, 1:])  # “The largest logit is the next word.”


@torch.no_grad()
def test_every_decoder_layer_reads_the_same_memory(translator) -> None:
    source = torch.tensor([translator.vocabulary.source_ids(SENTENCE)])
    memory = translator.model.encode(source)[0]
    for layer in (0, 1):
        with watched(translator.traced_model, "cross", layer) as watch:
            translator.trace(SENTENCE)
        torch.testing.assert_close(watch.inputs.key_input, memory, atol=1e-5, rtol=1e-4)
        assert watch.inputs.query_input.shape == (6, 64)


def test_the_predicted_shape_is_that_of_the_machine_and_is_not_shown_before() -> None:
    for lengths, weights in (({}, (1, 8, 4, 6)), ({"n_source": 9, "n_target": 5}, (1, 8, 5, 9))):
        (cross,) = [part for part in base(**lengths) if part.name == "cross-attention"]
        assert cross.shapes["weights"] == weights
    assert '    "[8, 4, 6]",' in LESSON["predict-shape"]
    assert "[8, 4, 6]" not in LESSON.above("predict-shape")
    # The next view opens with other lengths.
    assert "machine = model_summary_lab(n_source=9, n_target=5)" in LESSON["machine"]
    assert "cross-attention" not in LESSON["machine-text"]


def test_the_view_changes_as_the_text_says() -> None:
    before = base()
    for longer in (base(n_source=20), base(n_target=8), base(n_target=20), base(n_heads=16)):
        assert n_learned(longer) == n_learned(before)
    moved = {
        (part.stack, part.name, name)
        for part, after in zip(before, base(n_source=20), strict=True)
        for name in part.shapes
        if part.shapes[name] != after.shapes[name]
    }
    cross = {("decoder", "cross-attention", name) for name in ("key", "value", "weights")}
    assert {one for one in moved if one[0] == "decoder"} == cross
    in_encoder = {(p.stack, p.name, name) for p in before if p.stack == "encoder" for name in p.shapes}
    assert moved - cross == in_encoder  # “in the encoder every shape follows”
    for part, after in zip(before, base(n_target=8), strict=True):
        assert part.stack == "decoder" or part.shapes == after.shapes
    assert n_learned(base(d_model=1024, d_ff=4096)) / n_learned(before) == pytest.approx(4, abs=0.01)
    deeper, words = base(n_layers=12), 35 * 512
    assert [part.shapes for part in deeper] == [part.shapes for part in before]
    assert n_learned(deeper) - words == 2 * (n_learned(before) - words)


def test_the_bill_of_the_small_model() -> None:
    parts = {part.name: part.n_parameters for part in base(d_model=32, n_heads=4, d_ff=64, n_layers=2)}
    attention, network, norm = (parts[name] for name in ("cross-attention", "feed-forward", "Add & Norm"))
    encoder, decoder = attention + network + 2 * norm, 2 * attention + network + 3 * norm
    whole = count_parameters(ModelConfig.preset("tiny"))
    rows = [row for row in LESSON["count-text"].splitlines() if row.startswith("|")][2:]
    told = [int(row.split("|")[3].strip(" *").replace(",", "")) for row in rows]
    assert told == [attention, network, norm, encoder, decoder, 35 * 32, whole]
    assert whole == 43_104


def test_the_large_model_and_where_its_numbers_are() -> None:
    parts = base()
    assert n_learned(parts) == 44_119_552
    assert f"{n_learned(parts):,}" in LESSON["question"]
    found = shares(parts)
    assert found["feed-forward"] > 0.5
    assert found["feed-forward"] + found["attention"] > 0.99
    assert parts[0].n_parameters == 17_920
    assert n_learned(parts) / 43_104 > 1000


def test_2048_lands_where_the_lesson_says() -> None:
    landed = inspect.signature(nn.Transformer).bind(512, 8, 2048, 6)
    landed.apply_defaults()
    assert landed.arguments["num_encoder_layers"] == 2048
    names = "d_model nhead num_encoder_layers num_decoder_layers dim_feedforward dropout"
    assert list(landed.arguments)[:6] == names.split()
    # An odd value among the arguments gets a message and no error.
    right = exercise("encoder_and_decoder.5").wanted.right_answer
    assert exercise("encoder_and_decoder.5").check(right).passed
    for odd in (torch.ones(3), [1, 2], "3", None):
        assert not exercise("encoder_and_decoder.5").check({**right, "num_encoder_layers": odd}).passed


def test_the_function_asked_for_counts_what_the_package_counts() -> None:
    count = exercise("encoder_and_decoder.4").wanted.reference
    for vocab_size, d_model, d_ff, n_layers in ((35, 32, 64, 2), (35, 512, 2048, 6)):
        layers = {"n_encoder_layers": n_layers, "n_decoder_layers": n_layers}
        config = ModelConfig(vocab_size=vocab_size, d_model=d_model, d_ff=d_ff, bias=False, **layers)
        assert count(vocab_size, d_model, d_ff, n_layers) == count_parameters(config)
        assert f"{count_parameters(config):,}" in exercise("encoder_and_decoder.4").wanted.right


def test_with_the_axes_mixed_up_sentences_look_at_each_other() -> None:
    x, other = torch.randn(2, 2, 5, 32)
    for batch_first in (True, False):
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0, batch_first=batch_first)
        before, changed = layer(x), torch.stack([other[0], x[1]])
        moved = (layer(changed)[1] - before[1]).abs().max() > 0.05
        assert moved.item() != batch_first
        # “to no other token of its own sentence”: another of its tokens is changed.
        inside = x.clone()
        inside[1, 0] = other[1, 0]
        moved = (layer(inside)[1, 1:] - before[1, 1:]).abs().max() > 1e-5
        assert moved.item() == batch_first
