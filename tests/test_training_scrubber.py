"""The training scrubber's Python: its traits, the bytes it sends, and its picture on paper."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import traitlets

import viz_transformer as vt
from tests.support.hand_made_trainings import PAIRS, STEPS, make_training, validated
from tests.support.refusals import assert_refused
from viz_transformer.analysis import (
    entropy_share_over_training,
    head_entropy_share,
    most_sharpened,
)
from viz_transformer.export import export_html
from viz_transformer.plots.training import nearest_moment, plot_training, strip_moments
from viz_transformer.widgets.training_scrubber import payload
from viz_transformer.widgets.training_scrubber.view import TrainingScrubber, watch_training

LARGE = {"n_layers": 6, "n_heads": 8, "seed": 5, "sharpest": 0.6}


@pytest.fixture
def view() -> TrainingScrubber:
    return watch_training(make_training())


@pytest.fixture
def two() -> TrainingScrubber:
    steps = (0, 10, 60, 200)
    return watch_training(make_training(), make_training("large", steps=steps, **LARGE))


def test_it_opens_where_the_text_is_right_on_the_head_that_sharpens_most(view: TrainingScrubber) -> None:
    texts = [moment.translations[0] for moment in view.trace.moments]
    assert (view.moment, view.sentence, view.kind) == (texts.index(view.trace.references[0]), 0, "cross")
    never = replace(view.trace, references=("a", "b", "c"))
    assert watch_training(never).moment == len(texts) - 1
    assert watch_training(never, moment=0).moment == 0
    assert (view.other, view.other_layer, view.other_head) == (None, None, None)
    for kind, sentence in itertools.product(("encoder", "decoder", "cross"), range(3)):
        each = [head_entropy_share(one.traces[sentence], kind) for one in view.trace.moments]
        over = entropy_share_over_training(view.trace, sentence, kind)
        assert over == pytest.approx(np.stack(each), abs=1e-12), (kind, sentence)
    share = entropy_share_over_training(view.trace, 0, "cross")
    assert share.shape == (len(STEPS), 2, 4)
    assert share[0] == pytest.approx(np.ones((2, 4)), abs=1e-6)
    fall = share[0] - share[-1]
    assert fall[view.layer, view.head] == fall.max()
    assert most_sharpened(view.trace, 0, "cross") == (view.layer, view.head)


def test_each_side_has_a_head_of_its_own_which_another_kind_keeps(two: TrainingScrubber) -> None:
    assert (two.other_layer, two.other_head) == most_sharpened(two.other, 0, "cross")
    two.other_layer, two.other_head = np.int64(5), 7
    two.layer, two.head = 1, 3
    with pytest.raises(traitlets.TraitError, match=r"layer=5, but here there are 2"):
        two.layer = 5
    two.kind = "decoder"
    assert (two.layer, two.head, two.other_layer, two.other_head) == (1, 3, 5, 7)
    view = watch_training(make_training(), moment=3, sentence=1, kind="encoder", layer=1, head=2)
    assert (view.moment, view.sentence, view.kind, view.layer, view.head) == (3, 1, "encoder", 1, 2)


def test_invalid_trainings_and_positions_are_refused() -> None:
    trace = make_training()
    given = (None, "run.npz", trace.moments[0].traces[0], 3)
    second = make_training(pairs=PAIRS[:1])
    places = [
        ({"moment": 8}, "moment=8, but there are 8"),
        ({"sentence": 5}, "sentence=5"),
        ({"kind": "self"}, "unknown attention kind 'self'"),
        ({"layer": 2}, "layer=2, but the cross attention of 'seed 0' has 2"),
        ({"head": -1}, "head=-1"),
    ]
    is_none = r"shows a TrainingTrace, not \w+"
    assert_refused(
        [
            *((lambda each=each: watch_training(each), is_none) for each in given),
            *((lambda each=each: watch_training(trace, each), is_none) for each in given if each),
            *((lambda each=each: plot_training(each), "draws a TrainingTrace") for each in given),
            *((lambda at=at: plot_training(trace, **at), said) for at, said in places),
            (lambda: watch_training(trace, moment=99), "moment=99"),
            (lambda: watch_training(trace, kind="all"), "kind='all'"),
            (lambda: setattr(watch_training(trace), "other_head", 0), "no second run"),
            (lambda: most_sharpened(trace, 3, "cross"), "choose 0 to 2"),
            (
                lambda: watch_training(trace, second),
                "3 sentences, 'the black cat sleeps' first and 1 sen",
            ),
        ]
    )


def test_the_bytes_are_the_traces(two: TrainingScrubber) -> None:
    for run, sent in zip((two.trace, two.other), two.data["runs"], strict=True):
        losses = np.frombuffer(sent["losses"], "<f4")
        assert (losses == run.losses).all()
        assert (np.frombuffer(sent["steps"], "<f8") == run.steps).all()
        assert sent["moments"] == [moment.step for moment in run.moments]
        assert sent["translations"] == [list(moment.translations) for moment in run.moments]
    for side, run in enumerate((two.trace, two.other)):
        for sentence in range(3):
            kinds = two.data["sentences"][str(sentence)]["runs"][side]
            for kind, sent in kinds.items():
                true = np.stack([each.traces[sentence].attention(kind) for each in run.moments])
                weights = np.frombuffer(sent["weights"], "<f2").reshape(true.shape)
                assert np.abs(weights - true).max() <= 0.00025
                entropies = np.frombuffer(sent["entropies"], "<f4").reshape(true.shape[:3])
                share = entropy_share_over_training(run, sentence, kind)
                assert entropies == pytest.approx(share, abs=1e-6, nan_ok=True)
                masked = np.frombuffer(sent["masked"], np.uint8).reshape(true.shape[-2:])
                future = np.triu(np.ones(true.shape[-2:], dtype=bool), 1)
                assert (masked.astype(bool) == (future & (kind == "decoder"))).all()


def test_of_a_large_training_one_sentence_goes_and_the_others_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setattr(payload, "WHOLE_BYTES", 1000)
    view = watch_training(make_training(), sentence=1)
    assert list(view.data["sentences"]) == ["1"]
    assert view.questions() == [{"sentence": 0}, {"sentence": 2}]
    whole = sum(payload.sentence_bytes((view.trace,), each) for each in (0, 2))
    assert view.export_bytes() == whole * 4 // 3
    assert view.answer({"sentence": 2}) == payload.sentence_payload((view.trace,), 2)
    asks = [{"sentence": wrong} for wrong in (3, -1, None, "0")]
    too_much = partial(export_html, view, tmp_path / "page.html", max_megabytes=0.01)
    assert_refused([*((partial(view.answer, ask), "choose 0 to 2") for ask in asks), (too_much, "MB")])
    assert not (tmp_path / "page.html").exists()
    monkeypatch.setattr(payload, "MAX_SENTENCE_BYTES", 10_000)
    with pytest.raises(vt.UserError, match=r"takes 0 MB, and a view holds up to 0; record fewer"):
        watch_training(make_training(**LARGE))


def test_the_picture_on_paper_has_the_numbers(two: TrainingScrubber) -> None:
    two.moment, two.sentence, two.kind = 5, 1, "decoder"
    two.layer, two.head, two.other_layer, two.other_head = 1, 0, 4, 2
    figure = two.figure()
    top, *strips = figure.subfigs
    curve = top.axes[0]
    assert curve.get_yscale() == "log"
    assert curve.get_ylabel() == "loss (nats per token), log scale"
    lines = {line.get_label(): line for line in curve.lines}
    for run in (two.trace, two.other):
        assert (lines[run.name].get_ydata() == run.losses).all()
    for strip, run, index, (layer, head) in zip(
        strips, (two.trace, two.other), (5, 2), ((1, 0), (4, 2)), strict=True
    ):
        shown = strip_moments(len(run.moments), index)
        assert index in shown
        assert len(strip.axes) == len(shown) == min(6, len(run.moments))
        for ax, moment in zip(strip.axes, shown, strict=True):
            true = run.moments[moment].traces[1].decoder_attention[layer, head]
            assert (ax.images[0].get_array() == true).all()
            assert f"step {run.moments[moment].step}" in ax.get_title()
    texts = [text.get_text() for text in top.axes[1].texts]
    assert two.trace.moments[5].translations[1] in texts
    assert "large, step 60, not yet right" in texts
    assert figure.alt_text == two.alt_text()


def test_the_alternative_text_describes_the_view(view: TrainingScrubber) -> None:
    view.moment = 7
    share = entropy_share_over_training(view.trace, 0, "cross")[:, view.layer, view.head]
    text = view.alt_text()
    assert "at step 300 of 300" in text
    assert "“\u2068el gato negro duerme\u2069”: right." in text
    assert f"entropy {share[0]:.2f} of its maximum at step 0, {share[7]:.2f}" in text
    view.moment = 1
    assert "not yet right" in view.alt_text()
    assert "moment=1" in repr(view)
    trace = make_training(steps=(0, 2))
    assert plot_training(trace).subfigs[0].axes[0].get_yscale() == "linear"
    bare = replace(trace, steps=[], losses=[], accuracies=[])
    assert "loss goes" not in plot_training(bare).alt_text
    assert watch_training(bare).data["runs"][0]["losses"] == b""


def test_the_strip_holds_the_chosen_moment_the_first_and_the_last() -> None:
    assert strip_moments(3, 1) == [0, 1, 2]
    for count in range(1, 30):
        for chosen in range(count):
            shown = strip_moments(count, chosen)
            assert shown == sorted({*shown, 0, chosen, count - 1}), (count, chosen)
            assert len(shown) == min(6, count)
    assert nearest_moment(make_training(), 4) == 2


def test_the_validation_loss_is_sent_drawn_and_told_where_it_was_measured(view: TrainingScrubber) -> None:
    assert view.data["runs"][0]["validation"] == b""
    turned = watch_training(validated(view.trace))
    losses = [moment.validation_loss for moment in turned.trace.moments]
    sent = np.frombuffer(turned.data["runs"][0]["validation"], "<f4")
    assert sent == pytest.approx(losses)
    lowest = f"lowest at step {STEPS[-2]}: {losses[-2]:.2f}; 1.50 at the end"
    assert lowest in turned.alt_text()
    ax = turned.figure().axes[0]
    assert (ax.get_yscale(), ax.get_ylim()[1]) == ("linear", pytest.approx(2 * losses[-2]))
