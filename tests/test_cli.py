"""The command line: what it prints, writes and refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from viz_transformer import cli
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.cli import copy_lessons, main
from viz_transformer.translator import load_translator


def test_translate_prints_the_translation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "the black cat sleeps"]) == 0
    assert capsys.readouterr().out == "el gato negro duerme\n"


def test_translate_writes_a_page_and_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "heads.png"
    arguments = ["--html", str(page), "--png", str(picture), "--beam-width", "2"]
    assert main(["translate", "the black cat sleeps", *arguments]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out == ["el gato negro duerme", f"wrote {page}", f"wrote {picture}"]
    assert "gato" in page.read_text(encoding="utf-8")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "heads.png"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", ""], "'' holds no word; type a sentence in English"),
        (["translate", "the dragon sleeps"], "unknown English word 'dragon' (did you mean"),
        (["translate", "cat " * 64], "has 64 words, and this model reads at most 63"),
        (["translate", "a cat", "--beam-width", "0"], "beam_width=0 must be"),
        (["translate", "a cat", "--model", "{tmp}/none"], "no checkpoint folder at"),
        (["translate", "a cat", "--html", "{tmp}/none/page.html"], "cannot write"),
        (["translate", "a cat", "--png", "{tmp}/none/heads.png"], "cannot write"),
        (["translate", "a cat", "--png", "{tmp}/heads.gif"], "must end in one of .png"),
        (["translate", "a cat", "--html", "{tmp}"], "cannot write"),
        (["evaluate", "{tmp}/none"], "no checkpoint folder at"),
        (["train", "en-es", "--steps", "0"], "n_steps=0 must be"),
        (["train", "en-es", "--steps", "1", "--out", "{tmp}/file"], "is not a checkpoint"),
        (["lab", "--folder", "{tmp}/file/lessons"], "cannot make the folder"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert main([argument.replace("{tmp}", str(tmp_path)) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("viz-transformer: ")
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_damaged_checkpoint_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundled = load_translator()
    folder = Checkpoint(bundled.model, bundled.vocabulary).save(tmp_path / "copy")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    assert main(["translate", "a cat", "--model", str(folder)]) == 2
    assert "truncated or damaged" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["translat"], ["translate"], ["translate", "a", "--x"]])
def test_a_wrong_command_line_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2


def test_help_loads_no_torch() -> None:
    """So that it answers at once: what takes time is not imported."""
    for arguments in ("--help", "translate --help", "train --help", "lab --help", "--version"):
        code = (
            "import sys\nfrom viz_transformer.cli import main\n"
            f"try: main({arguments.split()!r})\nexcept SystemExit: pass\n"
            "sys.exit(bool({'torch', 'numpy', 'matplotlib', 'ipywidgets'} & sys.modules.keys()))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)


def test_the_module_runs_as_the_command_does() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "viz_transformer", "translate", "the unicorn"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("viz-transformer: unknown English word 'unicorn'")


def test_lessons_are_copied_and_a_students_work_stays(tmp_path: Path) -> None:
    folder = copy_lessons(tmp_path / "lessons")
    lesson = folder / cli.FIRST_LESSON
    assert lesson.exists()
    lesson.write_text("my answers")
    copy_lessons(folder)
    assert lesson.read_text() == "my answers"
    assert not list(folder.glob("*.part"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Start no JupyterLab; return the list that the commands which would go to it are put in."""
    commands: list[list[str]] = []

    def run(
        command: list[str], check: bool, env: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        (ours,) = (Path(each) for each in env["JUPYTER_CONFIG_PATH"].split(os.pathsep)[:1])
        assert (ours / "labconfig" / "default_setting_overrides.json").exists()
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(cli.subprocess, "run", run)
    return commands


def test_lab_opens_the_first_lesson(tmp_path: Path, started: list[list[str]]) -> None:
    folder = tmp_path / "my lessons"
    assert main(["lab", "--folder", str(folder), "--no-browser", "--port", "9999"]) == 0
    (command,) = started
    assert command[:3] == [sys.executable, "-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={folder}" in command
    assert f"--LabApp.default_url=/lab/tree/{cli.FIRST_LESSON}" in command
    assert command[-3:] == ["--no-browser", "--port", "9999"]


@pytest.mark.parametrize("user", [0, 1000, None])
@pytest.mark.parametrize(
    ("flags", "is_open"),
    [
        ([], False),
        (["--no-browser", "--port", "9999"], False),
        (["--ip", "0.0.0.0"], True),
        (["--ServerApp.ip=0.0.0.0"], True),
        (["--allow-root"], True),
        (["--sock=lab.sock"], True),
        (["--IdentityProvider.token="], True),
    ],
)
def test_lab_lets_root_in_on_this_machine_and_leaves_the_rest_to_jupyterlab(
    user: int | None,
    flags: list[str],
    is_open: bool,
    started: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if user is None:  # Windows
        monkeypatch.delattr(os, "geteuid", raising=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: user, raising=False)
    assert main(["lab", "--folder", str(tmp_path), *flags]) == 0
    (command,) = started
    assert command[command.index("--LabApp.extension_manager=readonly") + 1 :] == (
        ["--allow-root", "--ServerApp.ip=127.0.0.1", *flags] if user == 0 and not is_open else flags
    )
    told = capsys.readouterr().err
    assert ("you are root" in told) == (user == 0 and not is_open)
    assert told.count("\n") == ("you are root" in told)
