"""Python processes in which packages are not installed, as far as Python's imports can tell."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[2]


class Hiding(PathFinder):
    """Python's finder of installed packages, which finds all but those in `hidden`."""

    hidden: frozenset[str] = frozenset()

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        """Find a module unless it belongs to a hidden package."""
        if fullname.partition(".")[0] in cls.hidden:
            return None
        return super().find_spec(fullname, path, target)


def hide(packages: Iterable[str]) -> None:
    """Hide packages from this process, which has imported none of them."""
    Hiding.hidden = frozenset(packages)
    sys.meta_path[:] = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]


def hide_here(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Hide a package from this process, which may have imported it, until the test has ended."""
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.setattr(Hiding, "hidden", frozenset({package}))
    hide([package])


def run_without(packages: Iterable[str], code: str, cwd: Path = ROOT) -> str:
    """Return what a fresh Python prints that lacks these packages."""
    start = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom tests.support.missing_packages import hide\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{start}hide({sorted(packages)})\n{code}"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed_without_torch(expression: str) -> str:
    """Return what `print` writes of an expression over ``trace``, the room of traces."""
    return run_without(["torch"], f"from viz_transformer import trace\nprint({expression})").strip()
