"""Greedy and beam search, against loops that cannot be wrong."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from viz_transformer.config import ModelConfig
from viz_transformer.decoding import beam_search, default_max_length, greedy, length_norm
from viz_transformer.errors import UserError
from viz_transformer.model import Transformer
from viz_transformer.training import make_model
from viz_transformer.vocabulary import Vocabulary

WORDS = ("a", "b")
VOCABULARY = Vocabulary(WORDS, WORDS)
EOS = VOCABULARY.eos_id


def tiny_model(seed: int, sharpness: float = 3.0) -> Transformer:
    """A random model whose probabilities are uneven enough to tell translations apart."""
    config = ModelConfig(
        vocab_size=len(VOCABULARY),
        d_model=8,
        n_heads=2,
        n_encoder_layers=1,
        n_decoder_layers=1,
        d_ff=8,
        max_length=16,
        dropout=0.3,
    )
    model = make_model(config, seed).eval()
    with torch.no_grad():
        model.source_embedding.weight.mul_(sharpness)
    return model


@torch.no_grad()
def log_prob(model: Transformer, source: list[int], ids: list[int]) -> float:
    """The log-probability of `ids` and the <eos> after them, from one teacher-forced pass."""
    target = torch.tensor([[VOCABULARY.sos_id, *ids, EOS]])
    logits = model(torch.tensor([source]), target[:, :-1])[0]  # [target, vocab]
    picked = logits.log_softmax(-1).gather(-1, target[0, 1:, None])
    return picked.sum().item()


def brute_force(
    model: Transformer, source: list[int], longest: int, penalty: float
) -> list[tuple[float, tuple[int, ...]]]:
    """Every translation of up to `longest` words with its score, best first."""
    scored = []
    for length in range(longest + 1):
        for ids in itertools.product(range(3, len(VOCABULARY)), repeat=length):
            found = log_prob(model, source, list(ids)) / ((5 + length + 1) / 6) ** penalty
            scored.append((found, ids))
    return sorted(scored, reverse=True)


sources = st.lists(st.sampled_from([3, 4]), min_size=1, max_size=4).map(lambda ids: [*ids, EOS])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), source=sources, penalty=st.sampled_from([0.0, 0.6, 2.0]))
def test_a_beam_wide_enough_equals_brute_force(
    seed: int, source: list[int], penalty: float
) -> None:
    model = tiny_model(seed)
    longest = 3
    (found,) = beam_search(
        model,
        [source],
        VOCABULARY,
        beam_width=2**4,  # more than all translations together
        length_penalty=penalty,
        max_length=longest,
    )
    expected = brute_force(model, source, longest, penalty)
    assert len(found.hypotheses) == len(expected) == 1 + 2 + 4 + 8
    assert {h.ids for h in found.hypotheses} == {ids for _, ids in expected}
    for hypothesis, (score, _) in zip(found.hypotheses, expected, strict=True):
        assert hypothesis.score == pytest.approx(score, abs=1e-4)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 999), batch=st.lists(sources, min_size=1, max_size=4))
def test_width_1_equals_greedy(seed: int, batch: list[list[int]]) -> None:
    model = tiny_model(seed)
    searched = beam_search(model, batch, VOCABULARY, beam_width=1)
    assert [list(trace.hypotheses[0].ids) for trace in searched] == greedy(model, batch, VOCABULARY)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 999), batch=st.lists(sources, min_size=2, max_size=4))
def test_a_batch_equals_one_sentence_at_a_time(seed: int, batch: list[list[int]]) -> None:
    model = tiny_model(seed)
    together = beam_search(model, batch, VOCABULARY, beam_width=3, max_length=6)
    for source, found in zip(batch, together, strict=True):
        (alone,) = beam_search(model, [source], VOCABULARY, beam_width=3, max_length=6)
        assert [h.ids for h in found.hypotheses] == [h.ids for h in alone.hypotheses]
        for one, other in zip(found.hypotheses, alone.hypotheses, strict=True):
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 999), source=sources, width=st.integers(1, 5))
def test_hypotheses_are_finished_once_and_scored_as_one_pass_scores_them(
    seed: int, source: list[int], width: int
) -> None:
    model = tiny_model(seed)
    (found,) = beam_search(model, [source], VOCABULARY, beam_width=width, max_length=5)
    ids = [hypothesis.ids for hypothesis in found.hypotheses]
    assert 1 <= len(ids) == len(set(ids)) <= width
    scores = [hypothesis.score for hypothesis in found.hypotheses]
    assert scores == sorted(scores, reverse=True)
    for hypothesis in found.hypotheses:
        expected = log_prob(model, source, list(hypothesis.ids))
        assert hypothesis.log_prob == pytest.approx(expected, abs=1e-4)
        norm = length_norm(len(hypothesis.ids) + 1, 0.6)
        assert hypothesis.score == pytest.approx(hypothesis.log_prob / norm)
        assert not set(hypothesis.ids) & {0, 1, 2}


def test_padding_and_start_are_never_emitted_even_if_the_model_wants_them() -> None:
    model = tiny_model(0)
    with torch.no_grad():  # the model's own first choice becomes <pad>, its second <sos>
        model.source_embedding.weight[:2] = 50 * model.source_embedding.weight[3]
    source = [3, 4, EOS]
    wanted = model(torch.tensor([source]), torch.tensor([[1, 3, 3]])).argmax(-1)
    assert (wanted <= 1).any()
    (found,) = beam_search(model, [source], VOCABULARY, beam_width=3, max_length=4)
    emitted = {token for step in found.steps for token in (c.token for c in step.candidates)}
    assert emitted
    assert not emitted & {"<pad>", "<sos>"}
    assert not set(greedy(model, [source], VOCABULARY, max_length=4)[0]) & {0, 1}


def test_the_steps_tell_what_became_of_each_candidate() -> None:
    model = tiny_model(4)
    (found,) = beam_search(model, [[3, EOS]], VOCABULARY, beam_width=2, max_length=4)
    finished = 0
    n_parents = 1
    for step in found.steps:
        statuses = [candidate.status for candidate in step.candidates]
        places = 2 - finished
        assert statuses.count("kept") + statuses.count("finished") == min(places, len(statuses))
        assert set(statuses) <= {"kept", "finished", "pruned"}
        totals = [candidate.log_prob for candidate in step.candidates]
        assert totals == sorted(totals, reverse=True)
        assert all(0 <= candidate.parent < n_parents for candidate in step.candidates)
        assert all(c.token == "<eos>" for c in step.candidates if c.status == "finished")
        finished += statuses.count("finished")
        n_parents = statuses.count("kept")
    assert finished == len(found.hypotheses)


def test_the_search_ends_early() -> None:
    """It ends when its places are filled, not at the maximum length."""
    model = tiny_model(0)
    with torch.no_grad():  # <eos> becomes certain after any word
        model.source_embedding.weight[EOS] = 0
    (found,) = beam_search(model, [[3, EOS]], VOCABULARY, beam_width=1, max_length=15)
    assert len(found.steps) == len(found.hypotheses[0].ids) + 1


def test_a_model_in_training_mode_is_evaluated_and_put_back() -> None:
    model = tiny_model(1)
    expected = greedy(model, [[3, 4, EOS]], VOCABULARY)
    model.train()
    assert greedy(model, [[3, 4, EOS]], VOCABULARY) == expected  # no dropout
    assert beam_search(model, [[3, 4, EOS]], VOCABULARY)[0].hypotheses
    assert model.training


def test_length_norm_is_that_of_the_paper() -> None:
    assert length_norm(1, 0.6) == 1
    assert length_norm(7, 0.6) == pytest.approx(2**0.6)
    assert length_norm(100, 0) == 1


def test_the_default_maximum_stays_within_the_positions() -> None:
    model = tiny_model(0)
    assert default_max_length(model, [[3]]) == 12
    assert default_max_length(model, [[3] * 10]) == model.config.max_length - 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beam_width": 0}, "beam_width=0"),
        ({"beam_width": 1.5}, r"beam_width=1\.5"),
        ({"beam_width": True}, "beam_width=True"),
        ({"length_penalty": -1}, "length_penalty=-1"),
        ({"length_penalty": math.nan}, "length_penalty=nan"),
        ({"max_length": 0}, "max_length=0 must be a whole number from 1 to 15"),
        ({"max_length": 16}, "max_length=16"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        beam_search(tiny_model(0), [[3, EOS]], VOCABULARY, **arguments)


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(UserError, match="no sentence"):
        beam_search(tiny_model(0), [], VOCABULARY)


def test_a_beam_wider_than_the_vocabulary_works() -> None:
    (found,) = beam_search(tiny_model(0), [[3, EOS]], VOCABULARY, beam_width=50, max_length=3)
    assert len(found.hypotheses) == 15
