"""The package's JavaScript, for tests that run it in Node."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from tools.bundles import run_esbuild
from tools.ensure import find_node

_PACKAGE = Path(__file__).parents[2] / "viz_transformer"


def module_path(path: str) -> Path:
    """Return where a script, such as ``"widgets/base/text.ts"``, stands."""
    return _PACKAGE / path


def module_url(path: str) -> str:
    """Return the address of a script, such as ``"widgets/base/text.ts"``, for an import."""
    return module_path(path).as_uri()


def bundled(script: str) -> str:
    """Return a script joined with what it imports from the package, such as "./widgets/base/kernel.ts"."""
    folder = _PACKAGE.as_posix()
    return run_esbuild(["--loader=js"], script.replace('from "./', f'from "{folder}/'))


def answers_in_node(imports: dict[str, str], answer: str, given: Any) -> Any:
    """Run JavaScript in one Node process, and return what it answers.

    Args:
        imports: names to import, each with its script, such as ``{"ratio": "engine/spelling.ts"}``.
        answer: the text of a function of `given`; what it returns is sent back as JSON, in which NaN
            and infinity are null, and typed arrays as arrays of numpy.
        given: anything that JSON can hold, and bytes, which are DataViews there, as a view gets them.
    """
    lines = [
        *(f'import {{ {name} }} from "{module_url(path)}";' for name, path in imports.items()),
        'import { readFileSync } from "node:fs";',
        "const bytes = ({ buffer, byteOffset, length }) => new DataView(buffer, byteOffset, length);",
        'const isBytes = (value) => typeof value?.base64 === "string";',
        'const revive = (_, value) => isBytes(value) ? bytes(Buffer.from(value.base64, "base64")) : value;',
        'const given = JSON.parse(readFileSync(0, "utf8"), revive);',
        f"const answer = {answer};",
        "const isTyped = (value) => ArrayBuffer.isView(value) && !(value instanceof DataView);",
        "const base64 = ({ buffer: all, byteOffset: at, byteLength: size }) =>",
        '  Buffer.from(all, at, size).toString("base64");',
        "const typed = (value) => ({ typed: value.constructor.name, base64: base64(value) });",
        "const send = (_, value) => (isTyped(value) ? typed(value) : value);",
        "process.stdout.write(JSON.stringify(await answer(given), send));",
    ]
    done = subprocess.run(
        [find_node(), "--input-type=module", "--eval", "\n".join(lines)],
        input=json.dumps(given, default=lambda each: {"base64": base64.b64encode(each).decode()}),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout, object_hook=_array_of)


def _array_of(value: dict[str, Any]) -> Any:
    """Return the array that a typed array was, and everything else as it is."""
    if value.keys() != {"typed", "base64"}:
        return value
    return np.frombuffer(base64.b64decode(value["base64"]), value["typed"].removesuffix("Array").lower())
