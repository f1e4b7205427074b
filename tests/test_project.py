"""The project's own files agree with one another, and a wheel carries what a clone has."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from viz_transformer import __version__
from viz_transformer.cli import FIRST_LESSON, lab_environment

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
#: Where the project says that it lives, and its documentation.
OURS = {
    "github.com/viz-transformer",
    "raw.githubusercontent.com/viz-transformer",
    "viz-transformer.github.io/viz_transformer",
}
#: Where conda-forge's name of a package is not the one on PyPI.
CONDA_NAMES = {"pytorch": "torch"}
#: What pip installs in a conda environment too.
FROM_PIP = "bertviz"


def ranges(lines: list[str]) -> dict[str, SpecifierSet]:
    requirements = map(Requirement, lines)
    return {canonicalize_name(each.name): each.specifier for each in requirements}


def with_extras(lines: list[str]) -> list[str]:
    """Return requirements in which the project's own extras are replaced by what they bring."""
    found = []
    for line in lines:
        each = Requirement(line)
        inside = [part for extra in each.extras for part in EXTRAS[extra]]
        found += with_extras(inside) if each.name == PROJECT["name"] else [line]
    return found


def constraints(file: str = "constraints.txt") -> list[Requirement]:
    """Return the exact version of each package, for every system."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def pins(file: str = "constraints.txt") -> dict[str, str]:
    """Return the exact version of each package that this system gets."""
    here = [each for each in constraints(file) if each.marker is None or each.marker.evaluate()]
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in here}


def test_conda_and_pip_ask_for_the_same_ranges() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    listed = environment["dependencies"]
    assert "python=3.11" in listed
    assert {"pip": [f"-e .[{FROM_PIP}]"]} in listed
    packages = [each for each in listed if each != "python=3.11" and isinstance(each, str)]
    conda = {CONDA_NAMES.get(name, name): spec for name, spec in ranges(packages).items()}
    del conda["pip"]
    wanted = ranges(with_extras([*PROJECT["dependencies"], *EXTRAS["lab"]]))
    assert wanted.pop(FROM_PIP) == ranges(EXTRAS[FROM_PIP])[FROM_PIP]
    assert conda == wanted


@pytest.mark.parametrize("extra", [None, *EXTRAS])
def test_the_pinned_versions_satisfy_the_ranges(extra: str | None) -> None:
    pinned = pins()
    lines = EXTRAS[extra] if extra else PROJECT["dependencies"]
    for name, allowed in ranges(with_extras(lines)).items():
        assert name in pinned, f"{name} is not in constraints.txt; run `make lock`"
        assert pinned[name] in allowed, f"{name}=={pinned[name]} is outside {allowed}"


def test_pins_are_exact_and_fit_every_build_of_a_version() -> None:
    assert pins()["torch"] == "2.13.0"
    assert "viz-transformer" not in pins()
    for name, version in pins().items():
        assert re.fullmatch(r"[\w.]+", version), f"{name}=={version} asks for one build of it"


#: Where views are tested, by the name in the documentation's table.
TESTED_IN = {
    "JupyterLab": "jupyterlab",
    "Notebook": "notebook",
    "JupyterHub": "jupyterhub",
    "classic notebook": "nbclassic",
    "Voilà": "voila",
    "marimo": "marimo",
}


def test_the_hosts_of_the_tests_are_pinned_beside_the_rest() -> None:
    hosts, ours = pins("tests/hosts.txt"), pins()
    assert {name for name in hosts.keys() & ours if hosts[name] != ours[name]} == {"pymdown-extensions"}
    table = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    for name, package in TESTED_IN.items():
        version = re.escape({**ours, **hosts}[package])
        assert re.search(rf"^\| {name}[^|]*\| {version} \|", table, re.MULTILINE), f"{name} is {version}"


def test_there_are_pins_for_every_system() -> None:
    """What JupyterLab needs on Windows and macOS alone is not installed where `make lock` runs."""
    markers = {each.name: each.marker for each in constraints()}
    windows = {"sys_platform": "win32", "os_name": "nt"}
    assert markers["pywinpty"].evaluate(windows)
    assert markers["appnope"].evaluate({"sys_platform": "darwin"})
    assert not markers["pexpect"].evaluate(windows)


def test_no_file_names_a_package_registry() -> None:
    for path in ("Makefile", "constraints.txt", "environment.yml", "pyproject.toml"):
        text = (ROOT / path).read_text(encoding="utf-8")
        hosts = set(re.findall(r"://([^/\"]+/[^/\"]+)", text)) - OURS
        assert not hosts, f"{path} names {hosts}; a user's own pip and npm settings choose the host"
        assert "index-url" not in text


def test_ci_runs_what_a_user_could_call() -> None:
    script = ROOT / ".ci" / "run"
    commands = script.read_text(encoding="utf-8").splitlines()[-2:]
    assert commands == ["make test", "make test-slow"]
    assert "make test " in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make test-slow " in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert script.stat().st_mode & 0o111


HOSTING = sorted(
    path
    for folder in (".github", ".devcontainer", ".binder")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".yml", ".json"}
)


@pytest.mark.parametrize("path", [*HOSTING, ROOT / "CITATION.cff"], ids=lambda path: path.name)
def test_the_files_for_a_host_can_be_read_and_call_targets_that_there_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text), f"{path.name} is empty"  # JSON is YAML too
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    called = set(re.findall(r"run: make ([a-z-]+)", text))
    for listed in re.findall(r"target: \[(.*)\]", text):
        called |= set(listed.split(", "))
    assert called <= set(targets), f"{path.name} calls make {called - set(targets)}"


def test_binder_starts_jupyterlab_as_the_command_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OMP_NUM_THREADS", "PYTHONSTARTUP", "JUPYTER_CONFIG_PATH"):
        monkeypatch.delenv(name, raising=False)
    ours = lab_environment()
    report = "import json, os; print(json.dumps(dict(os.environ)))"
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    command = [ROOT / ".binder" / "start", sys.executable, "-c", report]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True)
    binders = json.loads(done.stdout)
    binders["JUPYTER_CONFIG_PATH"] = binders["JUPYTER_CONFIG_PATH"].replace(f":{ROOT}/.binder", "")
    for name in ("OMP_NUM_THREADS", "PYTHONSTARTUP", "JUPYTER_CONFIG_PATH"):
        assert Path(binders[name]) == Path(ours[name])
    config = json.loads((ROOT / ".binder" / "jupyter_server_config.json").read_text(encoding="utf-8"))
    assert config["ServerApp"]["default_url"].endswith(f"/lessons/{FIRST_LESSON}")


def test_the_version_is_written_once() -> None:
    assert "version" in PROJECT["dynamic"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d$", changelog, re.MULTILINE)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel built here, with the hatchling that is installed and without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.whl"))


@pytest.mark.parametrize("folder", ["data", "notebooks"])
def test_a_wheel_carries_the_data_and_the_lessons(wheel: Path, folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("[!.]*.*") if ".ipynb_" not in str(path)]
    assert files, f"{folder}/ is empty"
    inside = zipfile.ZipFile(wheel).namelist()
    wanted = {f"viz_transformer/bundled/{path.relative_to(ROOT).as_posix()}" for path in files}
    assert wanted <= set(inside)


def test_a_wheel_carries_every_module_and_every_static_file(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "viz_transformer"
    files = [*package.rglob("*.py"), *package.glob("static/*"), *package.glob("export/*.css")]
    files += package.glob("bertviz_views/**/*.js")
    assert {path.relative_to(ROOT).as_posix() for path in files} <= inside
    assert not [name for name in inside if re.search(r"/(widgets|engine)/.*[.](js|ts|tsx|css)$", name)]
    assert "viz_transformer/py.typed" in inside, "type checkers read the package's types only with it"


def notebook(**cell: object) -> dict[str, object]:
    code = {"cell_type": "code", "source": "1", "metadata": {}, "outputs": []}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [{"id": "a", "execution_count": None, **code, **cell}],
    }


STREAM = {"output_type": "stream", "name": "stdout", "text": "1"}
WIDGETS = {"application/vnd.jupyter.widget-state+json": {}}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (notebook(outputs=[STREAM]), "cell 1 is stored with its output"),
        (notebook(execution_count=3), "cell 1 is stored with its execution count"),
        (notebook() | {"metadata": {"widgets": WIDGETS}}, "the state of its widgets is stored"),
        (notebook(), None),
    ],
    ids=["output", "execution count", "widget state", "clean"],
)
def test_the_commit_hook_finds_what_running_a_notebook_leaves(
    tmp_path: Path, content: dict[str, object], complaint: str | None
) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    entries = {hook["id"]: hook["entry"] for hook in hooks["repos"][0]["hooks"]}
    command = entries["notebooks-without-outputs"].split()
    assert command[0] == ".venv/bin/python"
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps(content), encoding="utf-8")
    done = subprocess.run([sys.executable, *command[1:], path], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == (0 if complaint is None else 1)
    assert (complaint or "") in done.stderr
