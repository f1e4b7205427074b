"""Attribution in encoder–decoders, masked models and, where one test serves all, in every model, by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import viz_transformer as vt
from tests.support.attending_models import N_HEADS, word_tokenizer
from tests.support.causal_models import gpt2
from tests.support.causal_models import ours as causal_ours
from tests.support.huggingface_models import frozen, same, state
from tests.support.perceiving_models import clip, pictures, sounds, vit, whisper
from tests.support.two_sided_models import bart, bert, marian, ours, t5
from viz_transformer.attribution import (
    direct_logit_attribution,
    gradient_weighted,
    logit_lens,
    patching,
    value_weighted,
)
from viz_transformer.capturing.inputs import TRACED
from viz_transformer.errors import UserError
from viz_transformer.interpreting import AttentionSite, find_sites

SOURCE, OTHER, TARGET = [5, 9, 7, 12, 8], [5, 9, 11, 12, 8], [0, 6, 11, 10]
TOKEN, AGAINST = 9, 3


def target_of(make: Callable[[], nn.Module]) -> list[int] | None:
    return None if make is bert else TARGET


@torch.no_grad()
def whole(make: Callable[[], nn.Module], ids: list[int], **options: Any) -> Any:
    """What a model returns for a source, and of two sides for the target."""
    if make is bert:
        return bert()(torch.tensor([ids]), **options)
    if make is ours:
        return ours()(torch.tensor([ids]), torch.tensor([TARGET]))
    return make()(input_ids=torch.tensor([ids]), decoder_input_ids=torch.tensor([TARGET]), **options)


def logits(make: Callable[[], nn.Module], ids: list[int]) -> Tensor:
    output = whole(make, ids)
    return getattr(output, "logits", output)[0]  # [position, vocab]


def row_by_hand(make: Callable[[], nn.Module], state: Tensor) -> Tensor:
    """What follows the last block, written out: the logits [position, vocab] of its output."""
    model: Any = make()
    if make is t5:
        scale = model.model_dim**-0.5 if model.config.tie_word_embeddings else 1.0
        return model.lm_head(model.decoder.final_layer_norm(state) * scale)[0]
    if make is bert:
        return model.cls(state)[0]
    return (model.lm_head(state) + model.final_logits_bias)[0]


@pytest.mark.parametrize("make", [t5, marian, bart, bert, ours])
def test_each_row_of_a_lens_is_a_state_through_final_norm_and_head(make) -> None:
    if make is ours:
        lens = logit_lens(ours(), SOURCE, target=TARGET, k=1)
        expected = logits(ours, SOURCE).softmax(-1).max(-1).values
        np.testing.assert_array_equal(lens.top_probabilities[-1, :, 0], expected)
        return
    output = whole(make, SOURCE, output_hidden_states=True)
    states = output.hidden_states if make is bert else output.decoder_hidden_states
    lens = logit_lens(make(), SOURCE, target=target_of(make), k=23)
    found = np.zeros(lens.top_tokens.shape, dtype=np.float32)
    np.put_along_axis(found, lens.top_tokens.astype(int), lens.top_probabilities, axis=-1)
    np.testing.assert_array_equal(found[-1], output.logits[0].softmax(-1).numpy())
    with torch.no_grad():
        rows = torch.stack([row_by_hand(make, each) for each in states[:-1]]).softmax(-1)
    np.testing.assert_allclose(found[:-1], rows.numpy(), atol=1e-5)
    assert lens.tokens == tuple(map(str, target_of(make) or SOURCE))


def test_the_shares_of_t5_are_those_by_hand() -> None:
    """T5 is pre-norm, so each head of both attentions adds its own part to a logit."""
    model: Any = t5()
    parts = direct_logit_attribution(model, SOURCE, target=TARGET, token=TOKEN, against=AGAINST, position=2)
    assert parts.total == pytest.approx(parts.logit, abs=1e-4)
    own = logits(t5, SOURCE)[2]
    assert parts.logit == pytest.approx(float(own[TOKEN] - own[AGAINST]), abs=1e-5)
    last: list[Tensor] = []
    norm = model.decoder.final_layer_norm
    hook = norm.register_forward_pre_hook(lambda _, args: last.append(args[0][0, 2]))
    said = vt.head_outputs(model, input_ids=torch.tensor([SOURCE]), decoder_input_ids=torch.tensor([TARGET]))
    hook.remove()
    scale = (last[0].pow(2).mean() + norm.variance_epsilon).rsqrt() * norm.weight
    scale = scale * (model.model_dim**-0.5 if model.config.tie_word_embeddings else 1.0)
    direction = scale * (model.lm_head.weight[TOKEN] - model.lm_head.weight[AGAINST])
    for kind, found in (("decoder", parts.heads), ("cross", parts.cross_heads)):
        for layer, head in np.ndindex(found.shape):
            place = 0 if kind == "decoder" else 1
            attention = model.decoder.block[layer].layer[place]
            matrix = (attention.SelfAttention if kind == "decoder" else attention.EncDecAttention).o.weight
            written = matrix[:, 6 * head : 6 * (head + 1)] @ torch.tensor(said[kind][layer, head, 2])
            by_hand = float((direction @ written).detach())
            assert found[layer, head] == pytest.approx(by_hand, abs=1e-4), (kind, layer)


def test_our_encoder_decoder_is_divided_too() -> None:
    parts = direct_logit_attribution(ours(), SOURCE, target=TARGET)
    assert parts.total == pytest.approx(parts.logit, abs=1e-4)
    assert parts.cross_heads.shape == (2, N_HEADS)
    assert [text.get_text() for text in vt.plots.plot_attribution(parts).get_xticklabels()].count("0") == 2


@pytest.mark.parametrize("make", [marian, bart, bert])
def test_where_a_logit_is_no_sum_it_is_not_divided(make) -> None:
    with pytest.raises(UserError, match="a logit has no share of each head; give a pre-norm model"):
        direct_logit_attribution(make(), SOURCE, target=target_of(make))


ROWS, PIXELS, SOUNDS = (torch.tensor([SOURCE]), torch.tensor([OTHER])), pictures(), sounds()
BOTH = ("encoder", "decoder", "cross")
#: The kinds of attention of a model, the name of its input, and a clean and a corrupted one.
MODELS: dict[Callable[[], nn.Module], tuple[tuple[str, ...], str, tuple[Tensor, Tensor]]] = {
    t5: (BOTH, "input_ids", ROWS),
    marian: (BOTH, "input_ids", ROWS),
    bart: (BOTH, "input_ids", ROWS),
    ours: (BOTH, "", ROWS),
    whisper: (BOTH, "input_features", SOUNDS),
    gpt2: (("decoder",), "input_ids", ROWS),
    causal_ours: (("decoder",), "", ROWS),
    bert: (("encoder",), "input_ids", ROWS),
    vit: (("encoder",), "pixel_values", PIXELS),
    clip: (("encoder",), "pixel_values", PIXELS),
}


def inputs_of(make: Callable[[], nn.Module], data: Tensor) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
    """What a model is called with, by position and by name."""
    kinds, name, _ = MODELS[make]
    target = torch.tensor([TARGET])
    if not name:
        return ((data, target) if kinds == BOTH else (data,)), {}
    return (), {name: data} | ({"decoder_input_ids": target} if kinds == BOTH else {})


def scores(output: Any) -> Tensor:
    """The difference of two scores at the fourth position, or of two classes."""
    found = getattr(output, "logits", output)[0]
    if found.ndim == 1:
        return found[0] - found[1]
    return found[3, TOKEN] - found[3, AGAINST]


@pytest.mark.parametrize("make", MODELS)
def test_a_patched_head_has_the_output_of_the_clean_run(make) -> None:
    kinds, _, (clean, corrupted) = MODELS[make]
    model, classes = make(), make in (vit, clip)
    options = {} if classes else {"position": 3}
    options |= {"target": TARGET} if kinds == BOTH else {}
    tokens = (0, 1) if classes else (TOKEN, AGAINST)
    given = [each if classes or make is whisper else each[0].tolist() for each in (clean, corrupted)]
    args, named = inputs_of(make, clean)
    said = vt.head_outputs(model, *args, **named)
    assert set(said) == set(kinds)
    args, named = inputs_of(make, corrupted)
    before = frozen(model)
    for kind in kinds:
        found = patching(model, *given, tokens, kind=kind, **options)
        assert (found.kind, found.what) == (kind, "heads")
        for layer, head in ((0, 1), (1, 2)):
            change = vt.HeadChange(kind, layer, head, output=said[kind][layer, head])
            with vt.interventions(model, heads=[change]), torch.no_grad():
                expected = float(scores(model(*args, **named)))
            assert found.values[layer, head] == pytest.approx(expected, abs=1e-4), (kind, layer)
        if kind == "decoder" and make in (t5, marian, ours):  # the first layer's heads read the target alone
            assert (found.restored[0] == 0).all()
    assert same(before, state(model))


@pytest.mark.parametrize("make", MODELS)
def test_the_part_that_differs_carries_all_before_the_first_layer(make) -> None:
    kinds, _, (clean, corrupted) = MODELS[make]
    is_text = not clean.is_floating_point()
    given = [each[0].tolist() if is_text else each for each in (clean, corrupted)]
    options = {"target": TARGET} if kinds == BOTH else {}
    tokens = (0, 1) if make in (vit, clip) else (TOKEN, AGAINST)
    model = make()
    found = patching(model, *given, tokens, "positions", **options)
    in_threes = patching(model, *given, tokens, "positions", batch_size=3, **options)
    np.testing.assert_allclose(in_threes.values, found.values, atol=1e-5)
    assert found.kind == kinds[0]
    if is_text:
        np.testing.assert_allclose(found.restored[0], [0, 0, 1, 0, 0], atol=1e-3)
        assert found.columns == ("5", "9", "7|11", "12", "8")
    elif make is not whisper:
        np.testing.assert_allclose(found.restored[0], [0, 0, 0, 0, 1], atol=1e-4)


def test_a_decoder_s_stream_is_patched_after_it_has_read_the_source() -> None:
    found = patching(t5(), SOURCE, OTHER, TOKEN, "positions", kind="decoder", target=TARGET)
    assert found.values.shape == (2, 4)
    np.testing.assert_allclose(found.restored[0], 0, atol=1e-5)  # both runs begin with the same words
    assert np.abs(found.restored[1, -1]) > 0.01
    assert vt.plots.plot_patching(found).get_xlabel().startswith("position, in the decoder's stream")
    with pytest.raises(UserError, match=r"has positions of \['encoder', 'decoder'\]; choose one"):
        patching(t5(), SOURCE, OTHER, TOKEN, "positions", kind="cross", target=TARGET)


def values_of(model: nn.Module, site: AttentionSite, weights: Tensor, args: Any, named: Any) -> Tensor:
    """What each head returns for each key, [head, key, d_head]: outputs under patterns of one key each."""
    n_queries, n_keys = weights.shape[-2:]
    found = torch.zeros(site.n_heads, n_keys, site.d_head)
    for first in {min(key, n_keys - n_queries) for key in range(0, n_keys, n_queries)}:
        some = slice(first, first + n_queries)
        rows = torch.eye(n_keys)[some]
        heads = [vt.HeadChange(site.kind, site.layer, head, pattern=rows) for head in range(site.n_heads)]
        with vt.interventions(model, heads=heads):
            outputs = vt.head_outputs(model, *args, **named)[site.kind][site.layer]
        found[:, some] = torch.from_numpy(outputs)
    return found


@pytest.mark.parametrize("make", MODELS)
def test_weights_are_multiplied_by_the_length_of_the_values_or_by_their_gradients(make) -> None:
    model: Any = make()
    kinds, name, (clean, _) = MODELS[make]
    args, named = inputs_of(make, clean)
    classes = make in (vit, clip)
    options = {"token": 0, "against": 1} if classes else {"token": TOKEN, "against": AGAINST, "position": 3}
    options |= {"target": TARGET} if kinds == BOTH else {}
    prompt = [SOURCE] if name in ("", "input_ids") else []
    features = {} if prompt else {name: clean}
    trace = gradient_weighted(model, *prompt, scale="trace", **features, **options)
    target = {"target": TARGET} if kinds == BOTH else {}
    by_values = value_weighted(model, *prompt, **features, **target)
    assert trace.kinds == by_values.kinds == kinds
    sums = np.concatenate([trace.attention(kind).sum(-1).ravel() for kind in kinds])
    assert sums.max() == pytest.approx(1, abs=1e-6)
    if name:
        model.set_attn_implementation("eager")
        output = model(*args, **named, output_attentions=True)
        fields = [f"{kind}_attentions" for kind in kinds] if kinds == BOTH else ["attentions"]
    else:
        output = TRACED[type(model)].forward(model, *args)
        fields = [f"{kind}_attention" for kind in kinds]
    weights = [each for field in fields for each in getattr(output, field)]
    slopes = torch.autograd.grad(scores(output), weights)
    by_hand = [(each * slope).clamp(min=0)[0].detach() for each, slope in zip(weights, slopes, strict=True)]
    largest = max(float(each.sum(-1).max()) for each in by_hand)
    found = [layer for kind in kinds for layer in trace.attention(kind)]
    for one, expected in zip(found, by_hand, strict=True):
        np.testing.assert_allclose(one, expected.numpy() / largest, atol=1e-6)
    sites = sorted(find_sites(model), key=lambda site: kinds.index(site.kind))
    found = [layer for kind in kinds for layer in by_values.attention(kind)]
    for site, one, own in zip(sites, found, weights, strict=True):
        values = values_of(model, site, own, args, named)
        matrices = site.weight.unflatten(0, (site.n_heads, site.d_head))  # [head, d_head, d_model]
        weighted = own[0] * (values @ matrices).norm(dim=-1)[:, None]
        sums = weighted.sum(-1, keepdim=True).clamp(min=1e-30)  # a query of padding attends to nothing
        np.testing.assert_allclose(one, (weighted / sums).detach().numpy(), atol=1e-5)


def test_a_text_is_read_with_its_own_answer_or_with_a_given_one() -> None:
    tokenizer = word_tokenizer(ends=True)
    model, text = marian(), "the cat sleeps"  # its 32 positions end what it writes
    lens = logit_lens(model, text, tokenizer=tokenizer)
    source = tokenizer(text, return_tensors="pt").input_ids
    with torch.no_grad():
        ids = model.generate(source, max_new_tokens=31, do_sample=False, num_beams=1)[0].tolist()
    assert lens.tokens == tuple(tokenizer.convert_ids_to_tokens(ids))[: len(lens.tokens)]
    given = logit_lens(model, text, tokenizer=tokenizer, target="la vache")
    assert given.tokens == ("<pad>", "la", "vache")
    first = patching(model, text, "the dog sleeps", "la", tokenizer=tokenizer)
    assert first.values.shape == (2, N_HEADS)
    assert vt.explore(value_weighted(model, text, tokenizer=tokenizer), kind="cross").kind == "cross"


def test_the_gap_of_a_masked_model_is_where_its_logits_are_read() -> None:
    tokenizer = word_tokenizer(ends=True)
    tokenizer.mask_token = "[UNK]"
    text, other = "the [UNK] sleeps", "a [UNK] sleeps"
    found = patching(bert(), text, other, "cat", tokenizer=tokenizer)
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.no_grad():
        own = bert()(ids).logits[0, 1]
    assert found.clean == pytest.approx(float(own[tokenizer.convert_tokens_to_ids("cat")]), abs=1e-5)
    last = patching(bert(), text, other, "cat", tokenizer=tokenizer, position=-1)
    assert last.clean != pytest.approx(found.clean, abs=1e-3)
