"""A Python process in which torch cannot be imported."""

from __future__ import annotations

import subprocess
import sys


def printed_without_torch(expression: str) -> str:
    """Return what `print` writes of an expression over ``trace``, the room of traces."""
    code = f"import sys; sys.modules['torch'] = None\nfrom viz_transformer import trace\nprint({expression})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
