"""Requests sent to both sides: to a view's function in Python, and to the engine in Node."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from typing import Any

import numpy as np
import pytest

from tests.support.javascript import module_url
from tools.ensure import find_node
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.view import View

_DECIMALS = r"\d+\.\d\d"
_SCRIPT = """
import script from "%(engine)s";
let text = "";
for await (const part of process.stdin) text += part;
const { lab, models, context, requests } = JSON.parse(text);
const engines = {};
for (const [name, state] of Object.entries(models)) {
  const bytes = Buffer.from(state.weights, "base64");
  state.weights = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  script.initialize({ model: { get: (trait) => state[trait] } });
  engines[name] = await globalThis.vtEngines.get(state.digest).promise;
}
const named = Object.fromEntries(Object.entries(engines).map(([name, engine]) => [name, engine.textModel()]));
const replies = requests.map((request) => {
  try {
    return Object.values(engines)[0].answer(lab, named, request, context);
  } catch (error) {
    if (!error.name.endsWith("Error") || error instanceof TypeError) throw error;
    return { error: error.message };
  }
});
const plain = (name, value) =>
  ArrayBuffer.isView(value)
    ? { base64: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") }
    : value;
process.stdout.write(JSON.stringify(replies, plain));
"""


def engine_replies(view: View, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the engine behind a view replies in Node; an error is ``{"error": message}``."""
    given = {
        **view.engine,
        "models": {
            name: {
                "config": model.config,
                "vocabulary": model.vocabulary,
                "weights": base64.b64encode(model.weights).decode(),
                "digest": model.digest,
            }
            for name, model in view.engine["models"].items()
        },
        "requests": requests,
    }
    done = subprocess.run(
        [find_node(), "--input-type=module", "-e", _SCRIPT % {"engine": module_url("engine/engine.js")}],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_both_sides_agree(view: View, requests: list[dict[str, Any]]) -> None:
    """Hold the engine's replies to those of the view's function in Python."""
    for request, found in zip(requests, engine_replies(view, requests), strict=True):
        try:
            wanted = view.answer(request)
        except UserError as error:
            wanted = {"error": str(error)}
        _assert_same(found, wanted, str(request))


def _assert_same(found: Any, wanted: Any, where: str) -> None:
    """Numbers to 1e-4, bytes as below, everything else exactly; in a text, numbers as rounded."""
    if isinstance(wanted, bytes):
        _assert_same_bytes(base64.b64decode(found["base64"]), wanted, where)
    elif isinstance(wanted, dict):
        assert isinstance(found, dict), where
        assert sorted(found) == sorted(wanted), f"{where}: {found.get('error')} {wanted.get('error')}"
        for name in wanted:
            _assert_same(found[name], wanted[name], f"{where} {name}")
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted), where
        for index, each in enumerate(wanted):
            _assert_same(found[index], each, f"{where}[{index}]")
    elif isinstance(wanted, str):
        assert _words_of(found) == _words_of(wanted), where
        assert _decimals_of(found) == pytest.approx(_decimals_of(wanted), abs=0.011), where
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, abs=1e-4), where
    else:
        assert found == wanted, where


def _assert_same_bytes(found: bytes, wanted: bytes, where: str) -> None:
    """Bytes are a mask, the same on both sides; log-probabilities, float64; or other numbers, float32."""
    assert len(found) == len(wanted), where
    if where.endswith("mask"):
        assert found == wanted, where
        return
    dtype, tolerance = ("<f8", 1e-4) if where.endswith("log_probs") else ("<f4", 1e-5)
    ours, theirs = (np.frombuffer(each, dtype) for each in (found, wanted))
    largest = max(1.0, float(np.abs(theirs).max()))  # without LayerNorm vectors grow by thousands
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * largest, err_msg=where)


def _words_of(text: str) -> list[str]:
    return re.split(_DECIMALS, text)


def _decimals_of(text: str) -> list[float]:
    return [float(number) for number in re.findall(_DECIMALS, text)]
