"""Attribution in models that read pictures or sound and in classifiers, held to numbers by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import viz_transformer as vt
from tests.support.causal_models import gpt2
from tests.support.huggingface_models import frozen, same, state
from tests.support.perceiving_models import (
    albert,
    clip,
    clip_vision,
    pictures,
    sound_classifier,
    sounds,
    swin,
    text_classifier,
    vit,
    wav2vec2,
    waves,
    whisper,
    whole_clip,
)
from tests.support.refusals import assert_refused
from tests.support.two_sided_models import WORDS, tokenizer
from viz_transformer.attribution import (
    direct_logit_attribution,
    gradient_weighted,
    logit_lens,
    patching,
    value_weighted,
)
from viz_transformer.errors import UserError

PICTURE, OTHER = pictures()
SOUND, OTHER_SOUND = sounds()
WAVE, OTHER_WAVE = waves()
TARGET = [1, 6, 11, 10]


def probabilities(lens: vt.attribution.LogitLens, names: list[str]) -> np.ndarray:
    """The probabilities [row, position, name] of a lens that kept all of them, in the order of the names."""
    places = np.vectorize(names.index)(lens.top_tokens)
    found = np.zeros(lens.top_tokens.shape, dtype=np.float32)
    np.put_along_axis(found, places, lens.top_probabilities, axis=-1)
    return found


@torch.no_grad()
def test_the_lens_of_a_picture_classifies_each_state_of_each_patch() -> None:
    model: Any = vit()
    before = frozen(model)
    lens = logit_lens(model, pixel_values=PICTURE)
    assert same(before, state(model))
    output = model(PICTURE, output_hidden_states=True)
    states = torch.cat(output.hidden_states)  # [row, position, d_model]
    expected = model.classifier(model.vit.layernorm(states)).softmax(-1)
    found = probabilities(lens, ["cat", "dog", "bird"])
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)
    np.testing.assert_array_equal(found[-1, 0], output.logits[0].softmax(-1).numpy())
    assert lens.tokens == ("0", "1", "2", "3", "4")
    assert lens.answer_ranks[-1, 0] == 1
    assert set(lens.answers) == {lens.top_tokens[-1, 0, 0]}
    followed = logit_lens(model, pixel_values=PICTURE[0].numpy(), answer="bird")
    np.testing.assert_allclose(followed.answer_probabilities, expected[..., 2].numpy(), atol=1e-6)


@torch.no_grad()
def test_the_shares_of_a_picture_s_class_add_up() -> None:
    model: Any = vit()
    parts = direct_logit_attribution(model, pixel_values=PICTURE, token="cat", against="dog")
    logits = model(PICTURE).logits[0]
    assert parts.logit == pytest.approx(float(logits[0] - logits[1]), abs=1e-6)
    assert parts.total == pytest.approx(parts.logit, abs=1e-4)
    assert (parts.token, parts.against, parts.position) == ("cat", "dog", 0)


def test_the_metric_of_a_picture_is_named_or_a_function() -> None:
    found = patching(vit(), PICTURE, OTHER, ("cat", "dog"), "positions")
    logits = [vit()(each).logits[0] for each in (PICTURE, OTHER)]
    ends = [(each[0] - each[1]).item() for each in logits]
    assert [found.clean, found.corrupted] == pytest.approx(ends, abs=1e-5)
    assert (found.metric, found.kind) == ("logit of cat − dog", "encoder")
    by_name = patching(vit(), {"pixel_values": PICTURE}, {"pixel_values": OTHER}, ["cat", "dog"], "positions")
    np.testing.assert_array_equal(by_name.values, found.values)
    mine = patching(vit(), PICTURE, OTHER, lambda logits: logits[0] - logits[1], "positions")
    np.testing.assert_allclose(mine.values, found.values, atol=1e-6)


@torch.no_grad()
def test_where_the_mean_of_the_patches_is_read_a_first_column_is_the_answer() -> None:
    model: Any = clip()
    lens = logit_lens(model, pixel_values=PICTURE)
    output = model(PICTURE, output_hidden_states=True)
    assert lens.tokens == ("[whole]", "0", "1", "2", "3", "4")
    found = probabilities(lens, ["cat", "dog", "bird"])
    np.testing.assert_array_equal(found[-1, 0], output.logits[0].softmax(-1).numpy())
    states = torch.cat(output.hidden_states)  # [row, position, d_model]
    whole = model.classifier(states[:, 1:].mean(1)).softmax(-1)
    np.testing.assert_allclose(found[:, 0], whole.numpy(), atol=1e-5)
    np.testing.assert_allclose(found[:, 1:], model.classifier(states).softmax(-1).numpy(), atol=1e-5)
    with pytest.raises(UserError, match=r"classifies by several positions at once .*; patch instead"):
        direct_logit_attribution(model, pixel_values=PICTURE)


class ZeroShot(nn.Module):
    """CLIP's vision tower, whose answer is compared with texts."""

    def __init__(self) -> None:
        super().__init__()
        self.vision = clip_vision()
        self.directions = nn.Parameter(torch.randn(3, 16, generator=torch.Generator().manual_seed(0)))

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self.vision(pixel_values=pixel_values).image_embeds @ self.directions.T  # [batch, text]


