"""Pictures and sound in `vt.capture`: numbered positions, joint models, and what Whisper writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.huggingface_models import eager, hf, sized, stacked, tiny
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
from tests.support.refusals import assert_refused
from tests.support.two_sided_models import tokenizer
from viz_transformer.errors import UserError

PIXELS, SOUND, WAVE = pictures()[0], sounds()[0], waves()[0]
IDS, NAMES = torch.tensor([[5, 6, 7, 8, 9]]), list("abcde")
WINDOWED = torch.zeros(1, 3, 32, 32)


def test_positions_of_a_picture_and_of_a_sound_are_numbered() -> None:
    expected = stacked(eager(vit(), pixel_values=PIXELS).attentions)
    for pixels in (PIXELS, PIXELS[0], PIXELS[0].tolist()):
        trace = vt.capture(vit(), pixels)
        assert (trace.source_tokens, trace.kinds) == (("0", "1", "2", "3", "4"), ("encoder",))
        np.testing.assert_allclose(trace.encoder_attention, expected, atol=1e-5)
    part = vt.capture(vit(), pixel_values=PIXELS[0].numpy(), layers=[1])
    np.testing.assert_array_equal(part.encoder_attention, trace.encoder_attention[1:])
    named = vt.capture(vit(), PIXELS, tokens=["[CLS]", *"abcd"])
    assert named.source_tokens == ("[CLS]", *"abcd")
    heard = stacked(eager(sound_classifier(), input_values=WAVE).attentions)
    for trace in (vt.capture(sound_classifier(), input_values=WAVE), vt.capture(sound_classifier(), WAVE)):
        assert len(trace.source_tokens) == 19
        np.testing.assert_allclose(trace.encoder_attention, heard, atol=1e-5)
    both = vt.capture(whisper(), SOUND, decoder_input_ids=[1, 5], target_tokens=["<s>", "the"])
    assert both.kinds == ("encoder", "decoder", "cross")
    assert both.source_tokens == tuple(map(str, range(20)))
    deep = vt.capture(swin(), WINDOWED, layers=[2, 3])
    assert deep.source_tokens == tuple(map(str, range(16)))


@torch.no_grad()
def test_whispers_output_is_read_from_its_first_token() -> None:
    model: Any = whisper()
    trace = vt.capture(model, input_features=SOUND, tokenizer=tokenizer(), max_new_tokens=5)
    words = model.generate(SOUND, do_sample=False, num_beams=1, max_new_tokens=5)[0].tolist()
    n_read = len(trace.target_tokens)  # its generate leaves out the start, and an end
    assert n_read in (len(words), len(words) + 1)
    ids = torch.tensor([[1, *words][:n_read]])
    assert trace.target_tokens == tuple(tokenizer().convert_ids_to_tokens(ids[0]))
    assert trace.output_tokens[:-1] == trace.target_tokens[1:]
    own = eager(model, input_features=SOUND, decoder_input_ids=ids).cross_attentions
    np.testing.assert_allclose(trace.cross_attention, stacked(own), atol=1e-6)


@pytest.mark.parametrize("family", ["CLIP", "Siglip"])
def test_the_part_of_a_joint_model_that_reads_the_input_is_captured(family) -> None:
    parts = {
        f"{part}_config": sized(getattr(hf, f"{family}{part.title()}Config"), image_size=16).to_dict()
        for part in ("text", "vision")
    }
    model = tiny(f"{family}Model", **parts)
    text = vt.capture(model, input_ids=IDS, tokens=NAMES)
    part = vt.capture(model.text_model, input_ids=IDS, tokens=NAMES)
    np.testing.assert_array_equal(text.attention(text.kinds[0]), part.attention(part.kinds[0]))
    tokens = NAMES if family == "CLIP" else NAMES[:4]
    picture = vt.capture(model, pixel_values=PIXELS, tokens=tokens)
    expected = stacked(eager(model.vision_model, pixel_values=PIXELS).attentions)
    np.testing.assert_allclose(picture.encoder_attention, expected, atol=1e-5)
    with pytest.raises(UserError, match=r"joins text_model and vision_model.*capture\(model.text_model"):
        vt.capture(model, input_ids=IDS, pixel_values=PIXELS, tokens=NAMES)


def test_windows_of_one_stage_are_a_map_by_themselves() -> None:
    output = eager(swin(), pixel_values=WINDOWED)
    window = vt.capture([output.attentions[0][0]], source_tokens=[f"patch {i}" for i in range(16)])
    assert window.encoder_attention.shape == (1, 2, 16, 16)


def test_what_does_not_fit_is_refused_in_one_line() -> None:
    assert_refused(
        [
            (lambda: vt.capture(whole_clip(), PIXELS), "no token ids; give them by name: pixel_values="),
            (lambda: vt.capture(swin(), WINDOWED), r"capture those of one shape .*layers=\[0, 1\]"),
            (lambda: vt.capture(vit(), PIXELS, tokens=["[CLS]"]), "one label per position"),
            (lambda: vt.capture(vit(), PIXELS, head_mask=IDS), "takes head_mask= and does not use it"),
            (lambda: vt.capture(whisper(), SOUND, max_new_tokens=0, tokenizer=tokenizer()), "at least 1"),
        ]
    )
