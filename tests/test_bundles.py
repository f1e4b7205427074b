"""The build of the views: the same bytes anywhere, only what changed, and errors in a line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import bundles


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a copy of what the views are built from, with esbuild and without what was built."""
    for part in (bundles.ROOT / "tools", bundles.FETCHED):
        shutil.copytree(part, tmp_path / part.relative_to(bundles.ROOT), symlinks=True)
    for room in ("widgets", "engine", "export"):
        shutil.copytree(bundles.PACKAGE / room, tmp_path / "viz_transformer" / room)
    for name in (
        "package.json",
        "package-lock.json",
        ".npmrc",
        "hatch_build.py",
        "viz_transformer/shared.json",
        "viz_transformer/renamed.json",
    ):
        shutil.copyfile(bundles.ROOT / name, tmp_path / name)
    return tmp_path


def run(clone: Path, *code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the build in a clone, or some Python."""
    command = [sys.executable, *(code or ("-m", "tools.bundles"))]
    env = {**os.environ, "PYTHONPATH": "", **environment}
    return subprocess.run(command, cwd=clone, env=env, capture_output=True, text=True)


def built(clone: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (clone / "viz_transformer" / "static").iterdir()}


def test_the_same_sources_give_the_same_bytes_and_are_built_once(clone: Path) -> None:
    asked = "import hatch_build; print(hatch_build.BundlesHook.dependencies(None))"
    assert run(clone).returncode == 0
    assert built(clone) == built(bundles.ROOT)
    script = clone / "viz_transformer" / "static" / "explorer.js"
    script.write_text("not built again")
    assert run(clone).returncode == 0
    assert script.read_text() == "not built again"
    shutil.rmtree(clone / "build")
    assert run(clone, "-c", asked).stdout == "[]\n", "what is built needs neither Node nor a network"
    (clone / "viz_transformer" / "widgets" / "tour" / "style.css").write_text(".vt-tour { color: red }")
    assert run(clone, "-c", asked).stdout == f"{[bundles.NODE]}\n"


def test_what_cannot_be_built_is_named_and_what_was_built_stays(clone: Path) -> None:
    assert run(clone).returncode == 0
    before = built(clone)
    view = clone / "viz_transformer" / "widgets" / "softmax_lab" / "view.tsx"
    view.write_text(view.read_text() + "\nconst halfSaved = {")
    done = run(clone)
    assert done.returncode == 1
    assert "softmax_lab/view.tsx" in done.stderr
    assert built(clone) == before


def test_without_a_network_one_line_says_what_to_do(clone: Path) -> None:
    shutil.rmtree(clone / "build")
    done = run(clone, npm_config_registry="http://127.0.0.1:1", npm_config_fetch_retries="0")
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(bundles._UNREACHABLE)
    assert "Traceback" not in done.stderr
