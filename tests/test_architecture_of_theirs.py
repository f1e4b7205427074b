"""The architecture of Hugging Face's models: the blocks as they are, and what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attending_models import built, word_tokenizer
from tests.support.huggingface_models import frozen, same, state
from tests.support.refusals import assert_refused

TEXT = "when Mary went to the store"
PRE = ["norm", "masked_self_attention", "add", "norm", "feed_forward", "add"]
POST = ["self_attention", "add_norm", "feed_forward", "add_norm"]
#: By architecture: the parts of a block, whether positions are a table, and what comes after the blocks.
MODELS = {
    "Llama": (PRE, False, ["last_norm", "output"]),
    "GPT-2": (PRE, True, ["last_norm", "output"]),
    "GPT-NeoX": (
        ["norm", "masked_self_attention", "norm", "feed_forward", "add"],
        False,
        ["last_norm", "output"],
    ),
    "BERT": (POST, True, ["rest"]),
    "DistilBERT": (POST, True, []),
}


def view_of(name: str) -> tuple[Any, Any]:
    model, _ = built(name)
    return vt.architecture(model, TEXT, tokenizer=word_tokenizer(ends=False)), model


@pytest.mark.parametrize("name", MODELS)
def test_blocks_are_the_model_s_and_their_numbers_add_up(name: str) -> None:
    view, model = view_of(name)
    before = frozen(model)
    block, has_table, after = MODELS[name]
    inside = [box["part"] for box in view.boxes if box["layer"] == 1]
    outside = [box["part"] for box in view.boxes if box["layer"] is None]
    assert inside == block
    assert outside == ["tokens", "embedding", *(["positions"] if has_table else []), *after]
    assert sum(box["parameters"] for box in view.boxes) == model.num_parameters()

    x = view.vectors(
        "decoder.embedding" if name in ("Llama", "GPT-NeoX") else f"{view.boxes[0]['stack']}.positions"
    )
    branch = np.zeros_like(x)
    for box in view.boxes:
        if box["part"].endswith("attention") or box["part"] == "feed_forward":
            branch = branch + view.vectors(box["key"])
        elif box["part"] == "add":
            x = x + branch
            np.testing.assert_allclose(view.vectors(box["key"]), x, atol=1e-5)
            branch = np.zeros_like(x)
        elif box["part"] == "add_norm":
            norm = torch.nn.functional.layer_norm(torch.tensor(x + branch), x.shape[-1:])
            np.testing.assert_allclose(view.vectors(box["key"]), norm, atol=1e-2)
            x, branch = view.vectors(box["key"]), np.zeros_like(x)
    assert same(before, state(model))


@pytest.mark.parametrize("name", ["Llama", "GPT-2", "BERT"])
def test_weights_and_likeliest_words_are_the_model_s(name: str) -> None:
    view, model = view_of(name)
    tokenizer = word_tokenizer(ends=False)
    reply = view.answer({"sentence": TEXT})
    assert reply["given"] == (0 if name == "BERT" else len(TEXT.split()) - 1)
    tokens = reply["source"] or reply["target"]
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(tokens)])
    trace = vt.capture(model, input_ids=ids, tokens=tokens)
    kind = view.boxes[0]["stack"]
    captured = trace.attention(kind)
    assert captured is not None
    np.testing.assert_allclose(view.weights(f"{kind}.1.self_attention"), captured[1], atol=1e-6)
    if name != "BERT":
        with torch.no_grad():
            shares = model(ids).logits[0].softmax(-1)
        for row, found in enumerate(view.likeliest()):
            top = shares[row].topk(len(found))
            assert [*found] == tokenizer.convert_ids_to_tokens(top.indices.tolist())
            np.testing.assert_allclose([*found.values()], top.values, atol=1e-6)
    view.sentence = "the cat sleeps"
    assert view.tokens[:3] == ("the", "cat", "sleeps")
    view.box, view.depth, view.head = f"{kind}.1.self_attention", "head", 2
    _, layer = view.questions()
    assert view.answer(layer)["layer"] == 1


def test_what_cannot_be_drawn_is_refused_in_one_line() -> None:
    words = word_tokenizer(ends=False)
    llama = built("Llama")[0]
    assert_refused(
        [
            (lambda: vt.architecture(llama, TEXT), "tokenizer=None makes none"),
            (lambda: vt.architecture(llama, tokenizer=words), "has no text of its own"),
            (lambda: vt.architecture(built("Marian")[0], TEXT, tokenizer=words), "an encoder and a decoder"),
            (lambda: vt.architecture(built("GPT-2")[0], "cat " * 99, tokenizer=words), "give a shorter text"),
        ]
    )
