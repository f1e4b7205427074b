"""The walls of docs/contributing/architecture.md: who may import whom, and what is heavy.

The imports are read from the source with `ast`, so a wall holds for an import inside a function
too; what really gets loaded is seen in a fresh Python process.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.source_code import (
    MODULES,
    PACKAGE,
    ROOT,
    SCRIPTS,
    TEST_MODULES,
    for_each,
    imports,
    imports_in,
)

#: Leaves that every room may import.
LEAVES = {"errors", "_bounds", "_extras", "_file_set", "_files", "_html", "_lazy", "_numbers"}
LEAVES |= {"_own_file", "_renamed", "_shared", "_text", "_work"}
#: Which rooms each room may import, besides itself and the leaves; None: every room.
ALLOWED: dict[str, set[str] | None] = {
    "__init__": None,
    "__main__": None,
    "cli": None,
    "errors": set(),
    "_bounds": set(),
    "_extras": set(),
    "_file_set": set(),
    "_files": set(),
    "_html": set(),
    "_lazy": set(),
    "_numbers": set(),
    "_own_file": set(),
    "_renamed": set(),
    "_shared": set(),
    "_text": set(),
    "_work": set(),
    "progress": set(),
    "course_map": set(),
    "source_code": set(),
    "tensor_picture": set(),
    "jupyter": set(),
    "config": set(),
    "vocabulary": set(),
    "trace": set(),
    "model": {"config", "trace"},
    "corpus": {"vocabulary"},
    "checkpoint": {"model", "vocabulary", "config"},
    "training": {"model", "corpus", "config", "checkpoint"},
    "decoding": {"model", "vocabulary", "trace"},
    "capturing": {"model", "trace"},
    "interpreting": {"model", "trace", "capturing", "vocabulary"},
    "attribution": {"interpreting", "trace"},
    "intervening": {"interpreting"},
    "experiments": {
        "translator",
        "config",
        "corpus",
        "vocabulary",
        "model",
        "training",
        "recipes",
        "trace",
        "capturing",
        "analysis",
    },
    "analysis": {"trace"},
    "plots": {"trace", "analysis"},
    "widgets": {"trace", "analysis", "plots"},
    "export": {"widgets", "bertviz_views", "trace", "course_map"},
    "engine": {"widgets"},
    "bertviz_views": {"trace"},
    "text_model": {"decoding", "model", "vocabulary", "config", "trace"},
    "translator": {"text_model", "checkpoint", "model", "vocabulary", "trace"},
    "language_model": {"text_model", "checkpoint", "model", "vocabulary", "trace"},
    "masked_model": {"text_model", "checkpoint", "model", "vocabulary", "trace"},
    "recipes": {
        "config",
        "corpus",
        "vocabulary",
        "model",
        "capturing",
        "training",
        "checkpoint",
        "text_model",
        "translator",
        "language_model",
        "masked_model",
        "trace",
        "analysis",
    },
    "huggingface_text": {"decoding", "interpreting", "capturing", "model", "text_model", "trace"},
    "tours": {"live", "widgets", "translator", "trace", "analysis", "plots"},
    "labs": None,
    "live": {
        "corpus",
        "engine",
        "huggingface_text",
        "text_model",
        "translator",
        "language_model",
        "masked_model",
        "capturing",
        "interpreting",
        "widgets",
        "trace",
        "vocabulary",
        "analysis",
        "model",
        "experiments",
        "config",
        "plots",
        "progress",
        "course_map",
        "source_code",
    },
    "exercises": {
        "trace",
        "analysis",
        "config",
        "vocabulary",
        "corpus",
        "model",
        "decoding",
        "translator",
        "training",
        "recipes",
        "experiments",
        "capturing",
        "progress",
    },
}
#: Rooms that draw or compute from a trace alone, and so must never load a model's libraries.
MODEL_FREE = ("trace", "plots", "widgets", "analysis", "export", "bertviz_views")
MODEL_LIBRARIES = {"torch", "transformers"}

WIDGETS = PACKAGE / "widgets"
VIEW_FOLDERS = sorted(path.parent for path in WIDGETS.glob("*/view.py") if path.parent.name != "base")


def name(module: Path) -> str:
    return module.relative_to(ROOT).as_posix()


def room(module: Path) -> str:
    """Return the room a file stands in: its module, or the folder right under the package.

    A view's `live.py` is a room of its own: there alone a view and a model meet.
    """
    return "live" if module.name == "live.py" else Path(module.relative_to(PACKAGE).parts[0]).stem


#: The rooms that stand today; the table may plan more.
BUILT = {room(module) for module in MODULES}


def imported_scripts(script: Path) -> Iterator[Path]:
    """Yield the scripts that a script imports; shared.json, which is none, is everyone's."""
    for target in re.findall(r'from "(\.[^"]+)"', script.read_text(encoding="utf-8")):
        if not target.endswith("/shared.json"):
            yield (script.parent / target).resolve()


