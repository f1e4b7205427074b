"""The encoder alone and the decoder alone, with the same invariants as the whole Transformer."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.support.small_models import (
    PAD,
    VOCAB,
    batches,
    each_of,
    family_config,
    pad_right,
    randomise,
    small_model,
    traced,
    words,
)
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, EncoderOnly, Transformer
from viz_transformer.model.conversion import to_torch_attention
from viz_transformer.model.interventions import HeadChange, Interventions
from viz_transformer.model.layers import EncoderLayer
from viz_transformer.model.masks import causal_mask, to_torch_mask

# Each kind of positions and each activation with either norm: they do not act on each other.
VARIANTS = [
    {"norm": norm, "positional": positional, "bias": norm == "post", "activation": activation}
    for norm in ("post", "pre")
    for positional, activation in zip(
        ("sinusoidal", "sinusoidal_halves", "learned", "none"),
        ("relu", "gelu", "gelu_tanh", "silu"),
        strict=True,
    )
]
each_variant = each_of(VARIANTS)
each_family = pytest.mark.parametrize("family", [EncoderOnly, DecoderOnly])


def make(family, **changes):
    """A small model in evaluation mode, every parameter (biases too) with a value of its own."""
    torch.manual_seed(0)
    model = family(family_config(family, **changes))
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model.eval()


def attention_of(output):
    return output.encoder_attention or output.decoder_attention


def result_of(output):
    return output.last_hidden_state if output.logits is None else output.logits


@each_family
@each_variant
@settings(max_examples=4)
@given(batch=batches())
def test_plain_equals_traced_and_one_checkpoint_serves_both(family, variant, batch):
    ids, _ = batch
    model = make(family, **variant)
    twin = traced(model)
    assert list(model.state_dict()) == list(twin.state_dict())
    torch.testing.assert_close(model(ids), result_of(twin(ids)), atol=1e-5, rtol=1e-5)


@each_family
def test_the_trace_has_every_head_and_only_what_the_family_has(family):
    output = traced(make(family))(words(2, 5))
    assert [tuple(weights.shape) for weights in attention_of(output)] == [(2, 4, 5, 5)] * 2
    assert output.last_hidden_state.shape == (2, 5, 16)
    own, other = ("source", "target") if family is EncoderOnly else ("target", "source")
    assert getattr(output, f"{own}_positions").shape == (5, 16)
    absent = [output.cross_attention, getattr(output, f"{other}_positions")]
    absent += [output.logits, output.decoder_attention] if own == "source" else [output.encoder_attention]
    assert absent == [None] * len(absent)
    assert family is EncoderOnly or output.logits.shape == (2, 5, VOCAB)


@each_family
@settings(max_examples=20)
@given(batches())
def test_every_row_of_the_trace_sums_to_one_or_may_attend_to_nothing(family, batch):
    ids, _ = batch
    model = make(family)
    mask = model.padding_mask(ids) if family is EncoderOnly else model.target_mask(ids)
    for weights in attention_of(traced(model)(ids)):
        allowed = mask.expand_as(weights)
        assert (weights[~allowed] == 0).all()
        torch.testing.assert_close(weights.sum(-1), allowed.any(-1).float())


@each_family
@pytest.mark.parametrize("norm", ["post", "pre"])
@given(count=st.integers(1, 6))
def test_padding_is_not_ignored(family, norm, count):
    """Article D's encoder takes a mask and never passes it on: there padding changes the text."""
    model = make(family, norm=norm)
    ids = words(2, 5)
    padded = model(pad_right(ids, count))
    torch.testing.assert_close(padded[:, :5], model(ids), atol=1e-5, rtol=1e-5)
    other = model(F.pad(ids, (0, count), value=PAD + 1))[:, :5]
    changes = not torch.allclose(other, model(ids), atol=1e-5)
    assert changes == (family is EncoderOnly)  # words behind are read by the encoder alone


@given(st.integers(1, 5))
def test_a_decoder_does_not_see_the_future(position):
    """Article D's decoder-only example has no mask: it reads the word that it should predict."""
    model = make(DecoderOnly)
    ids = words(2, 6)
    changed = ids.clone()
    changed[:, position:] = changed[:, position:] % (VOCAB - 1) + 1
    before, after = model(ids), model(changed)
    torch.testing.assert_close(after[:, :position], before[:, :position], atol=1e-6, rtol=1e-6)
    assert not torch.allclose(after[:, position:], before[:, position:])
    for weights in traced(model)(ids).decoder_attention:
        assert (weights.triu(1) == 0).all()


