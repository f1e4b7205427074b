"""Code run in a Python process of its own."""

from __future__ import annotations

import subprocess
import sys


def printed_without_torch(code: str) -> str:
    """Return what code prints where torch cannot be imported."""
    code = f"import sys; sys.modules['torch'] = None\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
