"""What the notebook that goes further on reading heads says, held to the models that it shows."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.analysis import (
    alignment_error_rate,
    alignment_links,
    head_alignment_error_rate,
    label_heads,
)
from viz_transformer.bertviz_views import page
from viz_transformer.corpus import english_spanish
from viz_transformer.exercises import exercise
from viz_transformer.recipes.head_eval import NEEDED, head_losses

LESSON = Lesson("reading_heads")
TIRED = "the animal did not cross the street because it was too tired"
REPEATED_SHARE = "la reina cansada come pescado ¿cómo? la reina cansada come pescado"


def test_the_black_cat_has_the_links_shown(translator: vt.Translator) -> None:
    trace = translator.trace("the black cat sleeps")
    gold = {(0, 0), (1, 2), (2, 1), (3, 3)}
    assert alignment_links(trace, 1, 0) == gold
    odd = alignment_links(trace, 1, 2)
    assert odd - gold == {(0, 2)}  # “links el to cat”
    assert alignment_error_rate([odd], [gold]) == pytest.approx(0.25)


def test_the_goat_has_ten_words_and_eleven_links() -> None:
    goat = "the goat did not cross the street because it was too hungry"
    pairs = english_spanish(n_train=0, n_held_out=0).held_out_reasons
    (pair,) = (each for each in pairs if " ".join(each.source) == goat)
    assert (len(pair.target), len(pair.links)) == (10, 11)
    assert pair.target[2] == "no"
    assert [pair.source[source] for target, source in pair.links if target == 2] == ["did", "not"]
    one_each = {target: (target, source) for target, source in pair.links}
    best = alignment_error_rate([list(one_each.values())], [pair.links])
    assert exercise("reading_heads.1").check(best).passed


def test_three_heads_of_layer_1_are_nearly_dictionaries_and_layer_0_is_not(translator: vt.Translator) -> None:
    pairs = english_spanish(n_train=0, n_held_out=60).held_out
    traces = [translator.trace(" ".join(pair.source), pair.target) for pair in pairs]
    errors = head_alignment_error_rate(traces, [pair.links for pair in pairs])
    assert (errors[1, [0, 1, 3]] < 0.15).all()  # “near 0.1”
    assert 0.25 < errors[1, 2] < 0.35
    assert (errors[0] > 0.45).all()
    assert np.unravel_index(errors.argmin(), errors.shape) == (1, 0)
    # The odd head often links the article to the word after it, its noun.
    nouns = []
    for pair, trace in zip(pairs, traces, strict=True):
        if pair.target[0] in ("el", "la"):
            (looked_at,) = (source for target, source in alignment_links(trace, 1, 2) if target == 0)
            nouns.append((1, looked_at) in pair.links)
    assert len(nouns) >= 5
    assert sum(nouns) / len(nouns) > 0.5


def test_eight_of_24_heads_get_a_name_and_in_a_short_sentence_none(translator: vt.Translator) -> None:
    short, long = (
        Counter(
            (kind, layer, label.name)
            for kind in trace.kinds
            for layer, heads in enumerate(label_heads(trace, kind))
            for label in heads
            if label
        )
        for trace in map(translator.trace, ("the black cat sleeps", TIRED))
    )
    assert not short
    assert long == {("encoder", 0, "last-token sink"): 4, ("cross", 1, "diagonal alignment"): 4}
    assert "4 of 24 on `<eos>`, in the long sentence" in LESSON["hugging-face-real"]


def test_twelve_of_24_heads_are_needed_over_many_sentences(translator: vt.Translator) -> None:
    losses = head_losses(translator, english_spanish(n_train=0, n_held_out=200).held_out)
    assert (losses.n_needed, losses.n_heads) == (12, 24)
    assert "12 of the 24" in LESSON["needed-said"]
    assert "12 of 24, one at a time" in LESSON["hugging-face-real"]
    encoder, cross = losses.rises["encoder"], losses.rises["cross"]
    assert min(abs(rises - NEEDED).min() for rises in losses.rises.values()) > 0.0002  # no close call
    assert (cross[1] > 2 * NEEDED).all()
    assert [tuple(place) for place in np.argwhere(encoder > NEEDED)] == [(0, 3), (1, 1)]
    assert (abs(encoder[0, :3]) < 0.002).all()  # “not missed at all”
    assert cross[1, 0] / cross[1, 2] == pytest.approx(0.5, abs=0.05)  # “only half as much”


def test_each_word_to_be_written_is_found_in_the_first_copy() -> None:
    assert REPEATED_SHARE in LESSON["said-twice"]
    assert "copying.layer, copying.head = 1, 1" in LESSON["said-twice"]
    trace = vt.load_language_model().trace(REPEATED_SHARE)
    head = trace.decoder_attention[1, 1]  # [query, key]
    assert head[:7, 0].min() > 0.9  # “rests on <sos>”
    for row, word in enumerate(REPEATED_SHARE.split()[:5], start=8):
        assert trace.query_tokens("decoder")[row] == word
        key = head[row].argmax()
        assert (trace.target_tokens[key], key < 6) == (word, True)
        assert head[row, key] > 0.9


def test_without_transformers_or_bertviz_the_cells_say_so(
    translator: vt.Translator,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    scope = {"vt": vt, "TIRED": TIRED, "torch": torch}
    exec(LESSON["tiny-bert-sizes"], scope)
    exec(LESSON["tiny-bert"], scope)
    assert "pip install transformers" in capsys.readouterr().out
    monkeypatch.setattr(page, "find_spec", lambda name: None)
    page.read_script.cache_clear()
    names = {"vt": vt, "tired": translator.trace(TIRED)}
    exec(LESSON["bertviz"], names)
    assert isinstance(names["drawn"], str)
    assert "bertviz is not installed" in names["drawn"]
