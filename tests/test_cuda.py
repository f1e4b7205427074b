"""What `--device cuda` needs: nothing of the processor's meets anything of the card's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support import training_runs
from tests.support.fake_cuda import pretend_card
from viz_transformer.corpus.files import TextPair
from viz_transformer.decoding import greedy
from viz_transformer.model import DecoderOnly, Transformer
from viz_transformer.model.interventions import Interventions
from viz_transformer.recipes.files import MODEL, TRAINING, train_files
from viz_transformer.recipes.saved_trainings import load_training

ENGLISH = "a cat", "a dog", "two cats", "the dog sleeps"
GERMAN = "eine katze", "ein hund", "zwei katzen", "der hund schläft"
PAIRS = [TextPair(*both) for both in zip(ENGLISH, GERMAN, strict=True)]
SMALL = replace(MODEL, d_model=16, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, d_ff=32)
SHORT = replace(TRAINING, n_steps=6, batch_tokens=64, warmup_steps=2)
SENTENCE = "the small dog sees the big black cats"


def test_the_pretended_card_computes_and_refuses_the_processors_tensors():
    with pretend_card() as card:
        there = torch.tensor([1.0, 2.0], device=card)
        assert there.device.type == card
        assert (there * 2).cpu().tolist() == [2.0, 4.0]
        assert (there + torch.tensor(1.0)).cpu().tolist() == [2.0, 3.0]  # a card takes a number
        with pytest.raises(RuntimeError, match="same device"):
            there + torch.ones(2)
        assert there[torch.tensor([1])].cpu().tolist() == [2.0]  # and may be pointed into
        with pytest.raises(RuntimeError, match="same device"):
            torch.ones(2)[torch.tensor([1], device=card)]
        with pytest.raises(RuntimeError):
            there.numpy()


def _trained(folder, device, **more):
    given = {"model": SMALL, "training": SHORT, "look_every": 3, "device": device, **more}
    return train_files(PAIRS[:3], PAIRS[3:], folder, **given)


def test_a_training_on_a_card_learns_what_one_on_the_processor_learns_stopped_or_not(tmp_path):
    here = _trained(tmp_path / "here", "cpu")
    with pretend_card() as card:
        there = _trained(tmp_path / "there", card)
        assert _trained(tmp_path / "cut", card, minutes=0).stopped
        cut = _trained(tmp_path / "cut", card, resume=True)
    assert cut.step == there.step
    assert cut.metrics[-1].validation_loss == there.metrics[-1].validation_loss
    for one, other in zip(here.metrics, there.metrics, strict=True):
        assert other.step == one.step
        assert other.loss == pytest.approx(one.loss, rel=1e-5)
        assert other.validation_loss == pytest.approx(one.validation_loss, rel=1e-5)
    expected, found = load_training(here.folder), load_training(there.folder)
    assert [moment.step for moment in found.moments] == [0, 3, 6]
    for one, other in zip(expected.moments, found.moments, strict=True):
        assert other.translations == one.translations
        for seen, wanted in zip(other.traces, one.traces, strict=True):
            np.testing.assert_allclose(seen.cross_attention, wanted.cross_attention, atol=1e-5)
    text = vt.load_translator(here.folder).translate("the dog sleeps").text
    assert vt.load_translator(there.folder).translate("the dog sleeps").text == text


def _answers(translator) -> dict[str, object]:
    changed = Interventions(positions=False)
    searched = translator.decode(SENTENCE, attention=True)
    trace = translator.trace(SENTENCE)
    return {
        "translation": translator.translate(SENTENCE).text,
        "without positions": translator.translate(SENTENCE, interventions=changed).text,
        "several": [one.text for one in translator.translate_all([SENTENCE, "a cat"])],
        "drawn": translator.sample(SENTENCE, top_k=3, seed=1).hypotheses[0].tokens,
        "candidates": [[one.token for one in step.candidates] for step in searched.steps],
        "search": np.concatenate([s.cross_attention.ravel() for s in searched.steps]),
        "heads": trace.cross_attention,
        "places": trace.source_positions,
        "vectors": translator.encode(SENTENCE),
        "log-probabilities": translator.log_probs(SENTENCE),
    }


def test_a_translator_whose_model_was_moved_to_a_card_answers_as_before():
    translator = vt.load_translator()
    expected = _answers(translator)
    with pretend_card() as card:
        translator.model.to(card)
        assert translator.model.source_embedding.weight.device.type == card
        found = _answers(translator)
    for name, wanted in expected.items():
        if isinstance(wanted, np.ndarray):
            np.testing.assert_allclose(found[name], wanted, atol=1e-4, err_msg=name)
        else:
            assert found[name] == wanted, name


@pytest.mark.parametrize("family", ["encoder-decoder", "decoder"])
@pytest.mark.parametrize("positional", ["sinusoidal", "learned", "rotary", "none"])
def test_every_kind_of_model_writes_the_same_on_a_gpu(family, positional, translator):
    config = replace(
        training_runs.MODEL,
        vocab_size=len(translator.vocabulary),
        max_length=32,
        n_decoder_layers=2,
        family=family,
        positional=positional,
        scoring="additive" if positional == "learned" else "scaled_dot",
    )
    torch.manual_seed(0)
    model = (DecoderOnly if family == "decoder" else Transformer)(config)
    sources = [[5, 6, 7, 2], [8, 9, 2]]
    expected = greedy(model, sources, translator.vocabulary, max_length=6, prefix=[11])
    with pretend_card() as card:
        found = greedy(model.to(card), sources, translator.vocabulary, max_length=6, prefix=[11])
    assert found == expected
