"""The command line: what it prints, writes and refuses."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from viz_transformer import cli
from viz_transformer.cli import copy_lessons, main


def test_translate_prints_the_translation_and_writes_a_page_and_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["translate", "the black cat sleeps"]) == 0
    assert capsys.readouterr().out == "el gato negro duerme\n"
    page, picture = tmp_path / "page.html", tmp_path / "heads.png"
    arguments = ["--html", str(page), "--png", str(picture), "--beam-width", "2"]
    assert main(["translate", "the black cat sleeps", *arguments]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out == ["el gato negro duerme", f"wrote {page}", f"wrote {picture}"]
    assert "gato" in page.read_text(encoding="utf-8")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "heads.png"}


def test_bad_input_gets_one_line_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, gone = tmp_path / "file", tmp_path / "none"
    file.write_text("not a folder")
    for arguments, message in (
        (["translate", ""], "'' holds no word; type a sentence in English"),
        (["translate", "the dragon sleeps"], "unknown English word 'dragon' (did you mean"),
        (["translate", "cat " * 64], "has 64 words, and this model reads at most 63"),
        (["translate", "a cat", "--beam-width", "0"], "beam_width=0 must be"),
        (["translate", "a cat", "--model", str(gone)], "no checkpoint folder at"),
        (["translate", "a cat", "--html", str(gone / "page.html")], "cannot write"),
        (["translate", "a cat", "--png", str(gone / "heads.png")], "cannot write"),
        (["translate", "a cat", "--png", str(tmp_path / "heads.gif")], "must end in one of .png"),
        (["translate", "a cat", "--html", str(tmp_path)], "cannot write"),
        (["translate", "\ud800"], "unknown English word"),
        (["translate", "a cat", "--html", "\ud800.html"], "path"),
        (["html", "a\0b"], "path"),
        (["evaluate", str(gone)], "no checkpoint folder at"),
        (["train", "en-es", "--steps", "0"], "n_steps=0 must be"),
        (["train", "en-es", "--steps", "1", "--out", str(file)], "is not a checkpoint"),
        (["lab", "--folder", str(file / "lessons")], "cannot make the folder"),
    ):
        assert main(arguments) == 2, arguments
        error = capsys.readouterr().err
        assert message in error
        assert error.startswith("viz-transformer: ")
        assert error.count("\n") == 1, error
        assert [path.name for path in tmp_path.iterdir()] == ["file"], arguments
    for arguments in ([], ["translat"], ["translate"], ["translate", "a", "--x"]):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2, arguments
        assert capsys.readouterr().err.startswith("usage:"), arguments


def test_help_loads_no_torch() -> None:
    """So that it answers at once: what takes time is not imported."""
    code = (
        "import sys\nfrom viz_transformer.cli import main\n"
        "for arguments in ('--help', 'translate --help', 'train --help', 'lab --help', '--version'):\n"
        "    try: main(arguments.split())\n    except SystemExit: pass\n"
        "    loaded = {'torch', 'numpy', 'matplotlib', 'ipywidgets'} & sys.modules.keys()\n"
        "    if loaded: sys.exit(f'{arguments} loads {loaded}')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_module_lists_lessons_where_windows_keeps_the_output_in_a_file(tmp_path: Path) -> None:
    """Python writes cp1252 there, which has no √; lesson 3 is about √d_k."""
    done = subprocess.run(
        [sys.executable, "-m", "viz_transformer", "lessons", "list", "--folder", str(tmp_path)],
        capture_output=True,
        env=os.environ | {"PYTHONIOENCODING": "cp1252", "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stderr
    assert "Softmax, and why √d_k" in done.stdout.decode("utf-8")


def test_a_closed_pipe_ends_it_without_a_traceback(tmp_path: Path) -> None:
    """As `viz-transformer lessons list | head -3` does."""
    command = [sys.executable, "-m", "viz_transformer", "lessons", "list", "--folder", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_what_windows_says_of_a_closed_pipe_is_told_from_other_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It raises OSError, as for any invalid argument: python/cpython#79935."""

    def fail(*_: object) -> int:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(cli, "_translate", fail)
    with pytest.raises(OSError, match="Invalid argument"):
        main(["translate", "a"])
    with (tmp_path / "read by nobody").open("w") as output:
        closed = SimpleNamespace(write=len, flush=fail, fileno=output.fileno)
        monkeypatch.setattr(sys, "stdout", closed)
        monkeypatch.setattr(cli, "_translate", lambda _: 0)
        assert main(["translate", "a"]) == 141


