"""The beam stepper of Hugging Face's models: the numbers are those of their own ``generate``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attending_models import built, word_tokenizer
from tests.support.huggingface_models import frozen, same, state
from tests.support.refusals import assert_refused
from viz_transformer.huggingface_text import HuggingFaceText

TEXT = "when Mary went to the store John gave"
N_NEW, END = 4, 2
PAIRS = {"T5": True, "Marian": True, "GPT-2": False, "Llama": False}


def given(name: str) -> tuple[Any, Any]:
    return built(name)[0], word_tokenizer(ends=PAIRS[name])


def generated(model: Any, tokenizer: Any, width: int, **options: Any) -> Any:
    ids = tokenizer(TEXT, return_tensors="pt").input_ids
    asked = {"do_sample": False, "max_new_tokens": N_NEW, "return_dict_in_generate": True, **options}
    asked["attention_mask"] = torch.ones_like(ids)
    return model.generate(ids, num_beams=width, num_return_sequences=width, output_scores=True, **asked)


def words(ids: list[int]) -> list[int]:
    """What stands before the end."""
    return ids[: ids.index(END)] if END in ids else ids


@pytest.mark.parametrize("name", PAIRS)
def test_searches_are_those_of_generate(name: str) -> None:
    model, tokenizer = given(name)
    before = frozen(model)
    view = vt.beam_stepper(model, TEXT, 3, 0.7, tokenizer=tokenizer, max_new_tokens=N_NEW)
    theirs = generated(model, tokenizer, 3, length_penalty=0.7)
    n_read = 1 if PAIRS[name] else len(TEXT.split())
    found = view.search.hypotheses
    assert [[*each.ids] for each in found] == [words(row[n_read:].tolist()) for row in theirs.sequences]
    np.testing.assert_allclose([each.score for each in found], theirs.sequences_scores, atol=1e-5)
    (greedy,) = generated(model, tokenizer, 1).sequences
    text = HuggingFaceText(model, tokenizer, N_NEW)
    (alone,) = text.decode(TEXT, 1, 0.7).hypotheses
    assert [*alone.ids] == words(greedy[n_read:].tolist())
    assert alone.score == pytest.approx(alone.log_prob / len(alone.path) ** 0.7)

    read = tuple(TEXT.split())
    assert view.search.source_tokens == ((*read, "</s>") if PAIRS[name] else ())
    assert PAIRS[name] or view.search.prompt_tokens == read
    if not PAIRS[name]:
        own = vt.capture(model, TEXT, tokenizer=tokenizer).decoder_attention
        np.testing.assert_allclose(view.search.steps[0].decoder_attention[0], own[:, :, -1], atol=1e-5)
    assert same(before, state(model))


@pytest.mark.parametrize("name", ["Marian", "Llama"])
def test_draws_are_those_of_the_model_s_distribution(name: str) -> None:
    model, tokenizer = given(name)
    model.generation_config.update(bad_words_ids=None, forced_eos_token_id=None)
    text = HuggingFaceText(model, tokenizer, N_NEW)
    drawn = text.sample(TEXT, temperature=0.7, top_k=5, seed=3)
    again = text.sample(TEXT, temperature=0.7, top_k=5, seed=3)
    assert drawn.hypotheses == again.hypotheses
    assert len({text.sample(TEXT, temperature=3.0, seed=seed).hypotheses[0].ids for seed in range(4)}) > 1
    (found,) = drawn.hypotheses
    answer = tuple(tokenizer.convert_ids_to_tokens(list(found.ids)))
    _, log_probs = text.judge(TEXT, answer if PAIRS[name] else (*TEXT.split(), *answer))
    assert found.log_prob == pytest.approx(float(np.sum(log_probs[-len(found.path) :])), abs=1e-4)
    for step in drawn.steps:
        shares = [one.share for one in step.candidates]
        assert sum(share > 0 for share in shares) == 5
        assert math.fsum(shares) == pytest.approx(1, abs=1e-5)


def test_a_model_s_own_rules_hold_and_it_may_have_several_ends_or_none() -> None:
    model, tokenizer = given("GPT-2")
    (word,) = generated(model, tokenizer, 1, max_new_tokens=1).sequences[:, -1].tolist()
    model.generation_config.suppress_tokens = [word]
    text = HuggingFaceText(model, tokenizer, N_NEW)
    assert word not in text.decode(TEXT, 2).hypotheses[0].ids
    first = text.sample(TEXT).steps[0].candidates
    assert all(one.token != tokenizer.convert_ids_to_tokens(word) for one in first if one.share)
    model.generation_config.eos_token_id = [END, text.decode(TEXT, 1).hypotheses[0].ids[0]]
    text = HuggingFaceText(model, tokenizer, N_NEW)
    assert (text.decode(TEXT, 1).hypotheses[0].ids, len(text.decode(TEXT, 1).steps)) == ((), 1)
    theirs = generated(model, tokenizer, 3)
    scores = [each.score for each in text.decode(TEXT, 3).hypotheses]
    assert scores == pytest.approx(theirs.sequences_scores.tolist(), abs=1e-5)
    for none in (None, 50256):  # the second, the default of GPT-2's configurations, is no token of this model
        model.generation_config.eos_token_id = none
        text = HuggingFaceText(model, tokenizer, N_NEW)
        assert [len(each.ids) for each in text.decode(TEXT, 2).hypotheses] == [N_NEW, N_NEW]


def test_the_view_answers_what_the_viewer_sets_and_refuses_in_one_line() -> None:
    model, tokenizer = given("Llama")
    view = vt.beam_stepper(model, TEXT, tokenizer=tokenizer, max_new_tokens=N_NEW)
    assert (view.task, view.sentence, view.engine, view.decodes) == ("continue", TEXT, {}, False)
    view.sentence = "the cat sleeps"
    assert view.search.prompt_tokens == ("the", "cat", "sleeps")
    view.method = "sample"
    assert view.search.steps[0].candidates[0].share is not None
    assert len(view.questions()) > 5
    several = vt.beam_stepper({"a": model, "b": model}, TEXT, tokenizer=tokenizer, max_new_tokens=2)
    assert several.checkpoints == ["a", "b"]
    assert_refused(
        [
            (lambda: vt.beam_stepper(model), "tokenizer=None makes none"),
            (
                lambda: vt.beam_stepper(model, tokenizer=tokenizer),
                "no text of its own",
            ),
            (lambda: vt.beam_stepper(built("BERT")[0], TEXT, tokenizer=tokenizer), "does not write text"),
            (lambda: vt.beam_stepper(torch.nn.Linear(2, 2)), "a Linear is no translator or language model"),
            (lambda: vt.beam_stepper(model, "cat " * 80, tokenizer=tokenizer), "give a shorter text"),
            (lambda: vt.beam_stepper(model, TEXT, 101, tokenizer=tokenizer), "beam_width=101"),
        ]
    )
    model.config.max_position_embeddings = 10_000
    assert_refused(
        [(lambda: vt.beam_stepper(model, "cat " * 3000, tokenizer=tokenizer), "give at most 2,048 tokens")]
    )