def test_the_vision_tower_of_clip_is_read_through_the_texts_it_is_compared_with() -> None:
    model = ZeroShot().eval()
    own = model(PICTURE)[0].detach()
    lens = logit_lens(model, pixel_values=PICTURE)
    assert lens.tokens == ("0", "1", "2", "3", "4")
    assert lens.answers[0] == str(int(own.argmax()))
    parts = direct_logit_attribution(model, pixel_values=PICTURE, token=0, against=1)
    assert parts.logit == pytest.approx(float(own[0] - own[1]), abs=1e-4)
    assert parts.total == pytest.approx(parts.logit, abs=1e-4)
    inputs = [{"pixel_values": each} for each in (PICTURE, OTHER)]
    found = patching(model, *inputs, (0, 1), "positions", width=3)
    assert found.columns == ("0–2", "3–4")
    np.testing.assert_allclose(found.restored[0], [0, 1], atol=1e-4)
    assert value_weighted(clip_vision(), pixel_values=PICTURE).kinds == ("encoder",)


@torch.no_grad()
def test_the_decoder_of_whisper_is_read_as_that_of_any_pair_of_stacks() -> None:
    model: Any = whisper()
    ids = torch.tensor([TARGET])
    output = model(input_features=SOUND, decoder_input_ids=ids, output_hidden_states=True)
    lens = logit_lens(model, input_features=SOUND, target=TARGET, k=len(WORDS))
    found = probabilities(lens, list(map(str, range(len(WORDS)))))
    np.testing.assert_array_equal(found[-1], output.logits[0].softmax(-1).numpy())
    states = torch.cat(output.decoder_hidden_states[:-1])  # [row, position, d_model]
    rows = model.proj_out(model.model.decoder.layer_norm(states)).softmax(-1)
    np.testing.assert_allclose(found[:-1], rows.numpy(), atol=1e-5)
    parts = direct_logit_attribution(model, input_features=SOUND, target=TARGET, token=9, against=3)
    own = output.logits[0, -1]
    assert parts.logit == pytest.approx(float(own[9] - own[3]), abs=1e-5)
    assert parts.total == pytest.approx(parts.logit, abs=1e-4)
    assert parts.cross_heads.shape == (2, 4)


def test_patching_a_sound_is_a_run_with_what_the_clean_run_holds() -> None:
    model: Any = whisper()
    options = {"target": TARGET, "batch_size": 4}
    whole = patching(model, SOUND, OTHER_SOUND, (9, 3), "positions", width=20, **options)
    np.testing.assert_allclose(whole.restored, 1, atol=1e-4)
    frames = patching(model, SOUND, OTHER_SOUND, (9, 3), "positions", width=8, **options)
    assert frames.columns == ("0–7", "8–15", "16–19")
    assert frames.kind == "encoder"


def test_the_weighted_attention_of_whisper_keeps_its_time() -> None:
    trace = value_weighted(whisper(), input_features=SOUND, tokenizer=tokenizer(), target="the cat")
    assert trace.target_tokens == ("<s>", "the", "cat")
    assert trace.seconds_per_frame == 0.02
    options = {"tokenizer": tokenizer(), "target": "the cat", "token": "dog"}
    slopes = gradient_weighted(whisper(), input_features=SOUND, **options)
    assert slopes.cross_attention.shape == (2, 4, 3, 20)


def test_without_a_target_whisper_is_read_with_its_own_transcription() -> None:
    model, words = whisper(), tokenizer()
    lens = logit_lens(model, input_features=SOUND, tokenizer=words)
    ids = [1, *model.generate(SOUND, do_sample=False, num_beams=1, max_new_tokens=19)[0].tolist()]
    assert lens.tokens == tuple(words.convert_ids_to_tokens(ids[: len(lens.tokens)]))
    assert lens.tokens[0] == "<s>"
    words.prefix_tokens = [1, 3]
    given = logit_lens(model, input_features=SOUND, tokenizer=words, target="cat")
    assert given.tokens == ("<s>", "[UNK]", "cat")


