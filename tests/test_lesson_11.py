"""What lesson 11, Decoding, says in prose, held to its own cells and its half-trained model."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.support.lessons import Lesson, n_pictures
from viz_transformer.exercises import exercise

LESSON = Lesson("11")


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The names that the lesson's code cells leave behind, unanswered."""
    return LESSON.run_whole(tmp_path_factory.mktemp("lesson"))


def written(search: Any) -> list[str]:
    return [" ".join(one.tokens) for one in search.hypotheses]


def test_greedy_search_repeats_itself_one_word_a_step(lesson: dict) -> None:
    tokens = lesson["vocabulary"].tokens
    assert [tokens[i] for i in lesson["read"]] == ["<sos>", "buenos", "buenos", "buenos"]
    assert lesson["word"] == lesson["vocabulary"].eos_id
    assert lesson["unsure"].translate("good morning", beam_width=1).text == "buenos buenos buenos"


def test_the_cache_changes_nothing_but_the_last_digits(lesson: dict) -> None:
    assert lesson["difference"] < 1e-4
    assert [*lesson["cache"].layers[0].target.keys.shape] == [1, 4, 4, 8]


def test_the_probabilities_of_the_exercise_are_the_models_own(lesson: dict) -> None:
    log_probs = lesson["unsure"].log_probs("good morning", "buenos dias")
    for log_prob in log_probs:
        assert f" {math.exp(log_prob):.3f}" in LESSON.prose
    assert exercise("11.2").wanted.value == pytest.approx(log_probs.sum(), abs=0.005)
    assert math.exp(log_probs.sum()) == pytest.approx(0.104, abs=0.001)


def test_greedys_text_is_the_least_probable_of_the_three(lesson: dict) -> None:
    total = {
        text: lesson["unsure"].log_probs("good morning", text).sum()
        for text in ("buenos", "buenos dias", "buenos buenos buenos")
    }
    assert sorted(total, key=total.get, reverse=True) == list(total)


def test_the_search_goes_as_it_is_told(lesson: dict) -> None:
    steps = lesson["beam_of_three"].steps
    first, second, third = (step.candidates for step in steps)
    assert [one.token for one in first if one.status == "kept"] == ["buenos", "dias", "hola"]
    (barred,) = (one for one in first if one.status == "forbidden")
    (end,) = (one for one in first if one.token == "<eos>")
    assert barred.token == "<sos>"
    assert barred.log_prob > end.log_prob
    assert [(one.token, one.parent, one.status) for one in second[2:4]] == [
        ("<eos>", 0, "finished"),  # buenos, at rank 3
        ("<eos>", 1, "pruned"),  # dias, at rank 4
    ]
    assert (third[0].token, third[0].parent, third[0].status) == ("<eos>", 1, "finished")
    assert len(lesson["beam_of_three"].hypotheses) == 3


def test_buenos_misses_a_beam_of_two_by_what_the_exercise_asks_for(lesson: dict) -> None:
    candidates = lesson["unsure"].decode("good morning", 2, 0.0).steps[1].candidates
    (end,) = (one for one in candidates if one.token == "<eos>" and one.parent == 0)
    asked = exercise("11.3").wanted
    assert end.status == "pruned"
    assert asked.value == pytest.approx(end.margin, abs=0.003)
    wide = lesson["beam_of_three"].steps[1].candidates
    wrong = [
        candidates[0].log_prob - end.log_prob,
        end.log_prob,
        math.exp(end.token_log_prob),
        wide[3].margin,
        -end.margin,
    ]
    assert [mistake.answer for mistake in asked.mistakes] == pytest.approx(wrong, abs=0.003)


def test_a_wider_beam_finds_the_more_probable_and_worse_text(lesson: dict) -> None:
    best = {
        width: lesson["unsure"].decode("good morning", width, 0.0).hypotheses[0] for width in (1, 2, 3, 4, 8)
    }
    assert [" ".join(one.tokens) for one in best.values()] == [
        "buenos buenos buenos",
        "buenos dias",
        *["buenos"] * 3,
    ]
    assert best[1].log_prob < best[2].log_prob < best[3].log_prob


