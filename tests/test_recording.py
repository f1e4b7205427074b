"""Recorded trainings: nothing is disturbed, what is seen is right, and what they show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import viz_transformer.recipes as recipes
from viz_transformer._files import bundled
from viz_transformer.analysis import head_entropy_share
from viz_transformer.config import TrainConfig
from viz_transformer.corpus import SentencePair, is_held_out, sentences, translations, vocabulary_of
from viz_transformer.corpus.batches import batches
from viz_transformer.corpus.derivation import Observed, derivations
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.decoding import greedy
from viz_transformer.errors import FileError, UserError
from viz_transformer.model import Transformer
from viz_transformer.recipes.recording import Recorder, moments_for, record_training
from viz_transformer.trace import TrainingTrace
from viz_transformer.training import StepRecord, fit, make_model
from viz_transformer.translator import Translator, load_translator
from viz_transformer.vocabulary import Subwords

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

VOCABULARY = vocabulary_of(SIX_PAIRS)
CONFIG = replace(recipes.SIX_PAIRS_MODEL, vocab_size=len(VOCABULARY), n_encoder_layers=1)


def new_model(**changes: object) -> Transformer:
    return make_model(replace(CONFIG, **changes), 0)


def recorder_of(model: Transformer, moments: object = (0, 2), **changes: object) -> Recorder:
    values = {"pairs": SIX_PAIRS[:3], "name": "seed 0", **changes}
    return Recorder(model, VOCABULARY, moments=moments, **values)


def steps(model: Transformer, n_steps: int = 6) -> Iterator[StepRecord]:
    training = TrainConfig(n_steps=n_steps, batch_size=2, warmup_steps=2)
    return fit(model, batches(SIX_PAIRS, VOCABULARY, 2, 0), training)


def test_a_watched_training_gives_the_same_weights_to_the_last_bit() -> None:
    for positional in ("sinusoidal", "learned", "rotary"):
        watched, alone = (new_model(positional=positional, dropout=0.5) for _ in range(2))
        recorder = recorder_of(watched, [2, 5, 9])
        before = torch.get_rng_state()
        losses = [record.loss for record in record_training(steps(watched), recorder)]
        assert torch.equal(torch.get_rng_state(), before)
        assert losses == [record.loss for record in steps(alone)]
        for name, weights in alone.state_dict().items():
            assert torch.equal(weights, watched.state_dict()[name]), name
        seen = recorder.trace()
        assert [moment.step for moment in seen.moments] == [2, 5]
        assert seen.name == "seed 0"
        assert seen.steps.tolist() == [1, 2, 3, 4, 5, 6]
        np.testing.assert_allclose(seen.losses, losses, rtol=1e-6)
        assert seen.accuracies.max() <= 1
    for training in (True, False):
        recorder_of(alone.train(training)).record_moment(0)
        assert all(module.training is training for module in alone.modules())


def test_a_moment_equals_the_translator_with_the_same_weights() -> None:
    model = new_model()
    recorder = recorder_of(model, (0, 4), pairs=SIX_PAIRS)
    for _ in record_training(steps(model, 4), recorder):
        pass
    seen = recorder.trace()
    for moment, weights in zip(seen.moments, (new_model(), model), strict=True):
        translator = Translator(weights.eval(), VOCABULARY)
        for number, (source, target) in enumerate(zip(seen.sources, seen.references, strict=True)):
            (written,) = greedy(weights, [VOCABULARY.source_ids(source)], VOCABULARY)
            assert moment.translations[number] == VOCABULARY.decode(written)
            loss = -translator.log_probs(source, target).mean()
            assert moment.losses[number] == pytest.approx(loss, abs=1e-9)
            wanted, held = translator.trace(source, target), moment.traces[number]
            for side in ("source_tokens", "target_tokens", "output_tokens"):
                assert getattr(held, side) == getattr(wanted, side)
            for kind in ("encoder", "decoder", "cross"):
                np.testing.assert_array_equal(held.attention(kind), wanted.attention(kind))


def test_text_pairs_are_watched_like_pairs_of_words() -> None:
    texts = [TextPair(" ".join(pair.source), " ".join(pair.target)) for pair in SIX_PAIRS[:3]]
    one, other = recorder_of(new_model()), recorder_of(new_model(), pairs=texts)
    for recorder in (one, other):
        with pytest.raises(UserError, match="at least one moment"):
            recorder.trace()
        recorder.record_moment(0)
    assert one.trace().references == other.trace().references == ("hola mundo", "te amo", "el gato es negro")
    assert one.trace().moments[0].losses == other.trace().moments[0].losses


def test_pieces_of_words_are_watched_with_the_words_they_make() -> None:
    pairs = [TextPair("The animals slept.", "Los animales durmieron.")]
    pieces = Subwords.train([pairs[0].source, pairs[0].target], n_tokens=300)
    model = make_model(replace(CONFIG, vocab_size=len(pieces), max_length=60), 0)
    recorder = Recorder(model, pieces, pairs, "pieces", [0])
    recorder.record_moment(0)
    (moment,) = recorder.trace().moments
    ids = pieces.source_ids(pairs[0].source)
    assert len(ids) > 5
    assert moment.traces[0].source_tokens == pieces.tokens_of(ids)
    assert moment.traces[0].source_words == pieces.word_numbers(ids)


def test_a_long_curve_is_thinned_and_keeps_its_ends() -> None:
    for n in (1, 499, 500, 501, 5000):
        recorder = recorder_of(new_model())
        recorder.record_moment(0)
        for step in range(1, n + 1):
            recorder.add_step(StepRecord(step, 1 / step, 0.5, 1e-3, 1.0, 1e4))
        curve = recorder.trace()
        assert min(n, 300) <= len(curve.steps) <= 500
        assert (curve.steps[0], curve.steps[-1]) == (1, n)
        assert (np.diff(curve.steps) > 0).all()
        np.testing.assert_allclose(curve.losses, 1 / curve.steps, rtol=1e-6)
        if n > 500:  # where most happens, every step
            assert curve.steps[:20].tolist() == list(range(1, 21))
            assert np.diff(curve.steps).max() <= 2 * n / 249


def test_moments_start_at_0_end_at_the_end_and_move_apart() -> None:
    for n_steps in (1, 2, 10, 100, 300, 5000, 100_000):
        moments = moments_for(n_steps)
        assert (moments[0], moments[-1]) == (0, n_steps)
        assert len(moments) <= 24
        apart = np.diff(moments)
        assert (apart > 0).all()
        assert (np.diff(apart) >= -1).all()  # but for rounding
        if n_steps >= 300:
            assert len(moments) >= 22
            assert apart[-1] > 20 * apart[0]
    for n_steps, n_moments in ((0, 5), (10, 1)):
        with pytest.raises(UserError, match="at least 2 moments"):
            moments_for(n_steps, n_moments)


def test_a_trained_folder_and_a_file_load_like_the_bundled_ones(tmp_path: Path) -> None:
    recorder = recorder_of(new_model())
    recorder.record_moment(0)
    path = recorder.trace().save(tmp_path / recipes.TRAINING_TRACE)
    assert recipes.load_training(tmp_path).sources == recipes.load_training(path).sources
    with pytest.raises(UserError, match=r"no recorded training 'six-pairs-2'; choose one of"):
        recipes.load_training("six-pairs-2")
    path.write_bytes(b"x")
    with pytest.raises(FileError, match="damaged"):
        recipes.load_training(tmp_path)


def test_texts_that_cannot_be_watched_are_refused_before_the_training() -> None:
    for changes, message in (
        ({"moments": ()}, r"moments=\(\) must be steps that rise"),
        *(({"moments": moments}, "must be steps that rise") for moments in ((3, 1), (1, 1), (-1, 1))),
        ({"pairs": ()}, "give at least one pair"),
        ({"pairs": (TextPair("hello world " * 10, "hola"),)}, "21 tokens.*reads at most 20"),
        ({"pairs": (TextPair("hello", "hola " * 20),)}, "21 tokens.*reads at most 20"),
        ({"pairs": (TextPair("hello dragon", "hola"),)}, "unknown English word 'dragon'"),
    ):
        with pytest.raises(UserError, match=message):
            recorder_of(new_model(), **changes)


# The bundled trainings


def test_the_translator_s_watched_sentences_are_held_out() -> None:
    combinations = ("black cat", "Beijing Lisbon", "animal … square", "animal … square")
    patterns = (sentences.intransitive, sentences.journey, sentences.reason, sentences.reason)
    for pair, combination, pattern in zip(recipes.WATCHED, combinations, patterns, strict=True):
        assert is_held_out(combination)
        english = tuple(pair.source.split())
        found = [SentencePair.from_phrase(one) for one, _ in derivations(pattern, Observed(english=english))]
        assert all(combination in each.combinations for each in found if each.source == english)
        assert english in {each.source for each in found}


def test_the_bundled_training_ends_with_the_references_and_the_translator_kept_them() -> None:
    """What is recorded is the training on pairs; the one on all translations came after it."""
    seen, translator = recipes.load_training("en-es"), load_translator()
    assert seen.sources == tuple(pair.source for pair in recipes.WATCHED)
    assert seen.moments[0].step == 0
    last = seen.moments[-1]
    assert last.step == seen.steps[-1] == recipes.TRAINING.n_steps
    assert last.translations == seen.references == tuple(translator.answers(seen.sources))
    for number, (source, target) in enumerate(zip(seen.sources, seen.references, strict=True)):
        exact = -np.log(translations(source)[target]) / (len(target.split()) + 1)  # nats a token, with <eos>
        assert last.losses[number] == pytest.approx(exact, abs=0.02)
        assert -translator.log_probs(source, target).mean() == pytest.approx(exact, abs=0.01)
    made_by = json.loads(bundled("data/en-es/made_by.json").read_text())
    assert seen.losses[-1] == pytest.approx(made_by["last_loss"], rel=1e-6)


def entropy_shares(seen: TrainingTrace, moment: int, kind: str) -> np.ndarray:
    """Return the mean over the sentences, [layer, head]."""
    return np.mean([head_entropy_share(one, kind) for one in seen.moments[moment].traces], axis=0)


@pytest.mark.weekly
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_small_model_learns_the_six_pairs_and_its_heads_form(seed: int) -> None:
    seen = recipes.six_pairs_training(seed)
    assert seen.name == f"small, seed {seed}"
    assert_learned_and_its_heads_formed(seen)


def assert_learned_and_its_heads_formed(seen: TrainingTrace) -> None:
    assert seen.moments[-1].translations == seen.references
    assert seen.moments[0].translations != seen.references
    for kind in ("encoder", "decoder", "cross"):
        by_layer = entropy_shares(seen, -1, kind).mean(axis=1)  # [layer]
        assert (by_layer < 0.8).all(), (kind, by_layer)
    assert entropy_shares(seen, 0, "cross").mean() > 0.9  # before, they were all but blank


@pytest.mark.parametrize("seed", [0, 1])
def test_the_bundled_small_models_are_those_made_live(seed: int) -> None:
    seen = recipes.load_training(f"six-pairs-{seed}")
    live = recipes.six_pairs_training(seed, n_epochs=1)
    assert (seen.name, seen.sources) == (live.name, live.sources)
    for one, other in zip(seen.moments[0].traces, live.moments[0].traces, strict=True):
        for kind in ("encoder", "decoder", "cross"):
            assert abs(one.attention(kind) - other.attention(kind)).max() < 0.0005
    assert_learned_and_its_heads_formed(seen)
    assert entropy_shares(seen, -1, "cross").mean() < 0.75


def test_the_large_model_learns_all_six_and_its_cross_heads_stay_blank() -> None:
    seen = recipes.load_training("six-pairs-large")
    assert seen.moments[-1].translations == seen.references
    assert seen.moments[-1].step == 100
    assert seen.moments[-1].traces[0].cross_attention.shape[:2] == (6, 8)
    assert entropy_shares(seen, -1, "cross").min() >= 0.99
    assert seen.sources == recipes.load_training("six-pairs-0").sources
