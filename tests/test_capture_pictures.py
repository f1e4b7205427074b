"""Pictures and sound in `vt.capture`: numbered positions, and the beginning of what Whisper writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.perceiving_models import (
    pictures,
    sound_classifier,
    sounds,
    swin,
    vit,
    waves,
    whisper,
    whole_clip,
)
from tests.support.two_sided_models import tokenizer
from viz_transformer.errors import UserError

PIXELS, SOUND, WAVE = pictures()[0], sounds()[0], waves()[0]


def test_positions_of_a_picture_and_of_a_sound_are_numbered() -> None:
    for trace in (vt.capture(vit(), PIXELS), vt.capture(vit(), pixel_values=PIXELS[0].numpy(), layers=[1])):
        assert trace.source_tokens == ("0", "1", "2", "3", "4")
        assert trace.kinds == ("encoder",)
    assert len(vt.capture(sound_classifier(), input_values=WAVE).source_tokens) == 19
    both = vt.capture(whisper(), SOUND, decoder_input_ids=[1, 5], target_tokens=["<s>", "the"])
    assert both.kinds == ("encoder", "decoder", "cross")
    assert both.source_tokens == tuple(map(str, range(20)))
    deep = vt.capture(swin(), torch.zeros(1, 3, 32, 32), layers=[2, 3])
    assert deep.source_tokens == tuple(map(str, range(16)))
    named = vt.capture(vit(), PIXELS, tokens=["[CLS]", *"abcd"])
    assert named.source_tokens == ("[CLS]", *"abcd")


@torch.no_grad()
def test_whisper_reads_what_it_wrote_from_its_beginning() -> None:
    model: Any = whisper()
    trace = vt.capture(model, input_features=SOUND, tokenizer=tokenizer(), max_new_tokens=5)
    words = model.generate(SOUND, do_sample=False, num_beams=1, max_new_tokens=5)[0].tolist()
    n_read = len(trace.target_tokens)  # its generate leaves out the start, and an end
    assert n_read in (len(words), len(words) + 1)
    ids = torch.tensor([[1, *words][:n_read]])
    assert trace.target_tokens == tuple(tokenizer().convert_ids_to_tokens(ids[0]))
    assert trace.output_tokens[:-1] == trace.target_tokens[1:]
    model.set_attn_implementation("eager")
    own = model(SOUND, decoder_input_ids=ids, output_attentions=True).cross_attentions
    np.testing.assert_allclose(trace.cross_attention, torch.cat(own).numpy(), atol=1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: vt.capture(whole_clip(), PIXELS), "no token ids; give them by name: pixel_values="),
        (lambda: vt.capture(swin(), torch.zeros(1, 3, 32, 32)), r"layers=\[0, 1\]"),
        (lambda: vt.capture(vit(), PIXELS, tokens=["[CLS]"]), "one label per position"),
        (lambda: vt.capture(whisper(), SOUND, max_new_tokens=0, tokenizer=tokenizer()), "at least 1"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(given, message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        given()
    assert "\n" not in str(refused.value)
