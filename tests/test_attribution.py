"""Lenses, shares of a logit, patching and weighted attention, held to the model and to numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attending_models import built
from tests.support.causal_models import (
    CLEAN,
    CORRUPTED,
    PRE_NORM,
    WORDS,
    byte_tokenizer,
    gemma2,
    gpt1,
    gpt2,
    gpt_oss,
    llama,
    logits_of,
    ours,
    tokenizer,
)
from tests.support.huggingface_models import frozen, same, state
from tests.support.refusals import assert_refused
from tests.support.small_models import small_model
from viz_transformer.attribution import (
    direct_logit_attribution,
    gradient_weighted,
    logit_lens,
    patching,
    value_weighted,
)

IDS = [1, 2, 3, 4, 5, 6, 4, 7]
OTHER = [1, 2, 3, 4, 5, 6, 2, 7]


def whole_rows(lens: vt.attribution.LogitLens) -> np.ndarray:
    """The probabilities [row, position, vocab], of a lens that kept all of them."""
    probabilities = np.zeros((*lens.top_tokens.shape[:2], len(WORDS)), dtype=np.float32)
    np.put_along_axis(probabilities, lens.top_tokens.astype(int), lens.top_probabilities, axis=-1)
    return probabilities


@pytest.mark.parametrize("make", [*PRE_NORM, gemma2, gpt1])
def test_the_last_row_of_a_lens_is_the_model(make) -> None:
    model = make()
    own = logits_of(model, IDS)
    lens = logit_lens(model, IDS, k=len(WORDS))
    np.testing.assert_array_equal(whole_rows(lens)[-1], own.softmax(-1).numpy())
    assert lens.answers == tuple(map(str, own.argmax(-1).tolist()))
    assert (lens.answer_ranks[-1] == 1).all()
    assert lens.rows == ("embedding", "layer 0", "layer 1")


def test_the_rows_between_are_the_stream_through_the_last_norm() -> None:
    model = gpt2()
    with torch.no_grad():
        output = model(torch.tensor([IDS]), output_hidden_states=True)
        rows = [model.lm_head(model.transformer.ln_f(x))[0].softmax(-1) for x in output.hidden_states[:-1]]
    found = whole_rows(logit_lens(model, IDS, k=len(WORDS)))
    np.testing.assert_allclose(found[:-1], torch.stack(rows).numpy(), atol=1e-6)
    model = ours(norm="post")
    with torch.no_grad():
        first = model.logits(model.embed_target(torch.tensor([IDS])))[0].softmax(-1).numpy()
    np.testing.assert_allclose(whole_rows(logit_lens(model, IDS, k=len(WORDS)))[0], first, atol=1e-6)


def test_a_token_is_followed_through_the_layers() -> None:
    model, words = llama(), tokenizer()
    lens = logit_lens(model, CLEAN, tokenizer=words, k=3, answer="cat")
    assert lens.tokens == tuple(CLEAN.split())
    assert set(lens.answers) == {"cat"}
    logits = logits_of(model, words(CLEAN)["input_ids"])
    ranks = (-logits).argsort(-1).argsort(-1)[:, WORDS.index("cat")] + 1
    assert lens.answer_ranks[-1].tolist() == ranks.tolist()
    expected = logits.softmax(-1)[:, WORDS.index("cat")]
    np.testing.assert_allclose(lens.answer_probabilities[-1], expected, rtol=1e-6)
    assert lens.top_tokens[-1, -1].tolist() == [WORDS[i] for i in logits[-1].topk(3).indices]


def test_the_bundled_language_model_is_read_with_its_own_vocabulary() -> None:
    language_model = vt.load_language_model()
    lens = logit_lens(language_model.model, "el gato", tokenizer=language_model.vocabulary, k=1)
    likeliest, probability = next(iter(language_model.next_words("el gato").items()))
    assert lens.tokens == ("<sos>", "el", "gato")
    assert lens.top_tokens[-1, -1].tolist() == [likeliest]
    assert lens.top_probabilities[-1, -1, 0] == pytest.approx(probability, rel=1e-5)


def test_byte_level_tokens_are_named_as_text() -> None:
    text = "你好 the cat"
    words = byte_tokenizer(text)
    model = gpt2(len(words))
    lens = logit_lens(model, text, tokenizer=words, answer=" cat")
    assert (lens.tokens, set(lens.answers)) == (("你好", "Ġthe", "Ġcat"), {"Ġcat"})
    parts = direct_logit_attribution(model, text, tokenizer=words, token="你好", against="Ġcat")
    assert (parts.token, parts.against) == ("你好", "Ġcat")
    again = direct_logit_attribution(model, text, tokenizer=words, token=lens.tokens[0])
    assert again.token == "你好"


@pytest.mark.parametrize("make", PRE_NORM)
def test_the_parts_add_up_to_the_logit(make) -> None:
    model = make()
    own = logits_of(model, IDS)
    one = direct_logit_attribution(model, IDS, token=9)
    assert one.logit == own[-1, 9].item()
    assert one.total == pytest.approx(one.logit, abs=1e-4)
    two = direct_logit_attribution(model, IDS, token=9, against=3, position=2)
    assert two.logit == pytest.approx((own[2, 9] - own[2, 3]).item(), abs=1e-6)
    assert two.total == pytest.approx(two.logit, abs=1e-4)
    assert two.heads.shape == (2, 4)
    assert two.mlps.shape == (2,)
    assert np.abs(two.heads).min() > 0
    by_default = direct_logit_attribution(model, IDS)  # the first choice at the last position
    assert (by_default.token, by_default.logit) == (str(int(own[-1].argmax())), own[-1].max().item())
    assert by_default.position == len(IDS) - 1


def test_the_shares_of_gpt2_are_those_by_hand() -> None:
    model = gpt2()
    read: list[torch.Tensor] = []
    networks: list[torch.Tensor] = []
    last: list[torch.Tensor] = []
    hooks = [model.transformer.ln_f.register_forward_pre_hook(lambda _, given: last.append(given[0]))]
    for block in model.transformer.h:
        hooks += [
            block.attn.c_proj.register_forward_pre_hook(lambda _, given: read.append(given[0])),
            block.mlp.register_forward_hook(lambda *given: networks.append(given[-1])),
        ]
    logits_of(model, IDS)
    for hook in hooks:
        hook.remove()

    norm, x = model.transformer.ln_f, last[0][0, -1].double()
    weight, bias = norm.weight.detach().double(), norm.bias.detach().double()
    scale = 1 / (x.var(unbiased=False) + norm.eps).sqrt()
    direction = (model.lm_head.weight[9] - model.lm_head.weight[3]).detach().double()

    def share(part: torch.Tensor) -> float:
        part = part.detach().double()
        return float((part - part.mean()) * scale * weight @ direction)

    parts = direct_logit_attribution(model, IDS, token=9, against=3)
    for layer, block in enumerate(model.transformer.h):
        matrix = block.attn.c_proj.weight.detach()  # [head · d_head, d_model]
        for head in range(4):
            own = slice(4 * head, 4 * head + 4)
            written = read[layer][0, -1, own] @ matrix[own]
            assert parts.heads[layer, head] == pytest.approx(share(written), abs=1e-5)
        assert parts.mlps[layer] == pytest.approx(share(networks[layer][0, -1]), abs=1e-5)
    start = model.transformer.wte.weight[IDS[-1]] + model.transformer.wpe.weight[len(IDS) - 1]
    assert parts.embedding == pytest.approx(share(start), abs=1e-5)
    constant = sum(share(block.attn.c_proj.bias) for block in model.transformer.h)
    assert parts.bias == pytest.approx(constant + float(bias @ direction), abs=1e-5)


@pytest.mark.parametrize("make", [gpt2, ours])
def test_the_model_is_left_as_it_was(make) -> None:
    model = make().train()
    before = frozen(model)
    logit_lens(model, IDS)
    direct_logit_attribution(model, IDS)
    patching(model, IDS, OTHER, 9)
    value_weighted(model, IDS)
    gradient_weighted(model, IDS)
    assert same(before, state(model))


def test_half_precision_gives_the_same_up_to_its_rounding() -> None:
    model = llama()
    whole = direct_logit_attribution(model, IDS, token=9)
    lens = logit_lens(model, IDS)
    model = model.bfloat16()
    half = direct_logit_attribution(model, IDS, token=9)
    np.testing.assert_allclose(half.heads, whole.heads, atol=0.05)
    assert half.total == pytest.approx(half.logit, abs=0.1)
    own = logits_of(model, IDS).float().softmax(-1).max(-1).values
    np.testing.assert_array_equal(logit_lens(model, IDS).top_probabilities[-1, :, 0], own.numpy())
    np.testing.assert_allclose(
        logit_lens(model, IDS).answer_probabilities[0], lens.answer_probabilities[0], atol=0.1
    )
    weights = value_weighted(model, IDS).decoder_attention
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("make", PRE_NORM)
def test_every_model_s_rows_are_shares(make) -> None:
    model = make()
    by_values = value_weighted(model, IDS).decoder_attention
    np.testing.assert_allclose(by_values.sum(-1), 1, atol=1e-6)
    by_gradient = gradient_weighted(model, IDS).decoder_attention
    sums = by_gradient.sum(-1)
    np.testing.assert_allclose(sums[sums > 0], 1, atol=1e-6)
    assert (by_gradient >= 0).all()
    assert not np.triu(by_values, 1).any()


def test_gradients_are_the_same_with_frozen_weights() -> None:
    model = gpt2()
    found = gradient_weighted(model, IDS, token=9, against=3, scale="trace").decoder_attention
    # Of the last layer, only the query that writes the token has an effect on it.
    assert not found[-1, :, :-1].any()
    model.requires_grad_(False)
    frozen_ones = gradient_weighted(model, IDS, token=9, against=3, scale="trace").decoder_attention
    np.testing.assert_allclose(frozen_ones, found, atol=1e-6)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_part_that_goes_to_a_sink_is_left_out() -> None:
    model = gpt_oss()
    plain = vt.capture(model, input_ids=IDS, tokens=list(map(str, IDS)))
    assert plain.sinks == ("decoder",)
    weighted = value_weighted(model, IDS)
    assert weighted.sinks == ("decoder",)
    np.testing.assert_allclose(weighted.decoder_attention.sum(-1), 1, atol=1e-6)
    assert ((weighted.decoder_attention > 0) == (plain.decoder_attention > 0)).all()
    assert gradient_weighted(model, IDS).decoder_attention.any()


def test_questions_without_an_answer_are_refused_in_one_line() -> None:
    words, translator, plain, capped = tokenizer(), small_model(), gpt2(), gemma2(final_logit_softcapping=1.0)
    post_norm, additive = ours(norm="post"), ours(scoring="additive")
    cases = (
        (logit_lens, translator, [IDS], {}, "a text of its own; give target="),
        (logit_lens, plain, [IDS], {"k": "5"}, "k='5', but the model scores 13 tokens"),
        (logit_lens, plain, [IDS], {"k": 0}, "k=0, but the model scores 13"),
        (logit_lens, plain, [[99]], {}, "knows 13 tokens; give ids from 0 to 12"),
        (logit_lens, plain, [IDS * 3], {}, "has 24 tokens, and GPT2LMHeadModel reads at most 16"),
        (logit_lens, plain, [["the", "cat"]], {}, "are no token ids"),
        (logit_lens, vt.load_language_model(), [IDS], {}, "give its .model"),
        (logit_lens, plain.transformer, [IDS], {}, "AutoModelForCausalLM"),
        (logit_lens, plain, [CLEAN], {}, "came without a tokenizer"),
        (logit_lens, plain, [[IDS, IDS]], {}, "give one text"),
        (logit_lens, plain, [[]], {}, "least one token"),
        (logit_lens, plain, [IDS], {"answer": 13}, "give an id below 13"),
        (logit_lens, plain, [CLEAN], {"tokenizer": words, "answer": "a cat"}, "one token is needed"),
        (logit_lens, plain, [CLEAN], {"tokenizer": words, "answer": "dog"}, "one token is needed"),
        (logit_lens, plain, [IDS], {"target": IDS}, "reads one text"),
        (direct_logit_attribution, plain, [IDS], {"metric": slice(2, 4)}, "only a logit is a sum"),
        (direct_logit_attribution, plain, [IDS], {"token": 3, "metric": 4}, "beside token= or against="),
        (vt.rank_heads, plain, ["Mary", CLEAN], {}, "came without a tokenizer"),
        (direct_logit_attribution, plain, [IDS], {"position": "x"}, "position='x'"),
        (direct_logit_attribution, plain, [IDS], {"position": 8}, "choose 0 to 7"),
        (direct_logit_attribution, plain, [IDS], {"token": "cat"}, "give its id"),
        (direct_logit_attribution, post_norm, [IDS], {}, "give a pre-norm model"),
        (direct_logit_attribution, capped, [IDS], {}, "final_logit_softcapping = None"),
        (patching, plain, [IDS, OTHER, lambda logits: logits], {}, "one number was expected"),
        (patching, plain, [IDS, IDS[:-1], 9], {}, "has 8 tokens and the corrupted one 7"),
        (patching, plain, [IDS, IDS, 9], {}, "is nothing to bring back"),
        (patching, plain, [IDS, OTHER, 9, "layers"], {}, "choose 'heads' or 'positions'"),
        (patching, plain, [IDS, OTHER, (9, 3, 1)], {}, "a pair of them"),
        (patching, plain, [IDS, OTHER, 9], {"kind": "cross"}, r"has heads of \['decoder'\]"),
        (patching, plain, [IDS, OTHER, 9], {"batch_size": 0}, "give a whole number of at least 1"),
        (value_weighted, translator, [IDS], {}, "Transformer reads a text of its own; give target="),
        (value_weighted, plain, [IDS], {"scale": "layer"}, "choose 'row'"),
        (value_weighted, built("torch's encoder")[0], [IDS], {}, "give a model of Hugging Face's with eager"),
        (gradient_weighted, built("BERT")[0], [IDS], {}, "load it with its head"),
        (gradient_weighted, plain, [IDS], {"position": 9}, "choose 0 to 7"),
        (gradient_weighted, additive, [IDS], {"token": 99}, "give an id below 13"),
    )
    assert_refused(
        (lambda ask=ask, model=model, given=given, options=options: ask(model, *given, **options), message)
        for ask, model, given, options, message in cases
    )


def test_one_metric_serves_every_measure() -> None:
    """A pair of tokens, and the same as a function; a span's loss is that of torch."""
    model, words = gpt2(), tokenizer()
    pair = ("Mary", "John")
    mary, john = map(WORDS.index, pair)
    own = logits_of(model, words(CLEAN)["input_ids"])
    wanted = float(own[-1, mary] - own[-1, john])
    parts = direct_logit_attribution(model, CLEAN, tokenizer=words, metric=pair)
    assert (parts.token, parts.against, parts.logit) == (*pair, pytest.approx(wanted, abs=1e-5))
    lens = logit_lens(model, CLEAN, tokenizer=words, metric=pair)
    assert (lens.metric, lens.answers[-1]) == ("logit of Mary − John", "Mary")
    assert lens.values is not None
    np.testing.assert_allclose(lens.values[-1], (own[:, mary] - own[:, john]).numpy(), atol=1e-5)
    ranking = vt.rank_heads(model, pair, CLEAN, tokenizer=words)
    by_function = vt.rank_heads(
        model, lambda output: output.logits[0, -1, mary] - output.logits[0, -1, john], CLEAN, tokenizer=words
    )
    np.testing.assert_array_equal(ranking.changes["decoder"], by_function.changes["decoder"])
    weighted = gradient_weighted(model, CLEAN, tokenizer=words, metric=pair)
    same_pair = gradient_weighted(model, CLEAN, tokenizer=words, token="Mary", against="John")
    np.testing.assert_array_equal(*(each.attention("decoder") for each in (weighted, same_pair)))
    assert (weighted.target_tokens, weighted.target_words) == (tuple(CLEAN.split()), tuple(range(8)))

    def mine(logits: torch.Tensor) -> torch.Tensor:
        return logits[-1, mary] - logits[-1, john]

    by_name, by_mine = (patching(model, CLEAN, CORRUPTED, each, tokenizer=words) for each in (pair, mine))
    assert (by_name.metric, by_mine.metric) == ("logit of Mary − John", "mine")
    np.testing.assert_array_equal(by_name.values, by_mine.values)
    ids = torch.tensor(words(CLEAN)["input_ids"])
    loss = torch.nn.functional.cross_entropy(own[5:-1], ids[6:])
    assert patching(model, CLEAN, CORRUPTED, slice(6, None), tokenizer=words).clean == pytest.approx(
        float(loss), abs=1e-5
    )
    assert vt.rank_heads(model, slice(6, None), input_ids=ids[None]).whole == pytest.approx(
        float(loss), abs=1e-5
    )
