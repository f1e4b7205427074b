"""What works without any extra, and the one line that names the extra for the rest."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.missing_packages import run_without
from tests.support.source_code import MODULES, ROOT, imports
from tools.try_wheel import WALK
from viz_transformer._extras import EXTRA_OF

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: What comes with a package that is listed, and is imported too.
BROUGHT_BY = dict.fromkeys(("nbclient", "nbconvert", "nbformat", "jinja2"), "jupyterlab")
#: The names under which packages are imported, where they differ.
IMPORTED_AS = {"pillow": "PIL", "ipython": "IPython"}


def listed(lines: list[str]) -> set[str]:
    """Return the names under which the packages of some requirements are imported."""
    names = {canonicalize_name(Requirement(line).name) for line in lines}
    return {IMPORTED_AS.get(name, name) for name in names}


def test_every_import_is_of_a_package_that_is_declared() -> None:
    imported = {name.split(".")[0] for module in MODULES for name in imports(module)}
    others = imported - sys.stdlib_module_names - {"viz_transformer"}
    declared = listed(PROJECT["dependencies"]) | EXTRA_OF.keys()
    assert others - declared == set(), "declare them in pyproject.toml or _extras.py"


def test_each_extra_installs_the_packages_it_is_named_for() -> None:
    core = listed(PROJECT["dependencies"])
    for package, extra in EXTRA_OF.items():
        brought = BROUGHT_BY.get(package, package)
        assert brought in listed(PROJECT["optional-dependencies"][extra]) - core, package


def test_the_core_works_without_any_extra(tmp_path: Path) -> None:
    said = run_without(EXTRA_OF, WALK, tmp_path)
    assert said.startswith("core works")
    assert {"page.html", "heads.png", "view.png", "training.html"} <= {
        each.name for each in tmp_path.iterdir()
    }


#: Code that needs an extra, with the package that is missed first.
NEEDS = {
    "vt.load_translator()": "torch",
    "vt.load_masked_model()": "torch",
    "vt.Interventions()": "torch",
    "vt.head_lab": "torch",
    "vt.compare_scorings(4)": "torch",
    "vt.exercises.check('2.1', 1)": "torch",
    "vt.attribution": "torch",
    "from viz_transformer.model import Transformer": "torch",
    "from viz_transformer.recipes import six_pairs_translator": "torch",
    "import viz_transformer.training": "torch",
    "vt.bertviz_views.head_view(trace)": "bertviz",
    "Subwords.train(['a b'])": "tokenizers",
}
_TRY = """
import json, io, contextlib
import viz_transformer as vt
from viz_transformer.cli import main
from viz_transformer.vocabulary import Subwords
trace = vt.capture([[[[1.0]]]], target_tokens=["a"])
said = {{}}
for code in {codes}:
    try: exec(code)
    except vt.UserError as error: said[code] = [isinstance(error, ImportError), str(error)]
for command in {commands}:
    with contextlib.redirect_stderr(io.StringIO()) as heard: status = main(command)
    said[command[0]] = [status, heard.getvalue()]
print(json.dumps(said))
"""


def test_a_missing_extra_is_named_in_one_line(tmp_path: Path) -> None:
    commands = [["lab"], ["translate", "a cat"], ["site", "pages"], ["train", "en-es"]]
    code = _TRY.format(codes=[*NEEDS], commands=commands)
    said = json.loads(run_without(EXTRA_OF, code, tmp_path))
    for code, package in NEEDS.items():
        command = f'pip install "viz-transformer[{EXTRA_OF[package]}]"'
        assert said[code] == [True, f"{package} is not installed, and this needs it: {command}"], code
    for (command, *_), extra in zip(commands, ("lab", "torch", "lab", "torch"), strict=True):
        status, heard = said[command]
        assert status == 2, command
        assert heard.startswith("viz-transformer: ")
        assert heard.endswith(f'pip install "viz-transformer[{extra}]"\n')
        assert heard.count("\n") == 1
    assert list(tmp_path.iterdir()) == [], "nothing is begun that cannot be finished"


def test_imports_of_other_packages_fail_as_they_always_do(tmp_path: Path) -> None:
    """Libraries look for what they can use; what we say is about ourselves alone."""
    (tmp_path / "other.py").write_text(
        "from importlib.util import find_spec\nassert find_spec('torch') is None\n"
        "try: import torch\nexcept ModuleNotFoundError as error: print(error)\n"
    )
    code = "import viz_transformer, other"
    assert run_without(["torch"], f"sys.path.insert(0, '.')\n{code}", tmp_path) == "No module named 'torch'\n"
