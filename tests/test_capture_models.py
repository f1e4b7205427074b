"""Captures of many kinds of Hugging Face models: exact and without a trace in the model, or refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import viz_transformer as vt
from tests.support.capture_ways import N_BEAMS, UNWRITTEN, generated, padded
from tests.support.capture_zoo import (
    CONFIGURATIONS,
    N_SOURCE,
    REASONS,
    UNCOMPARED,
    UNLISTED,
    Comparison,
    compare,
    inputs_of,
    make,
    own_weights,
)
from tests.support.huggingface_models import frozen, same, state
from tests.support.torch_zoo import MODULES, compare_module
from viz_transformer.capturing.verify import verified_classes
from viz_transformer.errors import UserError

PAGE = Path(__file__).parents[1] / "docs" / "captured_models.md"
#: Some of each kind: text in, text to text, pictures, sound, sinks, experts, bands, windows, chunks, scores,
#: a causal mask that the modules do not declare, layers that do not attend.
SAMPLE = (
    *(
        "albert",
        "bert",
        "bloom",
        "clip_text_model",
        "deberta-v2",
        "falcon",
        "fsmt",
        "gemma3_text",
        "gpt2",
        "gpt_oss",
    ),
    *("jamba", "led", "lfm2", "llama4_text", "longformer", "longt5", "mistral", "mixtral", "modernbert"),
    *("pegasus_x", "prophetnet", "qwen3", "swin", "t5", "vit", "wav2vec2", "whisper"),
)
#: What pads and masks itself; test_capture_whole_maps.py works its weights out.
BANDED = {"longformer", "big_bird, block sparse"}


#: Steps and one pass, or two sizes of batch, add the same numbers up in another order.
ROUNDING = 1e-5
#: Text to text, positions that `generate` counts again, layers that do not attend, a window, a sink.
SAMPLE_OF_WAYS = ("bart", "bamba", "gpt_oss", "mistral", "roberta")


def each_configuration(sample: Sequence[str]) -> pytest.MarkDecorator:
    """Run a test with each `name`: those of the sample always, the others weekly."""
    others = sorted((CONFIGURATIONS | UNLISTED).keys() - set(sample))
    weekly = [pytest.param(name, marks=pytest.mark.weekly) for name in others]
    return pytest.mark.parametrize("name", [*sample, *weekly])


def check(name: str) -> None:
    model = make(name)
    before = frozen(model)
    result = compare(name, model)
    assert same(before, state(model))
    if name in REASONS:
        assert result.refusal
        assert "\n" not in result.refusal
        return
    assert result.refusal is None
    assert result.uncompared == UNCOMPARED.get(name, ())
    assert (result.difference or 0) <= 1e-6
    assert result.verified or type(model).__name__ not in verified_classes()
    given = inputs_of(model)
    if "decoder_input_ids" in given:
        assert result.kinds == ("encoder", "decoder", "cross")
    elif "input_ids" not in given or name in BANDED:
        assert result.kinds == ("encoder",)
    else:
        check_padding(name, model, given["input_ids"])


def check_padding(name: str, model: nn.Module, ids: torch.Tensor) -> None:
    """See that padding on either side, labelled or not, changes no weight between words and no kind."""
    eager = make(name, attn_implementation="eager")
    eager.load_state_dict(model.state_dict())
    names = [f"t{i}" for i in range(N_SOURCE)]
    for read in (slice(4, None), slice(None, 8), slice(None)):  # padding on the left, on the right, none
        mask = torch.zeros_like(ids)
        mask[:, read] = 1
        given = {"input_ids": ids * mask, "attention_mask": mask}
        with torch.no_grad():
            output = eager(**given, output_attentions=True)
        expected = own_weights(name, output, "")[:, :, read, read]
        kind = "encoder" if np.triu(expected, 1).any() else "decoder"
        for labelled in {int(mask.sum()), N_SOURCE}:
            trace = vt.capture(model, **given, tokens=names[:labelled])
            assert trace.kinds == (kind,), read
            weights = trace.attention(kind)
            found = weights[:, :, read, read] if labelled == N_SOURCE else weights
            np.testing.assert_allclose(found, expected, atol=1e-6, err_msg=f"{read}")
    for option in ("interventions", "head_mask", "adapters"):
        with pytest.raises(UserError, match=f"takes {option}= and does not use it.*forward hook"):
            vt.capture(model, input_ids=ids, tokens=names, **{option: torch.ones(2, 4)})


@each_configuration(SAMPLE)
def test_each_is_captured_exactly_or_refused(name) -> None:
    check(name)


def check_ways(name: str) -> None:
    for n_beams in (1, N_BEAMS):
        result = generated(name, n_beams)
        check_result(name, result, n_beams in UNWRITTEN.get(name, ("", ()))[1])
    check_result(name, padded(name), name in REASONS)


def check_result(name: str, result: Comparison | None, is_refused: bool) -> None:
    if result is None:
        return
    if is_refused:
        assert result.refusal
        assert re.fullmatch("[^\n]+", result.refusal)
        return
    assert result.refusal is None
    assert result.uncompared == UNCOMPARED.get(name, ())
    assert (result.difference or 0) <= ROUNDING


@each_configuration(SAMPLE_OF_WAYS)
def test_what_generate_returned_and_padded_batches_are_captured_as_exactly_or_refused(name) -> None:
    check_ways(name)


@pytest.mark.parametrize("is_padded", [False, True])
@pytest.mark.parametrize("name", MODULES)
def test_modules_of_torch(name, is_padded) -> None:
    result = compare_module(name, is_padded)
    assert result.uncompared == ()
    assert result.difference is not None
    assert result.difference <= 1e-6


def test_the_page_has_a_row_for_each() -> None:
    rows = re.findall(r"^\| ([^|]+) \| (yes|no) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    expected = {name: "no" if name in REASONS else "yes" for name in (*CONFIGURATIONS, *MODULES)}
    assert dict(rows) == expected
    assert len(rows) >= 150
