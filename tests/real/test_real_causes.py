"""Causes in a pretrained model: where the indirect object of a sentence is found, and by which head."""

from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer, LlamaForCausalLM

import viz_transformer as vt

pytestmark = pytest.mark.real

CLEAN = "When Mary and John went to the store, John gave a drink to"
CORRUPTED = "When Mary and John went to the store, Mary gave a drink to"
PAIR = (" Mary", " John")


def test_the_answer_moves_from_the_second_name_to_the_end_and_one_head_brings_most(
    smollm2_folder: Path,
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(smollm2_folder)
    model = LlamaForCausalLM.from_pretrained(smollm2_folder)
    view = vt.patch_lens(model, CLEAN, CORRUPTED, PAIR, tokenizer=tokenizer)
    assert view.patches == [{"layer": 15, "at": 9}]  # the second name
    reply = view.answer({"what": "positions", "patches": view.patches})
    assert reply["words"][0].endswith("Mary")
    positions = view.restored("positions")  # [layer, position]
    assert (positions[:20, 9] > 0.95).all()
    assert (positions[24:, 13] > 0.85).all()
    heads = view.restored("heads")  # [layer, head]
    assert np.unravel_index(heads.argmax(), heads.shape) == (23, 3)
    assert heads[23, 3] == pytest.approx(0.58, abs=0.02)
    lens = vt.attribution.logit_lens(model, CLEAN, tokenizer=tokenizer, metric=PAIR)
    parts = vt.attribution.direct_logit_attribution(model, CLEAN, tokenizer=tokenizer, metric=PAIR)
    assert lens.values is not None
    assert lens.values[-1, -1] == pytest.approx(view.start["clean"]["value"], abs=1e-4)
    assert parts.total == pytest.approx(view.start["clean"]["value"], abs=1e-3)
    assert np.unravel_index(parts.heads.argmax(), parts.heads.shape) == (23, 3)
