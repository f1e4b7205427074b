"""Training checkpoints: one file, written whole or not at all, that resumes a training bit for bit."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, fields
from itertools import chain
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from viz_transformer._files import atomic_write, given_path
from viz_transformer.config import ModelConfig, TrainConfig
from viz_transformer.errors import FileError, UserError
from viz_transformer.training.averaging import WeightAverage
from viz_transformer.training.run import Run

#: By name, what else must be the same when a training goes on.
Facts = dict[str, str]
_DEFAULTS = {each.name: each.default for kind in (ModelConfig, TrainConfig) for each in fields(kind)}
#: What Adam and Muon keep of earlier gradients: torch's names by those in the file.
_MOMENTS = {"exp_avg": "exp_avg", "exp_avg_sq": "exp_avg_sq", "momentum": "momentum_buffer"}
#: The name of the SHA-256 of all else, which files of earlier versions lack.
_CHECKSUM = "sha256"


def save_state(
    run: Run, path: str | os.PathLike[str], facts: Facts | None = None, average: WeightAverage | None = None
) -> Path:
    """Write all that the next step depends on; the file that was there stays until then.

    >>> from viz_transformer.config import ModelConfig, TrainConfig
    >>> from viz_transformer.training import Run, make_model, save_state
    >>> sizes = {"d_model": 8, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 16}
    >>> model = make_model(ModelConfig(vocab_size=10, **sizes), seed=0)
    >>> save_state(Run(model, TrainConfig(n_steps=3)), "run.safetensors").name
    'run.safetensors'

    Args:
        run: between two steps.
        path: one safetensors file.
        facts: what else must be the same when the training goes on, such as the data's digest.
        average: the moving average of the weights, where one is kept.

    Raises:
        FileError: if it cannot be written; the file that was there stays.
    """
    path = given_path(path)
    tensors = {f"model.{name}": value for name, value in run.model.state_dict().items()}
    for name, parameter in run.model.named_parameters():
        for optimiser in run.optimisers:
            for moment, key in _MOMENTS.items():
                if key in optimiser.state.get(parameter, {}):
                    tensors[f"{moment}.{name}"] = optimiser.state[parameter][key]
    if average is not None:
        tensors |= {f"average.{name}": value for name, value in average.weights.items()}
    tensors |= {f"random.{name}": state for name, state in run.random_states.items()}
    notes = {"step": str(run.step), "settings": json.dumps(_settings(run, facts or {}))}
    tensors = {name: value.contiguous() for name, value in tensors.items()}
    data = save(tensors, {**notes, _CHECKSUM: _checksum(tensors, notes)})
    with atomic_write(path) as part:
        part.write_bytes(data)
    return path


def load_state(
    run: Run, path: str | os.PathLike[str], facts: Facts | None = None, average: WeightAverage | None = None
) -> None:
    """Restore a run to the step at which `save_state` wrote the file.

    >>> from viz_transformer.config import ModelConfig, TrainConfig
    >>> from viz_transformer.training import Run, load_state, make_model, save_state
    >>> sizes = {"d_model": 8, "n_heads": 2, "n_encoder_layers": 1, "n_decoder_layers": 1, "d_ff": 16}
    >>> model = make_model(ModelConfig(vocab_size=10, **sizes), seed=0)
    >>> run = Run(model, TrainConfig(n_steps=3))
    >>> load_state(run, save_state(run, "run.safetensors"))
    >>> run.step
    0

    Args:
        run: a run of the same model and configuration.
        path: the file.
        facts: what must be so in the file, too.
        average: what takes up the average in the file, if there is one.

    Raises:
        FileError: if the file is missing or damaged; the run is as it was.
        UserError: if the settings, the model's sizes or one of the facts were others.
    """
    path = given_path(path)
    try:
        with safe_open(path, "pt") as file:
            notes = file.metadata()
            tensors = {
                name: file.get_tensor(name).to(run.device)
                for name in file.keys()  # noqa: SIM118
            }
        if (kept := notes.pop(_CHECKSUM, None)) and kept != _checksum(tensors, notes):
            raise ValueError("its content does not fit its checksum")
        step, settings = int(notes["step"]), json.loads(notes["settings"])
    except (OSError, SafetensorError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"{str(path)!r} holds no training to go on with ({error}); "
            "start again in another folder, without --resume"
        ) from error
    for name, now in _settings(run, facts or {}).items():
        # A setting that came later than the file: then there was only what is its default now.
        before = settings.get(name, _DEFAULTS.get(name))
        if before != now:
            raise UserError(
                f"this training was begun with {name}={before!r:.60}, not "
                f"{now!r:.60}; resume it with the same settings, or start again in another folder"
            )
    run.model.load_state_dict(_part(tensors, "model"))
    moments = {key: _part(tensors, moment) for moment, key in _MOMENTS.items()}
    names = {parameter: name for name, parameter in run.model.named_parameters()}
    for optimiser in run.optimisers:
        for parameter in chain.from_iterable(one["params"] for one in optimiser.param_groups):
            state = {key: kept[names[parameter]] for key, kept in moments.items() if names[parameter] in kept}
            if "exp_avg" in state:
                # Adam counts its steps per weight, as a float; not fused, always on the CPU.
                count = parameter.new_tensor(float(step))
                state["step"] = count if optimiser.defaults["fused"] else count.cpu()
            if state:
                optimiser.state[parameter] = state
    if average is not None:
        kept = _part(tensors, "average")
        average.weights = {name: kept[name] for name in average.weights}  # in the model's order
    run.random_states = {name: state.cpu() for name, state in _part(tensors, "random").items()}
    run.step = step


def _checksum(tensors: dict[str, torch.Tensor], notes: dict[str, str]) -> str:
    return hashlib.sha256(save(tensors) + json.dumps(notes, sort_keys=True).encode()).hexdigest()


def _part(tensors: dict, part: str) -> dict:
    return {
        name.removeprefix(f"{part}."): value for name, value in tensors.items() if name.startswith(f"{part}.")
    }


def _settings(run: Run, facts: Facts) -> dict[str, object]:
    """Return by name the settings that must be the same when a training resumes."""
    return {**asdict(run.model.config), **asdict(run.config), **facts}
