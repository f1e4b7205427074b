"""Greedy and beam search, against loops that cannot be wrong."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tiny_decoder import EOS, VOCABULARY, log_prob, tiny_model
from viz_transformer.config import ModelConfig
from viz_transformer.decoding import (
    beam_search,
    default_max_length,
    greedy,
    length_norm,
    sample,
)
from viz_transformer.errors import UserError
from viz_transformer.model import DecoderOnly, Interventions, TracedDecoderOnly, Transformer


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
def test_a_beam_wide_enough_equals_brute_force(seed: int, source: list[int], penalty: float) -> None:
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


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), batch=st.lists(sources, min_size=2, max_size=4))
def test_a_batch_equals_one_sentence_at_a_time_and_width_1_equals_greedy(
    seed: int, batch: list[list[int]]
) -> None:
    model = tiny_model(seed)
    together = beam_search(model, batch, VOCABULARY, beam_width=3, max_length=6)
    for source, found in zip(batch, together, strict=True):
        (alone,) = beam_search(model, [source], VOCABULARY, beam_width=3, max_length=6)
        assert [h.ids for h in found.hypotheses] == [h.ids for h in alone.hypotheses]
        for one, other in zip(found.hypotheses, alone.hypotheses, strict=True):
            assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)
    narrow = beam_search(model, batch, VOCABULARY, beam_width=1)
    assert [list(trace.hypotheses[0].ids) for trace in narrow] == greedy(model, batch, VOCABULARY)


@settings(max_examples=15, deadline=None)
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


def test_padding_and_start_are_never_emitted() -> None:
    model = tiny_model(0)
    with torch.no_grad():  # the model's own first choice becomes <pad>, its second <sos>
        model.source_embedding.weight[:2] = 50 * model.source_embedding.weight[3]
    source = [3, 4, EOS]
    wanted = model(torch.tensor([source]), torch.tensor([[1, 3, 3]])).argmax(-1)
    assert (wanted <= 1).any()
    (found,) = beam_search(model, [source], VOCABULARY, beam_width=3, max_length=4)
    candidates = [candidate for step in found.steps for candidate in step.candidates]
    written = {c.token for c in candidates if c.status != "forbidden"}
    assert written
    assert not written & {"<pad>", "<sos>"}
    forbidden = {c.token: c.reason for c in candidates if c.status == "forbidden"}
    assert forbidden["<pad>"] == "<pad> is never written"
    assert not set(greedy(model, [source], VOCABULARY, max_length=4)[0]) & {0, 1}


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), source=sources, width=st.integers(1, 4))
def test_the_steps_record_the_fate_of_each_candidate(seed: int, source: list[int], width: int) -> None:
    model = tiny_model(seed)
    (found,) = beam_search(model, [source], VOCABULARY, beam_width=width, max_length=5)
    totals, texts = [0.0], [()]
    for step in found.steps:
        ranked = [c for c in step.candidates if c.status != "forbidden"]
        assert [c.log_prob for c in ranked] == sorted((c.log_prob for c in ranked), reverse=True)
        kept = [c for c in ranked if c.status == "kept"]
        # The best of those that go on are kept, and ends among the first `width` are finished.
        assert kept == [c for c in ranked if c.token != "<eos>"][:width]
        assert [c for c in ranked if c.status == "finished"] == [
            c for c in ranked[:width] if c.token == "<eos>"
        ]
        for candidate in step.candidates:
            assert candidate.log_prob == pytest.approx(
                totals[candidate.parent] + candidate.token_log_prob, abs=1e-5
            )
            if candidate.status == "pruned":
                winner = ranked[candidate.beaten_by]
                assert winner.status in ("kept", "finished")
                assert candidate.margin == pytest.approx(winner.log_prob - candidate.log_prob)
                assert f"{candidate.margin:.2f} nats behind" in candidate.reason
            else:
                assert candidate.beaten_by is candidate.margin is None
        assert len(step.probable) == len(texts)
        texts = [(*texts[c.parent], c.token) for c in kept]
        totals = [c.log_prob for c in kept]
    for hypothesis in found.hypotheses:
        path = [s.candidates[i] for s, i in zip(found.steps, hypothesis.path, strict=False)]
        assert tuple(c.token for c in path) == (*hypothesis.tokens, "<eos>")
        assert path[-1].status == "finished"
        assert path[-1].log_prob == pytest.approx(hypothesis.log_prob)


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


def test_lengths_are_normalised_as_in_the_paper_and_stay_within_the_positions() -> None:
    assert length_norm(1, 0.6) == 1
    assert length_norm(7, 0.6) == pytest.approx(2**0.6)
    assert length_norm(100, 0) == 1
    model = tiny_model(0)
    assert default_max_length(model, [[3]]) == 12
    assert default_max_length(model, [[3] * 10]) == model.config.max_length - 1


def test_each_sentence_of_a_batch_has_a_maximum_of_its_own() -> None:
    model, batch = tiny_model(0), [[3], [3, 4, 3, 4, EOS]]
    for search in (greedy, beam_search):
        together = search(model, batch, VOCABULARY, min_length=12)
        alone = [search(model, [source], VOCABULARY, min_length=12)[0] for source in batch]
        if search is beam_search:  # it goes on with the second sentence alone
            together, alone = ([trace.hypotheses[0].ids for trace in found] for found in (together, alone))
        assert together == alone
        assert len(together[0]) == 12 < len(together[1]) == 15


def test_numbers_out_of_range_are_refused() -> None:
    for arguments, message in (
        ({"beam_width": 0}, "beam_width=0"),
        ({"beam_width": 1.5}, r"beam_width=1\.5"),
        ({"beam_width": True}, "beam_width=True"),
        ({"length_penalty": -1}, "length_penalty=-1"),
        ({"length_penalty": math.nan}, "length_penalty=nan"),
        ({"max_length": 0}, "max_length=0 must be a whole number from 1 to 15"),
        ({"max_length": 16}, "max_length=16"),
        ({"min_length": 5, "max_length": 4}, "min_length=5 must be a whole number from 0 to"),
        ({"min_length": -1}, "min_length=-1"),
        ({"n_best": 5}, "n_best=5 hypotheses cannot come from beam_width=4; widen the beam"),
        ({"n_best": 0}, "n_best=0"),
        ({"prefix": [9]}, r"the prefix \[9\] holds \[9\]"),
        ({"prefix": [EOS]}, "holds a special token"),
        ({"prefix": [3] * 5, "max_length": 4}, "the prefix has 5 words, and max_length is 4"),
        ({"prefix": [[3], [4]]}, "2 prefixes were given for 1 sentences"),
    ):
        with pytest.raises(UserError, match=message):
            beam_search(tiny_model(0), [[3, EOS]], VOCABULARY, **arguments)


def test_sentences_without_words_or_ids_are_refused() -> None:
    for search, (sentences, message) in itertools.product(
        (beam_search, greedy, sample),
        (
            ([[0, 0]], "sentence 0 .* holds no word, only padding"),
            ([[3, EOS], []], "sentence 1 .* holds no word"),
            (["a b"], "must be a list of ids"),
            ([[3.0, 2]], "must be a list of ids"),
            ([], "no sentence"),
        ),
    ):
        with pytest.raises(UserError, match=message):
            search(tiny_model(0), sentences, VOCABULARY)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), batch=st.lists(sources, min_size=1, max_size=3))
def test_lengths_and_beginnings_are_kept_to(seed: int, batch: list[list[int]]) -> None:
    model = tiny_model(seed)
    given_to_all = {"min_length": 2, "max_length": 4, "prefix": [[4, 3]] * len(batch)}
    for trace in beam_search(model, batch, VOCABULARY, beam_width=3, **given_to_all):
        assert all(2 <= len(h.ids) <= 4 and h.ids[:2] == (4, 3) for h in trace.hypotheses)
        barred = [c for step in trace.steps for c in step.candidates if c.status == "forbidden"]
        assert any("the text must begin with 'b a'" in c.reason for c in barred)
    written = [greedy(model, batch, VOCABULARY, **given_to_all)]
    written.append([t.hypotheses[0].ids for t in sample(model, batch, VOCABULARY, **given_to_all)])
    for texts in written:
        assert all(2 <= len(ids) <= 4 and tuple(ids[:2]) == (4, 3) for ids in texts)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 999), source=sources, penalty=st.sampled_from([0.0, 0.6, 1.5]))
def test_without_early_stop_nothing_better_is_missed(seed: int, source: list[int], penalty: float) -> None:
    """It ends no later than at the maximum, and with the best that a longer search would find."""
    model = tiny_model(seed)
    shared = {"beam_width": 3, "length_penalty": penalty, "max_length": 6}
    (patient,) = beam_search(model, [source], VOCABULARY, early_stop=False, **shared)
    (quick,) = beam_search(model, [source], VOCABULARY, **shared)
    assert patient.hypotheses[0].score >= quick.hypotheses[0].score
    assert len(patient.steps) >= len(quick.steps)
    best = [c.score for step in patient.steps for c in step.candidates if c.status == "finished"]
    assert patient.hypotheses[0].score == pytest.approx(max(best))
    (one,) = beam_search(model, [source], VOCABULARY, n_best=1, **shared)
    assert [one.hypotheses[0]] == list(quick.hypotheses[:1])


def test_equal_continuations_are_taken_in_a_fixed_order() -> None:
    """Every word is as probable as any other: the lower id and the earlier hypothesis are first."""
    model = tiny_model(0)
    with torch.no_grad():
        model.source_embedding.weight.zero_()
    (found,) = beam_search(model, [[3, EOS]], VOCABULARY, beam_width=2, max_length=2)
    first, second = found.steps[:2]
    assert [c.token for c in first.candidates if c.status == "kept"] == ["a", "b"]
    order = [(c.parent, c.token) for c in second.candidates if c.status != "forbidden"]
    assert order == [(0, "<eos>"), (0, "a"), (0, "b"), (1, "<eos>")]


@pytest.mark.parametrize("interventions", [None, Interventions(temperature=0.5)])
def test_a_decoder_only_model_continues_texts_of_any_length(interventions) -> None:
    config = ModelConfig(
        family="decoder", vocab_size=5, d_model=8, n_heads=2, n_decoder_layers=2, d_ff=8,
        max_length=16, pad_id=0,
    )  # fmt: skip
    torch.manual_seed(3)
    model, traced = DecoderOnly(config).eval(), TracedDecoderOnly(config).eval()
    traced.load_state_dict(model.state_dict())
    prompts = [[1, 3, 4], [1], [1, 4, 4]]
    texts = greedy(model, prompts, VOCABULARY, max_length=5, interventions=interventions)
    for prompt, text in zip(prompts, texts, strict=True):
        written = list(prompt)
        while len(written) < len(prompt) + 5:
            logits = traced(torch.tensor([written]), interventions).logits[0, -1]
            logits[:2] = -torch.inf
            written.append(int(logits.argmax()))
            if written[-1] == EOS:
                break
        assert text == [i for i in written[len(prompt) :] if i != EOS]
    found = beam_search(model, prompts, VOCABULARY, beam_width=1, max_length=5, interventions=interventions)
    assert [list(trace.hypotheses[0].ids) for trace in found] == texts
    assert found[0].prompt_tokens == ("<sos>", "a", "b")
    assert found[0].source_tokens == ()
