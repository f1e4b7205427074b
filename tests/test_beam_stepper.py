"""The beam stepper: what it shows is the search's own, and what it is asked it answers."""

from __future__ import annotations

import itertools
import json
import math
from functools import partial

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.hand_made_searches import hand_made
from tests.support.refusals import assert_refused
from tests.support.tiny_decoder import VOCABULARY
from viz_transformer.config import ModelConfig
from viz_transformer.decoding import beam_search
from viz_transformer.model import DecoderOnly
from viz_transformer.plots import plot_beam, plot_distribution
from viz_transformer.trace import DecodeTrace
from viz_transformer.widgets.beam_stepper.payload import candidate_texts
from viz_transformer.widgets.beam_stepper.view import BeamStepper

SENTENCE = "the teacher sleeps"


@pytest.fixture(scope="module")
def made(translator: vt.Translator) -> BeamStepper:
    return vt.beam_stepper(translator, SENTENCE)


@pytest.fixture
def view(made: BeamStepper) -> BeamStepper:
    """The view as it was made."""
    made.method, made.sentence = "beam", SENTENCE
    made.beam_width, made.length_penalty = 4, 0.6
    made.temperature, made.top_k, made.top_p, made.seed = 1.0, None, None, 0
    made.chosen, made.head = None, None
    made.step, made.layer = len(made.search.steps) - 1, 1
    return made


def request(**change: object) -> dict:
    return {"text": SENTENCE, "method": "beam", "beam_width": 4, "length_penalty": 0.6, **change}


def test_the_reply_is_the_search_with_its_weights(view: BeamStepper, translator: vt.Translator) -> None:
    reply = view.answer(request(beam_width=2, length_penalty=1.0))
    search = translator.decode(SENTENCE, 2, 1.0, attention=True)
    assert reply["source"] == ["the", "teacher", "sleeps", "<eos>"]
    for step, sent in zip(search.steps, reply["steps"], strict=True):
        for one, plain in zip(step.candidates, sent, strict=True):
            for name in ("parent", "token", "log_prob", "score", "status", "reason", "beaten_by"):
                assert plain[name] == getattr(one, name)
    written = [list(each.tokens) for each in search.hypotheses]
    assert [each["tokens"] for each in reply["hypotheses"]] == written
    json.dumps({name: value for name, value in reply.items() if name != "attention"})
    weights = reply["attention"]
    assert (weights["kind"], weights["layers"], weights["heads"]) == ("cross", 2, 4)
    assert weights["shapes"] == [[len(step.cross_attention), 4] for step in search.steps]
    expected = np.concatenate([step.cross_attention.ravel() for step in search.steps])
    np.testing.assert_array_equal(np.frombuffer(weights["weights"], "<f4"), expected)
    plain = translator.decode(SENTENCE, 2, 1.0)
    assert plain.steps[0].cross_attention is None
    for one, other in zip(plain.hypotheses, search.hypotheses, strict=True):
        assert (one.ids, one.path) == (other.ids, other.path)
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-4)  # another order of the same sums


def test_the_texts_found_stand_in_the_tree_and_in_the_alternative_text(
    view: BeamStepper, translator: vt.Translator
) -> None:
    texts = candidate_texts(view.search)
    for hypothesis in view.search.hypotheses:
        last = len(hypothesis.path) - 1
        assert texts[last][hypothesis.path[last]] == (*hypothesis.tokens, "<eos>")
    greedy, beam = (translator.decode(SENTENCE, width).hypotheses[0] for width in (1, 4))
    assert greedy.tokens != beam.tokens
    assert view.alt_text().endswith(
        f"Found: “{' '.join(beam.tokens)}”; greedy search writes “{' '.join(greedy.tokens)}”."
    )
    view.method = "sample"
    assert "Drawn: “" in view.alt_text()


def test_drawn_words_are_those_that_the_filters_keep(view: BeamStepper) -> None:
    drawn = {"temperature": 1.5, "top_k": 3, "top_p": None, "seed": 0}
    reply = view.answer({"text": SENTENCE, "method": "sample", **drawn})
    assert reply["attention"] is None
    for step in reply["steps"]:
        assert sum(one["share"] for one in step) == pytest.approx(1)
        assert sum(one["share"] > 0 for one in step) <= 3


def test_settings_move_the_search(view: BeamStepper, translator: vt.Translator) -> None:
    for width, penalty in ((1, 0.6), (np.int64(8), 0)):
        view.beam_width, view.length_penalty = width, penalty
        same = translator.decode(SENTENCE, int(width), penalty, attention=True)
        assert view.search.hypotheses == same.hypotheses
    view.method, view.seed = "sample", np.int64(3)
    assert view.search.hypotheses == translator.sample(SENTENCE, seed=3).hypotheses
    assert view.shown_step <= len(view.search.steps) - 1


def test_equal_requests_are_asked_once_and_few_replies_are_kept() -> None:
    asked = []

    def answer(request: dict) -> dict:
        asked.append(request)
        return {"search": hand_made(("x", "y")), "greedy": None}

    view = BeamStepper(hand_made(("x", "y")), answer=answer, sentence=SENTENCE)
    first = view.answer(request(beam_width=2, length_penalty=1.0))
    assert view.answer(request(beam_width=2, length_penalty=1))["steps"] == first["steps"]
    assert len(asked) == 1
    for width in range(1, 30):
        view.answer(request(beam_width=width % 12 + 1))
    assert len(view._cache) <= 9


