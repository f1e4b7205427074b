"""Drawing words: what temperature, top-k and top-p leave, by hand, and what is drawn of it."""

from __future__ import annotations

import itertools
import math
import random

import pytest
import torch

from tests.support.small_models import family_config
from tests.support.tiny_decoder import EOS, VOCABULARY, log_prob, tiny_model
from viz_transformer.decoding import beam_search, greedy, kept_probabilities, sample, sample_ids
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, Interventions
from viz_transformer.model.autoregressive import AutoregressiveModel

#: Logits whose softmax is 0.5, 0.25, 0.15, 0.1.
LOGITS = torch.tensor([0.5, 0.25, 0.15, 0.1]).log()


def test_filters_keep_the_tokens_worked_by_hand() -> None:
    for arguments, expected in (
        ({}, [0.5, 0.25, 0.15, 0.1]),
        ({"top_k": 2}, [2 / 3, 1 / 3, 0, 0]),
        ({"top_k": 9}, [0.5, 0.25, 0.15, 0.1]),
        ({"top_p": 0.5}, [1, 0, 0, 0]),
        ({"top_p": 0.6}, [2 / 3, 1 / 3, 0, 0]),  # the word that reaches 0.6 stays
        ({"top_p": 1.0}, [0.5, 0.25, 0.15, 0.1]),
        ({"top_p": 0.001}, [1, 0, 0, 0]),  # one word is always left
        ({"temperature": 0.5}, [0.25, 0.0625, 0.0225, 0.01]),  # squared, up to their sum
        ({"top_k": 3, "top_p": 0.6}, [2 / 3, 1 / 3, 0, 0]),  # 0.556 of what top-k left is too few
    ):
        expected = torch.tensor(expected) / sum(expected)
        torch.testing.assert_close(kept_probabilities(LOGITS, **arguments), expected, msg=str(arguments))
    # Of equals at the edge the lower ids stay.
    assert kept_probabilities(torch.zeros(4), top_k=2).tolist() == [0.5, 0.5, 0, 0]
    # A top_p of 1 leaves no word out, though in float64 the first alone sums to 1.
    assert (kept_probabilities(torch.tensor([50.0, 0, 0]).double(), top_p=1.0) > 0).all()


def test_filters_keep_the_tokens_of_hugging_face() -> None:
    from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    torch.manual_seed(0)
    for _ in range(20):
        logits = 3 * torch.randn(4, 50)
        theirs = TemperatureLogitsWarper(0.7)(None, logits)
        theirs = TopPLogitsWarper(0.8)(None, TopKLogitsWarper(9)(None, theirs))
        ours = kept_probabilities(logits, temperature=0.7, top_k=9, top_p=0.8)
        torch.testing.assert_close(ours, theirs.softmax(-1))


def test_the_same_seed_gives_the_same_text_alone_and_in_a_batch() -> None:
    model, sources = tiny_model(6), [[3, EOS], [4, 3, EOS], [3, EOS]]
    together = sample(model, sources, VOCABULARY, seed=7)
    for source, trace in zip(sources, together, strict=True):
        (alone,) = sample(model, [source], VOCABULARY, seed=7)
        assert alone.hypotheses[0].ids == trace.hypotheses[0].ids
    several = sample(model, [[3, EOS]] * 30, VOCABULARY, seed=range(30))
    assert len({trace.hypotheses[0].ids for trace in several}) > 3


def test_a_word_takes_one_number_of_the_seed_and_is_found_by_sums_over_ids() -> None:
    for seed in (0, 5, 2**70):
        (trace,) = sample(tiny_model(6), [[3, 4, EOS]], VOCABULARY, temperature=2, seed=seed)
        numbers = random.Random(seed)
        for step, index in zip(trace.steps, trace.hypotheses[0].path, strict=True):
            shares = {each.token: each.share for each in step.candidates}  # of all: the vocabulary is small
            number, total = numbers.random(), 0.0
            for token in VOCABULARY.tokens:
                total += shares[token]
                if total > number:
                    break
            assert step.candidates[index].token == token


def test_the_log_probability_is_that_of_one_pass() -> None:
    model = tiny_model(5)
    for seed in range(5):
        (trace,) = sample(model, [[3, 4, EOS]], VOCABULARY, top_k=2, temperature=2, seed=seed)
        (hypothesis,) = trace.hypotheses
        if len(hypothesis.ids) < 14:  # at the maximum <eos> is forced
            expected = log_prob(model, [3, 4, EOS], list(hypothesis.ids))
            assert hypothesis.log_prob == pytest.approx(expected, abs=1e-4)
        tokens = [s.candidates[i].token for s, i in zip(trace.steps, hypothesis.path, strict=True)]
        assert tuple(tokens[:-1]) == hypothesis.tokens


