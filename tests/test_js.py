"""The views' pure functions, tested where they run: one `node --test` for each file in tests/js."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.ensure import find_node

FILES = sorted((Path(__file__).parent / "js").glob("*.test.*js"))


def test_there_are_tests_in_javascript() -> None:
    assert FILES, "tests/js holds no *.test.js or *.test.mjs"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_node_passes(path: Path) -> None:
    done = subprocess.run(
        [find_node(), "--test", "--test-reporter=spec", path],
        capture_output=True,
        text=True,
        cwd=path.parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tests 0" not in done.stdout, f"{path.name} holds no test"
