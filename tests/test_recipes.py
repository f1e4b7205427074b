"""The recipes that make the bundled models, on shortened runs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

import recipes as bundled
import viz_transformer.recipes as recipes
from viz_transformer.cli import main
from viz_transformer.corpus import english_spanish, translation_tokens
from viz_transformer.corpus.batches import as_text
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.language_model import load_language_model
from viz_transformer.masked_model import load_masked_model
from viz_transformer.model.threads import threads
from viz_transformer.translator import load_translator

pytestmark = pytest.mark.usefixtures("shapes_unchecked")


def made_by(folder: Path) -> dict:
    """Return the record in a folder, whose digest is that of the weights beside it."""
    record = json.loads((folder / "made_by.json").read_text())
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert record["sha256"]["model.safetensors"] == digest
    return record


def assert_same_files(one: Path, other: Path) -> None:
    for file in ("model.safetensors", recipes.TRAINING_TRACE, "vocabulary.json"):
        assert (one / file).read_bytes() == (other / file).read_bytes(), file


@pytest.mark.weekly
def test_the_translator_is_the_same_twice_and_by_its_command(monkeypatch, tmp_path: Path, capsys) -> None:
    corpus = english_spanish(n_train=20_000)
    monkeypatch.setattr(bundled.english_spanish, "english_spanish", lambda: corpus)
    taken: list[int] = []

    def watched(records, total):
        start = len(taken)
        for record in records:
            taken.append(record.step)
            yield record
        assert len(taken) - start == total

    training = replace(recipes.TRAINING, n_steps=6)
    folder = recipes.train_english_spanish(tmp_path / "first", training, progress=watched)
    assert taken == [*range(1, 7), *range(1, 7)]  # on pairs, then on all translations
    record = made_by(folder)
    assert (record["training"]["n_steps"], record["refinement"]["training"]["n_steps"]) == (6, 6)
    assert record["refinement"]["from_sha256"] != record["sha256"]["model.safetensors"]
    seen = recipes.load_training(folder)
    assert (seen.moments[0].step, seen.moments[-1].step) == (0, 6)
    assert seen.steps.tolist() == list(range(1, 7))
    assert load_translator(folder).config.d_model == recipes.MODEL.d_model
    assert main(["train", "en-es", "--steps", "6", "--out", str(tmp_path / "again")]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"wrote {tmp_path / 'again'}, ")
    assert out.endswith(f"{tmp_path / 'again' / 'training.npz'}\n")
    assert_same_files(folder, tmp_path / "again")


def test_the_grammar_makes_every_held_out_sentence() -> None:
    sets = recipes.held_out_sets(n_held_out=5, n_of_a_kind=5)
    names = [name.removeprefix("held-out ") for name in sets]
    assert names == ["combinations", "tired/wide", "her/his", "fish"]
    for pairs in sets.values():
        assert len(pairs) == 5
        for pair in pairs:
            exact = translation_tokens(as_text(pair.source))
            assert exact[pair.target] > 0
            assert sum(exact.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=pytest.mark.weekly), pytest.param(2, marks=pytest.mark.weekly)]
)
def test_the_six_pairs_are_learned_in_a_moment(seed: int) -> None:
    translator = recipes.six_pairs_translator(seed=seed)
    for pair in SIX_PAIRS:
        assert translator.translate(" ".join(pair.source)).tokens == pair.target


def test_half_trained_the_shorter_text_wins_without_length_normalisation() -> None:
    """Two words have a lower log-probability than one, however good they are."""
    with threads(2):  # a half-trained model is the same on any number of threads
        translator = recipes.six_pairs_translator(n_steps=70, seed=7)
    plain = translator.decode("good morning", length_penalty=0)
    by_text = {" ".join(h.tokens): h for h in plain.hypotheses}
    short, whole = by_text["buenos"], by_text["buenos dias"]
    assert plain.hypotheses[0] == short
    assert short.log_prob > whole.log_prob
    for penalty in (0.6, 1.0):
        assert translator.translate("good morning", length_penalty=penalty).text == "buenos dias"
    # Lesson 12 quotes this number; on two threads it was once −2.19.
    assert translator.log_probs("good morning", "buenos").sum() == pytest.approx(-2.184, abs=0.0005)


@pytest.mark.parametrize(
    ("name", "train", "load"),
    [
        ("language-model", recipes.train_language_model, load_language_model),
        ("masked-model", recipes.train_masked_model, load_masked_model),
    ],
)
def test_a_spanish_model_is_the_same_twice_and_by_its_command(
    name: str, train, load, monkeypatch, tmp_path: Path, capsys
) -> None:
    corpus = english_spanish(n_train=3000, n_held_out=50, n_of_a_kind=10)
    monkeypatch.setattr(bundled.spanish_models, "english_spanish", lambda: corpus)
    one = train(tmp_path / "first", replace(recipes.MASKED_MODEL_TRAINING, n_steps=2))
    assert made_by(one)["command"] == f"python -m recipes {name} --out first --steps 2 --seed 0"
    assert main(["train", name, "--steps", "2", "--out", str(tmp_path / "again")]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {tmp_path / 'again'}, ")
    assert_same_files(one, tmp_path / "again")
    model, seen = load(one), recipes.load_training(one)
    assert model.vocabulary.languages == ("Spanish", "Spanish")
    assert model.config.d_model == 64
    assert (seen.moments[0].step, seen.moments[-1].step) == (0, 2)
    last = seen.moments[-1]
    for index, (source, reference) in enumerate(zip(seen.sources, seen.references, strict=True)):
        trace, log_probs = model.judge(source, reference)
        assert last.losses[index] == pytest.approx(-log_probs.mean(), abs=1e-5)
        assert last.traces[index].kinds == trace.kinds
        assert last.translations[index] == model.answers([source])[0]
