"""How many small mistakes in the package the tests notice, by room: mutation testing.

`python -m tools.mutants --seed 7 --number 200` draws mutants (an operator swapped, a number raised by one, a
call left out, a result dropped), puts each into a copy of the tree, and runs the tests that cover its line
until one fails. Which tests cover a line of Python is measured once, with coverage.py, and kept in
`build/mutants`. A script is covered by the Node tests that import it, by the Python tests that name it or the
engine that it belongs to, and by the browser tests that make its view. A mutant that never ends is killed,
by a limit of processor time, so that a busy machine kills no other.

Only lines inside functions are changed: what runs at import has no covering test that could be measured.
"""

from __future__ import annotations

import argparse
import ast
import copy
import functools
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools import bundles
from tools.ensure import find_node

ROOT = Path(__file__).parents[1]
PACKAGE = "viz_transformer"
QUICK = "not slow and not weekly and not real"
#: Seconds of tests, as measured, after which a mutant that lives is called a survivor.
ENOUGH_S = 60
#: Seconds after which a mutant that only waits is killed, on a busy machine too.
PATIENCE_S = 900
#: Not copied with the tree.
LEFT_OUT = (".git", ".venv", "build", "dist", "artifacts", "node_modules", ".*_cache")
#: Imported once, before a process is forked for each mutant: nothing of the package itself.
HEAVY = ("anywidget", "hypothesis", "IPython", "matplotlib.pyplot", "numpy", "playwright.sync_api", "torch")

SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
#: What is looked for in a script, and what takes its place.
SCRIPT_SWAPS = {
    r" < ": " <= ", r" <= ": " < ", r" > ": " >= ", r" >= ": " > ", r" === ": " !== ", r" !== ": " === ",
    r" && ": " || ", r" \|\| ": " && ", r" \+ ": " - ", r" - ": " + ", r" \* ": " / ", r" / ": " * ",
    r"\btrue\b": "false", r"\bfalse\b": "true", r"\breturn (?=\S)[^;{(]+;": "return undefined;",
    r"(?<=[ (\[])\d+(?=[ ,;)\]])": "+1", r"(?<=    )[\w.]+\([^{}]*\);$": ";",
}  # fmt: skip
_NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", re.S
)


@dataclass(frozen=True)
class Mutant:
    """One small mistake: bytes of a file from `start` to `end` become `text`."""

    file: str
    line: int
    start: int
    end: int
    text: str

    @property
    def room(self) -> str:
        """The folder or module of the package, and the language."""
        parts = Path(self.file).parts
        return f"{parts[1].removesuffix('.py')} ({'Python' if self.file.endswith('.py') else 'JavaScript'})"


def mutants_of(file: str) -> Iterator[Mutant]:
    """Yield every mutant of a file of the package."""
    source = (ROOT / file).read_bytes()
    yield from (_of_python if file.endswith(".py") else _of_script)(file, source)


def _of_python(file: str, source: bytes) -> Iterator[Mutant]:
    lines = source.splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))

    def replaced(node: ast.expr | ast.stmt, text: str) -> Mutant:
        start = begins[node.lineno - 1] + node.col_offset
        end = begins[node.end_lineno - 1] + node.end_col_offset  # type: ignore[operator]
        return Mutant(file, node.lineno, start, end, text)

    def visit(node: ast.AST, in_function: bool) -> Iterator[Mutant]:
        if in_function:
            yield from (replaced(node, text) for text in _changed(node))
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "args", "decorator_list"} and not isinstance(node, ast.Call):
                continue
            inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr | ast.Raise):
                    yield from visit(child, inside)

    yield from visit(ast.parse(source), in_function=False)


def _changed(node: ast.AST) -> Iterator[str]:
    """Yield the source of a node with one mistake in it."""
    twin = copy.copy(node)
    match node:
        case ast.Compare(ops=[op, *rest]):
            twin.ops = [SWAPS[type(op)](), *rest]
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            twin.op = SWAPS[type(op)]()
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            twin = operand
        case ast.Constant(value=bool() as value):
            twin.value = not value
        case ast.Constant(value=int() | float() as value):
            twin.value = value + 1
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return None"
            return
        case ast.Expr(value=ast.Call()):
            yield "pass"
            return
        case _:
            return
    yield f"({ast.unparse(twin)})"