def test_an_encoder_attends_to_both_sides():
    model = make(EncoderOnly)
    ids = words(1, 5)
    for position in range(5):
        changed = ids.clone()
        changed[0, position] = changed[0, position] % (VOCAB - 1) + 1
        assert ((model(changed) - model(ids)).abs().amax(-1) > 1e-6).all()


@each_family
def test_the_batch_comes_first_and_its_texts_do_not_mix(family):
    """Article D feeds [batch, sequence] to a sequence-first module: texts attend to each other."""
    model = make(family)
    ids = words(5, 5)  # as many texts as positions: a mistaken axis would not show in the shape
    ids[2, 3:] = PAD
    together = model(ids)
    for row in range(5):
        alone = model(ids[row : row + 1])
        torch.testing.assert_close(alone, together[row : row + 1], atol=1e-5, rtol=1e-5)
    order = torch.tensor([3, 1, 4, 0, 2])
    torch.testing.assert_close(model(ids[order]), together[order], atol=1e-5, rtol=1e-5)


def test_a_layer_adds_the_output_of_attention_and_not_the_tuple():
    """Article D adds what nn.MultiheadAttention returns, (output, weights), to a tensor."""
    layer = randomise(EncoderLayer(family_config(EncoderOnly))).eval()
    theirs = to_torch_attention(layer.self_attention).eval()
    x, mask = torch.randn(2, 5, 16), causal_mask(5)
    with pytest.raises(TypeError):
        x + theirs(x, x, x)
    sublayer, _ = theirs(x, x, x, attn_mask=to_torch_mask(mask)[0, 0])
    h = layer.self_attention_residual.norm(x + sublayer)
    expected = layer.feed_forward_residual.norm(h + layer.feed_forward(h))
    output, weights = layer(x, mask)
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)
    assert weights.shape == (2, 4, 5, 5)


def test_the_classification_head_is_there():
    """Article D promises a classifier and has none."""
    for pooler in ("none", "tanh", "relu"):
        model = make(EncoderOnly, n_classes=3, pooler=pooler)
        ids = words(4, 5)
        output = traced(model)(ids)
        first = model.encode(ids)[:, 0]
        if pooler != "none":
            first = getattr(torch, pooler)(model.pooler(first))
        expected = first @ model.classifier.weight.T + model.classifier.bias
        torch.testing.assert_close(model(ids), expected, msg=pooler)
        torch.testing.assert_close(output.logits, expected, atol=1e-5, rtol=1e-5, msg=pooler)
        assert output.last_hidden_state.shape == (4, 5, 16)


