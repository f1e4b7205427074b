"""Text models in JavaScript: a checkpoint's calls answered in Node, and searches held to Python's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.javascript import answers_in_node
from viz_transformer.trace import DecodeTrace

#: Calls a method for each request; typed arrays and maps become lists, and errors their messages.
_ANSWER = """({ folder, requests }) => {
  const read = (name) => readFileSync(`${folder}/${name}`);
  const model = makeTextModel({
    config: JSON.parse(read("config.json")),
    vocabulary: JSON.parse(read("vocabulary.json")),
    weights: readSafetensors(read("model.safetensors")),
  });
  const plain = (value) => {
    if (value instanceof Map) return [...value];
    if (ArrayBuffer.isView(value)) return Array.from(value);
    if (Array.isArray(value)) return value.map(plain);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]));
  };
  return requests.map(([method, ...given]) => {
    try {
      if (method === "hypotheses") return plain(model.decode(...given).hypotheses);
      return plain(model[method](...given));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return { error: error.message };
    }
  });
}"""

#: Two scores this near may change places: both sides round, and not alike.
CLOSE = 1e-5
_NUMBER = re.compile(r"\d+\.\d+")


def answers_of_page(folder: Path, requests: Sequence[Sequence[Any]]) -> list[Any]:
    """Return what a checkpoint's text model answers in JavaScript, all in one Node process.

    Args:
        folder: of the checkpoint.
        requests: each a method's name and what it is given; also ``"hypotheses"`` for a `decode` without
            its steps.
    """
    imports = {
        "makeTextModel": "engine/text_model.ts",
        "readSafetensors": "engine/safetensors.ts",
        "UserError": "engine/errors.ts",
    }
    return answers_in_node(imports, _ANSWER, {"folder": str(folder), "requests": requests})


def is_close_call(search: DecodeTrace) -> bool:
    """Whether candidates or results of a search are so near each other that they may change places."""
    return any(
        _has_near(sorted(each.log_prob for each in step.candidates)) for step in search.steps
    ) or _has_near(sorted(each.score for each in search.hypotheses))


def _has_near(ordered: Sequence[float]) -> bool:
    return bool(ordered) and bool((np.diff(ordered) < CLOSE).any())


def assert_same_hypotheses(found: Sequence[dict[str, Any]], expected: DecodeTrace, path: bool = True) -> None:
    """Hold finished texts to Python's: the same words, scores to 1e-4."""
    assert [each["ids"] for each in found] == [list(each.ids) for each in expected.hypotheses]
    for one, other in zip(found, expected.hypotheses, strict=True):
        assert one["tokens"] == list(other.tokens)
        assert not path or one["path"] == list(other.path)
        _assert_near(one, {"logProb": other.log_prob, "score": other.score})


def assert_same_search(found: dict[str, Any], expected: DecodeTrace, atol: float = 1e-5) -> None:
    """Hold a whole search to Python's: every candidate, its status, its reason and its numbers.

    `atol` is what weights may differ by; scores may by 1e-4, and a little more where they are large.
    """
    assert found["sourceTokens"] == list(expected.source_tokens)
    assert found["promptTokens"] == list(expected.prompt_tokens)
    assert found["endToken"] == expected.end_token
    assert_same_hypotheses(found["hypotheses"], expected)
    _assert_same_weights(found["promptAttention"], expected.prompt_attention, atol)
    for step, wanted in zip(found["steps"], expected.steps, strict=True):
        for one, other in zip(step["candidates"], wanted.candidates, strict=True):
            assert (one["parent"], one["token"], one["status"]) == (other.parent, other.token, other.status)
            assert one["beatenBy"] == other.beaten_by
            assert _NUMBER.sub("#", one["reason"]) == _NUMBER.sub("#", other.reason)
            numbers = [map(float, _NUMBER.findall(each)) for each in (one["reason"], other.reason)]
            np.testing.assert_allclose(*map(list, numbers), atol=0.0101)  # the last digit may round
            _assert_near(
                one,
                {
                    "logProb": other.log_prob,
                    "score": other.score,
                    "tokenLogProb": other.token_log_prob,
                    "margin": other.margin,
                    "share": other.share,
                },
            )
        _assert_same_probable(step["probable"], wanted.probable)
        _assert_same_weights(step["decoderAttention"], wanted.decoder_attention, atol)
        _assert_same_weights(step["crossAttention"], wanted.cross_attention, atol)


def _assert_near(found: dict[str, Any], expected: dict[str, float | None]) -> None:
    for name, value in expected.items():
        assert (found[name] is None) == (value is None), name
        assert value is None or abs(found[name] - value) < 1e-4 + 1e-5 * abs(value), (
            name,
            found[name],
            value,
        )


def _assert_same_probable(found: Sequence[Any], expected: Iterable[Any]) -> None:
    for words, wanted in zip(found, expected, strict=True):
        log_probs = [word.log_prob for word in wanted]
        np.testing.assert_allclose([word["logProb"] for word in words], log_probs, atol=1e-4)
        if not _has_near(log_probs[::-1]):
            assert [word["token"] for word in words[:-1]] == [word.token for word in wanted[:-1]]


def _assert_same_weights(found: dict[str, Any] | None, expected: np.ndarray | None, atol: float) -> None:
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found["shape"] == list(expected.shape)
        np.testing.assert_allclose(found["data"], expected.ravel(), atol=atol)
