"""Checkpoints: they come back equal, and damaged ones are named."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from random import Random
from unittest import mock

import pytest
import torch
from safetensors.torch import save, save_file

from viz_transformer import recipes
from viz_transformer.checkpoint import TRAINING_FILES, Checkpoint
from viz_transformer.config import ModelConfig
from viz_transformer.errors import FileError, UserError
from viz_transformer.language_model import load_language_model
from viz_transformer.masked_model import load_masked_model
from viz_transformer.model import DecoderOnly, EncoderOnly, TracedTransformer, Transformer
from viz_transformer.recipes import files, notes
from viz_transformer.recipes.notes import MADE_BY, sha256
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


def equal(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    mine, theirs = one.state_dict(), other.state_dict()
    return all(torch.equal(value, theirs[name]) for name, value in mine.items())


def test_one_checkpoint_serves_the_traced_variant_too_and_nothing_in_it_is_pickled(folder: Path) -> None:
    names = {"model.safetensors", "config.json", "vocabulary.json", "checksums.json"}
    assert {path.name for path in folder.iterdir()} == names
    model = Checkpoint.load(folder).model
    traced = TracedTransformer(CONFIG).eval()
    traced.load_state_dict(model.state_dict())
    ids = torch.tensor([[3, 4, 2]])
    torch.testing.assert_close(traced(ids, ids).logits, model(ids, ids))


def test_saving_again_replaces_its_files_and_leaves_others(folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    other = Checkpoint(make_model(CONFIG, 1).eval(), VOCABULARY)
    other.save_weights(folder)
    assert {path.name for path in folder.iterdir()} == before
    assert equal(Checkpoint.load(folder).model, other.model)
    (folder / "my_note.txt").write_text("mine")
    Checkpoint(make_model(CONFIG, 2).eval(), VOCABULARY).save(folder, {"note.txt": "new"})
    assert (folder / "my_note.txt").read_text() == "mine"
    assert (folder / "note.txt").read_text() == "new"
    assert equal(Checkpoint.load(folder).model, make_model(CONFIG, 2))
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_failed_save_leaves_the_old_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full_disk = mock.Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(FileError, match="No space left"):
        Checkpoint(make_model(CONFIG, 1).eval(), VOCABULARY).save(folder)
    assert equal(Checkpoint.load(folder).model, make_model(CONFIG, 0))
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_someones_other_work_is_not_replaced(tmp_path: Path) -> None:
    checkpoint = Checkpoint(make_model(CONFIG, 0), VOCABULARY)
    huggingface = json.dumps({"architectures": ["GPT2LMHeadModel"], "vocab_size": 7})
    for name, given in {
        "thesis": {"thesis.txt": "years of work"},
        "weights alone": {"model.safetensors": ""},
        "a settings file": {"config.json": "{}"},
        "a model of another library": {"model.safetensors": "", "config.json": huggingface},
        "another program's checksums": {
            "checksums.json": "{}",
            "config.json": "{}",
            "model.safetensors": "",
        },
    }.items():
        (tmp_path / name).mkdir()
        for each, text in given.items():
            (tmp_path / name / each).write_text(text)
        with pytest.raises(FileError, match=r"not a checkpoint|another program's"):
            checkpoint.save(tmp_path / name)
        assert {path.name: path.read_text() for path in (tmp_path / name).iterdir()} == given
    for note in ("../note.txt", ".note", "checksums.json", "a/b", ""):
        with pytest.raises(FileError, match="is no name for a file beside others"):
            checkpoint.save(tmp_path / "new", {note: "text"})
        assert not (tmp_path / "new").exists()


def test_a_missing_file_is_named_with_the_remedy(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no checkpoint folder at .*nowhere.*train en-es"):
        Checkpoint.load(tmp_path / "nowhere")
    with pytest.raises(FileError, match="`viz-transformer train masked-model --out"):
        load_masked_model(tmp_path / "nowhere")
    for path in (folder / name for name in ("model.safetensors", "config.json", "vocabulary.json")):
        content = path.read_bytes()
        path.unlink()
        with pytest.raises(FileError, match=path.name):
            Checkpoint.load(folder)
        path.write_bytes(content)
    (folder / "checksums.json").unlink()  # as in a folder of an earlier version
    assert equal(Checkpoint.load(folder).model, make_model(CONFIG, 0))


def test_damaged_files_and_those_of_another_model_are_refused(folder: Path) -> None:
    weights = (folder / "model.safetensors").read_bytes()
    config = json.loads((folder / "config.json").read_text())
    other_shape = json.dumps({**config, "d_ff": 12}).encode()
    other_words = Vocabulary(["one"], ["uno"]).to_json().encode()
    for name, content, error, message in (
        *(("model.safetensors", weights[:n], FileError, "truncated or damaged") for n in (0, 7, 100, 1000)),
        ("config.json", other_shape, UserError, r"is \[8\], expected \[12\]|is \[8, 8\], expected"),
        ("vocabulary.json", other_words, UserError, "a vocabulary of 5 tokens for a model of 7"),
        *(("config.json", text, UserError, None) for text in (b"", b"{", b'{"d_modell": 3}', b"[]")),
        ("config.json", b'{"d_model": -1}', UserError, "d_model=-1"),
    ):
        good = (folder / name).read_bytes()
        (folder / name).write_bytes(content)
        with pytest.raises(FileError, match=f"^{name} in .* is damaged or was changed.*with checked=False"):
            Checkpoint.load(folder)
        with pytest.raises(error, match=message):
            Checkpoint.load(folder, checked=False)
        (folder / name).write_bytes(good)


def test_every_flipped_bit_is_named_and_loads_by_asking(folder: Path) -> None:
    rng = Random(0)
    for name in ("model.safetensors", "config.json", "vocabulary.json", "checksums.json"):
        good = (folder / name).read_bytes()
        for bit in rng.sample(range(8 * len(good)), 40):
            flipped = bytearray(good)
            flipped[bit // 8] ^= 1 << bit % 8
            (folder / name).write_bytes(flipped)
            with pytest.raises(FileError, match=name) as caught:
                Checkpoint.load(folder)
            assert "\n" not in str(caught.value)
        (folder / name).write_bytes(good)
    other = {name: weight + 1 for name, weight in make_model(CONFIG, 0).state_dict().items()}
    save_file(other, folder / "model.safetensors")
    for load in (load_translator, Checkpoint.load):
        with pytest.raises(FileError, match="checked=False"):
            load(folder)
        assert not equal(load(folder, checked=False).model, make_model(CONFIG, 0))


def npz(**entries: bytes) -> bytes:
    """Return a zip archive as numpy names its entries."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in entries.items():
            archive.writestr(f"{name}.npy", content)
    return held.getvalue()


