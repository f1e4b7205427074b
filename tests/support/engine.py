"""The model in JavaScript, run in Node over cases written here, its numbers read back as arrays."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import save_file
from torch import nn

from tools.ensure import find_node

#: How far numbers may be from torch's.
LOGITS, WEIGHTS = 1e-4, 1e-5

_RUNNER = Path(__file__).parents[1] / "js" / "run_engine.mjs"


def run_engine(
    folder: Path, models: Mapping[str, nn.Module], cases: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Run every case in one process of Node, and return its results with arrays of numpy in place.

    Args:
        folder: an empty one.
        models: by the names that cases call them.
        cases: each with ``model`` and with what `forward` or `openSteps` takes; see the runner. What
            raises a UserError gives ``{"error": message}``.
    """
    for name, model in models.items():
        write_model(folder / name, model)
    (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    done = subprocess.run([find_node(), _RUNNER, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    numbers = np.fromfile(folder / "results.bin", dtype=np.float32)
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return [_with_arrays(result, numbers) for result in results]


def write_model(folder: Path, model: nn.Module) -> None:
    """Write a model's configuration and weights, as a checkpoint holds them."""
    folder.mkdir()
    (folder / "config.json").write_text(model.config.to_json(), encoding="utf-8")
    weights = {name: weight.detach().contiguous() for name, weight in model.state_dict().items()}
    save_file(weights, folder / "model.safetensors")


def _with_arrays(value: Any, numbers: np.ndarray) -> Any:
    """Return a result with the arrays that it names by their place."""
    if isinstance(value, list):
        return [_with_arrays(each, numbers) for each in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"first", "shape"}:
        size = int(np.prod(value["shape"], dtype=np.int64))
        return numbers[value["first"] : value["first"] + size].reshape(value["shape"])
    return {name: _with_arrays(each, numbers) for name, each in value.items()}


def near(
    found: np.ndarray, want: np.ndarray, rough: np.ndarray | None, allowed: float, what: Any = ""
) -> None:
    """Compare numbers.

    Without LayerNorm numbers grow, and with them what float32 cannot hold. There `want` is torch's
    float64 and `rough` its float32: the engine may be twice as far from the first as the second is.
    """
    if rough is not None:
        allowed = max(allowed, 2 * abs(rough - want).max())
    assert found.shape == want.shape
    assert np.isfinite(found).all(), what
    assert abs(found - want).max() <= allowed, what
