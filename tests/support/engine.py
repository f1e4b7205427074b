"""The model in JavaScript, run in Node over cases written here, its numbers read back as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import save_file
from torch import nn

from tests.support.javascript import answers_in_node

#: How far numbers may be from torch's.
LOGITS, WEIGHTS = 1e-4, 1e-5

_IMPORTS = {
    "UserError": "engine/errors.ts",
    "forward, makeModel": "engine/model.ts",
    "readSafetensors": "engine/safetensors.ts",
    "openSteps": "engine/steps.ts",
}
#: Runs each case: forward, or one step after the other if it has a `walk`, in which `select` are the rows
#: to go on with and `ids` those to read.
_ANSWER = """({ folder, cases }) => {
  const [models, read] = [{}, (name) => readFileSync(`${folder}/${name}`)];
  const load = (name) =>
    makeModel(JSON.parse(read(`${name}/config.json`)), readSafetensors(read(`${name}/model.safetensors`)));
  const runForward = (model, { source, target, options: { masks = {}, ...options } }) => {
    const flat = Object.entries(masks).map(([kind, mask]) => [kind, Uint8Array.from(mask)]);
    return forward(model, { source, target }, { ...options, masks: Object.fromEntries(flat) });
  };
  const runSteps = (model, { source, prompt, walk, options }) => {
    const steps = openSteps(model, { source, prompt }, options);
    const shape = [model.config.n_decoder_layers, model.config.n_heads, -1];
    const byHead = (data) => data && { shape, data };
    const taken = walk.map(({ ids, select }) => {
      if (select) steps.select(select);
      const logits = steps.step(ids);
      const attention = steps.attention?.map(({ decoder, cross }) => ({
        decoder: byHead(decoder),
        cross: byHead(cross),
      }));
      return structuredClone({ logits, attention });
    });
    return { taken, prompt: steps.promptAttention };
  };
  return cases.map((each) => {
    try {
      const model = (models[each.model] ??= load(each.model));
      return each.walk ? runSteps(model, each) : runForward(model, each);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return { error: error.message };
    }
  });
}"""


def run_engine(
    folder: Path, models: Mapping[str, nn.Module], cases: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Run every case in one process of Node, and return its results with arrays of numpy in place.

    Args:
        folder: an empty one.
        models: by the names that cases call them.
        cases: each with ``model`` and with what `forward` or `openSteps` takes. What raises a UserError
            gives ``{"error": message}``.
    """
    for name, model in models.items():
        write_model(folder / name, model)
    found = answers_in_node(_IMPORTS, _ANSWER, {"folder": str(folder), "cases": cases})
    return [_in_shape(result) for result in found]


def write_model(folder: Path, model: nn.Module) -> None:
    """Write a model's configuration and weights, as a checkpoint holds them."""
    folder.mkdir()
    (folder / "config.json").write_text(model.config.to_json(), encoding="utf-8")
    weights = {name: weight.detach().contiguous() for name, weight in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors")


def _in_shape(value: Any) -> Any:
    """Return a result in which a matrix, and whatever else has a shape, is an array of that shape."""
    if isinstance(value, list):
        return [_in_shape(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "data" in value:
        return value["data"].reshape(value["shape"] if "shape" in value else (value["rows"], value["cols"]))
    return {name: _in_shape(each) for name, each in value.items()}


def near(
    found: np.ndarray, want: np.ndarray, rough: np.ndarray | None, allowed: float, what: Any = ""
) -> None:
    """Compare numbers.

    Without LayerNorm numbers grow, and with them what float32 cannot hold. There `want` is torch's
    float64 and `rough` its float32: the engine may be twice as far from the first as the second is. How
    far that is depends on the order in which a processor adds; eight roundings of the largest number are
    allowed on any.
    """
    if rough is not None:
        allowed = max(allowed, 2 * abs(rough - want).max(), 8 * np.finfo("f4").eps * abs(want).max())
    assert found.shape == want.shape
    assert np.isfinite(found).all(), what
    assert abs(found - want).max() <= allowed, what
