"""The parts of a score: they add up to what the model compares, and each is what it is by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import viz_transformer as vt
from tests.support import causal_models as causal
from tests.support.spanish_models import small_language_model, small_masked_model
from tests.support.two_sided_models import bart, bert, marian, t5
from tests.support.two_sided_models import ours as two_sided
from viz_transformer.attribution import score_parts
from viz_transformer.config import ModelConfig
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, EncoderOnly
from viz_transformer.widgets.base.requests import check_request
from viz_transformer.widgets.base.view import View

IDS, TARGET = [5, 9, 7, 11, 8], [1, 6, 11, 10]


def rotary() -> nn.Module:
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_decoder_layers": 2, "positional": "rotary"}
    return causal.randomised(DecoderOnly(ModelConfig(family="decoder", vocab_size=13, norm="pre", **sizes)))


def additive() -> nn.Module:
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_decoder_layers": 2, "scoring": "additive"}
    return DecoderOnly(ModelConfig(family="decoder", vocab_size=13, norm="pre", **sizes)).eval()


def segmented() -> nn.Module:
    sizes = {"d_model": 16, "n_heads": 4, "d_ff": 24, "n_encoder_layers": 2, "n_segments": 2}
    config = ModelConfig(family="encoder", vocab_size=13, norm="post", embedding_norm=True, **sizes)
    return causal.randomised(EncoderOnly(config))


#: Each model, and the kinds of its attention.
MODELS: dict[Callable[[], nn.Module], tuple[str, ...]] = {
    **dict.fromkeys([causal.gpt2, causal.llama, causal.neox, causal.ours, rotary], ("decoder",)),
    **dict.fromkeys([bert, segmented], ("encoder",)),
    **dict.fromkeys([marian, bart, t5, two_sided], ("encoder", "decoder", "cross")),
}


def weights_of(model: nn.Module, kinds: tuple[str, ...], kind: str) -> Any:
    """The model's own attention of a kind, [layer, head, query, key]."""
    ids, target = torch.tensor([IDS]), torch.tensor([TARGET])
    if "cross" not in kinds:
        return getattr(vt.capture(model, ids, tokens=list("abcde")), f"{kind}_attention")
    named = {"source_tokens": list("abcde"), "target_tokens": list("abcd")}
    if model is two_sided():
        return getattr(vt.capture(model, ids, target, **named), f"{kind}_attention")
    return getattr(vt.capture(model, input_ids=ids, decoder_input_ids=target, **named), f"{kind}_attention")


@pytest.mark.parametrize(("make", "kind"), [(make, kind) for make, kinds in MODELS.items() for kind in kinds])
def test_the_parts_add_up_to_scores_whose_softmax_is_the_models_own_attention(make, kind) -> None:
    model = make()
    target = TARGET if "cross" in MODELS[make] else None
    weights = weights_of(model, MODELS[make], kind)
    layer, head, query = 1, 2, 3
    n_keys = query + 1 if kind == "decoder" else weights.shape[-1]
    every = [
        score_parts(model, IDS, target=target, kind=kind, layer=layer, head=head, query=query, key=key)
        for key in range(n_keys)
    ]
    scores = torch.tensor([each.score for each in every])
    np.testing.assert_allclose(scores.softmax(0), weights[layer, head, query, :n_keys], atol=1e-5)
    for parts in every:
        room = 1e-4 * max(1.0, float(np.abs(parts.values).max()))
        assert parts.values.sum() + parts.remainder == pytest.approx(parts.score, abs=room)
        assert parts.query_parts[-1] == parts.key_parts[-1] == "biases"


def normed(norm: nn.LayerNorm, x: Tensor, parts: Tensor) -> Tensor:
    """Parts of x, the last of them the bias, behind a norm whose scale is that of x."""
    made = (parts - parts.mean(-1, keepdim=True)) / (x.var(unbiased=False) + norm.eps).sqrt() * norm.weight
    made[-1] += norm.bias
    return made


def written(heads: Tensor, weight: Tensor) -> Tensor:
    """What each of 4 heads [4 · d_head] writes through its rows of a matrix [4 · d_head, d_model]."""
    pairs = zip(heads.chunk(4), weight.chunk(4), strict=True)
    return torch.stack([each @ rows for each, rows in pairs])


