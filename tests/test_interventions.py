"""Interventions: without effect when nothing is asked, and each doing what it says."""

import dataclasses
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.support.refusals import assert_refused
from viz_transformer.config import ModelConfig
from viz_transformer.corpus import english_spanish, translations
from viz_transformer.decoding import beam_search, greedy
from viz_transformer.errors import UserError
from viz_transformer.model import TracedTransformer, Transformer, attend
from viz_transformer.model.interventions import HeadChange, Interventions
from viz_transformer.trace import KINDS
from viz_transformer.vocabulary import Vocabulary

PAD, VOCAB = 0, 11


def small_config(**changes):
    sizes = {
        "vocab_size": VOCAB,
        "d_model": 16,
        "n_heads": 4,
        "n_encoder_layers": 2,
        "n_decoder_layers": 3,
        "d_ff": 24,
        "max_length": 12,
        "dropout": 0.0,
    }
    return ModelConfig(**(sizes | changes))


def make(kind=TracedTransformer, **changes):
    torch.manual_seed(0)
    return kind(small_config(**changes)).eval()


def batch():
    source, target = torch.randint(1, VOCAB, (2, 5)), torch.randint(1, VOCAB, (2, 4))
    source[0, 3:] = PAD
    target[1, 3:] = PAD
    return source, target


def change(kind="encoder", layer=1, head=2, **how):
    return Interventions(heads=[HeadChange(kind, layer, head, **how)])


def tensors(output):
    """Everything a traced model returned, one tensor after another."""
    for field in dataclasses.fields(output):
        value = getattr(output, field.name)
        yield from value if isinstance(value, tuple) else [value]


def decoded(model, source, target, asked):
    """The logits [batch, position, vocab] of decoding word by word."""
    cache = model.start_decoding(model.encode(source, asked), model.padding_mask(source, asked))
    steps = []
    for position in range(target.shape[1]):
        logits, cache = model.decode_step(target[:, position], cache, asked)
        steps.append(logits)
    return torch.stack(steps, 1)


VARIANTS = [
    {},
    {"norm": "pre", "positional": "rotary"},
    {"scoring": "additive"},
    {"scoring": "dot", "positional": "learned"},
]
each_variant = pytest.mark.parametrize("variant", VARIANTS, ids=str)

ALL = {
    "scale": Interventions(scale=False),
    "temperature": Interventions(temperature=0.25),
    "causal_mask": Interventions(causal_mask=False),
    "padding_mask": Interventions(padding_mask=False),
    "positions": Interventions(positions=False),
    "residual": Interventions(residual=False),
    "layer_norm": Interventions(layer_norm=False),
    "factor": change(factor=0),
    "uniform": change(pattern="uniform"),
}


@each_variant
def test_asking_for_nothing_changes_no_bit(variant):
    model = make(**variant)
    source, target = batch()
    plain = list(tensors(model(source, target)))
    for nothing in (Interventions(), change(factor=1), change("cross", 0, 0)):
        for one, other in zip(plain, tensors(model(source, target, nothing)), strict=True):
            assert torch.equal(one, other)
    model = make(Transformer, **variant)
    expected = decoded(model, source, target[:, :2], None)
    for nothing in (Interventions(), change(factor=1), change("cross", 0, 0)):
        assert torch.equal(decoded(model, source, target[:, :2], nothing), expected)


@each_variant
def test_decoding_word_by_word_equals_the_whole_pass(variant):
    """With a start that is not position 0, and the fused path where nothing is changed."""
    model, (source, target) = make(**variant), batch()
    target[:] = target.clamp(min=1)
    different = []
    for name in ALL.keys() - {"causal_mask"}:
        for kind in ("decoder", "cross"):
            heads = [dataclasses.replace(c, kind=kind) for c in ALL[name].heads]
            asked = dataclasses.replace(ALL[name], heads=heads)
            whole = model(source, target, asked).logits
            if not torch.allclose(decoded(model, source, target, asked), whole, atol=1e-4, rtol=1e-4):
                different.append((name, kind))
    assert different == []