def _of_script(file: str, source: bytes) -> Iterator[Mutant]:
    text = source.decode()
    code = _NOT_CODE.sub(lambda found: re.sub(r"[^\n]", "\0", found.group()), text)
    begin = 0
    for number, line in enumerate(code.splitlines(keepends=True), start=1):
        for pattern, new in SCRIPT_SWAPS.items():
            for found in re.finditer(pattern, line) if line[0] in " \t" else ():
                start = len(text[: begin + found.start()].encode())
                old = found.group()
                put = str(int(old) + 1) if new == "+1" else new
                yield Mutant(file, number, start, start + len(old.encode()), put)
        begin += len(line)


class Coverage:
    """Which tests cover a line, and how long each takes.

    Args:
        folder: holds `coverage` and `times.xml`, which are measured first if they are not there.
    """

    def __init__(self, folder: Path) -> None:
        data, times = folder / "coverage", folder / "times.xml"
        if not (data.exists() and times.exists()):
            _measure(data, times)
        self.seconds: dict[str, float] = {}
        for case in ET.parse(times).iter("testcase"):
            module, *inside = re.split(r"\.(?=[A-Z])", case.get("classname", ""))  # classes after the module
            if case.find("failure") is None and case.find("error") is None:
                name = "::".join([f"{module.replace('.', '/')}.py", *inside, case.get("name", "")])
                self.seconds[name] = float(case.get("time", 0))
        self.tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        with sqlite3.connect(data) as rows:
            asked = "select path, context, numbits from line_bits join file on file.id = file_id "
            for path, context, bits in rows.execute(asked + "join context on context.id = context_id"):
                test = context.rpartition("|")[0]
                ran = [n * 8 + bit for n, byte in enumerate(bits) for bit in range(8) if byte >> bit & 1]
                for line in ran:
                    if test in self.seconds:
                        self.tests[path.partition(f"/{PACKAGE}/")[2]][line].add(test)

    def of(self, mutant: Mutant) -> list[str]:
        """Return the tests that cover a mutant, shortest first, at most `ENOUGH_S` of them."""
        inside = mutant.file.removeprefix(f"{PACKAGE}/")
        found = self.tests[inside][mutant.line] if inside.endswith(".py") else self._of_script(inside)
        chosen, spent = [], 0.0
        for test in sorted(found, key=lambda test: (self.seconds[test], test)):
            spent += self.seconds[test]
            if chosen and spent > ENOUGH_S:
                break
            chosen.append(test)
        return chosen

    def _of_script(self, inside: str) -> set[str]:
        folder = "/".join(inside.split("/")[:2])  # widgets/mask_lab
        made = {
            test
            for path, lines in self.tests.items()
            if path.startswith(f"{folder}/")
            for tests in lines.values()
            for test in tests
        }
        name = folder.rpartition("/")[2]
        own = {test for test in self.seconds if name in test.partition("::")[0]}
        in_browser = {test for test in made | own if test.startswith(("tests/ui/", "tests/sweep/"))}
        engine = {test for test in self.seconds if inside.startswith("engine/") and "engine" in test}
        return in_browser | engine | {test for test in self.seconds if inside in _text_of(test)}


@functools.cache
def _text_of_module(module: str) -> str:
    return (ROOT / module).read_text(encoding="utf-8")


def _text_of(test: str) -> str:
    """Return the source of a test's module."""
    return _text_of_module(test.partition("::")[0])


def _measure(data: Path, times: Path) -> None:
    """Run the quick tests once, and keep which lines each of them ran."""
    data.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-m", QUICK, "-q"]
    command += [f"--cov={PACKAGE}", "--cov-context=test", "--cov-report=", f"--junitxml={times}"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "COVERAGE_FILE": str(data)})


@functools.cache
def node_tests() -> dict[str, set[Path]]:
    """Return the tests in tests/js that import each script, directly or through another."""

    tests: dict[str, set[Path]] = defaultdict(set)
    for test in sorted((ROOT / "tests" / "js").glob("*.test.mjs")):
        waiting, seen = [test], set()
        while waiting:
            script = waiting.pop()
            if script in seen or script.suffix not in {".js", ".ts", ".mjs"}:
                continue
            seen.add(script)
            tests[script.relative_to(ROOT).as_posix()].add(test.relative_to(ROOT))
            found = re.findall(r"(?:from|import)\s+\"(\.[^\"]+)\"", script.read_text(encoding="utf-8"))
            waiting += [(script.parent / each).resolve() for each in found]
    return tests


