"""Guided tours: states of a view with captions, their file, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import traitlets

import viz_transformer as vt
from tests.support.exported_pages import page_data
from tests.support.hand_made_traces import HOSTILE, make_trace
from tests.support.ui_views import EVERY_VIEW
from viz_transformer.errors import FileError, UserError
from viz_transformer.widgets.base.view import View
from viz_transformer.widgets.tour import Tour, tour
from viz_transformer.widgets.tour.states import get_state, state_traits, temporary_state

STEPS = [
    {"caption": "one", "state": {"layer": 1, "head": 2, "query": 1}},
    {"caption": "two", "state": {"kind": "encoder", "layer": 0, "query": None, "key": 3}},
    {"caption": "three", "state": {"kind": "decoder", "head": 3, "search": HOSTILE[0]}},
]
#: What is shown in a view, and is not chosen there.
CONTENT = {
    "stepper": ["places"],
    "mask lab": ["words"],
    "beam stepper": ["checkpoints"],
    "figure lab": ["controls", "first"],
    "initial loss lab": ["data"],
    "block lab": ["n_layers"],
    "model summary lab": ["controls"],
}


@pytest.fixture
def view() -> View:
    return vt.explore(make_trace())


def chosen(view: View, *names: str) -> tuple[Any, ...]:
    return tuple(getattr(view, name) for name in names)


def test_a_tour_starts_at_its_first_step_and_goes_where_step_says(view: View) -> None:
    shown = vt.tour(view, STEPS)
    assert chosen(view, "kind", "layer", "head", "query") == ("cross", 1, 2, 1)
    shown.step = 1
    assert chosen(view, "kind", "layer", "head", "query", "key") == ("encoder", 0, 2, None, 3)
    shown.step = 2
    assert chosen(view, "kind", "layer", "head", "search") == ("decoder", 0, 3, HOSTILE[0])
    shown.step = 0
    assert chosen(view, "layer", "head", "query") == (1, 2, 1)


def test_a_step_is_the_same_however_one_comes_to_it(view: View) -> None:
    view.query = 4  # the encoder reads fewer words
    states = [{"layer": 1}, {"head": 3}, {"kind": "encoder", "query": 0}, {"layer": 0}]
    shown = vt.tour(view, [{"state": state} for state in states])
    seen: dict[int, set[tuple[Any, ...]]] = {}
    for step in (0, 1, 2, 3, 2, 1, 0, 3, 1, 2, 0, 2):
        shown.step = step
        seen.setdefault(step, set()).add(chosen(view, "kind", "layer", "head", "query"))
        view.search = "changed by hand"
    assert seen == {
        0: {("cross", 1, 0, 4)},
        1: {("cross", 1, 3, 4)},
        2: {("encoder", 1, 3, 0)},
        3: {("encoder", 0, 3, 0)},
    }


def test_remembering_takes_the_state_and_goes_there(view: View) -> None:
    shown = vt.tour(view)
    assert (shown.steps, shown.step) == ([], 0)
    view.layer, view.head = 1, 3
    shown.remember("first")
    view.kind, view.threshold = "encoder", 0.25
    shown.remember("last")
    shown.step = 0
    assert chosen(view, "kind", "layer", "head", "threshold") == ("cross", 1, 3, 0.0)
    view.head = 0
    shown.remember("between")
    assert [each["caption"] for each in shown.steps] == ["first", "between", "last"]
    assert shown.step == 1
    assert shown.steps[2]["state"]["threshold"] == 0.25
    assert set(shown.steps[0]["state"]) == set(state_traits(view))
    assert "Step 2 of 3: between" in shown.alt_text()
    assert repr(shown) == "Tour(AttentionExplorer, step=1, steps=3)"


def test_fewer_steps_leave_the_tour_at_the_last(view: View) -> None:
    shown = vt.tour(view, STEPS)
    shown.step = 2
    for steps in (STEPS[:1], []):
        shown.steps = steps
        assert shown.step == 0


def test_the_size_of_text_belongs_to_no_step(view: View) -> None:
    view.text_size = 2.0
    shown = vt.tour(view, STEPS)
    assert view.text_size == 2.0
    assert "text_size" not in shown.names


def test_a_saved_tour_is_the_tour(view: View, tmp_path: Path) -> None:
    shown = vt.tour(view, STEPS)
    path = shown.save(tmp_path / "tour.json")
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "tour": 1,
        "view": "AttentionExplorer",
        "steps": STEPS,
    }
    other = vt.explore(make_trace())
    again = vt.tour(other, str(path))
    assert again.steps == STEPS
    assert chosen(other, "layer", "head", "query") == (1, 2, 1)
    assert [each.name for each in tmp_path.iterdir()] == ["tour.json"]


#: Views with another one inside: a tour goes through that one.
HOLDERS = {"tour", "translation lab", *(name for name in EVERY_VIEW if "studio" in name)}


def test_every_view_can_be_toured(tmp_path: Path) -> None:
    wrong = {}
    for name in EVERY_VIEW.keys() - HOLDERS:
        view = EVERY_VIEW[name]()
        heard: list[str] = []
        view.observe(lambda change, heard=heard: heard.append(change["name"]))
        shown = tour(view)
        shown.remember("as it opens")
        if tour(view, shown.save(tmp_path / "tour.json")).steps != shown.steps:
            wrong[name] = "a saved tour has other steps"
        if changed := [each for each in heard if each[0] != "_"]:
            wrong[name] = f"a tour changed {changed} of the view that it found"
        if content := {"about", "live", "data", *CONTENT.get(name, ())} & set(shown.names):
            wrong[name] = f"{content} cannot be chosen"
    assert wrong == {}


#: What does not fit as the second step, and what is said of it.
MISFITS = [
    ({"state": {"layer": 9}}, "step 2: layer=9, but the cross attention of this trace has 2"),
    ({"state": {"kind": "both"}}, "step 2: kind='both', but this trace holds"),
    ({"state": {"kind": "cross", "query": 5}}, "step 2: query=5, but the cross"),
    ({"state": {"layer": "one"}}, "step 2: layer: The 'layer' trait"),
    ({"state": {"layer": None}}, "step 2: layer: The 'layer' trait"),
    ({"state": {"selected": 7}}, "step 2: selected: The 'selected' trait"),
    ({"state": {"linked_heads": {"cross": 3}}}, "step 2: linked_heads: "),
    ({"state": {"threshold": 2}}, "step 2: threshold=2 is no share of attention"),
    ({"state": {"hed": 1}}, "step 2: 'hed' cannot be chosen in AttentionExplorer"),
    ({"state": {"data": {}}}, "step 2: 'data' cannot be chosen"),
    ({"state": {"layer": float("nan")}}, "step 2: its state"),
    ({"caption": 3, "state": {}}, "step 2: caption is 3; give a text"),
    ({"caption": "no state"}, "step 2 of the tour is {'caption': 'no state'}"),
    ({"caption": "", "state": {}, "more": 1}, "step 2 of the tour is"),
    ({"state": [1]}, "step 2: state is [1]"),
    ("layer 1", "step 2 of the tour is 'layer 1'"),
]


def refusal(make: Callable[[], object], error: type[Exception] = UserError) -> str:
    """Return the one line with which something is refused."""
    with pytest.raises(error) as caught:
        make()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_step_that_does_not_fit_is_refused_before_anything_changes(view: View) -> None:
    shown = vt.tour(view, STEPS[:1])
    heard: list[str] = []
    view.observe(lambda change: heard.append(change["name"]))
    before = get_state(view)
    for step, message in MISFITS:
        steps = [STEPS[0], step]
        assert message in refusal(lambda steps=steps: vt.tour(view, steps))
        refusal(lambda steps=steps: shown.set_trait("steps", steps), traitlets.TraitError)
        assert shown.steps == STEPS[:1], step
        assert (get_state(view), heard) == (before, []), step


#: The text of a file that is no tour of an explorer, and what is said of it.
FILES = {
    "{": "holds no tour, for it is not JSON",
    "[]": "holds no tour; tour.save",
    '{"steps": []}': "holds no tour; tour.save",
    '{"tour": 2, "view": "AttentionExplorer", "steps": []}': "is a tour of version 2",
    '{"tour": 1, "view": "MaskLab", "steps": []}': "is a tour of 'MaskLab', and the view",
    '{"tour": 1, "view": "AttentionExplorer", "steps": 3}': "a tour is a list of steps",
    '{"tour": 1, "view": "AttentionExplorer", "steps": [{"state": {"head": 4}}]}': "step 1: head=4, but",
}


def test_a_file_that_is_no_tour_is_refused(view: View, tmp_path: Path) -> None:
    before = get_state(view)
    for text, message in FILES.items():
        (tmp_path / "tour.json").write_text(text)
        assert message in refusal(lambda: vt.tour(view, tmp_path / "tour.json")), text
        assert get_state(view) == before, text


def test_files_that_cannot_be_read_or_written_are_told(view: View, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read the tour .*No such file"):
        vt.tour(view, tmp_path / "none.json")
    with pytest.raises(FileError, match="cannot write"):
        vt.tour(view).save(tmp_path / "none" / "tour.json")


def test_only_a_view_that_holds_no_other_can_be_toured(view: View) -> None:
    for given in (3, vt.tour(view), vt.translation_lab(vt.load_translator(), "the cat sleeps")):
        with pytest.raises(UserError, match="a tour goes through one of our views"):
            vt.tour(given)


def test_a_step_that_is_not_there_is_refused(view: View) -> None:
    shown = vt.tour(view, STEPS)
    for step in (-1, 3):
        with pytest.raises(UserError, match=f"step={step}, but the tour has 3; choose 0 to 2"):
            shown.step = step
        assert shown.step == 0


def test_changes_from_the_page_are_not_applied_twice(view: View) -> None:
    """The page has brought the view into its state; Python would only lag behind it."""
    shown = vt.tour(view, STEPS)
    shown.set_state({"step": 2})
    assert chosen(view, "kind", "layer") == ("cross", 1)
    view.set_state({"kind": "decoder"})
    shown.set_state({"steps": [*STEPS, {"caption": "new", "state": {"head": 1}}], "step": 3})
    assert len(shown.steps) == 4
    assert shown.step == 3


def test_looking_leaves_the_view_as_it_was_even_if_the_block_fails() -> None:
    view = EVERY_VIEW["stepper"]()
    before, data, steps = get_state(view), view.data, view.steps
    state = {"kind": "encoder", "layer": 1, "query": 0}
    with temporary_state(view, state):
        assert view.steps.kind == "encoder"
    with pytest.raises(RuntimeError, match="stop"), temporary_state(view, state):
        raise RuntimeError("stop")
    assert get_state(view) == before
    assert view.data == data
    assert view.steps.kind == steps.kind
    assert view.steps.layer == steps.layer


def test_an_exported_tour_carries_its_view_and_the_answers_of_its_steps(tmp_path: Path) -> None:
    view = vt.head_lab(vt.load_translator(), "the cat sleeps", engine="kernel")
    factors = [
        {"kind": "cross", "layer": 0, "head": 1, "factor": 0.5},
        {"kind": "cross", "layer": 1, "head": 0, "factor": 0.0},
    ]
    shown = Tour(view, [{"caption": "as it is", "state": {}}, {"state": {"factors": factors}}])
    page, inside = page_data(vt.export_html(shown, tmp_path / "page.html"))["views"]
    assert page["state"]["view"] == "IPY_MODEL_1"
    assert view.factors == []
    asked = [request for request, _ in page["state"]["answers"]]
    assert {"sentence": view.sentence, "changes": factors} in asked
    assert not [each for each in asked if each in [a for a, _ in inside["state"]["answers"]]]
    assert inside["state"]["sentence"] == view.sentence


def test_a_tour_and_its_view_on_one_page_share_the_view(view: View, tmp_path: Path) -> None:
    view.search = "IPY_MODEL_0"  # words that stand for no view
    shown = vt.tour(view, STEPS[:2])
    first, second = page_data(vt.export_html([view, shown], tmp_path / "page.html"))["views"]
    assert second["state"]["view"] == "IPY_MODEL_0"
    assert first["state"]["search"] == "IPY_MODEL_0"
