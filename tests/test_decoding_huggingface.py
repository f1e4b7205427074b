"""Our search against Hugging Face's generate, on weights copied from a small Marian model.

Where theirs is defined otherwise: its score divides by length ** penalty (`power_norm`);
``early_stopping="never"`` bounds what may come as our ``early_stop=False`` does; and at the
maximum length it keeps texts that have not ended, or ends them at no cost, where ours end with
``<eos>`` at its cost. So the texts here end before it, as most do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.huggingface_models import marian_words, tiny
from tests.support.refusals import assert_refused
from tests.support.small_models import traced
from viz_transformer.decoding import beam_search, from_generate, greedy, power_norm
from viz_transformer.model import (
    DecoderOnly,
    Transformer,
    from_huggingface,
)
from viz_transformer.widgets.beam_stepper.view import BeamStepper

PAD, EOS, N_WORDS = 19, 0, 20
LONGEST = 24


WORDS = marian_words(N_WORDS)
SOURCES = [[5, 6, 7, EOS], [8, EOS], [9, 10, 11, 12, 13, EOS]]


def half_trained(theirs, *, n_steps: int, first: int, shortest: int):
    """Half teach a model of theirs to copy ids from `first` on; return the same model as ours."""
    optimiser = torch.optim.Adam(theirs.parameters(), lr=1e-2)
    for step in range(n_steps):
        ids = torch.randint(first, PAD, (32, shortest + step % 5))
        ids[:, -1] = EOS
        theirs(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    theirs.eval()
    return from_huggingface(theirs).eval()


@pytest.fixture(scope="module", params=[0, 1])
def models(request) -> tuple[Any, Transformer]:
    """A model of theirs that has half learned to copy, so that its texts end; the same as ours."""
    torch.manual_seed(request.param)
    theirs = tiny(
        "MarianMTModel", vocab_size=N_WORDS, d_model=16, encoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32,
        pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD, forced_eos_token_id=None, dropout=0.0,
    )  # fmt: skip
    return theirs, half_trained(theirs, n_steps=120, first=1, shortest=2)


def padded(sources: list[list[int]]) -> dict[str, torch.Tensor]:
    longest = max(map(len, sources))
    ids = torch.tensor([[*source, *[PAD] * (longest - len(source))] for source in sources])
    return {"input_ids": ids, "attention_mask": ids != PAD}


def generated(theirs, sources: list[list[int]], **options):
    """What generate finds: per sentence its texts and their scores, best first."""
    width = options["num_beams"]
    found = theirs.generate(
        **padded(sources), num_return_sequences=width, output_scores=True, return_dict_in_generate=True,
        do_sample=False, bad_words_ids=[[PAD]], max_new_tokens=LONGEST + 1, **options,
    )  # fmt: skip
    texts = []
    for row in found.sequences.tolist():
        text = row[1:]
        texts.append(tuple(text[: text.index(EOS)] if EOS in text else text))
    scores = found.sequences_scores.tolist()
    pairs = list(zip(texts, scores, strict=True))
    return [pairs[start : start + width] for start in range(0, len(pairs), width)]


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("early", [True, False])
def test_the_n_best_and_their_scores_are_theirs(models, penalty: float, early: bool) -> None:
    theirs, ours = models
    for width in (2, 3, 5):
        stop = {"early_stopping": True if early else "never"}
        expected = generated(theirs, SOURCES, num_beams=width, length_penalty=penalty, **stop)
        found = beam_search(
            ours, SOURCES, WORDS, beam_width=width, length_penalty=penalty, norm=power_norm,
            max_length=LONGEST, early_stop=early,
        )  # fmt: skip
        for trace, texts in zip(found, expected, strict=True):
            assert max(len(ids) for ids, _ in texts) < LONGEST
            assert [h.ids for h in trace.hypotheses] == [ids for ids, _ in texts]
            scores = [score for _, score in texts]
            assert [h.score for h in trace.hypotheses] == pytest.approx(scores, abs=1e-4)


def test_greedy_is_theirs(models) -> None:
    theirs, ours = models
    for source in SOURCES:
        found = theirs.generate(
            torch.tensor([source]), num_beams=1, do_sample=False, bad_words_ids=[[PAD]],
            max_new_tokens=LONGEST + 1,
        )[0, 1:].tolist()  # fmt: skip
        expected = found[: found.index(EOS)] if EOS in found else found
        assert greedy(ours, [source], WORDS, max_length=LONGEST) == [expected]


def test_gpt2_continues_as_theirs_does() -> None:
    torch.manual_seed(1)
    theirs = tiny(
        "GPT2LMHeadModel", vocab_size=N_WORDS, n_embd=16, n_head=2, n_positions=32, bos_token_id=1,
        eos_token_id=EOS, pad_token_id=None,
    )  # fmt: skip
    ours = half_trained(theirs, n_steps=60, first=2, shortest=4)
    assert isinstance(ours, DecoderOnly)
    prompts = [[3, 4, 5], [6, 7]]
    words = replace(WORDS, sos_id=1)
    found = beam_search(
        ours, prompts, words, beam_width=3, length_penalty=0, max_length=LONGEST, early_stop=False
    )
    for prompt, trace in zip(prompts, found, strict=True):
        answer = theirs.generate(
            torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), num_beams=3,
            length_penalty=0.0, early_stopping="never", do_sample=False, pad_token_id=PAD,
            bad_words_ids=[[PAD], [1]], max_new_tokens=LONGEST + 1,
            return_dict_in_generate=True, output_scores=True,
        )  # fmt: skip
        text = answer.sequences[0, len(prompt) :].tolist()
        assert trace.hypotheses[0].ids == tuple(text[: text.index(EOS)])
        score = answer.sequences_scores[0].item()
        assert trace.hypotheses[0].log_prob == pytest.approx(score, abs=1e-4)


def returned(theirs, sources: list[list[int]], width: int, n_texts: int, **options):
    """What generate returns when every output is requested."""
    theirs.set_attn_implementation("eager")
    given = padded(sources)
    output = theirs.generate(
        **given, num_beams=width, num_return_sequences=n_texts, do_sample=False, bad_words_ids=[[PAD]],
        return_dict_in_generate=True, output_scores=True, output_attentions=True, pad_token_id=PAD, **options,
    )  # fmt: skip
    return given["input_ids"], output


def told(step) -> list:
    return [candidate for candidate in step.candidates if candidate.status != "forbidden"]


@pytest.mark.parametrize("longest", [LONGEST, 3])
def test_the_search_is_recorded_step_by_step(models, longest: int) -> None:
    theirs, ours = models
    ids, output = returned(theirs, SOURCES, 3, 2, max_new_tokens=longest, length_penalty=0.6)
    traces = from_generate(output, WORDS, num_beams=3, length_penalty=0.6, source_ids=ids)
    assert len(traces) == len(SOURCES)
    for place, (source, trace) in enumerate(zip(SOURCES, traces, strict=True)):
        for rank, hypothesis in enumerate(trace.hypotheses):
            row = 2 * place + rank
            text = [i for i in output.sequences[row, 1:].tolist() if i not in (PAD, EOS)]
            assert list(hypothesis.ids) == text
            assert hypothesis.score == pytest.approx(output.sequences_scores[row].item())
            length = len(hypothesis.path)
            assert hypothesis.log_prob / length**0.6 == pytest.approx(hypothesis.score, abs=1e-5)
        if longest == LONGEST:  # the same candidates as in our own search
            (found,) = beam_search(
                ours, [source], WORDS, beam_width=3, norm=power_norm, max_length=LONGEST,
                early_stop=False,
            )  # fmt: skip
            for one, other in zip(trace.steps, found.steps, strict=False):
                assert [(c.parent, c.token, c.status) for c in told(one)] == [
                    (c.parent, c.token, c.status) for c in told(other)
                ]
                chances = [c.log_prob for c in told(other)]
                assert [c.log_prob for c in told(one)] == pytest.approx(chances, abs=1e-4)
            twin = traced(ours)
            for rank, hypothesis in enumerate(trace.hypotheses):
                stitched = trace.forward_trace(rank)
                with torch.no_grad():
                    whole = twin(torch.tensor([source]), torch.tensor([[PAD, *hypothesis.ids]]))
                for name in ("decoder_attention", "cross_attention"):
                    expected = torch.cat(getattr(whole, name)).numpy()
                    found_there = getattr(stitched, name)[..., : expected.shape[-1]]
                    np.testing.assert_allclose(found_there, expected, atol=1e-5)


def test_outputs_that_cannot_be_replayed_are_refused(models) -> None:
    theirs, _ = models
    _, output = returned(theirs, SOURCES, 4, 1, max_new_tokens=LONGEST)
    _, drawn = returned(theirs, SOURCES, 4, 4, max_new_tokens=LONGEST, top_k=0)
    drawn.sequences[:, 2] = (drawn.sequences[:, 2] + 7) % PAD  # as if another word had been drawn
    bare = theirs.generate(torch.tensor([SOURCES[0]]), return_dict_in_generate=True)
    cases = [
        (output, WORDS, 5, "num_beams=5 does not fit 12 rows of scores and 3 texts"),
        (output, WORDS, 2, "num_beams=2 does not fit"),
        (drawn, WORDS, 4, "is not among the best continuations"),
        (output, object(), 4, "is neither a tokenizer nor a vocabulary"),
        (bare, WORDS, 2, "output_scores=True"),
    ]
    assert_refused((lambda case=case: from_generate(*case[:2], num_beams=case[2]), case[3]) for case in cases)


def test_their_search_is_shown_as_ours_is(models) -> None:
    theirs, _ = models
    ids, output = returned(theirs, SOURCES, 3, 2, max_new_tokens=LONGEST)
    trace = from_generate(output, WORDS, num_beams=3, source_ids=ids)[2]
    view = BeamStepper(trace)
    assert view.search is trace
    best = " ".join(trace.hypotheses[0].tokens)
    assert best in view.alt_text()
    labels = {text.get_text() for text in view.figure().axes[0].texts}
    assert any(trace.hypotheses[0].tokens[0] in label for label in labels)