def test_buenos_wins_without_a_penalty_and_loses_with_one(lesson: dict) -> None:
    unsure = lesson["unsure"]
    raw = {" ".join(one.tokens): one.score for one in unsure.decode("good morning", 3, 0.0).hypotheses}
    told = f"−{-raw['buenos']:.2f} against −{-raw['buenos dias']:.2f}"
    assert f"wins with {told}, and loses" in LESSON.prose
    for penalty in (0.6, 1.0):
        assert written(unsure.decode("good morning", 3, penalty))[0] == "buenos dias"
    tied = exercise("11.5").wanted.reference(raw["buenos"], 1, raw["buenos dias"], 2)
    assert f"it is {tied:.2f}," in exercise("11.5").wanted.right


def test_hello_world_needs_more_and_not_too_much(lesson: dict) -> None:
    unsure = lesson["unsure"]
    found = [unsure.translate("hello world", 3, penalty).text for penalty in (0, 0.6, 1, 6)]
    assert found == ["mundo", "mundo", "hola mundo", "hola hola mundo"]
    totals = [unsure.log_probs("hello world", text).sum() for text in ("mundo", "hola mundo")]
    tied = exercise("11.5").wanted.reference(totals[0], 1, totals[1], 2)
    assert f"the first crossing of the picture, {tied:.2f}." in LESSON.prose
    curves = [lesson["scores_of"](text) for text in lesson["texts"]]
    best = [max(range(3), key=lambda n: curves[n][at]) for at in (0, 20, 120)]
    assert best == [0, 1, 2]  # penalties 0, 1 and 6


def test_the_careless_search_has_the_four_slips(lesson: dict) -> None:
    finished, decode = lesson["finished"], lesson["vocabulary"].decode
    assert len(finished) > 40
    assert len({tuple(ids) for ids, _ in finished}) == 3
    assert decode(max(finished, key=lambda one: one[1])[0]) == "buenos"
    ours = lesson["ours"]
    assert (len(ours.hypotheses), len(ours.steps)) == (3, 3)
    assert f"it went on for {20 - len(ours.steps)} more" in LESSON.prose
    assert lesson["vocabulary"].sos_id in {ids[-1] for ids, _ in lesson["wide_beam"]}


def test_the_careless_search_is_right_for_most_sentences(lesson: dict) -> None:
    from viz_transformer.corpus.six_pairs import SIX_PAIRS

    right = 0
    for pair in SIX_PAIRS:
        source = lesson["torch"].tensor([lesson["vocabulary"].source_ids(" ".join(pair.source))])
        with lesson["torch"].no_grad():
            memory = lesson["model"].encode(source)
        names = {**lesson, "memory": memory, "mask": lesson["model"].padding_mask(source)}
        exec(LESSON["careless"].partition("\n\n\nfinished")[0], names)
        best = max(names["careless_beam"](3)[0], key=lambda one: one[1])[0]
        right += lesson["vocabulary"].decode(best) == " ".join(pair.target)
    assert right == 4


def test_a_text_is_drawn_as_often_as_it_is_probable(lesson: dict) -> None:
    plain = lesson["plain"]
    assert plain["buenos dias"] / 100 == pytest.approx(0.104, abs=0.05)
    _, cold, hot, top_k, top_p = lesson["counted"].values()
    assert len(cold) < len(plain) < len(hot)
    assert max(len(top_k), len(top_p)) < len(plain)


def test_the_trained_translator_is_sure(lesson: dict) -> None:
    best, second = lesson["best"], lesson["second"]
    assert best.log_prob - second.log_prob > math.log(100_000)
    greedy = lesson["translator"].translate("the black cat sleeps", beam_width=1)
    assert greedy.tokens == best.tokens


@pytest.mark.usefixtures("folder_thrown_away")
@pytest.mark.parametrize("guess", ["p1", "p2", "p3", "p4"])
def test_predictions_are_scored_and_show_what_they_promise(guess: str, lesson: dict) -> None:
    view = LESSON.prediction(guess, lesson)
    view.guess = {
        "p1": "buenos",
        "p2": "hola hola mundo",
        "p3": 3,
        "p4": lesson["plain"]["buenos dias"],
    }[guess]
    assert view.score == 1
    assert n_pictures(view) == ("reveal" in LESSON[guess])
