import itertools

import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.small_models import (
    PAD,
    VOCAB,
    batches,
    each_of,
    pad_right,
    small_config,
    small_model,
    traced,
    words,
)
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model import ModelOutput, TracedTransformer, Transformer
from viz_transformer.model.attention import attend_fused
from viz_transformer.model.masks import causal_mask, padding_mask

VARIANTS = [
    {"norm": norm, "positional": positional, "tie_embeddings": tie, "bias": bias}
    for norm, positional, (tie, bias) in itertools.product(
        ("post", "pre"), ("sinusoidal", "learned", "none"), ((True, False), (False, True))
    )
]
VARIANTS += [
    {"norm": "post", "positional": "rotary"},
    {"norm": "pre", "positional": "rotary", "scoring": "additive"},
    {"scoring": "additive"},
    {"scoring": "dot"},
]
each_variant = each_of(VARIANTS)


def parameter_count(**changes):
    with torch.device("meta"):
        model = Transformer(ModelConfig(**{"vocab_size": 35, "bias": False} | changes))
    return sum(parameter.numel() for parameter in model.parameters())


def test_parameter_counts_of_the_known_models_and_what_each_choice_adds():
    base = parameter_count()
    assert base == 44_119_552
    tiny = {"d_model": 32, "n_heads": 4, "n_encoder_layers": 2, "n_decoder_layers": 2, "d_ff": 64}
    assert parameter_count(**tiny) == 43_104
    layers, attentions = 12, 18
    for changes, added in (
        ({"norm": "pre"}, 2 * 2 * 512),
        ({"tie_embeddings": False}, 2 * 35 * 512),
        ({"positional": "learned"}, 2 * 512 * 512),
        ({"positional": "rotary"}, 0),
        ({"d_ff": 2049}, layers * (2 * 512 + 1)),
        ({"bias": True}, attentions * 4 * 512),
    ):
        assert parameter_count(**changes) - base == added, changes


def test_initial_weights():
    model = small_model(vocab_size=4000, d_model=64, tie_embeddings=False, positional="learned")
    for name, parameter in model.named_parameters():
        if "embedding" in name:
            assert parameter.std().item() == pytest.approx(64**-0.5, rel=0.1)
        elif parameter.ndim == 2:
            bound = (6 / sum(parameter.shape)) ** 0.5
            assert 0.9 * bound < parameter.abs().max() <= bound
        elif name.endswith("bias"):
            assert (parameter == 0).all()


def test_an_untrained_model_predicts_nearly_uniformly():
    # Cross-entropy near ln 35: the article's model with N(0, 1) embeddings starts at 292.
    model = small_model(vocab_size=35, d_model=64)
    ids = torch.randint(3, 35, (16, 10))
    loss = F.cross_entropy(model(ids, ids).flatten(0, 1), torch.randint(3, 35, (160,)))
    assert loss.item() < 5


@each_variant
@settings(max_examples=4)
@given(batch=batches())
def test_plain_equals_traced_and_one_checkpoint_serves_both(variant, batch):
    model = small_model(**variant)
    twin = traced(model)
    assert list(model.state_dict()) == list(twin.state_dict())
    torch.testing.assert_close(model(*batch), twin(*batch).logits, atol=1e-5, rtol=1e-5)


@each_variant
@settings(max_examples=4)
@given(batch=batches())
def test_the_cache_equals_the_full_pass(variant, batch):
    source, target = batch
    assume((source != PAD).any())
    model = small_model(**variant)
    start = cache = model.start_decoding(model.encode(source), model.padding_mask(source))
    steps = []
    for position in range(target.shape[1]):
        assert cache.length == position
        logits, cache = model.decode_step(target[:, position], cache)
        steps.append(logits)
    torch.testing.assert_close(torch.stack(steps, 1), model(source, target), atol=1e-5, rtol=1e-5)
    assert start.length == 0
    # A step leaves the cache that it was given.
    assert torch.equal(model.decode_step(target[:, 0], start)[0], steps[0])


def test_the_trace_has_every_head_and_the_positions():
    model = small_model()
    source, target = words(2, 5), words(2, 4)
    output = traced(model)(source, target)
    assert isinstance(output, ModelOutput)
    assert [tuple(w.shape) for w in output.encoder_attention] == [(2, 4, 5, 5)] * 2
    assert [tuple(w.shape) for w in output.decoder_attention] == [(2, 4, 4, 4)] * 3
    assert [tuple(w.shape) for w in output.cross_attention] == [(2, 4, 4, 5)] * 3
    assert torch.equal(output.source_positions, model.source_positions(5))
    assert output.target_positions.shape == (4, 16)


@settings(max_examples=20)
@given(batches())
def test_every_row_of_the_trace_sums_to_one_or_may_attend_to_nothing(batch):
    source, target = batch
    model = small_model()
    output = traced(model)(source, target)
    for attentions, mask in (
        (output.encoder_attention, model.padding_mask(source)),
        (output.decoder_attention, model.target_mask(target)),
        (output.cross_attention, model.padding_mask(source)),
    ):
        for weights in attentions:
            allowed = mask.expand_as(weights)
            assert (weights[~allowed] == 0).all()
            torch.testing.assert_close(weights.sum(-1), allowed.any(-1).float())


