"""The README's and docs/installing.md's commands, as typed, in a fresh clone with an empty home."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.source_code import ROOT

pytestmark = pytest.mark.weekly


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("door") / "viz_transformer"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


def typed(command: str, clone: Path, path: str = os.environ["PATH"]) -> str:
    """Run a line in the clone, and return what it printed."""
    home = clone.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {**os.environ, "HOME": str(home), "PATH": path}
    done = subprocess.run(command, shell=True, cwd=clone, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def commands(page: str) -> list[str]:
    """Return the lines of shell of a page, without their comments."""
    text = (ROOT / page).read_text(encoding="utf-8")
    pieces = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [line.partition(" #")[0].strip() for piece in pieces for line in piece.splitlines()]


def test_pip_installs_the_clone_and_its_command_opens_the_lessons(clone: Path) -> None:
    install, lab = commands("README.md")[2:]
    assert (install, lab) == ('pip install ".[lab]"', "viz-transformer lab")
    subprocess.run([sys.executable, "-m", "venv", clone.parent / "venv"], check=True)
    path = f"{clone.parent / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    typed(f"{install} -c constraints.txt", clone, path)
    assert "--help" in typed(f"{lab} --help", clone, path)
    assert "negro" in typed('viz-transformer translate "the black cat sleeps"', clone, path)


def test_make_writes_the_course_as_pages_and_a_wheel(clone: Path) -> None:
    assert commands("README.md")[:2] == ["make lab", "make test"]
    typed("make site", clone)
    lessons = sorted((clone / "notebooks").glob("*.ipynb"))
    assert all((clone / "build" / "site" / f"{lesson.stem}.html").stat().st_size for lesson in lessons)
    typed("make dist", clone)
    assert len(list((clone / "dist").glob("*.whl"))) == 1


def test_the_long_description_has_no_relative_link(clone: Path) -> None:
    typed(f"{sys.executable} -m hatchling build -t wheel -d built", clone)
    (wheel,) = (clone / "built").glob("*.whl")
    metadata = typed(f"unzip -p {wheel} '*/METADATA'", clone)
    links = re.findall(r"\]\(([^)]+)\)", metadata)
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []
    ours = [re.split(r"/(?:blob/)?main/", link)[1] for link in links if "viz-transformer" in link]
    assert [path for path in ours if not (ROOT / path).exists()] == []
