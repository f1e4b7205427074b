"""The repository's own source: its modules, and what each of them imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "viz_transformer"
MODULES = sorted(PACKAGE.rglob("*.py"))
TEST_MODULES = sorted((ROOT / "tests").rglob("*.py"))


def imports(module: Path, tree: ast.AST | None = None) -> Iterator[str]:
    """Yield the full name of everything that a file imports, wherever in it that stands."""
    package = list(module.relative_to(ROOT).parent.parts)
    for node in ast.walk(tree or ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*up, *(node.module or "").split(".")]).strip(".")
            # `from viz_transformer import plots` imports a room; `from x import name` may.
            yield from (f"{base}.{alias.name}" for alias in node.names)