def test_the_head_can_learn_a_class_that_needs_the_whole_text():
    torch.manual_seed(0)
    model = EncoderOnly(family_config(EncoderOnly, n_classes=2, dropout=0.0))
    ids = words(64, 6)
    labels = (ids[:, 1:] == ids[:, :1]).any(1).long()  # does the first word come again?
    optimiser = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(150):
        loss = F.cross_entropy(model(ids), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    accuracy = (model.eval()(ids).argmax(-1) == labels).float().mean()
    assert accuracy > 0.95 > labels.float().mean().clamp(min=0.5)


def test_a_head_scores_every_word_at_every_position():
    ids = words(4, 5)
    for family, changes in (
        (EncoderOnly, {"predicts_words": True, "tie_embeddings": True}),
        (EncoderOnly, {"predicts_words": True, "tie_embeddings": False}),
        (DecoderOnly, {"tie_embeddings": True}),
        (DecoderOnly, {"tie_embeddings": False, "output_bias": True}),
    ):
        model = make(family, **changes)
        x = model.encode(ids) if family is EncoderOnly else model.decode(ids)
        matrix = model.embedding.words.weight if changes["tie_embeddings"] else model.output.weight
        expected = x @ matrix.T + (model.output_bias if "output_bias" in changes else 0)
        torch.testing.assert_close(model(ids), expected)
        torch.testing.assert_close(traced(model)(ids).logits, expected, atol=1e-5, rtol=1e-5)
        assert expected.shape == (4, 5, VOCAB)


def test_the_message_for_a_model_without_head_says_how_to_get_one():
    model = make(EncoderOnly)
    with pytest.raises(UserError, match=r"no classification head.*n_classes=2"):
        model.classify(model(words(1, 3)))
    with pytest.raises(UserError, match=r"no masked-language-model head.*predicts_words=True"):
        model.score_words(model(words(1, 3)))


def test_embeddings_are_the_sum_of_word_position_and_segment_then_normalised():
    changes = {"n_segments": 2, "embedding_norm": True, "positional": "learned"}
    for scale in (True, False):
        # An epsilon so large that the size of the sum still shows behind the norm.
        model = make(EncoderOnly, scale_embeddings=scale, layer_norm_eps=0.5, **changes)
        ids, segments = words(1, 4), torch.tensor([[0, 0, 1, 1]])
        parts = model.embedding
        total = parts.words.weight[ids[0]] + parts.positions.embedding.weight[:4]
        total = (total + parts.segments.weight[segments[0]]) * (4 if scale else 1)  # √d_model
        expected = F.layer_norm(total, (16,), parts.norm.weight, parts.norm.bias, 0.5)
        torch.testing.assert_close(model.embed(ids, segments)[0], expected)
        assert {part.eps for part in model.modules() if isinstance(part, nn.LayerNorm)} == {0.5}


def test_segments_left_out_are_all_the_first():
    model = make(EncoderOnly, n_segments=2)
    ids = words(2, 4)
    assert torch.equal(model(ids), model(ids, torch.zeros_like(ids)))
    assert not torch.allclose(model(ids), model(ids, torch.ones_like(ids)))


def test_without_a_pad_id_nothing_is_padding():
    model = make(DecoderOnly, pad_id=None)
    assert torch.equal(model.target_mask(torch.zeros(1, 3).long()), causal_mask(3))


@each_family
def test_gradients_stay_finite_with_left_padding_and_an_empty_text(family):
    for model in (make(family).train(), traced(make(family)).train()):
        ids = words(3, 5)
        ids[0] = PAD
        ids[1, :2] = PAD
        output = model(ids)
        output = output if isinstance(output, torch.Tensor) else result_of(output)
        output.square().mean().backward()
        for parameter in model.parameters():
            assert parameter.grad.isfinite().all()


@each_family
def test_a_half_can_be_made_of_the_whole_configuration(family):
    whole = ModelConfig(vocab_size=7, target_vocab_size=9, d_model=8, n_heads=2, n_encoder_layers=1)
    model = family(dataclasses.replace(whole, n_decoder_layers=3))
    stack = model.encoder if family is EncoderOnly else model.decoder
    size, depth = (7, 1) if family is EncoderOnly else (9, 3)
    assert (model.embedding.words.num_embeddings, len(stack.layers)) == (size, depth)
    assert model.config == dataclasses.replace(model.config)


def test_a_model_refuses_another_familys_configuration():
    for family, config, message in (
        (EncoderOnly, "gpt2", "'decoder' and has no encoder"),
        (DecoderOnly, "bert-base", "'encoder' and has no decoder"),
        (Transformer, "bert-base", "'encoder', and Transformer is an encoder–decoder"),
    ):
        with torch.device("meta"), pytest.raises(UserError, match=message):
            family(ModelConfig.preset(config))


@pytest.mark.usefixtures("shapes_unchecked")
def test_bad_inputs_are_named():
    encoder, decoder = make(EncoderOnly, n_segments=2), make(DecoderOnly)
    for model, inputs, message in (
        (encoder, (torch.ones(1, 13).long(),), "source_ids.*reaches position 13"),
        (decoder, (torch.full((1, 2), 11),), "target_ids.*the id 11, but vocab_size is 11"),
        (encoder, (torch.ones(3).long(),), r"source_ids has shape \[3\]"),
        (encoder, (words(1, 3), words(1, 2)), r"shape \[1, 2\].*shape \[1, 3\]"),
        (encoder, (words(1, 3), torch.zeros(1, 3)), "segment_ids is torch.float32"),
        (encoder, (words(1, 3), torch.full((1, 3), 2)), "holds 2, but n_segments is 2"),
        (make(EncoderOnly), (words(1, 3), words(1, 3)), "no segment embeddings.*n_segments=2"),
        (make(EncoderOnly).to("meta"), (words(1, 3),), "ids is on cpu and the model on meta"),
        (make(DecoderOnly).to("meta"), (words(1, 3),), "ids is on cpu and the model on meta"),
    ):
        with pytest.raises(UserError, match=message):
            model(*inputs)


@each_family
def test_each_switch_breaks_a_half_too(family):
    twin, ids = traced(make(family)), words(2, 5)
    ids[:, 0] = PAD
    before = twin(ids)
    for name, value in (
        ("scale", False),
        ("temperature", 0.5),
        ("padding_mask", False),
        ("positions", False),
        ("residual", False),
        ("layer_norm", False),
    ):
        after = twin(ids, interventions=Interventions(**{name: value}))
        assert not torch.allclose(result_of(before), result_of(after), atol=1e-3), name
    assert torch.equal(result_of(twin(ids, interventions=Interventions())), result_of(before))


def test_without_its_causal_mask_a_decoder_attends_to_the_future():
    twin, ids = traced(make(DecoderOnly)), words(1, 5)
    output = twin(ids, interventions=Interventions(causal_mask=False))
    assert (output.decoder_attention[0] > 0).all()


@each_family
def test_a_head_of_a_half_can_be_ablated(family):
    twin, ids = traced(make(family)), words(1, 5)
    kind = "encoder" if family is EncoderOnly else "decoder"
    ablated = Interventions(heads=[HeadChange(kind, layer=1, head=2, factor=0)])
    changed = twin(ids, interventions=ablated)
    stack = twin.encoder if family is EncoderOnly else twin.decoder
    with torch.no_grad():  # the same by hand: W^O reads nothing from that head
        stack.layers[1].self_attention.w_o.weight[:, 8:12] = 0
    torch.testing.assert_close(result_of(changed), result_of(twin(ids)))
    other = Interventions(heads=[HeadChange("cross", layer=0, head=0, factor=0)])
    with pytest.raises(UserError, match="no cross attention"):
        twin(ids, interventions=other)


class TestTransformerWithTwoVocabularies:
    """The whole Transformer, where the target has words of its own."""

    @pytest.mark.parametrize("tie", [True, False])
    def test_logits_are_over_the_targets_words(self, tie):
        model = small_model(target_vocab_size=7, tie_embeddings=tie)
        source, target = words(2, 5), words(2, 4) % 7
        assert model(source, target).shape == (2, 4, 7)
        torch.testing.assert_close(traced(model)(source, target).logits, model(source, target))
        shapes = [tuple(value.shape) for value in model.state_dict().values()]
        assert (shapes.count((VOCAB, 16)), shapes.count((7, 16))) == (1, 1 if tie else 2)

    def test_ids_are_checked_against_their_own_vocabulary(self):
        model = small_model(target_vocab_size=7)
        model(torch.tensor([[10]]), torch.tensor([[6]]))
        with pytest.raises(UserError, match=r"target_ids.*the id 7, but vocab_size is 7"):
            model(torch.tensor([[10]]), torch.tensor([[7]]))

    def test_the_output_bias_moves_the_logits(self):
        model = small_model(output_bias=True)
        source, target = words(1, 3), words(1, 3)
        before = model(source, target)
        nn.init.normal_(model.output_bias)
        torch.testing.assert_close(model(source, target), before + model.output_bias)


def test_a_start_token_that_is_also_padding_is_read_all_the_same():
    """Marian starts every target with <pad>: masked, its first position could look at nothing."""
    model = small_model(start_id=PAD)
    source, target = words(2, 4), words(2, 5)
    target[:, 0] = PAD
    padded = pad_right(target, 2)
    weights = traced(model)(source, padded).decoder_attention[0]
    assert (weights[:, :, :5, 0] > 0).all()
    assert (weights[..., 5:] == 0).all()
    cache = model.start_decoding(model.encode(source), model.padding_mask(source))
    steps = []
    for position in range(5):
        logits, cache = model.decode_step(target[:, position], cache)
        steps.append(logits)
    torch.testing.assert_close(torch.stack(steps, 1), model(source, target), atol=1e-5, rtol=1e-5)


@each_family
def test_every_layer_is_its_own(family):
    """Article E deep-copies one layer six times, or calls the same one six times."""
    model = family(family_config(family, norm="pre"))
    stack = model.encoder if family is EncoderOnly else model.decoder
    first, second = (dict(layer.named_parameters()) for layer in stack.layers)
    for name, parameter in first.items():
        assert parameter is not second[name]
        assert parameter.ndim == 1 or not torch.equal(parameter, second[name]), name
