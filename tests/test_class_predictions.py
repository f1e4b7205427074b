"""A class's predictions: counted with the learner's yes only, without names, before and after discussion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import viz_transformer as vt
from viz_transformer import progress

QUESTION = "How much of the weight does it get?"


@pytest.fixture(autouse=True)
def no_progress_left_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_unwritten", {})


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """The folder of a class, without learners yet."""
    return tmp_path / "hub"


def choice() -> Any:
    return vt.predict_choice(QUESTION, ["half", "88%"], "88%", name="3.p1")


def number() -> Any:
    return vt.predict_number("How many heads?", 24, name="1.p1")


def learner(
    hub: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    *,
    agreed: bool,
    first: str,
    heads: float,
    again: str = "",
) -> Path:
    """Let a learner agree, and answer what is asked."""
    folder = hub / name / "lessons"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    if agreed:
        vt.share_predictions()
    asked = choice()
    asked.guess = first
    number().guess = heads
    if again:
        asked.discussed = again
    return folder / progress.FILE


def test_only_answers_with_a_yes_are_counted_and_no_name_is_kept(
    hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner(hub, monkeypatch, "ada", agreed=True, first="half", heads=8, again="88%")
    learner(hub, monkeypatch, "bert", agreed=True, first="88%", heads=24, again="88%")
    learner(hub, monkeypatch, "carl", agreed=False, first="half", heads=8)
    (hub / "progress-4.json").write_text("no JSON", encoding="utf-8")
    view = vt.class_predictions(hub)
    assert (view.n_learners, view.n_left_out, view.n_unreadable) == (2, 1, 1)
    of_heads, of_weight = view.counts
    assert of_weight == {
        "name": "3.p1",
        "question": QUESTION,
        "options": ["half", "88%"],
        "first": [1, 1],
        "after": [0, 2],
        "right": 1,
    }
    assert (of_heads["options"], of_heads["first"], of_heads["right"]) == (["8", "24"], [1, 1], 1)
    assert not any(name in str((view.counts, view.about)) for name in ("ada", "bert", "carl"))
    view.shown = "3.p1"
    assert "half: 1 at first, 0 after" in view.alt_text()
    assert "after the discussion" in str(
        [label.get_text() for label in view.figure().axes[0].get_yticklabels()]
    )
    with pytest.raises(vt.UserError, match="choose one of"):
        view.shown = "9.p9"


def test_a_yes_can_be_taken_back_and_is_asked_for(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = learner(hub, monkeypatch, "ada", agreed=True, first="half", heads=8)
    assert "without your name" in repr(vt.share_predictions())
    assert "not counted" in repr(vt.share_predictions(False))
    assert not choice().is_discussed
    assert json.loads(file.read_text())["predictions"]["3.p1"] == "half"
    with pytest.raises(vt.UserError, match="0 learners agreed, 1 did not, and 0 files"):
        vt.class_predictions(hub)
    with pytest.raises(vt.UserError, match="is not a folder"):
        vt.class_predictions(hub / "none")


def test_after_the_discussion_one_more_answer_is_kept_beside_the_first(
    hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner(hub, monkeypatch, "ada", agreed=True, first="half", heads=8, again="88%")
    asked = choice()  # the notebook is run again
    assert (asked.guess, asked.is_discussed, asked.discussed) == ("half", True, "88%")
    asked.discussed = "half"
    assert (asked.discussed, choice().discussed) == ("88%", "88%")
    other = number()
    with pytest.raises(vt.UserError, match="a prediction is a number"):
        other.discussed = "many"
    new = vt.predict_number("How many layers?", 6, name="1.p2")
    new.discussed = 6  # before the first answer
    assert new.discussed is None


def test_rows_are_counted_by_their_largest_weight_and_many_numbers_by_ranges(
    hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for at in range(20):
        folder = hub / str(at)
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder)
        vt.share_predictions()
        vt.predict_row("Where?", ["the", "cat"], [0.25, 0.75], name="2.p2").guess = [0.5, 0.5 + at % 2]
        vt.predict_number("How many?", 19, name="10.p1").guess = at
    of_row, of_number = vt.class_predictions(hub).counts  # 10 after 2
    assert (of_row["options"], of_row["first"], of_row["right"]) == (["the", "cat"], [10, 10], 1)
    assert of_number["options"][0] == "0 to 2.38"
    assert (sum(of_number["first"]), len(of_number["first"]), of_number["right"]) == (20, 8, 7)


@pytest.mark.parametrize(
    "kept",
    [
        {"asked": {"3.p1": 3}},
        {"asked": {"3.p1": {"question": 3, "kind": "choice", "options": []}}},
        {"asked": {"3.p1": {"question": "?", "kind": "choice", "options": [3]}}},
        {"asked": {"3.p1": {"question": "?", "kind": "number", "options": []}}, "predictions": {"3.p1": "x"}},
        {"asked": {"3.p1": {"question": "?", "kind": "key", "options": ["a"]}}, "predictions": {"3.p1": 7}},
        {
            "asked": {"3.p1": {"question": "?", "kind": "row", "options": ["a"]}},
            "predictions": {"3.p1": [True]},
        },
    ],
)
def test_a_malformed_file_counts_for_nothing(hub: Path, kept: dict[str, Any]) -> None:
    hub.mkdir()
    whole = {"exercises": {}, "predictions": {}, "shares_predictions": {"agreed": True}, **kept}
    (hub / "progress.json").write_text(json.dumps(whole), encoding="utf-8")
    with pytest.raises(vt.UserError, match="no predictions to count"):
        vt.class_predictions(hub)
