"""The package's JavaScript, for tests that run it in Node."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

from tools.ensure import find_node

_PACKAGE = Path(__file__).parents[2] / "viz_transformer"


def module_path(path: str) -> Path:
    """Return where a script, such as ``"widgets/base/js/text.js"``, stands."""
    return _PACKAGE / path


def module_url(path: str) -> str:
    """Return the address of a script, such as ``"widgets/base/js/text.js"``, for an import."""
    return module_path(path).as_uri()


_READ_GIVEN = """
import { readFileSync } from "node:fs";
const bytes = ({ base64 }) => {
  const { buffer, byteOffset, byteLength } = Buffer.from(base64, "base64");
  return new DataView(buffer, byteOffset, byteLength);
};
const isBytes = (value) => typeof value?.base64 === "string";
const given = JSON.parse(readFileSync(0, "utf-8"), (_, value) => (isBytes(value) ? bytes(value) : value));
"""


def run_in_node(script: str, given: Any = None) -> Any:
    """Run a module's text, which has `given` as a name and prints JSON; return what it printed.

    Bytes anywhere in `given` are DataViews there, as a view gets them.
    """
    done = subprocess.run(
        [find_node(), "--input-type=module", "--eval", _READ_GIVEN + script],
        input=json.dumps(given, default=lambda value: {"base64": base64.b64encode(value).decode()}),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