def try_mutant(mutant: Mutant, tests: list[str], tree: Path, limit: int) -> int:
    """Run a mutant's tests in a tree that has it, in this process; return 1 if one of them fails.

    This process, and each that it starts, ends after `limit` seconds of the processor.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    os.chdir(tree)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    if mutant.file.endswith((".js", ".ts")):
        files = sorted(node_tests()[mutant.file])
        if files and subprocess.run([find_node(), "--test", *files], cwd=tree).returncode:
            return 1
    if not tests:
        return 0
    sys.path.insert(0, str(tree))
    os.environ["PYTHONPATH"] = str(tree)
    import pytest

    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", *tests]) != 0)


def judge(mutants: list[Mutant], coverage: Coverage, folder: Path, workers: int) -> dict[Mutant, str]:
    """Return what became of each mutant: ``"killed"``, ``"survived"`` or ``"not covered"``."""
    for name in HEAVY:
        __import__(name)
    trees = [folder / f"tree-{n}" for n in range(workers)]
    for tree in trees:
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
        shutil.copytree(bundles.FETCHED, tree / bundles.FETCHED.relative_to(ROOT))
    waiting = list(reversed(mutants))
    running: dict[int, tuple[Mutant, Path, float]] = {}
    became: dict[Mutant, str] = {}

    def ended(pid: int, what: str) -> None:
        mutant, tree, _ = running.pop(pid)
        became[mutant] = what
        shutil.copy2(ROOT / mutant.file, tree / mutant.file)
        trees.append(tree)
        new = mutant.text.replace("\n", " ")
        sys.stdout.write(f"{len(became)}/{len(mutants)} {what}: {mutant.file}:{mutant.line} {new}\n")
        sys.stdout.flush()

    while waiting or running:
        while waiting and trees:
            mutant, tree = waiting.pop(), trees.pop()
            tests = coverage.of(mutant)
            if not tests and not node_tests()[mutant.file]:
                became[mutant] = "not covered"
                trees.append(tree)
                continue
            source = (ROOT / mutant.file).read_bytes()
            (tree / mutant.file).write_bytes(
                source[: mutant.start] + mutant.text.encode() + source[mutant.end :]
            )
            limit = 60 + 3 * round(sum(coverage.seconds[test] for test in tests))
            pid = os.fork()
            if pid == 0:
                os.setsid()
                os._exit(try_mutant(mutant, tests, tree, limit))
            running[pid] = mutant, tree, time.monotonic() + PATIENCE_S
        for pid, (_, _, until) in list(running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                ended(pid, "killed" if status else "survived")
            elif time.monotonic() > until:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                ended(pid, "killed")
        time.sleep(0.05)
    return became


def draw(seed: int, number: int, files: list[str]) -> list[Mutant]:
    """Return mutants of files, each as likely as any other; a script that no longer parses is left out."""
    every = [mutant for file in files for mutant in mutants_of(file)]
    drawn = []
    for mutant in random.Random(seed).sample(every, len(every)):
        if mutant.file.endswith((".js", ".ts")) and not _parses(mutant):
            continue
        drawn.append(mutant)
        if len(drawn) == number:
            break
    return drawn


def _parses(mutant: Mutant) -> bool:
    source = (ROOT / mutant.file).read_bytes()
    changed = source[: mutant.start] + mutant.text.encode() + source[mutant.end :]
    check = [str(bundles.find_esbuild()), f"--loader={mutant.file.rpartition('.')[2]}"]
    return subprocess.run(check, input=changed, capture_output=True).returncode == 0


def table(became: dict[Mutant, str]) -> str:
    """Return the share killed by room, as a table of Markdown."""
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for mutant, what in became.items():
        rooms[mutant.room][what] += 1
        rooms["all"][what] += 1
    lines = ["| room | mutants | killed | survived | not covered | killed |", "|---|--:|--:|--:|--:|--:|"]
    for room in sorted(rooms, key=lambda room: (room == "all", room)):
        count = rooms[room]
        counts = " | ".join(str(count[what]) for what in ("killed", "survived", "not covered"))
        lines.append(f"| {room} | {count.total()} | {counts} | {count['killed'] / count.total():.0%} |")
    return "\n".join(lines)


def package_files() -> list[str]:
    """Return the package's own Python and JavaScript files, relative to the root."""
    found = [path for ending in ("py", "js", "ts") for path in (ROOT / PACKAGE).rglob(f"*.{ending}")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found if "vendor" not in path.parts)


def main() -> None:
    """Draw, judge, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    folder = ROOT / "build" / "mutants"
    coverage = Coverage(folder)
    drawn = draw(options.seed, options.number, package_files())
    sys.stdout.write(f"\n{table(judge(drawn, coverage, folder, options.workers))}\n")


if __name__ == "__main__":
    main()