@torch.no_grad()
def test_a_model_that_spells_each_frame_is_read_at_each_frame() -> None:
    model: Any = wav2vec2()
    output = model(WAVE)
    lens = logit_lens(model, input_values=WAVE, k=len(WORDS))
    found = probabilities(lens, list(map(str, range(len(WORDS)))))
    np.testing.assert_array_equal(found[-1], output.logits[0].softmax(-1).numpy())
    parts = direct_logit_attribution(model, input_values=WAVE, token=9, position=3)
    assert parts.total == pytest.approx(float(output.logits[0, 3, 9]), abs=1e-4)
    found = patching(model, WAVE, OTHER_WAVE, 9, "positions", position=3, width=19)
    np.testing.assert_allclose(found.restored, 1, atol=1e-3)
    post_norm: Any = wav2vec2(is_pre_norm=False)
    assert value_weighted(post_norm, input_values=WAVE).kinds == ("encoder",)
    with pytest.raises(UserError, match="a logit has no share of each head"):
        direct_logit_attribution(post_norm, input_values=WAVE)


def test_classifiers_of_sound_and_of_text_are_read_too() -> None:
    lens = logit_lens(sound_classifier(), input_values=WAVE)
    own = sound_classifier()(WAVE).logits[0].argmax()
    assert (lens.tokens[0], lens.answers[0]) == ("[whole]", ["cat", "dog", "bird"][int(own)])
    text, other = "the cat sleeps", "the dog sleeps"
    model = text_classifier()
    parts = direct_logit_attribution(model, text, tokenizer=tokenizer(), token="cat")
    assert parts.total == pytest.approx(parts.logit, abs=1e-4)
    assert parts.position == 2  # GPT-2 classifies at its last token
    found = patching(model, text, other, ("cat", "dog"), "positions", tokenizer=tokenizer())
    np.testing.assert_allclose(found.restored[0], [0, 1, 0], atol=1e-4)


@torch.no_grad()
def test_a_block_that_runs_again_has_a_row_each_time() -> None:
    model: Any = albert()
    lens = logit_lens(model, [5, 6, 7], k=1)
    states = model(torch.tensor([[5, 6, 7]]), output_hidden_states=True).hidden_states
    rows = torch.stack([model.predictions(each)[0].softmax(-1).max(-1).values for each in states])
    np.testing.assert_allclose(lens.top_probabilities[..., 0], rows.numpy(), atol=1e-5)


def test_questions_without_an_answer_are_refused_in_one_line() -> None:
    words, two, squares = tokenizer(), torch.zeros(2, 3, 16, 16), torch.zeros(1, 3, 32, 32)
    picture, padded = {"pixel_values": PICTURE}, {"input_ids": [1, 0], "attention_mask": [1, 0]}
    no_forward = "give a module of yours whose forward returns them"
    cases: tuple[tuple[Callable[..., Any], Any, list[Any], dict[str, Any], str], ...] = (
        (logit_lens, vit(), [], {}, "give a text and tokenizer=, token ids, or pixel_values="),
        (logit_lens, vit(), [], {"pixel_value": PICTURE}, "did you mean pixel_values="),
        (logit_lens, vit(), [], {"pixel_values": "cat.png"}, "what the model's processor returns"),
        (logit_lens, vit(), [], {"pixel_values": two}, r"pixel_values\[:1\]"),
        (logit_lens, vit(), [PICTURE], picture, "give one of the two"),
        (logit_lens, vit(), ["cat"], {"tokenizer": words}, "reads pixel_values="),
        (logit_lens, whisper(), ["cat"], {"tokenizer": words}, "input_features="),
        (logit_lens, gpt2(), [], picture, "does not read pixel_values="),
        (logit_lens, gpt2(), [[1, 2]], {"answers": 3}, r"\['answers'\] was given beside the prompt"),
        (logit_lens, gpt2(), [], padded, "give its ids alone, without padding"),
        (logit_lens, vit(), [], {**picture, "answer": "dgo"}, r"such as \['dog'\]"),
        (logit_lens, vit(), [], {**picture, "answer": 7}, "the model scores 3 classes"),
        (gradient_weighted, vit(), [], {**picture, "position": 2}, "scores what it reads as a whole"),
        (logit_lens, clip_vision(), [], picture, no_forward),
        (value_weighted, whole_clip(), [], picture, "model.vision_model"),
        (logit_lens, swin(), [], {"pixel_values": squares}, "in 2 stages"),
        (patching, swin(), [squares + 1, squares, 0], {}, "Swin's windows"),
        (logit_lens, whisper(), [], {"input_features": SOUND}, "give tokenizer=, or target="),
        (patching, vit(), [PICTURE, OTHER, 0], {"width": 2}, "give what='positions'"),
        (patching, vit(), [PICTURE, OTHER, 0, "positions"], {"width": 0}, "at least 1"),
        (direct_logit_attribution, albert(), [[5, 6]], {}, "run several times each"),
        (patching, vit(), [PICTURE, OTHER, lambda logits: logits], {}, "one number was expected"),
    )
    assert_refused(
        (lambda ask=ask, model=model, given=given, options=options: ask(model, *given, **options), message)
        for ask, model, given, options, message in cases
    )