def test_lessons_are_copied_and_a_students_work_stays(tmp_path: Path) -> None:
    folder = copy_lessons(tmp_path / "lessons")
    lesson = folder / cli.FIRST_LESSON
    assert lesson.exists()
    lesson.write_text("my answers")
    copy_lessons(folder)
    assert lesson.read_text() == "my answers"
    assert not list(folder.glob("*.part"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[str]]]:
    """Start no JupyterLab; return the list that the commands which would go to it are put in."""
    commands: list[list[str]] = []

    def hear(command: list[str], env: dict[str, str]) -> None:
        commands.append(command)
        (ours,) = (Path(each) for each in env["JUPYTER_CONFIG_PATH"].split(os.pathsep)[:1])
        assert (ours / "labconfig" / "default_setting_overrides.json").exists()

    def execve(path: str, command: list[str], env: dict[str, str]) -> None:
        assert path == sys.executable
        hear(command, env)
        raise SystemExit(0)  # this process would be JupyterLab from here on

    def run(command: list[str], check: bool, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        assert sys.platform == "win32"
        hear(command, env)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(os, "execve", execve, raising=False)
    monkeypatch.setattr(subprocess, "run", run)
    before = signal.getsignal(signal.SIGINT)
    yield commands
    signal.signal(signal.SIGINT, before)


def lab(*flags: str) -> int | str | None:
    """Return with what `viz-transformer lab` ends."""
    try:
        return main(["lab", *flags])
    except SystemExit as ended:
        return ended.code


def test_lab_opens_the_first_lesson(
    tmp_path: Path, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "my lessons"
    for platform in ("linux", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        assert lab("--folder", str(folder), "--no-browser", "--port", "9999") == 0
        command = started.pop()
        assert command[:3] == [sys.executable, "-m", "jupyterlab"], platform
        assert f"--ServerApp.root_dir={folder}" in command
        assert f"--LabApp.default_url=/lab/tree/{cli.FIRST_LESSON}" in command
        assert command[-3:] == ["--no-browser", "--port", "9999"]


def test_lab_started_by_jupyterhub_becomes_a_learners_server(
    tmp_path: Path, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ada/")
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert lab("--folder", str(tmp_path), "--a-flag-of-the-hub") == 0
    (command,) = started
    assert command[:3] == [sys.executable, "-m", "jupyterhub.singleuser"]
    assert f"--ServerApp.default_url=/lab/tree/{cli.FIRST_LESSON}" in command
    # Where it listens and who may enter is the hub's to say, and whether that may be root the teacher's.
    assert command[-2:] == ["--LabApp.extension_manager=readonly", "--a-flag-of-the-hub"]


def test_lab_lets_root_in_on_this_machine_and_leaves_the_rest_to_jupyterlab(
    started: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    on_this_machine = [[], ["--no-browser", "--port", "9999"]]
    open_to_others = [
        ["--ip", "0.0.0.0"],
        ["--ServerApp.ip=0.0.0.0"],
        ["--allow-root"],
        ["--sock=lab.sock"],
        ["--IdentityProvider.token="],
    ]
    for user, flags in itertools.product((0, 1000, None), on_this_machine + open_to_others):
        if user is None:  # Windows
            monkeypatch.delattr(os, "geteuid", raising=False)
        else:
            monkeypatch.setattr(os, "geteuid", lambda user=user: user, raising=False)
        assert lab("--folder", str(tmp_path), *flags) == 0
        command = started.pop()
        is_let_in = user == 0 and flags in on_this_machine
        expected = ["--allow-root", "--ServerApp.ip=127.0.0.1", *flags] if is_let_in else flags
        assert command[command.index("--LabApp.extension_manager=readonly") + 1 :] == expected, user
        told = capsys.readouterr().err
        assert ("you are root" in told, told.count("\n")) == (is_let_in, is_let_in), (user, flags)


def wait_for_server(process: subprocess.Popen[bytes], runtime: Path) -> dict[str, Any]:
    """Return what a JupyterLab that is starting writes about itself, as soon as it answers."""
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError):  # nothing written or heard yet
            for path in runtime.glob("jpserver-*.json"):
                server = json.loads(path.read_text())
                address = f"{server['url']}api/status?token={server['token']}"
                with urllib.request.urlopen(address, timeout=30):
                    return server
        time.sleep(0.1)
    raise AssertionError("JupyterLab did not start")


@pytest.mark.parametrize(
    ("door", "number", "as_inherited"),
    [
        pytest.param("viz-transformer", signal.SIGHUP, signal.SIG_DFL, marks=pytest.mark.slow),
        # Ignored, as in a script's background job.
        pytest.param("viz-transformer", signal.SIGINT, signal.SIG_IGN, marks=pytest.mark.slow),
        ("make", signal.SIGTERM, signal.SIG_DFL),  # make sends it on to viz-transformer
    ],
)
def test_a_signal_that_ends_lab_leaves_no_jupyterlab_behind(
    door: str,
    number: signal.Signals,
    as_inherited: signal.Handlers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CONFIG", "DATA", "RUNTIME"):
        monkeypatch.setenv(f"JUPYTER_{name}_DIR", str(tmp_path / name))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("MAKEFLAGS", raising=False)  # the tests may be run by make themselves
    own = [sys.executable, "-m", "viz_transformer"]
    flags = ["--no-browser", "--folder", str(tmp_path / "lessons")]
    if door == "make":
        (tmp_path / "bin").mkdir()
        for name, called in (("viz-transformer", own), ("python", own[:1])):
            script = tmp_path / "bin" / name
            script.write_text(f'#!/bin/sh\nexec {shlex.join(called)} "$@"\n')
            script.chmod(0o755)
        (tmp_path / ".ready-lab").touch()
        command = ["make", "lab", f"VENV={tmp_path}", f"LAB_FLAGS={shlex.join(flags)}"]
    else:
        command = [*own, "lab", *flags]
    before = signal.signal(number, as_inherited)  # whatever these tests have inherited
    try:
        process = subprocess.Popen(
            command, cwd=Path(__file__).parents[1], start_new_session=True, stdin=subprocess.DEVNULL
        )
    finally:
        signal.signal(number, before)
    try:
        server = wait_for_server(process, tmp_path / "RUNTIME")
        assert door == "make" or server["pid"] == process.pid
        assert server["token"]
        assert server["hostname"] in ("localhost", "127.0.0.1")
        process.send_signal(number)
        process.wait(timeout=120)
        with pytest.raises(ProcessLookupError):
            os.kill(server["pid"], 0)
        with pytest.raises(urllib.error.URLError, match="refused"):
            urllib.request.urlopen(server["url"])
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