def test_without_the_scale_is_the_model_of_plain_dots():
    model, ids = make(), batch()
    plain_dots = TracedTransformer(small_config(scoring="dot")).eval()
    plain_dots.load_state_dict(model.state_dict())
    expected = plain_dots(*ids).logits
    torch.testing.assert_close(model(*ids, Interventions(scale=False)).logits, expected)


def test_a_temperature_divides_the_scores():
    """Those of the first encoder layer, worked out from the weights."""
    model, (source, target) = make(), batch()
    x, mask = model.embed_source(source), model.padding_mask(source)
    attention = model.encoder.layers[0].self_attention
    query, key = (w(x).unflatten(-1, (4, 4)).transpose(1, 2) for w in (attention.w_q, attention.w_k))
    _, expected = attend(query / 0.1, key, key, mask)
    found = model(source, target, Interventions(temperature=0.1)).encoder_attention[0]
    torch.testing.assert_close(found, expected)
    hot = model(source, target, Interventions(temperature=1e6)).encoder_attention[0][1]
    torch.testing.assert_close(hot, torch.full_like(hot, 1 / 5), atol=1e-4, rtol=0)


def test_without_a_mask_words_look_where_it_stood():
    model, (source, target) = make(), batch()
    ahead = torch.ones(4, 4).triu(1).bool()
    weights = model(source, target, Interventions(causal_mask=False)).decoder_attention[0]
    assert (weights[0][:, ahead] > 0).all()
    assert (weights[1][:, :, 3] == 0).all()  # padding stays hidden
    assert (model(source, target).decoder_attention[0][0][:, ahead] == 0).all()
    output = model(source, target, Interventions(padding_mask=False))
    assert (output.encoder_attention[0][0][:, :, 3:] > 0).all()
    assert (output.cross_attention[2][0][:, :, 3:] > 0).all()
    assert (output.decoder_attention[0][1][:, 3, 3] > 0).all()
    assert (output.decoder_attention[0][1][:, 0, 1:] == 0).all()  # the future stays hidden


@pytest.mark.parametrize("positional", ["sinusoidal", "learned", "rotary"])
def test_without_positions_the_encoder_reads_a_set(positional):
    model = make(positional=positional)
    source, order = torch.randint(1, VOCAB, (1, 6)), torch.tensor([3, 0, 5, 1, 4, 2])
    without = Interventions(positions=False)
    torch.testing.assert_close(
        model.encode(source[:, order], without), model.encode(source, without)[:, order]
    )
    assert not torch.allclose(model.encode(source[:, order]), model.encode(source)[:, order])
    output = model(source, source, without)
    assert not output.source_positions.any()
    assert not output.target_positions.any()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_without_residual_and_norm_the_sublayers_follow_one_another(norm, monkeypatch):
    model, (source, target) = make(norm=norm), batch()
    without = Interventions(residual=False, layer_norm=False)
    x, mask = model.embed_source(source), model.padding_mask(source)
    for layer in model.encoder.layers:
        x = layer.feed_forward(layer.self_attention(x, x, mask)[0])
    torch.testing.assert_close(model.encode(source, without), x)
    monkeypatch.setattr(nn.LayerNorm, "forward", None)  # a call of it would fail
    assert model(source, target, Interventions(layer_norm=False)).logits.isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_uses_the_pattern_that_it_is_given(kind):
    model, ids = make(), batch()
    plain = model(*ids)
    own = getattr(plain, f"{kind}_attention")[0]
    found = getattr(model(*ids, change(kind, 0, 2, pattern="uniform")), f"{kind}_attention")[0]
    mask = model.target_mask(ids[1]) if kind == "decoder" else model.padding_mask(ids[0])
    allowed = mask.expand_as(found)[:, 2].float()
    torch.testing.assert_close(found[:, 2], allowed / allowed.sum(-1, keepdim=True))
    others = [0, 1, 3]
    assert torch.equal(found[:, others], own[:, others])
    silent = model(*ids, change(kind, 0, 2, factor=0))
    assert torch.equal(getattr(silent, f"{kind}_attention")[0], own)  # it attends as before
    rows = torch.eye(*own.shape[-2:]).tolist()
    rows[1] = [0.0] * own.shape[-1]
    for as_given in (torch.tensor, np.array, list):
        output = model(*ids, change(kind, 0, 1, pattern=as_given(rows)))
        found = getattr(output, f"{kind}_attention")[0][:, 1]
        assert torch.equal(found, torch.tensor(rows).expand_as(found)), as_given
        assert not torch.allclose(output.logits, plain.logits), as_given