@torch.no_grad()
def test_each_part_of_gpt2_is_that_by_hand() -> None:
    model: Any = causal.gpt2()
    core, first, second = model.transformer, *model.transformer.h
    inner: list[Tensor] = []
    hook = first.attn.c_proj.register_forward_pre_hook(lambda _, args: inner.append(args[0][0]))
    states = model(torch.tensor([IDS]), output_hidden_states=True).hidden_states
    hook.remove()

    def parts_at(place: int) -> Tensor:
        word, position = core.wte.weight[IDS[place]], core.wpe.weight[place]
        heads, bias = written(inner[0][place], first.attn.c_proj.weight), first.attn.c_proj.bias
        network = states[1][0, place] - states[0][0, place] - heads.sum(0) - bias
        whole = torch.stack([word, position, *heads, network, bias])
        return normed(second.ln_1, whole.sum(0), whole)

    matrices, shift = second.attn.c_attn.weight.split(16, dim=1), second.attn.c_attn.bias.split(16)
    columns = slice(4 * 3, 4 * 4)  # head 3
    queries, keys = (parts_at(place) @ matrices[at] for at, place in enumerate((4, 1)))
    queries[-1] += shift[0]
    keys[-1] += shift[1]
    by_hand = queries[:, columns] @ keys[:, columns].T / 2  # √d_head = 2
    parts = score_parts(model, IDS, layer=1, head=3, query=-1, key=1)
    np.testing.assert_allclose(parts.values, by_hand, atol=1e-4)
    names = ("word", "position", *(f"head 0·{head}" for head in range(4)), "network 0", "biases")
    assert parts.query_parts == parts.key_parts == names
    np.testing.assert_allclose(parts.by_key, by_hand.sum(0), atol=1e-4)


@torch.no_grad()
def test_each_part_of_bert_goes_through_the_norms_behind_it() -> None:
    model: Any = bert()
    layer, words = model.bert.encoder.layer[0], model.bert.embeddings
    inner: list[Tensor] = []
    dense = layer.attention.output.dense
    hook = dense.register_forward_pre_hook(lambda _, args: inner.append(args[0][0]))
    states = model(torch.tensor([IDS]), output_hidden_states=True).hidden_states
    hook.remove()
    place = 2
    word = words.word_embeddings.weight[IDS[place]]
    other = words.position_embeddings.weight[place] + words.token_type_embeddings.weight[0]
    parts = normed(words.LayerNorm, word + other, torch.stack([word, other, torch.zeros_like(word)]))
    heads = written(inner[0][place], dense.weight.T)
    parts = torch.cat([parts[:-1], heads, parts[-1:] + dense.bias])
    parts = normed(layer.attention.output.LayerNorm, parts.sum(0), parts)
    network = layer.output.dense(layer.intermediate(parts.sum(0)))
    parts = torch.cat([parts[:-1], network[None], parts[-1:]])
    parts = normed(layer.output.LayerNorm, parts.sum(0), parts)
    np.testing.assert_allclose(parts.sum(0), states[1][0, place], atol=1e-4)
    attention = model.bert.encoder.layer[1].attention.self
    keys = parts @ attention.key.weight.T
    keys[-1] += attention.key.bias
    query = attention.query(states[1][0, 4])
    by_hand = keys[:, :8] @ query[:8] / 8**0.5
    found = score_parts(model, IDS, layer=1, head=0, query=4, key=place)
    np.testing.assert_allclose(found.by_key, by_hand, atol=1e-4)


@torch.no_grad()
def test_what_a_head_writes_is_its_share_of_each_logit() -> None:
    model = causal.ours()
    parts = score_parts(model, IDS, layer=1, head=2, query=4, key=1)
    for token, added in (*parts.raised, *parts.lowered):
        shares = vt.attribution.direct_logit_attribution(model, IDS, token=int(token), position=4)
        assert shares.heads[1, 2] == pytest.approx(added, abs=1e-4)
    assert [added for _, added in parts.raised] == sorted((each for _, each in parts.raised), reverse=True)
    assert not score_parts(bert(), IDS, layer=1, head=0, query=4, key=2).raised  # a network follows its stack


def test_the_key_of_a_cross_attention_was_made_by_the_encoder() -> None:
    parts = score_parts(two_sided(), IDS, target=TARGET, kind="cross", layer=0, head=1, query=2, key=3)
    assert [name for name in parts.query_parts if "·" in name] == [f"head 0·{head}" for head in range(4)]
    assert [name for name in parts.key_parts if "network" in name] == ["network 0", "network 1"]