def test_each_candidate_has_its_probability_and_the_filter_that_removed_it() -> None:
    (trace,) = sample(tiny_model(5), [[3, EOS]], VOCABULARY, top_k=1, min_length=1)
    first = {candidate.token: candidate for candidate in trace.steps[0].candidates}
    assert sum(candidate.share for candidate in first.values()) == pytest.approx(1)
    assert first["<eos>"].reason == "the text has 0 words and needs at least 1"
    assert first["<pad>"].status == "forbidden"
    (drawn,) = (c for c in first.values() if c.status == "kept")
    assert (drawn.share, drawn.reason) == (1, "drawn")
    (other,) = (c for c in first.values() if c.token in ("a", "b") and c is not drawn)
    assert other.reason == "left out by top_k=1"


def test_shares_are_the_probabilities_of_the_model() -> None:
    """And a word is drawn by them, as the test of its one number shows."""
    model, source = tiny_model(2), [3, EOS]
    (searched,) = beam_search(model, [source], VOCABULARY, max_length=1)
    (drawn,) = sample(model, [source], VOCABULARY, max_length=1)
    allowed = [each for each in searched.steps[0].candidates if each.status != "forbidden"]
    total = sum(math.exp(each.token_log_prob) for each in allowed)
    shares = {each.token: each.share for each in drawn.steps[0].candidates}
    for each in allowed:
        assert shares[each.token] == pytest.approx(math.exp(each.token_log_prob) / total, abs=1e-5)


def test_a_low_temperature_is_greedy() -> None:
    model, sources = tiny_model(3), [[3, EOS], [4, 4, EOS]]
    cold = sample(model, sources, VOCABULARY, temperature=1e-4)
    assert [list(t.hypotheses[0].ids) for t in cold] == greedy(model, sources, VOCABULARY)


def test_values_out_of_range_are_refused() -> None:
    for arguments, message in (
        ({"temperature": 0}, "temperature=0 must be a number above 0; .* use greedy"),
        ({"temperature": True}, "temperature=True"),
        ({"top_k": 0}, "top_k=0"),
        ({"top_p": 0.0}, r"top_p=0\.0"),
        ({"top_p": 1.1}, r"top_p=1\.1"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": [1, 2]}, r"seed=\[1, 2\] must be a whole number of at least 0, or one for each"),
    ):
        with pytest.raises(UserError, match=message):
            sample(tiny_model(0), [[3, EOS]], VOCABULARY, **arguments)
    for arguments, message in (({"n": 0}, "n=0"), ({"seed": -1}, "seed=-1"), ({"top_p": 2}, "top_p=2")):
        with pytest.raises(UserError, match=message):
            sample_ids(tiny_model(0), [3, EOS], VOCABULARY, **{"n": 1, **arguments})


def exact_shares(model: AutoregressiveModel, source: list[int], longest: int) -> dict[tuple[int, ...], float]:
    """The probability of every text of at most so many words, from one pass for each."""
    begin = source if model.continues_source else [VOCABULARY.sos_id]
    shares = {}
    for length in range(longest + 1):
        for text in itertools.product((3, 4), repeat=length):
            read = torch.tensor([[*begin, *text]])
            logits = model(read) if model.continues_source else model(torch.tensor([source]), read)
            steps = logits[0, len(begin) - 1 :, [EOS, 3, 4]].softmax(-1)  # [step, word]
            share = math.prod(steps[step, word - EOS].item() for step, word in enumerate(text))
            # At the greatest length <eos> is the only word that may follow.
            shares[text] = share * (steps[-1, 0].item() if length < longest else 1)
    return shares


@pytest.mark.parametrize("way", ["fused", "through the layers", "decoder alone"])
def test_many_texts_at_once_follow_the_exact_distribution(way: str) -> None:
    model: AutoregressiveModel = tiny_model(2)
    if way == "decoder alone":
        torch.manual_seed(3)
        model = DecoderOnly(family_config(DecoderOnly, vocab_size=len(VOCABULARY), max_length=8)).eval()
    # Not fused where anything may be changed, though this changes nothing.
    interventions = Interventions() if way == "through the layers" else None
    n = 4000
    with torch.no_grad():
        exact = exact_shares(model, [3, 4], 3)
    assert sum(exact.values()) == pytest.approx(1)
    texts = sample_ids(model, [3, 4], VOCABULARY, n, max_length=3, seed=1, interventions=interventions)
    assert len(texts) == n
    for text, share in exact.items():
        sd = math.sqrt(share * (1 - share) / n)
        assert texts.count(text) / n == pytest.approx(share, abs=4 * sd + 2 / n), text


def test_many_texts_are_filtered_and_fixed_by_their_seed() -> None:
    model, source = tiny_model(6), [4, 3, EOS]
    (coldest,) = greedy(model, [source], VOCABULARY)
    assert set(sample_ids(model, source, VOCABULARY, 20, top_k=1)) == {tuple(coldest)}
    again = [sample_ids(model, source, VOCABULARY, 50, seed=seed) for seed in (1, 1, 2)]
    assert again[0] == again[1] != again[2]
    begun = sample_ids(model, source, VOCABULARY, 20, prefix=[3, 3], min_length=4)
    assert all(text[:2] == (3, 3) and len(text) >= 4 for text in begun)