def test_a_uniform_head_of_a_sentence_of_padding_looks_at_nothing():
    model, (source, target) = make(), batch()
    source[0] = PAD
    found = model(source, target, change(pattern="uniform"))
    assert (found.encoder_attention[1][0, 2] == 0).all()
    assert found.logits.isfinite().all()


def test_a_heads_own_pattern_given_back_changes_nothing():
    model, (source, target) = make(), batch()
    source, target = source[1:], target[1:, :3]
    plain = model(source, target)
    heads = [
        HeadChange(kind, 1, head, pattern=getattr(plain, f"{kind}_attention")[1][0, head].detach())
        for kind in KINDS
        for head in range(4)
    ]
    given = Interventions(heads=heads)
    torch.testing.assert_close(model(source, target, given).logits, plain.logits)
    torch.testing.assert_close(decoded(model, source, target, given), plain.logits)


def test_gradients_flow_through_what_is_changed():
    model, ids = make(), batch()
    changes = [HeadChange("encoder", 0, 1, pattern="uniform"), HeadChange("cross", 1, 0, factor=2)]
    logits = model(*ids, Interventions(scale=False, temperature=2.0, heads=changes)).logits
    F.cross_entropy(logits.flatten(0, 1), ids[1].flatten()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.usefixtures("shapes_unchecked")
def test_changes_that_make_no_sense_are_refused():
    twice = [HeadChange("cross", 0, 0), HeadChange("cross", 0, 0)]
    no_heads = "must be a sequence of HeadChange"
    assert_refused(
        (lambda make_it=make_it, given=given: make_it(**given), message)
        for make_it, given, message in (
            (Interventions, {"temperature": 0}, "temperature=0 must be a finite number above 0"),
            (Interventions, {"temperature": math.inf}, "temperature=inf"),
            (Interventions, {"temperature": "hot"}, "temperature='hot'"),
            (Interventions, {"scale": 0}, "scale=0 must be True, or False"),
            (Interventions, {"heads": twice[0]}, no_heads),
            (Interventions, {"heads": [(1, 2)]}, no_heads),
            (Interventions, {"heads": 7}, no_heads),
            (Interventions, {"heads": twice}, "names cross layer 0 head 0 2 times"),
            (change, {"kind": "self"}, "unknown attention kind 'self'; choose one of"),
            (change, {"layer": -1}, "layer=-1 must be a whole number"),
            (change, {"head": 1.5}, "head=1.5 must be a whole number"),
            (change, {"factor": math.nan}, "factor=nan must be a finite number"),
            (change, {"pattern": "even"}, "pattern='even' is unknown; give 'uniform'"),
            (change, {"pattern": [0.5, 0.5]}, r"shape \[2\], but it must be \[query, key\]"),
            (change, {"pattern": [[0.5, 0.6]]}, "sum to 1, or only zeros"),
            (change, {"pattern": [[1.5, -0.5]]}, "at least 0"),
            (change, {"pattern": [[math.nan, 1.0]]}, "sum to 1"),
            (change, {"pattern": [[1.0], [0.5, 0.5]]}, "is not rows of numbers"),
        )
    )


@pytest.mark.usefixtures("shapes_unchecked")
def test_changes_that_do_not_fit_the_model_are_refused():
    model, ids = make(), batch()
    vocabulary = Vocabulary(["a"], [str(i) for i in range(VOCAB - 4)])

    def search(rows):
        asked = change("cross", pattern=rows)
        return greedy(make(Transformer), [[3, 4, 5, 6, 2]], vocabulary, interventions=asked)

    ahead = change("decoder", pattern=torch.eye(4).roll(1, 1))
    assert model(*ids, ahead).logits.isfinite().all()
    asked_of_model = [
        (change("encoder", 2, 0), "encoder layer 2 head 0 is not in this model.*0 to 1.*0 to 3"),
        (change("decoder", 0, 4), "decoder layer 0 head 4 is not in this model.*0 to 2"),
        (change("cross", 3, 0), "cross layer 3 head 0"),
        (change("cross", 0, 0, pattern=[[1.0]]), r"shape \[1, 1\], but there are 4 queries and 5"),
        ("no scale", "interventions='no scale' must be Interventions or None"),
    ]
    assert_refused(
        [
            *((lambda asked=asked: model(*ids, asked), message) for asked, message in asked_of_model),
            (lambda: search(torch.eye(1, 5)), r"shape \[1, 5\], but decoding is at row 1 with 5 keys"),
            (lambda: search(torch.eye(3, 4)), r"shape \[3, 4\], but decoding is at row 0 with 5 keys"),
            (lambda: decoded(model, *ids, ahead), "looks ahead in row 0"),
        ]
    )


def test_interventions_are_values():
    rows = np.eye(3)
    one, other, kept = (change(pattern=given) for given in (np.eye(3), np.eye(3), rows))
    assert one == other
    assert hash(one) == hash(other)
    rows[0] = 0
    assert kept == one
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.scale = False


@pytest.fixture(scope="module")
def owners(translator):
    """Sentences in which *his* or *her* decides a person's sex, and the whole model's translations."""
    sources = [
        " ".join(pair.source) for pair in english_spanish(n_train=0, n_held_out=0).held_out_owners[::10]
    ]
    return sources, [found.text for found in translator.translate_all(sources)]


def test_the_translation_changes_when_the_deciding_head_goes(translator, owners):
    sources, _ = owners
    assert len(sources) >= 10
    allowed = [target in translations(source) for source, target in zip(*owners, strict=True)]
    assert sum(allowed) / len(allowed) > 0.95
    changed = []
    for head in range(4):
        without = change("encoder", 1, head, factor=0)
        found = translator.translate_all(sources, interventions=without)
        changed.append([s for s, before, after in zip(*owners, found, strict=True) if after.text != before])
    lost = changed.pop(1)
    assert changed == [[], [], []]
    assert len(lost) > 0.3 * len(sources)
    assert all("his" in source.split() for source in lost)  # a woman is the likelier where nothing decides


def test_every_call_of_the_translator_takes_interventions(translator, owners):
    without = change("encoder", 1, 1, factor=0)
    sources, targets = owners
    found = translator.translate_all(sources, interventions=without)
    row = next(i for i, target in enumerate(targets) if found[i].text != target)
    source, wrong = sources[row], found[row]
    assert translator.translate(source, interventions=without).text == wrong.text
    decoding = translator.decode(source, interventions=without)
    assert decoding.hypotheses[0].tokens == wrong.tokens
    ids = [translator.vocabulary.source_ids(text) for text in sources[:8]]
    given = translator.model, ids, translator.vocabulary
    searched = beam_search(*given, beam_width=1, interventions=without)
    assert greedy(*given, interventions=without) == [list(trace.hypotheses[0].ids) for trace in searched]
    assert greedy(*given, interventions=without) != greedy(*given)
    trace = translator.trace(source, interventions=without)
    assert trace.output_tokens[:-1] == wrong.tokens
    even = translator.trace(source, interventions=change("encoder", 0, 0, pattern="uniform"))
    np.testing.assert_allclose(even.encoder_attention[0, 0], 1 / len(even.source_tokens), rtol=1e-6)
    assert translator.translate(source).text == targets[row]
    for call in (translator.translate, translator.decode, translator.trace):
        with pytest.raises(UserError, match="encoder layer 9 head 0 is not in this model"):
            call("the cat sleeps", interventions=change("encoder", 9, 0, factor=0))


def test_padding_matters_to_decoding_when_its_mask_is_off(translator):
    texts = ["the cat", "the animal did not cross the street because it was too tired"]
    alone = translator.translate(texts[0], interventions=Interventions(padding_mask=False))
    padded = translator.translate_all(texts, interventions=Interventions(padding_mask=False))[0]
    assert padded.score != pytest.approx(alone.score, abs=1e-4)
    assert translator.translate_all(texts)[0].score == pytest.approx(alone.score, abs=1e-4)