@pytest.mark.parametrize(
    ("make", "changes", "message"),
    [
        (causal.gpt2, {"layer": 7}, "no head of this model"),
        (causal.gpt2, {"head": 4}, "no head of this model"),
        (causal.gpt2, {"kind": "cross"}, "no head of this model"),
        (causal.gpt2, {"query": 9}, "query=9, but the text has 5 tokens"),
        (causal.gpt2, {"query": 1, "key": 3}, "may not attend to position 3"),
        (additive, {}, "scaled_dot_product_attention"),
    ],
)
def test_what_has_no_such_score_is_refused(make, changes, message) -> None:
    with pytest.raises(UserError, match=message):
        score_parts(make(), IDS, **{"layer": 1, "head": 0, "query": 4, "key": 1} | changes)


@pytest.mark.usefixtures("no_window")
def test_a_figure_has_a_line_for_each_pair_as_wide_as_what_it_adds() -> None:
    parts = score_parts(causal.gpt2(), IDS, layer=1, head=3, query=-1, key=1)
    ax = vt.plots.plot_score_parts(parts)
    widths = {line.get_gid(): line.get_linewidth() for line in ax.lines}
    for i, j in np.argwhere(np.abs(parts.values) >= 0.02 * np.abs(parts.values).max()):
        width = 12 * abs(parts.values[i, j]) / np.abs(parts.values).max()
        assert widths[f"{parts.query_parts[i]} × {parts.key_parts[j]}"] == pytest.approx(width)
    assert f"is {parts.score:+.2f}".replace("-", "−") in ax.get_title(loc="left")


def test_small_parts_together_add_what_they_add_alone() -> None:
    parts = score_parts(causal.gpt2(), IDS, layer=1, head=3, query=-1, key=1)
    few = parts.shortened(5)
    assert few.values.shape == (5, 5)
    assert few.query_parts[-2:] == ("4 others", "biases")
    assert few.values.sum() == pytest.approx(parts.values.sum())
    largest = int(np.argmax(np.abs(parts.by_key[:-1])))
    assert few.by_key[few.key_parts.index(parts.key_parts[largest])] == pytest.approx(parts.by_key[largest])


def asked(view: View, *place: Any) -> dict[str, Any]:
    request = {"version": 0, "parts": [*place]}
    check_request(request, view.requests())
    return view.answer(request)


def test_the_explorer_of_a_studio_divides_scores_of_the_sentence_that_it_shows() -> None:
    model = small_language_model()
    view = vt.studio(model, "el gato duerme")
    explorer = view.rooms["heads"]
    text = "el gato negro duerme"
    for sentence in ("el gato duerme", text):
        view.sentence = sentence
        parts = score_parts(
            model.model, sentence, tokenizer=model.vocabulary, layer=1, head=1, query=3, key=2
        )
        reply = explorer.answer({"version": explorer.data["version"], "parts": ["decoder", 1, 1, 3, 2]})
        assert reply["score"] == pytest.approx(parts.score, abs=1e-5)
        assert sum(value for _, value in reply["of_key"]) == pytest.approx(parts.score, abs=1e-4)
        assert reply["code"].endswith('(model, text, kind="decoder", layer=1, head=1, query=3, key=2)')
    filled = vt.studio(small_masked_model(), "el [?] negro duerme").rooms["heads"]
    assert asked(filled, "encoder", 0, 1, 1, 4)["query"] == filled.trace.source_tokens[1]
    other = vt.studio(causal.gpt2(), causal.CLEAN, tokenizer=causal.tokenizer()).rooms["heads"]
    assert asked(other, "decoder", 1, 2, 5, 1)["key"] == "Mary"


def test_the_translation_lab_divides_scores_of_the_translation() -> None:
    lab = vt.translation_lab(vt.load_translator(), "the black cat sleeps")
    reply = asked(lab.explorer, "cross", 1, 0, 2, 1)
    assert (reply["query"], reply["key"]) == (lab.trace.target_tokens[2], "black")
    assert reply["raised"]


def test_an_explorer_without_a_function_or_with_another_text_divides_nothing() -> None:
    model = small_language_model()
    trace = model.trace("el gato duerme")
    assert not vt.explore(trace).has_parts
    with pytest.raises(UserError, match="unknown request"):
        vt.explore(trace).answer({"version": 0, "parts": ["decoder", 0, 0, 1, 0]})
    other = partial(score_parts, model.model, "el gato negro duerme", tokenizer=model.vocabulary)
    view = vt.explore(trace, score_parts=other)
    assert view.has_parts
    with pytest.raises(UserError, match="give it the text of the trace"):
        asked(view, "decoder", 0, 0, 1, 0)
