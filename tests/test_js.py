"""The views' pure functions, tested where they run: `node --test` over tests/js, in one process."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tools.ensure import find_node

FOLDER = Path(__file__).parent / "js"
FILES = sorted(FOLDER.glob("*.test.mjs"))


def test_node_passes() -> None:
    assert FILES, "tests/js holds no *.test.mjs"
    command = [find_node(), "--test", "--test-isolation=none", "--test-reporter=spec", *FILES]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=FOLDER.parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
    missing = [path.name for path in FILES if "\ntest(" not in path.read_text(encoding="utf-8")]
    assert not missing, f"no test in {missing}"
