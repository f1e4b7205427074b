"""The scripts that bertviz fetches from a CDN, installed by npm and served from this machine."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, Route

from tools.ensure import find_node

FOLDER = Path(__file__).parent / "node_modules"
#: Which file answers for which name in a CDN's address.
SCRIPTS = {
    "require": FOLDER / "requirejs" / "require.js",
    "jquery": FOLDER / "jquery" / "dist" / "jquery.min.js",
    "d3": FOLDER / "d3" / "dist" / "d3.min.js",
}


def install() -> None:
    """Install the scripts, at the versions of package.json, unless they are there already."""
    if all(path.exists() for path in SCRIPTS.values()):
        return
    subprocess.run(
        [find_node("npm"), "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"],
        cwd=FOLDER.parent,
        check=True,
    )


def serve(context: BrowserContext) -> None:
    """Answer a page's requests to the CDN from the files that `install` put here."""
    for name, path in SCRIPTS.items():
        context.route(re.compile(rf"^https://[^?]*/{name}[^/]*\.js$"), _answer_with(path))


def _answer_with(path: Path) -> Callable[[Route], None]:
    body = path.read_text(encoding="utf-8")
    return lambda route: route.fulfill(body=body, content_type="text/javascript")
