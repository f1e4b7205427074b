"""Logit lens, shares of a logit and activation patching, held to the model and to numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.causal_models import (
    CLEAN,
    CORRUPTED,
    PRE_NORM,
    WORDS,
    byte_tokenizer,
    gemma2,
    gpt1,
    gpt2,
    llama,
    logits_of,
    ours,
    tokenizer,
)
from tests.support.huggingface_models import frozen, same, state
from tests.support.small_models import small_model
from viz_transformer.attribution import direct_logit_attribution, logit_lens, patching
from viz_transformer.errors import UserError

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


def test_a_post_norm_model_has_a_lens_too() -> None:
    model = ours(norm="post")
    with torch.no_grad():
        embedded = model.embed_target(torch.tensor([IDS]))
        first = model.logits(embedded)[0].softmax(-1).numpy()
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


def test_a_language_model_of_ours_is_read_with_its_own_vocabulary() -> None:
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


def test_the_shares_of_gpt2_are_those_by_hand() -> None:
    model = gpt2()
    read: list[torch.Tensor] = []
    hooks = [
        block.attn.c_proj.register_forward_pre_hook(lambda _, given: read.append(given[0]))
        for block in model.transformer.h
    ]
    networks: list[torch.Tensor] = []
    hooks += [
        block.mlp.register_forward_hook(lambda *given: networks.append(given[-1]))
        for block in model.transformer.h
    ]
    last: list[torch.Tensor] = []
    hooks.append(model.transformer.ln_f.register_forward_pre_hook(lambda _, given: last.append(given[0])))
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


def test_a_head_that_writes_nothing_has_no_share() -> None:
    model = llama()
    with torch.no_grad():
        model.model.layers[1].self_attn.o_proj.weight[:, 8:12] = 0  # head 2
    heads = direct_logit_attribution(model, IDS).heads
    assert heads[1, 2] == pytest.approx(0, abs=1e-7)
    assert np.abs(np.delete(heads.ravel(), 6)).min() > 1e-4


def test_by_default_the_first_choice_is_explained() -> None:
    model, words = gpt2(), tokenizer()
    parts = direct_logit_attribution(model, CLEAN, tokenizer=words)
    logits = logits_of(model, words(CLEAN)["input_ids"])[-1]
    assert parts.token == WORDS[int(logits.argmax())]
    assert parts.logit == logits.max().item()
    assert parts.position == 7


@pytest.mark.parametrize("make", [gpt2, llama, ours])
def test_the_word_that_differs_brings_everything_back_before_the_first_layer(make) -> None:
    model = make()
    found = patching(model, IDS, OTHER, (9, 3), "positions")
    own = [
        (logits[-1, 9] - logits[-1, 3]).item() for logits in (logits_of(model, ids) for ids in (IDS, OTHER))
    ]
    assert [found.clean, found.corrupted] == pytest.approx(own, abs=1e-6)
    expected = np.eye(8)[6]
    np.testing.assert_allclose(found.restored[0], expected, atol=1e-4)
    np.testing.assert_allclose(found.restored[:, :6], 0, atol=1e-4)  # what came before is the same
    assert found.values.shape == (2, 8)


@pytest.mark.parametrize("make", [gpt2, ours])
def test_a_patched_head_is_a_run_with_that_head_of_the_clean_run(make) -> None:
    model = make()
    name = "transformer.h.1.attn.c_proj" if make is gpt2 else "decoder.layers.1.self_attention.w_o"
    projection = model.get_submodule(name)
    clean: list[torch.Tensor] = []
    hook = projection.register_forward_pre_hook(lambda _, given: clean.append(given[0].clone()))
    logits_of(model, IDS)
    hook.remove()

    def patch(_, given):
        x = given[0].clone()
        x[..., 8:12] = clean[0][..., 8:12]  # head 2
        return (x,)

    hook = projection.register_forward_pre_hook(patch)
    expected = logits_of(model, OTHER)[-1, 9].item()
    hook.remove()
    found = patching(model, IDS, OTHER, 9)
    assert found.values[1, 2] == pytest.approx(expected, abs=1e-5)
    assert found.what == "heads"


def test_a_map_does_not_depend_on_the_size_of_its_batches() -> None:
    model = gpt2()
    whole = patching(model, IDS, OTHER, (9, 3), "positions").values
    np.testing.assert_allclose(
        patching(model, IDS, OTHER, (9, 3), "positions", batch_size=3).values, whole, atol=1e-5
    )


def test_a_metric_may_be_a_function_and_tokens_are_named() -> None:
    model, words = gpt2(), tokenizer()
    by_name = patching(model, CLEAN, CORRUPTED, ("Mary", "John"), tokenizer=words)
    assert by_name.metric == "logit of Mary − John"
    mary, john = WORDS.index("Mary"), WORDS.index("John")

    def mine(logits: torch.Tensor) -> torch.Tensor:
        return logits[-1, mary] - logits[-1, john]

    by_function = patching(model, CLEAN, CORRUPTED, mine, tokenizer=words)
    assert by_function.metric == "mine"
    np.testing.assert_array_equal(by_function.values, by_name.values)
    positions = patching(model, CLEAN, CORRUPTED, "Mary", "positions", tokenizer=words)
    assert positions.columns[6] == "John|Mary"


@pytest.mark.parametrize("make", [gpt2, ours])
def test_the_model_is_left_as_it_was(make) -> None:
    model = make().train()
    before = frozen(model)
    logit_lens(model, IDS)
    direct_logit_attribution(model, IDS)
    patching(model, IDS, OTHER, 9)
    vt.attribution.value_weighted(model, IDS)
    vt.attribution.gradient_weighted(model, IDS)
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
    weights = vt.attribution.value_weighted(model, IDS).decoder_attention
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)


REFUSED = {
    "an encoder–decoder": (lambda: logit_lens(small_model(), IDS), "a text of its own; give target="),
    "k as text": (lambda: logit_lens(gpt2(), IDS, k="5"), "k='5', but the model scores 13 tokens"),
    "a position as text": (lambda: direct_logit_attribution(gpt2(), IDS, position="x"), "position='x'"),
    "an unknown id": (lambda: logit_lens(gpt2(), [99]), "knows 13 tokens; give ids from 0 to 12"),
    "too long": (lambda: logit_lens(gpt2(), IDS * 3), "has 24 tokens, and GPT2LMHeadModel reads at most 16"),
    "words": (lambda: logit_lens(gpt2(), ["the", "cat"]), "are no token ids"),
    "many numbers": (lambda: patching(gpt2(), IDS, OTHER, lambda logits: logits), "one number was expected"),
    "no module": (lambda: logit_lens(vt.load_language_model(), IDS), "give its .model"),
    "no head": (lambda: logit_lens(gpt2().transformer, IDS), "AutoModelForCausalLM"),
    "no tokenizer": (lambda: logit_lens(gpt2(), CLEAN), "came without a tokenizer"),
    "several prompts": (lambda: logit_lens(gpt2(), [IDS, IDS]), "give one text"),
    "an empty prompt": (lambda: logit_lens(gpt2(), []), "least one token"),
    "k": (lambda: logit_lens(gpt2(), IDS, k=0), "k=0, but the model scores 13"),
    "an id": (lambda: logit_lens(gpt2(), IDS, answer=13), "give an id below 13"),
    "two tokens": (
        lambda: logit_lens(gpt2(), CLEAN, tokenizer=tokenizer(), answer="a cat"),
        "one token is needed",
    ),
    "an unknown word": (
        lambda: logit_lens(gpt2(), CLEAN, tokenizer=tokenizer(), answer="dog"),
        "one token is needed",
    ),
    "a name without tokenizer": (lambda: direct_logit_attribution(gpt2(), IDS, token="cat"), "give its id"),
    "a position": (lambda: direct_logit_attribution(gpt2(), IDS, position=8), "choose 0 to 7"),
    "post-norm": (lambda: direct_logit_attribution(ours(norm="post"), IDS), "give a pre-norm model"),
    "capped logits": (
        lambda: direct_logit_attribution(gemma2(final_logit_softcapping=1.0), IDS),
        "final_logit_softcapping = None",
    ),
    "lengths": (lambda: patching(gpt2(), IDS, IDS[:-1], 9), "has 8 tokens and the corrupted one 7"),
    "equal prompts": (lambda: patching(gpt2(), IDS, IDS, 9), "is nothing to bring back"),
    "what": (lambda: patching(gpt2(), IDS, OTHER, 9, "layers"), "choose 'heads' or 'positions'"),
    "three tokens": (lambda: patching(gpt2(), IDS, OTHER, (9, 3, 1)), "a pair of tokens"),
    "a target": (lambda: logit_lens(gpt2(), IDS, target=IDS), "reads one text"),
    "a kind": (lambda: patching(gpt2(), IDS, OTHER, 9, kind="cross"), r"has heads of \['decoder'\]"),
    "batch_size": (
        lambda: patching(gpt2(), IDS, OTHER, 9, batch_size=0),
        "give a whole number of at least 1",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_attributed_is_refused_in_one_line(name) -> None:
    attribute, message = REFUSED[name]
    with pytest.raises(UserError, match=message) as refused:
        attribute()
    assert "\n" not in str(refused.value)