def test_a_page_carries_several_widths_and_penalties(view: BeamStepper) -> None:
    questions = [*view.questions(), *(asked for asked, _ in view.data)]
    widths = {each["beam_width"] for each in questions if each.get("length_penalty") == 0.6}
    penalties = {each["length_penalty"] for each in questions if each.get("beam_width") == 4}
    assert widths >= {1, 2, 4, 8}
    assert penalties >= {0.0, 0.6, 1.0}
    assert sum(each["method"] == "sample" for each in questions) == 5
    assert all(one != other for one, other in itertools.combinations(questions, 2))
    assert all(view.answer(each)["steps"] for each in questions[:3])
    assert view.export_bytes() > 10_000


def test_finished_searches_are_shown_without_a_model_and_chosen_by_name(translator: vt.Translator) -> None:
    view = BeamStepper({"a": hand_made(("x", "y")), "b": hand_made(("z",))})
    assert (view.beam_width, view.sentence, view.method, view.step) == (1, "x y", "beam", 2)
    assert view.questions() == []
    view.checkpoint = "b"
    assert view.search.hypotheses[0].tokens == ("z",)
    assert view.shown_step == 1
    assert "Beam search for “x y”, step 2 of 2" in view.alt_text()
    bare = BeamStepper(hand_made(("x", "y"), attention=False))
    reply = bare.data[0][1]
    assert (reply["attention"], reply["greedy"], bare.layer) == (None, None, 0)
    live = vt.beam_stepper({"early": translator, "late": translator}, "the cat sleeps", 2)
    assert (live.checkpoints, live.checkpoint) == (["early", "late"], "early")
    assert [asked["checkpoint"] for asked, _ in live.data] == ["early", "late"]
    live.checkpoint = "late"
    assert live.search.hypotheses[0].tokens == ("el", "gato", "duerme")


def test_a_wrong_search_is_refused(translator: vt.Translator, view: BeamStepper) -> None:
    search = hand_made(("x", "y"))
    bare = DecodeTrace(source_tokens=search.source_tokens, hypotheses=search.hypotheses)
    made, given = partial(partial, BeamStepper), ("a text", {}, None)
    assert_refused(
        [
            *((made(each), "DecodeTrace") for each in given),
            (made(bare), "0 steps"),
            (lambda: plot_beam(bare), "no recorded steps"),
            (lambda: plot_beam(search, -1), "steps; choose"),
            (lambda: plot_beam(search, 99), "steps; choose"),
            (lambda: vt.beam_stepper({}), "no translator"),
            (lambda: vt.beam_stepper({"early": "a path"}), "no translator"),
            (lambda: translator.sample(SENTENCE, 0.0), "temperature"),
            (lambda: translator.sample("the dragon sleeps"), "dragon"),
            (lambda: view.answer(request(text="the dragon sleeps")), "dragon"),
            (lambda: view.answer(request(beam_width=0)), "beam_width"),
            (lambda: view.answer(request(text="")), "no word"),
        ]
    )


def test_a_decoder_only_model_shows_self_attention() -> None:
    config = ModelConfig(
        family="decoder", vocab_size=5, d_model=8, n_heads=2, n_decoder_layers=2, d_ff=8,
        max_length=16, pad_id=0,
    )  # fmt: skip
    torch.manual_seed(3)
    model = DecoderOnly(config).eval()
    (search,) = beam_search(model, [[1, 3, 4]], VOCABULARY, beam_width=2, max_length=3, attention=True)
    view = BeamStepper(search)
    (_, reply), *_ = view.data
    assert view.sentence == "<sos> a b"
    assert (reply["attention"]["kind"], view.layer) == ("decoder", 1)
    # Each step has one more word to look at: the prompt's, and those written so far.
    keys = [keys for _, keys in reply["attention"]["shapes"]]
    assert keys == [3 + step for step in range(len(search.steps))]
    sent = np.frombuffer(reply["attention"]["weights"], "<f4")
    assert len(sent) == sum(step.decoder_attention.size for step in search.steps)


def test_the_figure_draws_the_tree(view: BeamStepper) -> None:
    search = view.search
    ax = plot_beam(search)
    drawn = [text.get_text() for text in ax.texts]
    candidates = [one for step in search.steps for one in step.candidates]
    best = search.hypotheses[0]
    assert (len(drawn), len(ax.lines)) == (len(candidates) + 1, len(candidates))
    assert sum(line.get_linewidth() > 2 for line in ax.lines) == len(best.path)
    gone = sum(one.status in ("pruned", "forbidden") for one in candidates)
    assert sum(line.get_linestyle() == "--" for line in ax.lines) == gone
    assert f"{candidates[0].token} −{-candidates[0].log_prob:.2f}" in drawn
    assert f"■ <eos> −{-best.score:.2f}" in drawn
    assert best.tokens[0] in ax.figure.alt_text
    assert plot_beam(search, 0, ax=ax) is ax
    narrow = plot_beam(search, 0)
    narrow.figure.canvas.draw()
    assert narrow.get_tightbbox().x1 <= narrow.figure.bbox.x1  # none of the title is cut off


def test_the_figure_draws_the_distribution(view: BeamStepper, translator: vt.Translator) -> None:
    search = translator.sample(SENTENCE, 1.5, top_k=4)
    before, after = ([bar.get_width() for bar in bars] for bars in plot_distribution(search, 0).containers)
    own = search.steps[0].candidates
    assert before == pytest.approx([math.exp(one.token_log_prob) for one in own])
    assert after == [one.share for one in own]
    assert len(plot_distribution(view.search, 0).containers) == 1  # of a beam
    view.method = "sample"
    figure = view.figure()
    assert figure.alt_text == view.alt_text()
    figure.canvas.draw()