WRITTEN_BY_A_TRAINING = {
    "training.npz": npz(trace=b"1"),
    "curve.jsonl": b'{"step": 1, "loss": 2.0, "validation_loss": 2.0, "minutes": 0.1}\n',
    "training.safetensors": save({"weight": torch.ones(1)}, {"step": "1", "settings": "{}"}),
}


def test_a_save_forgets_the_training_of_the_model_that_it_replaces(folder: Path) -> None:
    names = {MADE_BY, recipes.TRAINING_TRACE, notes.METRICS_LOG, files.STATE, files.TEST}
    assert set(TRAINING_FILES) == names
    table = "one\tuno\n"
    made_by = {"training": {}, "torch": "2", "pairs": {"test": {"n": 1, "sha256": sha256(table.encode())}}}
    here = {path.name for path in folder.iterdir()}
    other = Checkpoint(make_model(CONFIG, 1).eval(), VOCABULARY)
    for record, tests, kept in (
        (json.dumps(made_by), table, set()),
        (json.dumps(made_by), "my own\ttests\n", {"test.tsv"}),
        ('{"by": "me"}', table, names),  # it is not ours
        ("[1]", table, names),
    ):
        for name, content in WRITTEN_BY_A_TRAINING.items():
            (folder / name).write_bytes(content)
        (folder / "made_by.json").write_text(record)
        (folder / "test.tsv").write_text(tests)
        other.save_weights(folder)
        assert {path.name for path in folder.iterdir()} == here | names, record
        other.save(folder)
        assert {path.name for path in folder.iterdir()} == here | kept, record
        other.save(folder, {"made_by.json": "{}"})
        assert (folder / "made_by.json").read_text() == "{}"
    for name in names - {MADE_BY}:  # somebody's own, under the name of one
        (folder / MADE_BY).write_text(json.dumps(made_by))
        for content in (b"mine", b"", b'{"mine": 1}\n', npz(mine=b"1"), save({"mine": torch.ones(1)})):
            (folder / name).write_bytes(content)
            other.save(folder)
            assert content == b"" or (folder / name).read_bytes() == content, name
            (folder / name).unlink(missing_ok=True)


def test_links_and_permissions_stay(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    weights = (folder / "model.safetensors").rename(tmp_path / "disk" / "weights")
    (folder / "model.safetensors").symlink_to(weights)
    (folder / "config.json").chmod(0o640)
    (tmp_path / "link").symlink_to("model")
    other = Checkpoint(make_model(CONFIG, 1).eval(), VOCABULARY)
    assert other.save(tmp_path / "link") == tmp_path / "link"
    for path in (tmp_path / "link", folder / "model.safetensors"):
        assert path.is_symlink()
    assert (folder / "config.json").stat().st_mode & 0o777 == 0o640
    assert equal(Checkpoint.load(folder).model, other.model)
    assert [path.name for path in weights.parent.iterdir()] == ["weights"]


FAMILIES = {
    "a translator": (Transformer, CONFIG, load_translator),
    "a language model": (DecoderOnly, replace(CONFIG, family="decoder"), load_language_model),
    "a masked language model": (
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
    assert loaded.model.config == config
    assert not loaded.model.training
    assert equal(loaded.model, model)
    for wanted, (_, _, load) in FAMILIES.items():
        if wanted == name:
            assert load(folder).name == name
            continue
        with pytest.raises(
            UserError, match=f"holds {name}, and {wanted} is expected; load it with vt.load_"
        ) as caught:
            load(folder)
        assert "\n" not in str(caught.value)
