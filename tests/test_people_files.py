"""People's files: nothing that the program did not make is deleted or replaced unasked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import viz_transformer as vt
from viz_transformer._files import atomic_write, bundled
from viz_transformer.checkpoint import CHECKPOINT_FILES, Checkpoint
from viz_transformer.cli import main
from viz_transformer.errors import FileError
from viz_transformer.export.site import write_site
from viz_transformer.recipes import train_induction_model

PAIRS = "".join(f"one {word}\tuno {word}\n" for word in "abcdefghij")
SMALL = [
    *("--steps", "2", "--look-every", "2", "--d-model", "8", "--n-heads", "2"),
    *("--n-layers", "1", "--d-ff", "8"),
]
NOTEBOOK = {
    "cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# Title"]}],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return every file and folder under a folder, with the files' bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to work in, with files that a person made and a small model that was trained."""
    monkeypatch.chdir(tmp_path)
    for name in ("model.old", "model.part", "t.npz.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("years of work")
    (tmp_path / "pairs.tsv").write_text(PAIRS)
    (tmp_path / "n.ipynb").write_text(json.dumps(NOTEBOOK))
    (tmp_path / "other.ipynb").write_text("{}")
    (tmp_path / "n.html").write_text('<meta http-equiv="Content-Security-Policy"><p>my own page</p>')
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.html").write_text("<p>my own index</p>")
    shutil.copytree(bundled("data/en-es"), tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("mine")
    return tmp_path


def run(*arguments: str) -> Callable[[], object]:
    """Return a call of the command line."""
    return lambda: main(arguments)


def refused_by_python(call: Callable[[], object]) -> Callable[[], object]:
    """Return a call that gives 2 where the call raises a FileError, as the command line does."""

    def called() -> int:
        with pytest.raises(FileError) as caught:
            call()
        assert "\n" not in str(caught.value)
        return 2

    return called


REFUSED: dict[str, Callable[[], object]] = {
    "train onto a model": run("train", "--pairs", "pairs.tsv", "--out", "model", *SMALL),
    "train a bundled one onto a model": run("train", "en-es", "--out", "model", "--steps", "1"),
    "train with test.tsv in the folder as input": run(
        *("train", "--pairs", "other/model/test.tsv", "--out", "other/model", "--overwrite", *SMALL)
    ),
    "train and both resume and overwrite": run(
        *("train", "--pairs", "pairs.tsv", "--out", "model", "--resume", "--overwrite")
    ),
    "html onto the notebook": run("html", "n.ipynb", "-o", "n.ipynb"),
    "html onto the notebook by another path": run("html", "n.ipynb", "-o", "pages/../n.ipynb"),
    "html beside a page of one's own": run("html", "n.ipynb"),
    "html onto another notebook": run("html", "n.ipynb", "-o", "other.ipynb"),
    "translate onto a page of one's own": run("translate", "the cat sleeps", "--html", "n.html"),
    "site over an index of one's own": refused_by_python(lambda: write_site(["n.ipynb"], "pages")),
    "site over a page of one's own": refused_by_python(lambda: write_site(["n.ipynb"], ".")),
    "evaluate onto its pairs": run("evaluate", "--pairs", "pairs.tsv", "--output", "pairs.tsv"),
    "evaluate onto its model": run(
        *("evaluate", "model", "--pairs", "pairs.tsv", "--output", "model/config.json")
    ),
    "translate onto its model": run(
        *("translate", "the cat sleeps", "--model", "model", "--html", "model/config.json")
    ),
    "an induction model over another": refused_by_python(lambda: train_induction_model("model")),
}


def test_commands_that_would_replace_foreign_files_are_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "other").mkdir()
    shutil.copytree(folder / "model", folder / "other" / "model")
    (folder / "other" / "model" / "test.tsv").write_text(PAIRS)
    before = contents(folder)
    for what, call in REFUSED.items():
        assert call() == 2, what
        assert contents(folder) == before, what
        line = capsys.readouterr().err
        assert line.count("\n") <= 1, what
        assert "onto a model" not in what or ("--overwrite" in line and "--resume" in line), what


def save_model() -> None:
    Checkpoint.load(bundled("data/language-model")).save("model")


def save_model_by_a_link() -> None:
    Path("link").symlink_to("model", target_is_directory=True)
    save_model_to = Checkpoint.load(bundled("data/language-model"))
    assert save_model_to.save("link") == Path("link")


def save_trace() -> None:
    trace = vt.load_translator().trace("the cat sleeps")
    trace.save("t.npz")
    trace.save("t.npz")


def write_page_twice() -> int:
    return max(main(["html", "n.ipynb", "-o", "twice.html"]) for _ in range(2))


WRITTEN: dict[str, tuple[Callable[[], object], set[str]]] = {
    "a checkpoint": (save_model, {f"model/{name}" for name in CHECKPOINT_FILES}),
    "a checkpoint by a link": (
        save_model_by_a_link,
        {"link", *(f"{where}/{name}" for where in ("model", "link") for name in CHECKPOINT_FILES)},
    ),
    "a trace": (save_trace, {"t.npz"}),
    "a page of ours, twice": (write_page_twice, {"twice.html"}),
    "a trained model": (
        run("train", "--pairs", "pairs.tsv", "--out", "model", "--overwrite", *SMALL),
        {
            *(f"model/{name}" for name in CHECKPOINT_FILES),
            *(f"model/{name}" for name in ("curve.jsonl", "made_by.json", "test.tsv")),
            *(f"model/{name}" for name in ("training.npz", "training.safetensors")),
        },
    ),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_commands_replace_only_files_that_they_wrote(folder: Path, what: str) -> None:
    write, own = WRITTEN[what]
    before = contents(folder)
    assert not write()
    after = contents(folder)
    others = {name: content for name, content in before.items() if name not in own}
    assert {name: after.get(name, "gone") for name in others} == others
    assert set(after) - set(before) <= own


def test_a_training_that_replaces_another_leaves_none_of_its_files(folder: Path) -> None:
    arguments = ["train", "--pairs", "pairs.tsv", "--out", "mine", *SMALL]
    assert main(arguments) == 0
    assert (folder / "mine" / "test.tsv").exists()
    held_out = ["--validation-pairs", "held_out.tsv"]
    (folder / "held_out.tsv").write_text("one a a\tuno a a\n")
    assert main([*arguments, *held_out]) == 2
    assert main([*arguments, *held_out, "--overwrite"]) == 0
    assert not (folder / "mine" / "test.tsv").exists(), "it was held out from other pairs"
    assert len((folder / "mine" / "curve.jsonl").read_text().splitlines()) == 1


def test_a_file_has_the_usual_rights_and_a_failed_write_leaves_nothing(folder: Path) -> None:
    (folder / "usual").write_text("")
    with atomic_write("new") as part:
        part.write_text("new")
    assert (folder / "new").stat().st_mode == (folder / "usual").stat().st_mode
    before = contents(folder)

    def write_half() -> None:
        with atomic_write("new") as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert contents(folder) == before
