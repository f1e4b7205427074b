"""Checkpoints: they come back equal, and damaged ones are named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from viz_transformer.checkpoint import Checkpoint
from viz_transformer.config import ModelConfig
from viz_transformer.errors import FileError, UserError
from viz_transformer.language_model import load_language_model
from viz_transformer.masked_model import load_masked_model
from viz_transformer.model import DecoderOnly, EncoderOnly, TracedTransformer, Transformer
from viz_transformer.training import make_model
from viz_transformer.translator import load_translator
from viz_transformer.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["the", "cat"], ["el", "gato"])
WITH_MASK = Vocabulary(["el", "gato"], ["el", "gato"], mask=True)
CONFIG = ModelConfig(
    vocab_size=len(VOCABULARY), d_model=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1, d_ff=8
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Checkpoint(make_model(CONFIG, 0).eval(), VOCABULARY).save(tmp_path / "model")


def test_it_comes_back_equal(folder: Path) -> None:
    loaded = Checkpoint.load(folder)
    expected = make_model(CONFIG, 0).state_dict()
    assert loaded.model.config == CONFIG
    assert loaded.vocabulary == VOCABULARY
    assert not loaded.model.training
    assert all(torch.equal(loaded.model.state_dict()[name], expected[name]) for name in expected)


def test_one_checkpoint_serves_the_traced_variant_too(folder: Path) -> None:
    model = Checkpoint.load(folder).model
    traced = TracedTransformer(CONFIG).eval()
    traced.load_state_dict(model.state_dict())
    ids = torch.tensor([[3, 4, 2]])
    torch.testing.assert_close(traced(ids, ids).logits, model(ids, ids))


def test_nothing_in_it_is_pickled(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {
        "model.safetensors",
        "config.json",
        "vocabulary.json",
    }


def test_saving_again_replaces_its_files_and_leaves_others(folder: Path) -> None:
    (folder / "my_note.txt").write_text("mine")
    Checkpoint(make_model(CONFIG, 1).eval(), VOCABULARY).save(folder, {"note.txt": "new"})
    assert (folder / "my_note.txt").read_text() == "mine"
    assert (folder / "note.txt").read_text() == "new"
    weight = Checkpoint.load(folder).model.source_embedding.weight
    assert torch.equal(weight, make_model(CONFIG, 1).source_embedding.weight)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_failed_save_leaves_the_old_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(FileError, match="No space left"):
        Checkpoint(make_model(CONFIG, 1).eval(), VOCABULARY).save(folder)
    weight = Checkpoint.load(folder).model.source_embedding.weight
    assert torch.equal(weight, make_model(CONFIG, 0).source_embedding.weight)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("step", [1, 2])
def test_a_save_cut_short_between_its_steps_leaves_a_checkpoint(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """As by kill -9: nothing is put right afterwards."""
    replace, n_done = Path.replace, 0

    def cut_short(self: Path, target: Path) -> Path:
        nonlocal n_done
        if n_done == step - 1:
            raise KeyboardInterrupt
        n_done += 1
        return replace(self, target)

    other = Checkpoint(make_model(CONFIG, 1).eval(), VOCABULARY)
    monkeypatch.setattr(Path, "replace", cut_short)
    with pytest.raises(KeyboardInterrupt):
        other.save(folder)
    monkeypatch.undo()
    assert folder.exists() == (step == 1)
    name, expected = next(iter(make_model(CONFIG, 0).state_dict().items()))
    assert torch.equal(Checkpoint.load(folder).model.state_dict()[name], expected)
    other.save(folder)
    loaded = Checkpoint.load(folder).model.state_dict()[name]
    assert torch.equal(loaded, other.model.state_dict()[name])


def test_saved_weights_take_the_place_of_those_before(folder: Path) -> None:
    other = Checkpoint(make_model(CONFIG, 1).eval(), VOCABULARY)
    before = {path.name for path in folder.iterdir()}
    other.save_weights(folder)
    assert {path.name for path in folder.iterdir()} == before
    name, expected = next(iter(other.model.state_dict().items()))
    assert torch.equal(Checkpoint.load(folder).model.state_dict()[name], expected)


def test_someones_other_work_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileError, match="not a checkpoint"):
        Checkpoint(make_model(CONFIG, 0), VOCABULARY).save(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_missing_folder_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no checkpoint folder at .*nowhere.*train en-es"):
        Checkpoint.load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "vocabulary.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(FileError, match=name):
        Checkpoint.load(folder)


@pytest.mark.parametrize("kept", [0, 7, 100, 1000])
def test_truncated_weights_are_named(folder: Path, kept: int) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:kept])
    with pytest.raises(FileError, match="truncated or damaged"):
        Checkpoint.load(folder)


def test_weights_of_another_shape_are_named_with_both_shapes(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "d_ff": 12}))
    with pytest.raises(UserError, match=r"is \[8\], expected \[12\]|is \[8, 8\], expected"):
        Checkpoint.load(folder)


def test_another_vocabulary_is_refused(folder: Path) -> None:
    (folder / "vocabulary.json").write_text(Vocabulary(["one"], ["uno"]).to_json())
    with pytest.raises(UserError, match="a vocabulary of 5 tokens for a model of 7"):
        Checkpoint.load(folder)


@pytest.mark.parametrize("text", ["", "{", '{"d_modell": 3}', "[]", '{"d_model": -1}'])
def test_a_damaged_configuration_is_refused(folder: Path, text: str) -> None:
    (folder / "config.json").write_text(text)
    with pytest.raises(UserError):
        Checkpoint.load(folder)


FAMILIES = {
    "a translator": (Transformer, CONFIG, load_translator),
    "a language model": (DecoderOnly, replace(CONFIG, family="decoder"), load_language_model),
    "a masked-word model": (
        EncoderOnly,
        replace(CONFIG, family="encoder", predicts_words=True, vocab_size=len(WITH_MASK)),
        load_masked_model,
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_comes_back_and_is_no_other(name: str, tmp_path: Path) -> None:
    kind, config, _ = FAMILIES[name]
    vocabulary = WITH_MASK if config.predicts_words else VOCABULARY
    model = make_model(config, 0, kind).eval()
    folder = Checkpoint(model, vocabulary).save(tmp_path / "model")
    loaded = Checkpoint.load(folder, kind)
    assert type(loaded.model) is kind
    assert loaded.vocabulary == vocabulary
    assert all(
        torch.equal(value, loaded.model.state_dict()[key]) for key, value in model.state_dict().items()
    )
    for wanted, (_, _, load) in FAMILIES.items():
        if wanted == name:
            assert load(folder).name == name
            continue
        with pytest.raises(
            UserError, match=f"holds {name}, and {wanted} is expected; load it with vt.load_"
        ) as caught:
            load(folder)
        assert "\n" not in str(caught.value)


def test_a_missing_folder_says_how_to_train_one_of_its_kind(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="`viz-transformer train masked-model --out"):
        load_masked_model(tmp_path / "nowhere")
