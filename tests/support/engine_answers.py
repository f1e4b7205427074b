"""Requests sent to both sides: to a view's function in Python, and to the engine in Node."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
import pytest

from tests.support.javascript import answers_in_node
from viz_transformer.errors import UserError
from viz_transformer.widgets.base.view import View

_DECIMALS = r"\d+\.\d\d"
_ANSWER = """async ({ lab, models, context, requests }) => {
  const engines = {};
  for (const [name, state] of Object.entries(models)) {
    script.initialize({ model: { get: (trait) => state[trait] } });
    engines[name] = await globalThis.vtEngines.get(state.digest).promise;
  }
  const textModels = Object.fromEntries(
    Object.entries(engines).map(([name, engine]) => [name, engine.textModel()]),
  );
  const inJson = (value) => {
    if (ArrayBuffer.isView(value))
      return { base64: Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64") };
    if (Array.isArray(value)) return value.map(inJson);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inJson(each)]));
  };
  return requests.map((request) => {
    try {
      return inJson(Object.values(engines)[0].answer(lab, textModels, request, context));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return { error: error.message };
    }
  });
}"""


def engine_replies(view: View, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the engine behind a view replies in Node; an error is ``{"error": message}``.

    Bytes are ``{"base64": text}``.
    """
    models = {
        name: {
            "config": model.config,
            "vocabulary": model.vocabulary,
            "weights": model.weights,
            "digest": model.digest,
        }
        for name, model in view.engine["models"].items()
    }
    return answers_in_node(
        {"default as script": "engine/engine.ts", "UserError": "engine/errors.ts"},
        _ANSWER,
        {**view.engine, "models": models, "requests": requests},
    )


def assert_both_sides_agree(
    view: View, requests: list[dict[str, Any]], atol: float = 1e-5
) -> list[dict[str, Any]]:
    """Hold the engine's replies to those of the view's function in Python, and return them.

    `atol` is what the float32 numbers that are sent as bytes may differ by.
    """
    replies = engine_replies(view, requests)
    for request, found in zip(requests, replies, strict=True):
        try:
            wanted = view.answer(request)
        except UserError as error:
            wanted = {"error": str(error)}
        _assert_same(found, wanted, str(request), atol)
    return replies


def _assert_same(found: Any, wanted: Any, where: str, atol: float) -> None:
    """Numbers to 1e-4, bytes as below, everything else exactly; in a text, numbers as rounded."""
    if isinstance(wanted, bytes):
        _assert_same_bytes(base64.b64decode(found["base64"]), wanted, where, atol)
    elif isinstance(wanted, dict):
        assert isinstance(found, dict), where
        assert sorted(found) == sorted(wanted), f"{where}: {found.get('error')} {wanted.get('error')}"
        for name in wanted:
            _assert_same(found[name], wanted[name], f"{where} {name}", atol)
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted), where
        for index, each in enumerate(wanted):
            _assert_same(found[index], each, f"{where}[{index}]", atol)
    elif isinstance(wanted, str):
        assert _words_of(found) == _words_of(wanted), where
        assert _decimals_of(found) == pytest.approx(_decimals_of(wanted), abs=0.011), where
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, abs=1e-4), where
    else:
        assert found == wanted, where


def _assert_same_bytes(found: bytes, wanted: bytes, where: str, atol: float) -> None:
    """Bytes are a mask, the same on both sides; log-probabilities, float64; or other numbers, float32."""
    assert len(found) == len(wanted), where
    if where.endswith("mask"):
        assert found == wanted, where
        return
    dtype, tolerance = ("<f8", 1e-4) if where.endswith("log_probs") else ("<f4", atol)
    ours, theirs = (np.frombuffer(each, dtype) for each in (found, wanted))
    largest = np.abs(theirs[np.isfinite(theirs)]).max(
        initial=1.0
    )  # without LayerNorm vectors grow by thousands
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * largest, err_msg=where)


def _words_of(text: str) -> list[str]:
    return re.split(_DECIMALS, text)


def _decimals_of(text: str) -> list[float]:
    return [float(number) for number in re.findall(_DECIMALS, text)]