def rooms_imported(module: Path) -> set[str]:
    """Return the rooms a file imports; the package itself, the door, counts as `__init__`."""
    parts = [imported.split(".") for imported in imports(module)]
    ours = {
        "live" if "live" in part else (*part, "__init__")[1] for part in parts if part[0] == "viz_transformer"
    }
    return {part if part in BUILT | ALLOWED.keys() else "__init__" for part in ours}


@for_each(MODULES)
def test_a_room_imports_only_what_the_table_allows(module: Path) -> None:
    here = room(module)
    assert here in ALLOWED, (
        f"{name(module)} is a room that the table does not know; add {here!r} to ALLOWED in "
        "tests/test_architecture.py and to docs/contributing/architecture.md, with the rooms it may import"
    )
    allowed = ALLOWED[here]
    if allowed is not None:
        forbidden = rooms_imported(module) - allowed - LEAVES - {here}
        assert not forbidden, (
            f"{name(module)} imports {sorted(forbidden)}, but {here!r} may import only "
            f"{sorted(allowed)} and the leaves {sorted(LEAVES)}"
        )


@for_each(MODULES)
def test_the_recipes_of_bundled_files_stand_outside(module: Path) -> None:
    """The package asks for them by name alone, in `recipes.in_a_clone`; a wheel has none."""
    found = [each for each in imports(module) if each.split(".")[0] == "recipes"]
    assert not found, f"{name(module)} imports {found}, which no wheel has"


@for_each([m for m in MODULES if room(m) in MODEL_FREE])
def test_views_never_see_a_model(module: Path) -> None:
    found = {imported.split(".")[0] for imported in imports(module)} & MODEL_LIBRARIES
    assert not found, f"{name(module)} imports {sorted(found)}; views draw from a trace alone"


