"""Models that accelerate offloads: their weights come from memory or from a disk when they are needed."""

from __future__ import annotations

import copy
from pathlib import Path

import accelerate
import numpy as np
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.huggingface_models import PIECES, tiny, word_piece
from tests.support.refusals import assert_refused

CPU = torch.device("cpu")
READ = {"input_ids": [4, 5, 6], "tokens": ["a", "b", "c"]}
BOTH = {"input_ids": [4, 5, 6], "decoder_input_ids": [1, 7], "source_tokens": ["a", "b", "c"]}
CLASSES = {
    "LlamaForCausalLM": READ,
    "GPT2LMHeadModel": READ,
    "BertModel": READ,
    "FalconForCausalLM": READ,
    "T5ForConditionalGeneration": {**BOTH, "target_tokens": ["x", "y"]},
}


def first_on_disk(model: nn.Module, folder: Path) -> None:
    """Leave the first part, such as an embedding, on the disk and the others in memory."""
    (first, *others) = [name for name, _ in model.named_children()]
    places = {first: "disk", **dict.fromkeys(others, "cpu")}
    accelerate.dispatch_model(model, places, main_device="cpu", offload_dir=folder, force_hooks=True)


WAYS = {
    "memory": lambda model, _: accelerate.cpu_offload(model, CPU),
    "memory, buffers too": lambda model, _: accelerate.cpu_offload(model, CPU, offload_buffers=True),
    "disk": lambda model, folder: accelerate.disk_offload(model, folder, CPU),
    "a part on disk": first_on_disk,
}


def on_meta(model: nn.Module) -> list[str]:
    return [name for name, weight in model.named_parameters() if weight.device.type == "meta"]


@pytest.mark.parametrize("name", CLASSES)
def test_the_weights_are_those_of_the_model_that_is_not_offloaded(name, tmp_path: Path) -> None:
    model = tiny(name)
    whole = vt.capture(model, **CLASSES[name])
    for number, (way, offload) in enumerate(WAYS.items()):
        away = copy.deepcopy(model)
        offload(away, tmp_path / str(number))
        offloaded = on_meta(away)
        assert offloaded or name.startswith("T5"), way  # T5's embedding is one of all its parts
        trace = vt.capture(away, **CLASSES[name])
        assert trace.kinds == whole.kinds
        for kind in whole.kinds:
            np.testing.assert_array_equal(trace.attention(kind), whole.attention(kind), err_msg=way)
        assert on_meta(away) == offloaded, way


def test_an_offloaded_model_writes_as_it_did(tmp_path: Path) -> None:
    given = {"input_ids": [4, 5, 6], "tokenizer": word_piece(special=False), "generate": True}
    model = tiny("LlamaForCausalLM", vocab_size=len(PIECES), suppress_tokens=[0])
    whole = vt.capture(model, **given, max_new_tokens=3)
    for number, offload in enumerate(WAYS.values()):
        away = copy.deepcopy(model)
        offload(away, tmp_path / str(number))
        trace = vt.capture(away, **given, max_new_tokens=3)
        assert trace.output_tokens == whole.output_tokens
        np.testing.assert_array_equal(trace.decoder_attention, whole.decoder_attention)


def test_a_model_of_shapes_without_weights_is_refused() -> None:
    rows = []
    for name in CLASSES:
        with accelerate.init_empty_weights():
            model = tiny(name)
        rows.append(
            (lambda model=model, name=name: vt.capture(model, **CLASSES[name]), "shapes and no weights")
        )
    assert_refused(rows)
