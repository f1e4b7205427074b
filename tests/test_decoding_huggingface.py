"""Our search against Hugging Face's generate, on weights copied from a small Marian model.

Where theirs is defined otherwise: its score divides by length ** penalty (`power_norm`);
``early_stopping="never"`` bounds what may come as our ``early_stop=False`` does; and at the
maximum length it keeps texts that have not ended, or ends them at no cost, where ours end with
``<eos>`` at its cost. So the texts here end before it, as most do.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
import transformers

from viz_transformer.decoding import beam_search, greedy, power_norm
from viz_transformer.model import DecoderOnly, Transformer, from_huggingface

PAD, EOS, N_WORDS = 19, 0, 20
LONGEST = 24


@dataclass(frozen=True)
class Words:
    """Marian's special tokens: a text begins with padding."""

    pad_id: int = PAD
    sos_id: int = PAD
    eos_id: int = EOS
    tokens: tuple[str, ...] = tuple(f"t{i}" for i in range(N_WORDS))


SOURCES = [[5, 6, 7, EOS], [8, EOS], [9, 10, 11, 12, 13, EOS]]


@pytest.fixture(scope="module", params=[0, 1])
def models(request) -> tuple[transformers.MarianMTModel, Transformer]:
    """A model of theirs that has half learned to copy, so that its texts end; the same as ours."""
    torch.manual_seed(request.param)
    config = transformers.MarianConfig(
        vocab_size=N_WORDS, d_model=16, encoder_layers=1, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=24,
        decoder_ffn_dim=24, max_position_embeddings=32, pad_token_id=PAD, eos_token_id=EOS,
        decoder_start_token_id=PAD, forced_eos_token_id=None, dropout=0.0,
    )  # fmt: skip
    theirs = transformers.MarianMTModel(config)
    optimiser = torch.optim.Adam(theirs.parameters(), lr=1e-2)
    for step in range(120):
        ids = torch.randint(1, PAD, (32, 2 + step % 5))
        ids[:, -1] = EOS
        theirs(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    theirs.eval()
    return theirs, from_huggingface(theirs).eval()


def generated(theirs, sources: list[list[int]], **options):
    """What generate finds: per sentence its texts and their scores, best first."""
    longest = max(map(len, sources))
    ids = torch.tensor([[*source, *[PAD] * (longest - len(source))] for source in sources])
    width = options["num_beams"]
    found = theirs.generate(
        ids, attention_mask=ids != PAD, num_return_sequences=width, output_scores=True,
        return_dict_in_generate=True, do_sample=False, bad_words_ids=[[PAD]],
        max_new_tokens=LONGEST + 1, **options,
    )  # fmt: skip
    texts = []
    for row in found.sequences.tolist():
        text = row[1:]
        texts.append(tuple(text[: text.index(EOS)] if EOS in text else text))
    scores = found.sequences_scores.tolist()
    pairs = list(zip(texts, scores, strict=True))
    return [pairs[start : start + width] for start in range(0, len(pairs), width)]


@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("early", [True, False])
def test_the_n_best_and_their_scores_are_theirs(
    models, width: int, penalty: float, early: bool
) -> None:
    theirs, ours = models
    expected = generated(
        theirs, SOURCES, num_beams=width, length_penalty=penalty,
        early_stopping=True if early else "never",
    )  # fmt: skip
    found = beam_search(
        ours, SOURCES, Words(), beam_width=width, length_penalty=penalty, norm=power_norm,
        max_length=LONGEST, early_stop=early,
    )  # fmt: skip
    for trace, texts in zip(found, expected, strict=True):
        assert max(len(ids) for ids, _ in texts) < LONGEST
        assert [h.ids for h in trace.hypotheses] == [ids for ids, _ in texts]
        for hypothesis, (_, score) in zip(trace.hypotheses, texts, strict=True):
            assert hypothesis.score == pytest.approx(score, abs=1e-4)


def test_greedy_is_theirs(models) -> None:
    theirs, ours = models
    for source in SOURCES:
        found = theirs.generate(
            torch.tensor([source]), num_beams=1, do_sample=False, bad_words_ids=[[PAD]],
            max_new_tokens=LONGEST + 1,
        )[0, 1:].tolist()  # fmt: skip
        expected = found[: found.index(EOS)] if EOS in found else found
        assert greedy(ours, [source], Words(), max_length=LONGEST) == [expected]


def test_gpt2_continues_as_theirs_does() -> None:
    torch.manual_seed(1)
    config = transformers.GPT2Config(
        vocab_size=N_WORDS, n_embd=16, n_layer=2, n_head=2, n_positions=32, bos_token_id=1,
        eos_token_id=EOS,
    )  # fmt: skip
    theirs = transformers.GPT2LMHeadModel(config)
    optimiser = torch.optim.Adam(theirs.parameters(), lr=1e-2)
    for step in range(60):
        ids = torch.randint(2, PAD, (32, 4 + step % 5))
        ids[:, -1] = EOS
        theirs(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    theirs.eval()
    ours = from_huggingface(theirs).eval()
    assert isinstance(ours, DecoderOnly)
    prompts = [[3, 4, 5], [6, 7]]
    words = Words(pad_id=PAD, sos_id=1)
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