@for_each([m for m in MODULES if room(m) == "widgets"])
def test_a_widget_reaches_for_its_matplotlib_twin_only_inside_a_function(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = []
    eager = [found for found in imports_in(tree, module) if ".plots" in found]
    assert not eager, f"{name(module)} imports {eager} at its top; import it inside the method"


@for_each(VIEW_FOLDERS)
def test_a_view_is_one_folder(folder: Path) -> None:
    """Its Python, its script and its style."""
    found = {path.name for path in folder.iterdir()}
    assert {"__init__.py", "view.py", "style.css"} <= found
    assert len({"view.js", "view.tsx"} & found) == 1


@for_each([WIDGETS / "base", *VIEW_FOLDERS])
def test_nothing_shared_stands_under_a_view_s_name(folder: Path) -> None:
    """A view imports from its own folder and from `base`, and `base` from no view."""
    others = {each.name for each in VIEW_FOLDERS} - {folder.name}
    for module in (each for each in folder.rglob("*.py") if room(each) != "live"):
        rooms = {tuple(each.split(".")[1:3]) for each in imports(module)}
        found = {view for view in others if ("widgets", view) in rooms}
        assert not found, f"{name(module)} imports from the views {sorted(found)}; share it in base/"
    for script in (each for each in SCRIPTS if each.is_relative_to(folder)):
        targets = {path.relative_to(WIDGETS).parts[0] for path in imported_scripts(script)}
        found = targets & others
        assert not found, f"{name(script)} imports from the views {sorted(found)}; share it in base/"


@for_each([s for s in SCRIPTS if room(s) in ("engine", "widgets")])
def test_views_and_the_engine_know_nothing_of_each_other(script: Path) -> None:
    found = {room(target) for target in imported_scripts(script)} - {room(script)}
    assert not found, f"{name(script)} imports from {sorted(found)}; they meet in page_engine.js alone"


@for_each(MODULES)
def test_a_module_says_in_its_first_line_what_it_holds(module: Path) -> None:
    first = (ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or "").partition("\n")[0]
    assert first.endswith("."), f"{name(module)} begins with no sentence: {first!r}"


@for_each(SCRIPTS)
def test_a_script_says_in_its_first_line_what_it_holds(script: Path) -> None:
    assert script.read_text(encoding="utf-8").startswith(("//", "/*")), f"{name(script)} has no first comment"


def test_the_documented_table_is_the_one_that_is_held() -> None:
    text = (ROOT / "docs" / "contributing" / "architecture.md").read_text(encoding="utf-8")
    for here, rooms in re.findall(r"^\| `(\w+)/?` \|.*\| (.+) \|$", text, re.MULTILINE):
        documented = set(re.sub(r"\(.*?\)|;.*|nothing", "", rooms).replace(",", " ").split())
        assert documented == ALLOWED[here], (
            f"docs/contributing/architecture.md and ALLOWED differ on {here!r}"
        )
    undocumented = {each for each in BUILT if f"| `{each}" not in text and ALLOWED[each] is not None}
    assert not undocumented, f"docs/contributing/architecture.md has no line for {sorted(undocumented)}"


@for_each(TEST_MODULES)
def test_a_test_module_imports_no_other(module: Path) -> None:
    """What several of them need stands in `tests/support`, where a reader looks for it."""
    from_tests = {each for each in imports(module) if each.split(".")[0] == "tests"}
    shared = {each for each in from_tests if each.startswith("tests.support.")}
    assert from_tests == shared, f"{name(module)} imports {sorted(from_tests - shared)}"


def test_the_guard_sees_every_way_to_import(tmp_path: Path) -> None:
    """The tests above are worth only what `imports` finds."""
    source = (
        "import torch.nn as nn\nfrom viz_transformer import plots\n"
        "from ..trace import ForwardTrace\n"
        "from .. import plots\nfrom . import explorer\n"
        "def late():\n    from viz_transformer.model.masks import causal_mask\n"
    )
    assert set(imports_in(ast.parse(source), PACKAGE / "widgets" / "x.py")) == {
        "torch.nn",
        "viz_transformer.plots",
        "viz_transformer.trace.ForwardTrace",
        "viz_transformer.widgets.explorer",
        "viz_transformer.model.masks.causal_mask",
    }


def loaded_by(code: str) -> set[str]:
    """Return the top-level modules that a fresh Python has loaded after running `code`."""
    report = "import json, sys; print(json.dumps(sorted({m.split('.')[0] for m in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_drawing_a_trace_imports_no_model_library() -> None:
    code = [
        *(f"import viz_transformer.{free}" for free in MODEL_FREE if free in BUILT),
        "import viz_transformer; viz_transformer.plots",
        "viz_transformer.capture; viz_transformer.load_training",
        "import viz_transformer.cli",
    ]
    heavy = loaded_by("\n".join(code)) & MODEL_LIBRARIES
    assert not heavy, f"one of {code} loads {sorted(heavy)}"


def test_importing_the_package_loads_nothing_large() -> None:
    heavy = loaded_by("import viz_transformer") & {*MODEL_LIBRARIES, "matplotlib", "ipywidgets"}
    assert not heavy, f"'import viz_transformer' loads {sorted(heavy)}; load public names lazily"