@pytest.mark.parametrize("norm", ["post", "pre"])
@settings(max_examples=20)
@given(source_padding=st.integers(0, 5), target_padding=st.integers(0, 5))
def test_right_padding_changes_nothing(norm, source_padding, target_padding):
    model = small_model(norm=norm)
    source, target = words(2, 5), words(2, 6)
    padded = model(pad_right(source, source_padding), pad_right(target, target_padding))
    torch.testing.assert_close(padded[:, :6], model(source, target), atol=1e-5, rtol=1e-5)


def test_without_positions_left_padding_changes_nothing_either():
    model = small_model(positional="none")
    source, target = words(2, 4), words(2, 5)
    padded = model(F.pad(source, (3, 0), value=PAD), F.pad(target, (2, 0), value=PAD))
    torch.testing.assert_close(padded[:, 2:], model(source, target), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("make", [small_model, lambda: traced(small_model())])
def test_left_padding_and_an_empty_source_stay_finite_with_finite_gradients(make):
    model = make().train()
    source, target = words(3, 4), words(3, 5)
    source[0] = PAD
    target[1, :2] = PAD
    output = model(source, target)
    logits = output if isinstance(output, torch.Tensor) else output.logits
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
    assert loss.isfinite()
    loss.backward()
    for parameter in model.parameters():
        assert parameter.grad.isfinite().all()


@given(st.integers(1, 5))
def test_no_leak_from_the_future(position):
    model = small_model()
    source, target = words(2, 4), words(2, 6)
    changed = target.clone()
    changed[:, position:] = changed[:, position:] % (VOCAB - 1) + 1  # another word everywhere
    before, after = model(source, target), model(source, changed)
    torch.testing.assert_close(after[:, :position], before[:, :position], atol=1e-6, rtol=1e-6)
    assert not torch.allclose(after[:, position:], before[:, position:])


def test_every_target_position_reads_the_whole_source():
    model = small_model()
    source, target = words(1, 4), words(1, 3)
    for position in range(4):
        changed = source.clone()
        changed[0, position] = changed[0, position] % (VOCAB - 1) + 1
        assert ((model(changed, target) - model(source, target)).abs().amax(-1) > 1e-6).all(), position


def test_a_sentence_does_not_depend_on_its_batch():
    model = small_model()
    source, target = words(4, 5), words(4, 6)
    source[2, 3:] = PAD
    together = model(source, target)
    for row in range(4):
        alone = model(source[row : row + 1], target[row : row + 1])
        torch.testing.assert_close(alone, together[row : row + 1], atol=1e-5, rtol=1e-5)


def test_without_positions_the_encoder_is_equivariant():
    source = words(1, 6)
    order = torch.randperm(6)
    plain, ordered = small_model(positional="none"), small_model()
    torch.testing.assert_close(
        plain.encode(source[:, order]), plain.encode(source)[:, order], atol=1e-5, rtol=1e-5
    )
    assert not torch.allclose(ordered.encode(source[:, order]), ordered.encode(source)[:, order])


def test_encode_and_decode_make_up_the_forward():
    model = small_model()
    source, target = words(2, 5), words(2, 4)
    logits = model.decode(target, model.encode(source), padding_mask(source, PAD))
    assert torch.equal(logits, model(source, target))


def test_one_matrix_is_shared_by_source_target_and_output():
    tied, untied = small_model(), small_model(tie_embeddings=False)
    shapes = [tuple(value.shape) for value in tied.state_dict().values()]
    assert shapes.count((VOCAB, 16)) == 1
    shapes = [tuple(value.shape) for value in untied.state_dict().values()]
    assert shapes.count((VOCAB, 16)) == 3
    assert {"target_embedding.weight", "output.weight"} <= set(untied.state_dict())


def test_embeddings_are_scaled_and_placed():
    model = small_model()
    ids = words(1, 3)
    expected = model.source_embedding.weight[ids[0]] * 4 + model.target_positions(3, start=2)
    torch.testing.assert_close(model.embed_target(ids, start=2)[0], expected)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_dropout_acts_at_each_of_its_places_while_training_only(norm):
    source, target = words(2, 5), words(2, 6)
    model = small_model(dropout=0.5, norm=norm)
    assert torch.equal(model(source, target), model(source, target))
    layer = model.decoder.layers[0]
    places = [
        model.dropout,  # the sums of embedding and position
        layer.self_attention,  # the attention weights
        layer.cross_attention,
        layer.self_attention_residual.dropout,  # the output of each sub-layer
        layer.cross_attention_residual.dropout,
        layer.feed_forward_residual.dropout,
        layer.feed_forward.dropout,  # within the feed-forward network
    ]
    for place in places:
        place.train()
        assert not torch.allclose(model(source, target), model(source, target)), place
        place.eval()


def test_gelu_is_not_relu():
    source, target = words(1, 5), words(1, 5)
    relu, gelu = (small_model(activation=name)(source, target) for name in ("relu", "gelu"))
    assert not torch.allclose(relu, gelu)


@pytest.mark.usefixtures("shapes_unchecked")
def test_wrong_ids_get_one_clear_line():
    two = torch.ones(1, 2).long()
    for source, target, message in (
        (torch.ones(2, 3), torch.ones(2, 3).long(), r"source_ids is torch.float32.*\.long\(\)"),
        (torch.tensor([1, 2]), two, r"source_ids has shape \[2\].*\[None\]"),
        (torch.ones(1, 0).long(), two, r"source_ids has shape \[1, 0\]"),
        (torch.tensor([[1, 11]]), two, "the id 11, but vocab_size is 11"),
        (two, torch.tensor([[1, -1]]), "the id -1.*from 0 to 10"),
        (torch.ones(1, 13).long(), two, "reaches position 13.*max_length is 12"),
        (two, torch.ones(1, 13).long(), r"target_ids of shape \[1, 13\]"),
        (torch.ones(2, 2).long(), torch.ones(3, 2).long(), r"target_ids \[3, 2\] has 3 sentences"),
    ):
        for kind in (Transformer, TracedTransformer):
            with pytest.raises(UserError, match=message) as error:
                kind(small_config()).eval()(source, target)
            assert "\n" not in str(error.value)


@pytest.mark.usefixtures("shapes_unchecked")
def test_a_wrong_padding_mask_of_the_source_is_refused():
    model = small_model()
    ids = words(4, 4)  # as many sentences as words
    memory = model.encode(ids)
    for mask, message in (
        (causal_mask(4)[0, 0], r"\[4, 4\].*\[4, 1, 1, 4\]"),  # torch would broadcast these three
        (causal_mask(4), r"\[1, 1, 4, 4\].*\[4, 1, 1, 4\]"),
        (torch.ones(4, 4).bool(), r"\[4, 4\].*\[4, 1, 1, 4\], \[batch, 1, 1, source\]"),
        (model.padding_mask(words(4, 3)), r"\[4, 1, 1, 3\].*\[4, 1, 1, 4\]"),
        (torch.ones(4, 1, 1, 4), r"torch.float32 of shape .* torch.bool"),
        (torch.zeros(4, 1, 1, 4).bool(), "all False.*MultiheadAttention.*from_torch_mask"),
    ):
        for call in (
            lambda mask=mask: model.decode(ids, memory, mask),
            lambda mask=mask: model.start_decoding(memory, mask),
        ):
            with pytest.raises(UserError, match=message) as error:
                call()
            assert "\n" not in str(error.value)


@pytest.mark.usefixtures("shapes_unchecked")
def test_ids_and_memory_from_elsewhere_are_named():
    model = small_model()
    ids = words(1, 4)
    memory, mask = model.encode(ids), model.padding_mask(ids)
    with pytest.raises(UserError, match="source_ids is on meta and the model on cpu"):
        model.encode(ids.to("meta"))
    with pytest.raises(UserError, match="target_ids is on meta and the model on cpu"):
        model.decode(ids.to("meta"), memory, mask)
    for other, name in ((memory.double(), "torch.float64 on cpu"), (memory.to("meta"), "on meta")):
        with pytest.raises(UserError, match=rf"memory is .*{name}, model is torch.float32 on cpu"):
            model.decode(ids, other, mask)


def test_only_self_attention_has_rotary_positions():
    model = small_model(positional="rotary")
    layer = model.decoder.layers[0]
    assert layer.self_attention.rotary is not None
    assert layer.cross_attention.rotary is None
    source = words(1, 6)
    reversed_memory = model.encode(source.flip(1)).flip(1)
    assert not torch.allclose(reversed_memory, model.encode(source), atol=1e-3)
    # A checkpoint holds no table of them.
    assert list(model.state_dict()) == list(small_model(positional="none").state_dict())


def test_decoding_beyond_max_length_is_refused():
    model = small_model(max_length=3)
    source = words(1, 3)
    cache = model.start_decoding(model.encode(source), model.padding_mask(source))
    for _ in range(3):
        _, cache = model.decode_step(torch.tensor([1]), cache)
    with pytest.raises(UserError, match="reaches position 4, but the model's max_length is 3"):
        model.decode_step(torch.tensor([1]), cache)


def test_training_uses_the_fused_form_and_the_trace_does_not(monkeypatch):
    calls = []
    counted = lambda *args: calls.append(args) or attend_fused(*args)  # noqa: E731
    monkeypatch.setattr("viz_transformer.model.transformer.attend_fused", counted)
    model = small_model()
    model(words(1, 2), words(1, 2))
    traced(model)(words(1, 2), words(1, 2))
    assert len(calls) == 2 + 2 * 3
