"""The recipe that makes the bundled translator, on a shortened run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

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


@pytest.fixture
def small_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes.english_spanish, "english_spanish", lambda: english_spanish(n_train=20_000))


def test_it_gives_the_same_file_twice_and_says_how_it_was_made(small_corpus: None, tmp_path: Path) -> None:
    training = replace(recipes.TRAINING, n_steps=6, batch_size=16)
    digests, traces = [], []
    for name in ("first", "again"):
        seen: list[int] = []

        def watched(records, total, seen=seen):
            start = len(seen)
            for record in records:
                seen.append(record.step)
                yield record
            assert len(seen) - start == total

        folder = recipes.train_english_spanish(tmp_path / name, training, progress=watched)
        assert seen == [*range(1, 7), *range(1, 7)]  # on pairs, then on all translations
        digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
        made_by = json.loads((folder / "made_by.json").read_text())
        assert made_by["sha256"]["model.safetensors"] == digest
        assert (made_by["training"]["n_steps"], made_by["refinement"]["training"]["n_steps"]) == (6, 6)
        assert made_by["refinement"]["from_sha256"] != digest
        digests.append(digest)
        traces.append((folder / recipes.TRAINING_TRACE).read_bytes())
    assert digests[0] == digests[1]
    assert traces[0] == traces[1]
    seen = recipes.load_training(tmp_path / "first")
    assert (seen.moments[0].step, seen.moments[-1].step) == (0, 6)
    assert seen.steps.tolist() == list(range(1, 7))
    assert load_translator(tmp_path / "first").config.d_model == recipes.MODEL.d_model


def test_the_command_names_the_trace_beside_the_checkpoint(
    small_corpus: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "en-es", "--steps", "2", "--out", str(tmp_path / "new")]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"wrote {tmp_path / 'new'}, ")
    assert out.endswith(f"{tmp_path / 'new' / 'training.npz'}\n")
    assert len(recipes.load_training(tmp_path / "new").moments) == 3


def test_the_grammar_makes_every_held_out_sentence() -> None:
    sets = recipes.held_out_sets(n_held_out=5, n_of_a_kind=5)
    assert [name.removeprefix("held-out ") for name in sets] == [
        "combinations",
        "tired/wide",
        "her/his",
        "fish",
    ]
    for pairs in sets.values():
        assert len(pairs) == 5
        for pair in pairs:
            exact = translation_tokens(as_text(pair.source))
            assert exact[pair.target] > 0
            assert sum(exact.values()) == pytest.approx(1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_six_pairs_are_learned_in_a_moment(seed: int) -> None:
    translator = recipes.six_pairs_translator(seed=seed)
    for pair in SIX_PAIRS:
        assert translator.translate(" ".join(pair.source)).tokens == pair.target


def test_half_trained_the_shorter_text_wins_without_length_normalisation() -> None:
    """Two words have a lower log-probability than one, however good they are."""
    translator = recipes.six_pairs_translator(n_steps=70, seed=7)
    plain = translator.decode("good morning", length_penalty=0)
    by_text = {" ".join(h.tokens): h for h in plain.hypotheses}
    short, whole = by_text["buenos"], by_text["buenos dias"]
    assert plain.hypotheses[0] == short
    assert short.log_prob > whole.log_prob
    for penalty in (0.6, 1.0):
        assert translator.translate("good morning", length_penalty=penalty).text == "buenos dias"


def test_a_half_trained_model_is_the_same_on_any_number_of_threads() -> None:
    """Lesson 12 quotes its log-probabilities; on two threads this one was −2.19."""
    with threads(2):
        translator = recipes.six_pairs_translator(n_steps=70, seed=7)
    total = translator.log_probs("good morning", "buenos").sum()
    assert total == pytest.approx(-2.184, abs=0.0005)


SPANISH = {
    "language-model": (recipes.train_language_model, recipes.LANGUAGE_MODEL_TRAINING, load_language_model),
    "masked-model": (recipes.train_masked_model, recipes.MASKED_MODEL_TRAINING, load_masked_model),
}


@pytest.fixture
def small_spanish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes.spanish_models, "english_spanish", lambda: english_spanish(n_train=3000))


@pytest.mark.parametrize("name", SPANISH)
def test_the_spanish_models_give_the_same_files_twice(name: str, small_spanish: None, tmp_path: Path) -> None:
    train, usual, load = SPANISH[name]
    training = replace(usual, n_steps=4, batch_size=16)
    one, other = (train(tmp_path / folder, training) for folder in ("first", "again"))
    for file in ("model.safetensors", recipes.TRAINING_TRACE, "vocabulary.json"):
        assert (one / file).read_bytes() == (other / file).read_bytes()
    made_by = json.loads((one / "made_by.json").read_text())
    digest = hashlib.sha256((one / "model.safetensors").read_bytes()).hexdigest()
    assert made_by["sha256"]["model.safetensors"] == digest
    assert made_by["command"] == f"viz-transformer train {name} --out first --steps 4 --seed 0"
    model, seen = load(one), recipes.load_training(one)
    assert model.config.d_model == 64
    assert (seen.moments[0].step, seen.moments[-1].step) == (0, 4)
    last = seen.moments[-1]
    for index, (source, reference) in enumerate(zip(seen.sources, seen.references, strict=True)):
        trace, log_probs = model.judge(source, reference)
        assert last.losses[index] == pytest.approx(-log_probs.mean(), abs=1e-5)
        assert last.traces[index].kinds == trace.kinds
        assert last.translations[index] == model.answers([source])[0]


@pytest.mark.parametrize("name", SPANISH)
def test_the_spanish_models_have_their_command(
    name: str, small_spanish: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", name, "--steps", "2", "--out", str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {tmp_path / 'new'}, ")
    assert SPANISH[name][2](tmp_path / "new").vocabulary.languages == ("Spanish", "Spanish")
