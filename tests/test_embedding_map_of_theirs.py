"""The map of a Hugging Face model's vocabulary: a sample, and what is near a token in all of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attending_models import built, word_tokenizer
from tests.support.causal_models import byte_tokenizer, gpt2
from tests.support.javascript import answers_in_node
from tests.support.refusals import assert_refused
from viz_transformer.widgets.embedding_map import live


def test_neighbours_are_those_of_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_SAMPLE", 20)
    tokenizer = byte_tokenizer("when Mary gave John the caffè 你好 the cat and a dog")
    model = gpt2(len(tokenizer))
    view = vt.embedding_map(model, ["Mary", "the"], tokenizer=tokenizer)
    assert view.token == "ĠMary", "a word, though it is written without its sign"
    n_first = len(view.data["tokens"])
    assert n_first < view.data["n_all"] <= len(tokenizer)

    table = model.get_input_embeddings().weight.detach()
    for name, typed in (("ĠMary", "ĠMary"), ("Ġcaffè", " caffè"), ("Ġ你好", "·你好"), ("e", "e")):
        view.token = typed
        assert view.token == name
        number = tokenizer.encode(name.replace("Ġ", " "))[0]
        cosines = torch.nn.functional.cosine_similarity(table, table[number][None])
        best = cosines.argsort(descending=True)[1:9]
        np.testing.assert_allclose([each.cosine for each in view.nearest], cosines[best], atol=1e-6)

    reply = view.answer({"token": "Ġcaffè"})
    script = """({ data, found }) => {
      const known = withFound(readEmbeddings(data), found);
      return [known.tokens, known.points.length, nearest(known, known.tokens.indexOf(found.tokens[0]))];
    }"""
    imports = {"readEmbeddings, withFound, nearest": "widgets/embedding_map/neighbours.ts"}
    tokens, n_points, near = answers_in_node(imports, script, {"data": view.data, "found": reply})
    assert (len(set(tokens)), n_points) == (len(tokens), 2 * len(tokens))
    assert len(tokens) > n_first
    view.token = "Ġcaffè"
    expected = [each.cosine for each in view.nearest]
    np.testing.assert_allclose([each["cosine"] for each in near], expected, atol=1e-5)
    assert set(view.data["groups"]) <= {"begins a word", "goes on within one", "special"}


def test_what_is_no_token_is_refused_in_one_line() -> None:
    tokenizer = byte_tokenizer("the cat")
    model = gpt2(len(tokenizer))
    view = vt.embedding_map(model, "cat", tokenizer=tokenizer)
    assert_refused(
        [
            (
                lambda: setattr(view, "token", "dogs"),
                "this vocabulary, but d, o, g, s",
            ),
            (lambda: view.answer({"token": "dogs"}), "choose one of these"),
            (lambda: vt.embedding_map(model, "dogs", tokenizer=tokenizer), "is not one token"),
            (lambda: vt.embedding_map(model, " ", tokenizer=tokenizer), "holds no word"),
            (lambda: vt.embedding_map(model, "cat"), "tokenizer=None makes none"),
            (lambda: vt.embedding_map(torch.nn.Linear(2, 2)), "a Linear is no translator"),
        ]
    )
    assert view.token == "Ġcat"
    bert = vt.embedding_map(built("BERT")[0], tokenizer=word_tokenizer(ends=False))
    assert bert.token in bert.data["tokens"]
