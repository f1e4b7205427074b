"""The views of pretrained models: their numbers are those of transformers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, LlamaForCausalLM

import viz_transformer as vt
from viz_transformer.trace import compute_head

pytestmark = pytest.mark.real

TEXT = "The doctor’s favourite city is Paris, the capital of"


def test_every_layer_and_the_search_of_a_decoder_are_its_own(smollm2_folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(smollm2_folder)
    model = LlamaForCausalLM.from_pretrained(smollm2_folder)
    studio = vt.studio(model, TEXT, tokenizer=tokenizer)
    assert list(studio.rooms) == ["model", "heads", "head", "off", "positions", "writing", "vectors"]
    assert sum(box["parameters"] for box in studio.rooms["model"].boxes) == model.num_parameters()
    attention = studio.trace.decoder_attention
    assert attention is not None
    for layer in range(30):  # refused where a weight is 1e-5 away from the model's own
        steps = vt.attention_steps(model, TEXT, layer=layer, tokenizer=tokenizer)
        assert (steps.n_heads, len(steps.w_k)) == (9, 3)
        weights = compute_head(steps, 4, 7).weights
        np.testing.assert_allclose(weights, attention[layer, 4, 7], atol=1e-5)

    ids = tokenizer(TEXT, return_tensors="pt")
    asked: dict[str, Any] = {"num_beams": 4, "num_return_sequences": 4, "do_sample": False}
    asked |= {"max_new_tokens": 8, "length_penalty": 0.6, "return_dict_in_generate": True}
    theirs = model.generate(**ids, **asked, output_scores=True)
    scores = theirs.sequences_scores.tolist()
    search = studio.rooms["writing"].search
    assert [each.score for each in search.hypotheses] == pytest.approx(scores, abs=1e-4)
    assert search.prompt_tokens[2] == "’"
    assert len(repr(search)) < 500

    words = studio.rooms["vectors"]
    words.token = "ĠParis"
    table = model.get_input_embeddings().weight.detach()
    cosines = torch.nn.functional.cosine_similarity(table, table[tokenizer.encode(" Paris")[0]][None])
    best = cosines.topk(9).values[1:]
    np.testing.assert_allclose([each.cosine for each in words.nearest], best, atol=1e-5)


def test_every_layer_of_an_encoder_is_its_own(minilm_folder: Path) -> None:
    tokenizer, model = (each.from_pretrained(minilm_folder) for each in (AutoTokenizer, AutoModel))
    studio = vt.studio(model, "the cat sat on the mat", tokenizer=tokenizer)
    assert list(studio.rooms) == ["model", "heads", "head", "positions", "vectors"]
    assert sum(box["parameters"] for box in studio.rooms["model"].boxes) == model.num_parameters()
    for layer in range(6):
        steps = vt.attention_steps(model, "the cat sat on the mat", layer=layer, tokenizer=tokenizer)
        assert steps.mask is None
