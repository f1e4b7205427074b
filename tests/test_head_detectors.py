"""Detectors of heads on repeated random tokens, and the induction model that they find heads in."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

import viz_transformer as vt
from tests.support.huggingface_models import LLAMA_SIZES, eager, hf, stacked
from tests.support.small_models import family_config, small_model
from viz_transformer.analysis import label_heads
from viz_transformer.errors import FileError, UserError
from viz_transformer.model import DecoderOnly, EncoderOnly
from viz_transformer.recipes import (
    AttentionOnly,
    load_induction_model,
)
from viz_transformer.recipes.induction import SYLLABLES


class Planted(nn.Module):
    """Three heads that look at the token before, at the earlier copy, and at what followed it."""

    def forward(self, tokens: Tensor) -> Tensor:
        n = tokens.shape[1]
        copies = torch.ones(n, n).tril(-1) * (tokens[0][:, None] == tokens[0])  # [query, key]
        followed = F.pad(copies, (1, 0))[:, :-1]
        looks = torch.stack([torch.eye(n).roll(-1, dims=1), copies, followed])[None]  # [1, head, query, key]
        keys = torch.eye(n).expand(1, 3, n, n)
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        return F.scaled_dot_product_attention(100 * looks * n**0.5, keys, keys, attn_mask=causal)


def test_heads_that_do_one_thing_score_one_and_the_others_hardly_anything() -> None:
    scores = vt.head_scores(Planted(), 100, start_id=0)
    for head, name in enumerate(("previous token", "duplicate token", "induction")):
        assert scores[name][0, head] == pytest.approx(1, abs=1e-3)
        # A query without an earlier copy looks evenly, so that a little falls on the token before.
        assert np.delete(scores[name][0], head).max() < 0.1


def test_the_scores_of_a_hugging_face_model_are_the_means_of_its_diagonals() -> None:
    """Held against the model's own eager weights on the texts that it was given."""
    model = hf.LlamaForCausalLM(hf.LlamaConfig(**{**LLAMA_SIZES, "vocab_size": 40})).eval()
    read: list[Tensor] = []
    watch = model.register_forward_pre_hook(
        lambda _module, _args, named: read.append(named["input_ids"]), with_kwargs=True
    )
    scores = vt.head_scores(model, start_id=2, period=6, n_texts=3, seed=5)
    watch.remove()
    read = list({tuple(ids[0].tolist()): ids for ids in read}.values())  # the first may be verified
    diagonals = {"previous token": [], "duplicate token": [], "induction": []}
    for ids in read:
        n = ids.shape[1] // 2
        assert ids[0, 0] == 2
        assert torch.equal(ids[0, 1 : n + 1], ids[0, n + 1 :])
        weights = stacked(eager(model, input_ids=ids)["attentions"])  # [layer, head, query, key]
        for name, offset, first in (
            ("previous token", -1, 1),
            ("duplicate token", -n, 1),
            ("induction", 1 - n, 2),
        ):
            diagonals[name].append(weights.diagonal(offset, axis1=-2, axis2=-1)[..., first:].mean(-1))
    assert len(read) == 3
    for name, expected in diagonals.items():
        np.testing.assert_allclose(scores[name], np.mean(expected, axis=0), atol=1e-5)


def test_models_of_the_package_are_read_too() -> None:
    model = vt.load_language_model()
    scores = vt.head_scores(model.model, model.vocabulary, period=8, n_texts=2)
    names = ("previous token", "duplicate token", "induction", "first-token sink")
    assert {name: each.shape for name, each in scores.items()} == dict.fromkeys(names, (2, 4))
    encoder = vt.head_scores(EncoderOnly(family_config(EncoderOnly, max_length=32)), period=8)
    assert "induction" not in encoder
    assert encoder["duplicate token"].shape == (2, 4)
    model = DecoderOnly(family_config(DecoderOnly, max_length=64))
    once, again, other = (vt.head_scores(model, 4, seed=seed)["induction"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(once, again)
    assert (once != other).any()


def test_models_that_cannot_be_scored_get_one_line() -> None:
    for model, vocabulary, options, message in (
        (Planted(), None, {}, r"vocabulary=None has 0 tokens to draw from; give their number"),
        (Planted(), 1, {}, "vocabulary=1 has 1 tokens"),
        (Planted(), 9, {"period": 3}, "period=3 is too short"),
        (Planted(), 9, {"n_texts": 0}, "n_texts"),
        (nn.Embedding(9, 2), 9, {}, "Embedding has no attention that can be seen"),
        (small_model(), None, {}, "reads source and target ids"),
    ):
        with pytest.raises(UserError, match=message):
            vt.head_scores(model, vocabulary, **options)


@pytest.fixture(scope="module")
def bundled_model() -> AttentionOnly:
    return load_induction_model()


def test_the_induction_heads_of_the_bundled_model_are_found_labelled_and_write_what_followed(
    bundled_model: AttentionOnly,
) -> None:
    scores = vt.head_scores(bundled_model, len(SYLLABLES) + 1, start_id=0)
    strong = [tuple(place) for place in np.argwhere(scores["induction"] >= 0.8)]
    assert len(strong) >= 2
    assert {layer for layer, _ in strong} == {1}, "they need a layer below"
    assert scores["previous token"][0].max() > 0.5
    drawn = random.Random(0).sample(SYLLABLES, 12)
    labels = label_heads(bundled_model.trace([*drawn, *drawn]), "decoder")
    assert {labels[layer][head].name for layer, head in strong} == {"induction"}
    drawn = torch.randperm(65, generator=torch.Generator().manual_seed(9))[:16] + 1
    ids = torch.cat([torch.zeros(1, dtype=torch.long), drawn, drawn])[None]
    with torch.no_grad():
        right = bundled_model(ids)[0, 17:-1].argmax(-1) == ids[0, 18:]
    assert right.float().mean() > 0.9


def test_its_trace_equals_capture(bundled_model: AttentionOnly) -> None:
    text = "ba ki so mu ba ki"
    trace = bundled_model.trace(text)
    ids = [[0, *(SYLLABLES.index(each) + 1 for each in text.split())]]
    captured = vt.capture(bundled_model, input_ids=ids, tokens=trace.target_tokens)
    np.testing.assert_allclose(captured.decoder_attention, trace.decoder_attention, atol=1e-6)


def test_unreadable_texts_and_files_get_one_line(bundled_model: AttentionOnly, tmp_path) -> None:
    for text, message in (
        ("ba xx", "'xx' is not one of the model's 65 syllables"),
        ("", "has 0 syllables"),
        (["ba"] * 64, "reads 1 to 63"),
    ):
        with pytest.raises(UserError, match=message):
            bundled_model.trace(text)
    with pytest.raises(FileError, match="missing, damaged or another model's"):
        load_induction_model(tmp_path)
    save_file({"other": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(FileError, match="another model's"):
        load_induction_model(tmp_path)
