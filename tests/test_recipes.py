"""How the bundled files were made: each recipe on a shortened run, twice; and what is said of the files."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
import torch
from safetensors.torch import load_file

import recipes as bundled
from recipes.__main__ import main
from tests.support.source_code import ROOT
from viz_transformer import cli
from viz_transformer import recipes as ours
from viz_transformer.corpus import english_spanish, translation_tokens
from viz_transformer.corpus.batches import as_text
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.errors import UserError
from viz_transformer.language_model import load_language_model
from viz_transformer.masked_model import load_masked_model
from viz_transformer.model.threads import threads
from viz_transformer.recipes import six_pairs
from viz_transformer.translator import load_translator

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

DATA = ROOT / "data"
LOADERS = {"en-es": load_translator, "language-model": load_language_model, "masked-model": load_masked_model}


def made_by(folder: Path) -> dict:
    """Return the record in a folder, whose digests are those of the files beside it."""
    record = json.loads((folder / "made_by.json").read_text())
    for name, digest in record["sha256"].items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
    return record


@pytest.mark.parametrize("folder", sorted(path.parent for path in DATA.glob("*/made_by.json")), ids=str)
def test_a_bundled_file_is_small_and_the_one_that_its_record_and_the_readme_tell_of(folder: Path) -> None:
    told = " ".join(path.read_text("utf-8") for path in (*DATA.glob("README.md"), *folder.glob("README.md")))
    for digest in made_by(folder)["sha256"].values():
        assert digest in told
    for path in folder.glob("*.npz"):
        assert path.stat().st_size < 320_000
        assert hashlib.sha256(path.read_bytes()).hexdigest() in told
    for path in folder.glob("*.safetensors"):
        assert path.stat().st_size < 900_000


@pytest.mark.parametrize(
    "name", [pytest.param("en-es", marks=pytest.mark.weekly), "language-model", "masked-model"]
)
def test_a_model_is_the_same_twice_and_by_each_command(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    n_train = 20_000 if name == "en-es" else 3_000  # its second training reads every word
    corpus = english_spanish(n_train=n_train, n_held_out=50, n_of_a_kind=10)
    for module in (bundled.spanish_models, bundled.english_spanish):
        monkeypatch.setattr(module, "english_spanish", lambda: corpus)
    one, other = tmp_path / "one", tmp_path / "other"
    assert main([name, "--out", str(one), "--steps", "2"]) == 0
    assert cli.main(["train", name, "--out", str(other), "--steps", "2"]) == 0
    out, err = capsys.readouterr()
    assert out == "".join(
        f"wrote {each}, and a record of the training: {each / 'training.npz'}\n" for each in (one, other)
    )
    assert err.count("2/2") >= 2  # a progress bar each
    for file in ("model.safetensors", "training.npz", "vocabulary.json"):
        assert (one / file).read_bytes() == (other / file).read_bytes(), file
    record = made_by(one)
    assert record["command"] == f"python -m recipes {name} --out one --steps 2 --seed 0"
    if name == "en-es":  # on pairs, then on all translations
        assert record["refinement"]["training"]["n_steps"] == record["training"]["n_steps"] == 2
        assert record["refinement"]["from_sha256"] != record["sha256"]["model.safetensors"]
    model, seen = LOADERS[name](one), ours.load_training(one)
    assert model.config.d_model == 64
    assert (seen.moments[0].step, seen.moments[-1].step) == (0, 2)
    if name != "en-es":  # whose second training is not recorded
        assert model.vocabulary.languages == ("Spanish", "Spanish")
        for index, (source, reference) in enumerate(zip(seen.sources, seen.references, strict=True)):
            _, log_probs = model.judge(source, reference)
            assert seen.moments[-1].losses[index] == pytest.approx(-log_probs.mean(), abs=1e-5)
            assert seen.moments[-1].translations[index] == model.answers([source])[0]


def positions(folder: Path) -> Path:
    training = replace(bundled.POSITIONS_TRAINING, n_steps=5, batch_size=16)
    return bundled.train_learned_positions(folder, training, n_train=600)


def induction(folder: Path) -> Path:
    return bundled.train_induction_model(folder, replace(bundled.INDUCTION_TRAINING, n_steps=2))


@pytest.mark.parametrize("make", [positions, induction, bundled.write_six_pairs_trainings])
def test_a_small_file_is_the_same_twice_and_replaces_no_other(
    make: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, usual = replace(six_pairs.SMALL_TRAINING, n_steps=3), six_pairs.six_pairs_training
    for name, short in {
        "SMALL_TRAINING": few,
        "LARGE_TRAINING": few,
        "LARGE_MODEL": six_pairs.SMALL_MODEL,
        "six_pairs_training": lambda seed: usual(seed, 3),
    }.items():
        monkeypatch.setattr(six_pairs, name, short)
    contents = []
    for _ in range(2):  # over what is there
        torch.rand(1)  # the caller's random state decides nothing
        folder = make(tmp_path / "own")
        contents.append({name: (folder / name).read_bytes() for name in made_by(folder)["sha256"]})
    assert contents[0] == contents[1]
    if make is positions:
        tables = load_file(folder / "learned.safetensors")
        assert tables["table"].shape == (64, 64)
        assert (tables["table"] != tables["start"]).any(axis=1)[:4].all()
    elif make is induction:
        assert isinstance(ours.load_induction_model(folder), ours.AttentionOnly)
    else:
        assert set(contents[0]) == {"seed-0.npz", "seed-1.npz", "large.npz"}
        assert ours.load_training(folder / "large.npz").name == "large, seed 0"
    (folder / "made_by.json").write_text('{"command": "python -m recipes another --out own"}')
    with pytest.raises(UserError, match="is there already and not of recipe"):
        make(folder)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot make the folder"):
        make(tmp_path / "file" / "below")


@pytest.mark.weekly
@pytest.mark.parametrize("name", ["induction", "positions", "language-model", "masked-model"])
def test_a_recipe_run_whole_ends_at_the_loss_of_the_bundled_file(name: str, tmp_path: Path) -> None:
    assert main([name, "--out", str(tmp_path / name)]) == 0
    here, there = (json.loads((folder / name / "made_by.json").read_text()) for folder in (tmp_path, DATA))
    assert here["last_loss"] == pytest.approx(there["last_loss"], abs=0.02)
    assert here["training"] == there["training"]


def test_where_there_is_no_clone_one_line_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert ours.train_induction_model is bundled.train_induction_model  # as made_by.json names it
    with mock.patch.dict(sys.modules, {"recipes": None, "recipes.__main__": None, "recipes.report": None}):
        with pytest.raises(UserError, match="clone the repository"):
            _ = ours.WATCHED
        for command in (["train", "en-es", "--out", str(tmp_path / "own")], ["evaluate"]):
            assert cli.main(command) == 2
            error = capsys.readouterr().err
            assert "`python -m recipes`" in error
            assert error.count("\n") == 1
    assert main(["en-es", "--steps", "0"]) == 2
    assert capsys.readouterr().err.startswith("recipes: n_steps=0 must be")


def test_the_grammar_makes_every_held_out_sentence() -> None:
    sets = ours.held_out_sets(n_held_out=5, n_of_a_kind=5)
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
    translator = ours.six_pairs_translator(seed=seed)
    for pair in SIX_PAIRS:
        assert translator.translate(" ".join(pair.source)).tokens == pair.target


def test_half_trained_the_shorter_text_wins_without_length_normalisation() -> None:
    """Two words have a lower log-probability than one, however good they are."""
    with threads(2):  # a half-trained model is the same on any number of threads
        translator = ours.six_pairs_translator(n_steps=70, seed=7)
    plain = translator.decode("good morning", length_penalty=0)
    by_text = {" ".join(h.tokens): h for h in plain.hypotheses}
    short, whole = by_text["buenos"], by_text["buenos dias"]
    assert plain.hypotheses[0] == short
    assert short.log_prob > whole.log_prob
    for penalty in (0.6, 1.0):
        assert translator.translate("good morning", length_penalty=penalty).text == "buenos dias"
    # Lesson 11 quotes this number; on two threads it was once −2.19.
    assert translator.log_probs("good morning", "buenos").sum() == pytest.approx(-2.184, abs=0.0005)
