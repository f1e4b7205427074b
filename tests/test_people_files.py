"""People's files: nothing that the program did not make is deleted or replaced unasked."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

import viz_transformer as vt
from tests.support.hand_made_traces import make_trace
from viz_transformer._files import atomic_write, bundled
from viz_transformer.checkpoint import CHECKPOINT_FILES, TRAINING_FILES, Checkpoint
from viz_transformer.cli import main
from viz_transformer.cli.course import course, find_lesson
from viz_transformer.cli.lessons import copy_lessons
from viz_transformer.errors import FileError
from viz_transformer.export.site import write_site
from viz_transformer.plots import plot_heads, save_figure
from viz_transformer.recipes import (
    train_induction_model,
    train_learned_positions,
    write_six_pairs_trainings,
)

PAIRS = "".join(f"one {word}\tuno {word}\n" for word in "abcdefghij")
SMALL = [
    *("--steps", "2", "--look-every", "2", "--d-model", "8", "--n-heads", "2"),
    *("--n-layers", "1", "--d-ff", "8"),
]
#: Where an assignment puts lesson 3.
SOURCE = Path("course/source", find_lesson("3").path.stem, find_lesson("3").path.name)
TRANSLATE = ("translate", "the cat sleeps")
EVALUATE = ("evaluate", "--pairs", "cats.tsv")
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
    (tmp_path / "cats.tsv").write_text("the cat sleeps\tel gato duerme\n")
    (tmp_path / "n.ipynb").write_text(json.dumps(NOTEBOOK))
    (tmp_path / "other.ipynb").write_text("{}")
    (tmp_path / "n.html").write_text('<meta http-equiv="Content-Security-Policy"><p>my own page</p>')
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.html").write_text("<p>my own index</p>")
    (tmp_path / "n.png").write_bytes(b"my own picture")
    (tmp_path / "mine.txt").write_text("my own text")
    shutil.copytree(bundled("data/en-es"), tmp_path / "model")
    (tmp_path / "model" / "notes.txt").write_text("mine")
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "model.safetensors").write_bytes(b"weights of another library")
    (tmp_path / "hf" / "config.json").write_text('{"architectures": ["GPT2LMHeadModel"]}')
    (tmp_path / "other").mkdir()
    shutil.copytree(tmp_path / "model", tmp_path / "other" / "model")
    (tmp_path / "other" / "model" / "test.tsv").write_text(PAIRS)
    (tmp_path / "whole").mkdir()
    for name in ("03_attention.html", "08_masks.html"):
        (tmp_path / "whole" / name).write_text("a lesson")
    (tmp_path / "whole" / "index.html").write_text('<a href="08_masks.html">7</a>')
    (tmp_path / SOURCE.parent).mkdir(parents=True)
    (tmp_path / SOURCE).write_text("changed by the teacher")
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


#: By what would be replaced: the call, and what its one line says.
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "train: a model": (
        run("train", "--pairs", "pairs.tsv", "--out", "model", *SMALL),
        "--overwrite.*--resume",
    ),
    "train: a model, with a bundled one": (
        run("train", "en-es", "--out", "model", "--steps", "1"),
        "--overwrite.*--resume",
    ),
    "train: another library's model": (
        run("train", "--pairs", "pairs.tsv", "--out", "hf", "--overwrite", *SMALL),
        "'hf' exists and is not a checkpoint",
    ),
    "train: another's work": (
        run("train", "--pairs", "pairs.tsv", "--out", "model.old", *SMALL),
        "exists and is not a checkpoint",
    ),
    "train: its pairs": (
        run("train", "--pairs", "other/model/test.tsv", "--out", "other/model", "--overwrite", *SMALL),
        "is read",
    ),
    "train: the model that it begins from": (
        run("train", "--pairs", "pairs.tsv", "--from", "model", "--out", "./model", "--overwrite"),
        "is read",
    ),
    "train: by both resume and overwrite": (
        run("train", "--pairs", "pairs.tsv", "--out", "model", "--resume", "--overwrite"),
        "give one",
    ),
    "html: the notebook": (run("html", "n.ipynb", "-o", "n.ipynb"), "is read"),
    "html: the notebook, by another path": (run("html", "n.ipynb", "-o", "pages/../n.ipynb"), "is read"),
    "html: the notebook, meant": (run("html", "n.ipynb", "-o", "n.ipynb", "--overwrite"), "is read"),
    "html: a page beside it": (run("html", "n.ipynb"), "no page that viz_transformer wrote"),
    "html: another notebook": (run("html", "n.ipynb", "-o", "other.ipynb"), "no page that viz_transformer"),
    "translate: a page": (run(*TRANSLATE, "--html", "n.html"), "no page that viz_transformer wrote"),
    "translate: a picture": (run(*TRANSLATE, "--png", "n.png"), "is there already.*--overwrite"),
    "translate: its page with its picture": (run(*TRANSLATE, "--html", "x.png", "--png", "./x.png"), "both"),
    "translate: its model": (
        run(*TRANSLATE, "--model", "model", "--html", "model/config.json", "--overwrite"),
        "is read",
    ),
    "evaluate: a text": (run(*EVALUATE, "--output", "mine.txt"), "is there already.*--overwrite"),
    "evaluate: a picture": (run("evaluate", "--reliability", "n.png"), "is there already.*--overwrite"),
    "evaluate: its pairs": (run(*EVALUATE, "--output", "cats.tsv", "--overwrite"), "is read"),
    "evaluate: its model": (
        run("evaluate", "model", "--pairs", "pairs.tsv", "--output", "model/config.json", "--overwrite"),
        "is read",
    ),
    "site: the way to a lesson": (run("site", "whole", "--lesson", "3"), "08_masks.html.*--overwrite"),
    "site: an index": (run("site", "pages", "--lesson", "3"), "no page that viz_transformer wrote"),
    "write_site: an index": (refused_by_python(lambda: write_site(["n.ipynb"], "pages")), ""),
    "write_site: a page": (refused_by_python(lambda: write_site(["n.ipynb"], ".")), ""),
    "assignment: a lesson": (
        run("lessons", "assignment", "course", "--lesson", "3"),
        "already exists and is different.*--overwrite",
    ),
    "train_induction_model: another": (refused_by_python(lambda: train_induction_model("model")), ""),
    "train_induction_model: another library's": (refused_by_python(lambda: train_induction_model("hf")), ""),
    "train_learned_positions: a model's record": (
        refused_by_python(lambda: train_learned_positions("model")),
        "",
    ),
    "write_six_pairs_trainings: a model's record": (
        refused_by_python(lambda: write_six_pairs_trainings("model")),
        "",
    ),
    "export_html: a page": (
        refused_by_python(lambda: vt.export_html(vt.explore(make_trace()), "n.html")),
        "",
    ),
    "Checkpoint.save: another library's model": (refused_by_python(lambda: tiny().save("hf")), ""),
    "Checkpoint.save: another's work": (refused_by_python(lambda: tiny().save("model.old")), ""),
}


def tiny() -> Checkpoint:
    """Return a checkpoint to save."""
    return Checkpoint.load(bundled("data/language-model"))


def test_commands_that_would_replace_foreign_files_are_refused_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(folder)
    for what, (call, said) in REFUSED.items():
        assert call() == 2, what
        assert contents(folder) == before, what
        line = capsys.readouterr().err
        assert line.count("\n") <= 1, what
        assert re.search(said, line), f"{what}: {line}"


def save_model_by_a_link() -> None:
    Path("link").symlink_to("model", target_is_directory=True)
    assert tiny().save("link") == Path("link")


def save_trace() -> None:
    trace = vt.load_translator().trace("the cat sleeps")
    trace.save("t.npz")
    trace.save("t.npz")


def write_page_twice() -> int:
    return max(main(["html", "n.ipynb", "-o", "twice.html"]) for _ in range(2))


#: What belongs to a trained model in its folder.
MODEL = {f"model/{name}" for name in (*CHECKPOINT_FILES, *TRAINING_FILES)}
LESSONS = {str(SOURCE.with_name(lesson.path.name)) for lesson in course()} - {str(SOURCE)}
#: By what is replaced: the call, and all that it may change.
WRITTEN: dict[str, tuple[Callable[[], object], set[str]]] = {
    "a checkpoint": (lambda: tiny().save("model"), MODEL),
    "a checkpoint by a link": (
        save_model_by_a_link,
        {"link", *MODEL, *(name.replace("model/", "link/", 1) for name in MODEL)},
    ),
    "a trace": (save_trace, {"t.npz"}),
    "a page of ours, twice": (write_page_twice, {"twice.html"}),
    "a trained model": (
        run("train", "--pairs", "pairs.tsv", "--out", "model", "--overwrite", *SMALL),
        MODEL,
    ),
    "a page of ours, meant": (run("html", "n.ipynb", "--overwrite"), {"n.html"}),
    "a page, meant": (run(*TRANSLATE, "--html", "n.html", "--overwrite"), {"n.html"}),
    "a picture, meant": (run(*TRANSLATE, "--png", "n.png", "--overwrite"), {"n.png"}),
    "a text, meant": (run(*EVALUATE, "--output", "mine.txt", "--overwrite"), {"mine.txt"}),
    "a lesson of a course, meant": (
        run("lessons", "assignment", "course", "--lesson", "3", "--overwrite"),
        {str(SOURCE), "course/nbgrader_config.py"},
    ),
    "nothing, listing lessons": (run("lessons", "list", "--folder", "pages"), set()),
    "a lesson, kept beside it": (
        run("lessons", "reset", "3", "--folder", str(SOURCE.parent)),
        {str(SOURCE), str(SOURCE.with_name(f"{SOURCE.stem}.mine-{date.today().isoformat()}.ipynb"))},
    ),
    "lessons that are not there": (lambda: copy_lessons(SOURCE.parent), LESSONS),
    "a figure, as matplotlib does": (
        lambda: save_figure(plot_heads(make_trace(), "cross"), "n.png"),
        {"n.png"},
    ),
    "a trace, as numpy does": (lambda: make_trace().save("mine.txt"), {"mine.txt"}),
}


@pytest.mark.parametrize("what", WRITTEN)
def test_commands_replace_only_files_that_they_wrote(folder: Path, what: str) -> None:
    write, own = WRITTEN[what]
    before = contents(folder)
    assert write() != 2
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


def test_a_file_keeps_its_rights_a_link_its_target_and_a_failed_write_leaves_nothing(folder: Path) -> None:
    (folder / "usual").write_text("")
    with atomic_write("new") as part:
        part.write_text("new")
    assert (folder / "new").stat().st_mode == (folder / "usual").stat().st_mode
    (folder / "new").chmod(0o640)
    (folder / "link").symlink_to("pages/far")
    (folder / "pages" / "far").symlink_to("../new")
    (folder / "dangling").symlink_to("pages/later")
    for name in ("link", "dangling"):
        with atomic_write(name) as part:
            part.write_text(f"by {name}")
        assert (folder / name).is_symlink()
        assert (folder / name).read_text() == f"by {name}"
    assert (folder / "new").read_text() == "by link"
    assert (folder / "new").stat().st_mode & 0o777 == 0o640
    assert (folder / "pages" / "far").is_symlink()
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    before = contents(folder)

    def write_half(name: str) -> None:
        with atomic_write(name) as part:
            part.write_text("half")
            raise RuntimeError

    for name in ("new", "link", "other-new"):
        with pytest.raises(RuntimeError):
            write_half(name)
    for name in ("loop", "pages", "pipe", "none/new", "/dev/null"):
        with pytest.raises(FileError, match="cannot write"):
            write_half(name)
    assert contents(folder) == before
    assert Path("/dev/null").is_char_device()
