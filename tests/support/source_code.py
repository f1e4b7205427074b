"""The repository's own source: its modules, what each of them imports, and rules for every file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cache, wraps
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "viz_transformer"
MODULES = sorted(PACKAGE.rglob("*.py"))
#: The scripts that people write; what is built from them stands in `static`.
SCRIPTS = sorted(
    path
    for path in PACKAGE.rglob("*")
    if path.suffix in (".js", ".ts", ".tsx") and not {"vendor", "static"} & {*path.parts}
)
TEST_MODULES = sorted((ROOT / "tests").rglob("*.py"))


@cache
def imports(module: Path) -> tuple[str, ...]:
    """Return the full name of everything that a file imports, wherever in it that stands."""
    return tuple(imports_in(ast.parse(module.read_text(encoding="utf-8")), module))


def imports_in(tree: ast.AST, module: Path) -> Iterator[str]:
    """Yield the full name of everything that a part of a file imports."""
    package = list(module.relative_to(ROOT).parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            up = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*up, *(node.module or "").split(".")]).strip(".")
            # `from viz_transformer import plots` imports a room; `from x import name` may.
            yield from (f"{base}.{alias.name}" for alias in node.names)


def for_each(files: Iterable[Path]) -> Callable[[Callable[[Path], None]], Callable[[], None]]:
    """Make of a rule for a file one test that names every file that breaks it.

    A test for each file costs ten times as long as what it looks at.
    """

    def decorated(rule: Callable[[Path], None]) -> Callable[[], None]:
        @wraps(rule)
        def test() -> None:
            broken = []
            for file in files:
                try:
                    rule(file)
                except AssertionError as error:
                    broken.append(f"{file.relative_to(ROOT).as_posix()}: {error}")
            assert not broken, "\n".join(broken)

        del test.__wrapped__  # pytest would look there for what the test is given
        return test

    return decorated
