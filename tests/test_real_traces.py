"""The recorded runs of pretrained models: what lesson 13 says of them."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

import viz_transformer as vt
from tests.support.source_code import ROOT
from viz_transformer.trace import REAL_TRACES

FOLDER = ROOT / "data" / "real"
MADE_BY = json.loads((FOLDER / "made_by.json").read_text(encoding="utf-8"))


def weights(name: str) -> np.ndarray:
    """The decoder's attention of a recording in double precision, [layer, head, query, key]."""
    return vt.real_trace(name).attention("decoder").astype(float)


def test_the_files_are_those_that_were_recorded_with_licence_and_texts() -> None:
    files = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.name != "made_by.json"}
    assert {name: hashlib.sha256(content).hexdigest() for name, content in files.items()} == MADE_BY["sha256"]
    assert sum(map(len, files.values())) < 4e6
    assert set(MADE_BY["texts"]) == set(REAL_TRACES)
    assert all("Apache 2.0" in each for each in MADE_BY["models"].values())


def test_every_recording_is_a_trace_that_the_explorer_shows() -> None:
    for name in REAL_TRACES:
        trace = vt.real_trace(name)
        (kind,) = trace.kinds
        assert trace.attention(kind).dtype == np.float16
        np.testing.assert_allclose(trace.attention(kind).sum(-1, dtype=float), 1, atol=5e-3)
        assert vt.explore(trace).kind == kind
        if kind == "decoder":
            assert not np.triu(weights(name), 1).any()
            words = vt.real_next_words(name)
            assert len(words) == len(trace.target_tokens)
            assert all(list(each.values()) == sorted(each.values(), reverse=True) for each in words)
    for name in ("gpt2", "", 3):
        with pytest.raises(vt.UserError, match="there is no recording"):
            vt.real_trace(name)
    with pytest.raises(vt.UserError, match="there is no recording 'bert'"):
        vt.real_next_words("bert")


def test_half_of_the_attention_rests_on_the_first_token() -> None:
    assert weights("gpt")[:, :, 2:, 0].mean() == pytest.approx(0.52, abs=0.005)


def test_a_name_is_carried_to_the_end_of_the_sentence() -> None:
    trace = vt.real_trace("gpt")
    assert (trace.target_tokens[1], trace.target_tokens[-1]) == ("ĠMary", "Ġto")
    assert weights("gpt")[24, 4, -1, 1] == pytest.approx(0.81, abs=0.005)
    assert vt.real_next_words("gpt")[-1][" Mary"] == pytest.approx(0.92, abs=0.005)


def test_an_induction_head_attends_to_what_followed_before() -> None:
    tokens, head = vt.real_trace("gpt-repeats").target_tokens, weights("gpt-repeats")[17, 4]
    assert tokens[17:26] == tokens[1:10]
    for query in range(17, 25):
        assert head[query, query - 15] > 0.8
    words = vt.real_next_words("gpt-repeats")
    assert (words[2].get(" D", 0), words[3].get("umb", 0)) == (0, 0)  # not among the 20 likeliest
    assert words[19]["umb"] == pytest.approx(0.98, abs=0.005)


def test_the_same_question_is_answered_only_in_the_form_of_a_conversation() -> None:
    alone = vt.real_next_words("gpt-question")[-1]
    assert next(iter(alone.items())) == ("<|im_end|>", pytest.approx(0.67, abs=0.005))
    assert " Paris" not in alone
    assert vt.real_next_words("gpt-prompt")[-1][" Paris"] == pytest.approx(0.97, abs=0.005)
