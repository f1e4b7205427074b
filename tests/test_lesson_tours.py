"""The ready-made tours: each has steps worth a slide, its captions fit one, and they are true."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import viz_transformer as vt
from viz_transformer.analysis import weights_between
from viz_transformer.analysis.cosine_similarity import nearest
from viz_transformer.corpus import translations
from viz_transformer.plots.perturbation import UNMOVED
from viz_transformer.tours import lessons_with_tours
from viz_transformer.widgets.tour import Tour

pytestmark = pytest.mark.usefixtures("shapes_unchecked")

tour = cache(vt.lesson_tour)


def shown(number: int | str) -> Iterator[Any]:
    """The view of a lesson's tour, set to one step after another."""
    for step in range(len(tour(number).steps)):
        tour(number).step = step
        yield tour(number).view


def captions(number: int | str) -> list[str]:
    return [step["caption"] for step in tour(number).steps]


def test_every_step_of_a_tour_can_be_shown_changes_something_and_fits_a_slide() -> None:
    for number in lessons_with_tours():
        made, said = tour(number), captions(number)
        states = [step["state"] for step in made.steps]
        assert isinstance(made, Tour), number
        assert 5 <= len(made.steps) <= 9, number
        assert all(0 < len(caption) <= 220 for caption in said), number
        assert len(set(said)) == len(said), number
        for view, state in zip(shown(number), states, strict=True):
            assert {name: getattr(view, name) for name in state} == state, number
        assert all(one != next_ for one, next_ in itertools.pairwise(states)), number
    for wrong in (0, 99, "x", None, -1):
        with pytest.raises(vt.UserError, match="there is no tour of lesson"):
            vt.lesson_tour(wrong)  # type: ignore[arg-type]


def test_1_names_the_words_that_are_attended_to() -> None:
    trace = tour(1).view.trace
    for step in tour(1).steps[1:4]:
        state = step["state"]
        row = trace.attention(state["kind"])[state["layer"], state["head"], state["query"]]  # [key]
        for word in (trace.output_tokens[state["query"]], trace.source_tokens[row.argmax()]):
            assert f"“{word}”" in step["caption"]
    cat, black = (weights_between(trace, "cross", "gato", word)[0] for word in ("cat", "black"))
    assert black[3] > 0.6 > 0.1 > black[0]  # “Head 3 leans towards black”, “head 0 looks elsewhere”
    assert cat[0] < 0.1


def test_2_names_the_nearest_words(translator) -> None:
    tokens, told = translator.vocabulary.tokens, " ".join(captions(2))
    table = translator.model.source_embedding.weight.detach().numpy()
    for word, wanted in (
        ("tired", {"hungry", "scared", "sick"}),
        ("negro", {"negra", "negras", "negros"}),
    ):
        assert {tokens[each.index] for each in nearest(table, tokens.index(word), 3)} == wanted
        assert all(f"“{each}”" in told for each in wanted)


def test_3_and_4_tell_the_weights() -> None:
    rows = [view.weights for view in shown(3)]
    assert rows[0].tolist() == [0.25] * 4
    assert f"{rows[1].max():.2f}." in captions(3)[1]
    assert rows[2] == pytest.approx(rows[1])
    assert rows[3].max() > 0.99
    assert (rows[-1] * (1 - rows[-1])).max() < 1e-6

    worked, told = [view.worked() for view in shown(4)], captions(4)
    assert worked[1].scores.tolist() == [2, 4.5]
    assert "2 and 4.5" in told[1]
    for step, weights in ((3, worked[3].weights), (5, worked[5].weights[:1]), (6, worked[6].weights[:1])):
        assert all(f"{weight:.2f}" in told[step] for weight in weights)


def test_5_says_what_each_head_attends_to() -> None:
    tokens, told = tour(5).view.steps.key_tokens, []
    for view in itertools.islice(shown(5), 4):
        assert view.steps.steps[view.step] == "weights"
        row = view.worked().weights
        told.append((tokens[int(row.argmax())], float(row.max())))
    assert [word for word, _ in told[1:3]] == ["animal", "was"]
    assert max(told[0][1], told[3][1]) < 0.25 < 0.5 < min(told[1][1], told[2][1])


def test_6_moves_the_scores_and_the_words_where_positions_are_added() -> None:
    changed, moved, alike = [], [], []
    for view in shown(6):
        here, shifted = view.shifted_scores()
        changed.append(float(np.abs(shifted - here).max()))
        reply = view.answer({"order": view.order, "positions_on": view.positions_on})
        moved.append(max(reply["moved"]))
        alike.append(reply["translation"] == reply["as_written"])
    assert changed[2] > 0.1 > 1e-4 > changed[3]
    assert moved[4] > 0.1 > 1e-4 > moved[5]
    assert alike[4:] == [False, True]


def test_7_tells_the_losses_and_their_probabilities(translator) -> None:
    run, told = vt.load_training("en-es"), captions(7)
    for step, caption in zip(tour(7).steps, told, strict=True):
        moment = run.moments[step["state"]["moment"]]
        loss = float(run.losses[np.abs(run.steps - moment.step).argmin()])
        assert caption.startswith(f"Step {moment.step:,}: ")
        assert f"{loss:.2f}" in caption
        if "probability" in caption:
            assert f"{np.exp(-loss):.2f}" in caption
        assert ("is right" in caption) == (moment.step == 358)
    n_tokens = len(translator.vocabulary.tokens)
    assert f"all {n_tokens} tokens costs ln {n_tokens} = {np.log(n_tokens):.2f}" in told[0]
    assert run.moments[2].translations[0] == ""  # “still writes no word”
    assert f"its own loss is {run.moments[7].losses[0]:.2f}" in told[4]


def test_8_leaks_where_its_captions_say() -> None:
    found = []
    for view in shown(8):
        moved = view.measure()["changes"][view.sentence, view.edited] > 1e-4  # [query]
        must_not = view.batch.real[view.sentence] & ~view.batch.allowed[view.sentence, :, view.edited]
        found.append((moved & must_not).sum())
    assert [bool(each) for each in found] == [False, True, False, True, False, True, False]
    assert found[3] == 5  # “every word's vector”
    assert found[1] == 3  # “the outputs before it”
    assert not tour(8).view.mask[1, 0, 0].any()  # “every key is hidden from the first row”


def test_9_shows_which_part_of_the_block_moves_other_words() -> None:
    found = []
    for view in shown(9):
        others = np.arange(len(view.tokens)) != view.changed
        found.append({name: moved[others] for name, moved in view.spread().items()})
    assert all(max(spread["LayerNorm"].max(), spread["feed-forward"].max()) < UNMOVED for spread in found)
    assert all(found[step]["self-attention"].min() > 0.01 for step in (0, 1, 2, 5))
    assert found[2]["norm over words"].min() > 0.01
    assert found[3]["self-attention"][:3].max() < 0.005
    assert found[4]["self-attention"].min() > 0.5


def test_10_quotes_what_each_moment_writes() -> None:
    run = vt.load_training("en-es")
    for step in tour(10).steps:
        moment = run.moments[step["state"]["moment"]]
        assert f"Step {moment.step:,}:" in step["caption"]
        _, _, quoted = step["caption"].partition("“")
        if quoted:
            assert moment.translations[0].startswith(quoted.partition("”")[0])
        assert ("is right for the first time" in step["caption"]) == (moment.step == 358)
    assert run.moments[-1].translations[0] == run.references[0]


def test_11_keeps_and_finds_what_it_says() -> None:
    found = [(view.search, view.step) for view in itertools.islice(shown(11), 6)]
    kept = [
        [one.token for one in search.steps[at].candidates if one.status == "kept"] for search, at in found
    ]
    texts = [[" ".join(one.tokens) for one in search.hypotheses] for search, _ in found]
    assert kept[0] == ["el"]
    assert texts[1] == ["el profesor duerme"]
    assert kept[2:4] == [["el", "la"], ["maestra", "profesor"]]
    assert texts[4][0] == "la maestra duerme"
    assert set(texts[5]) == set(translations("the teacher sleeps"))


def test_12_stands_at_the_rows_that_it_speaks_of() -> None:
    trace = tour(12).view.trace
    assert weights_between(trace, "encoder", "tired", "animal")[1, 1] > 0.7
    assert weights_between(trace, "encoder", "it", "did")[1, 1] > 0.8
    assert weights_between(trace, "cross", "cansado", "tired")[1, 0] > 0.9
    rows = [view.trace.query_tokens(view.kind)[view.query] for view in itertools.islice(shown(12), 4)]
    assert rows == ["tired", "it", "it", "cansado"]


def test_13_shows_a_sink_and_induction_heads() -> None:
    views = [
        (view.trace.target_tokens, view.trace.decoder_attention[view.layer, view.head]) for view in shown(13)
    ]
    tokens, sink = views[1]
    assert sink[2:, 0].mean(dtype=float) > 0.5
    assert (tour(13).view.trace.decoder_attention[5, :, 2:, 0].mean(-1, dtype=float) > 0.5).sum() >= 5
    assert (tokens[19:21], tokens[4:6]) == (("ĠD", "umb"), ("umb", "rak"))
    assert all(views[step][1][query, query - 15] > 0.8 for step, query in ((3, 19), (4, 20), (5, 20)))


def test_families_shows_their_masks() -> None:
    masks = [view.mask[view.sentence] for view in shown("families")]
    assert all(masks[step].all() for step in (0, 1, 4, 6))
    assert all((masks[step] == np.tri(*masks[step].shape[-2:], dtype=bool)).all() for step in (2, 3, 5))
