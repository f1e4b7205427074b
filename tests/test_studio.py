"""The studio in Python: its traits, what its rooms share, which rooms a model has, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

import viz_transformer as vt
from tests.support.huggingface_models import tiny, word_piece
from tests.support.javascript import answers_in_node
from tests.support.spanish_models import small_language_model, small_masked_model
from tests.support.view_messages import messages
from viz_transformer.errors import UserError
from viz_transformer.translator import Translator
from viz_transformer.widgets.explorer import AttentionExplorer
from viz_transformer.widgets.studio import Room, Studio

SENTENCE = "the teacher lost her book"


@pytest.fixture
def studio(translator: Translator) -> Studio:
    return vt.studio(translator, SENTENCE)


def shown(studio: Studio) -> dict[str, tuple[Any, ...]]:
    """Sentence, kind, layer, head and query of each room, in the room's own words."""
    model, heads, head = (studio.rooms[key] for key in ("model", "heads", "head"))
    explorer = heads.explorer
    return {
        "model": (model.sentence, model.box, model.head, model.row),
        "heads": (heads.sentence, explorer.kind, explorer.layer, explorer.head, explorer.query),
        "head": (head.text, head.kind, head.layer, head.head, head.query),
    }


def test_what_is_set_is_set_in_the_room_that_is_open_and_in_those_entered_later(studio: Studio) -> None:
    opened = (SENTENCE, "cross", 1, 2, 3)
    assert shown(studio)["heads"] == opened
    studio.kind, studio.layer, studio.head, studio.query = "encoder", 0, 1, 4
    assert shown(studio)["heads"] == (SENTENCE, "encoder", 0, 1, 4)
    studio.room = "head"
    assert shown(studio)["head"] == (SENTENCE, "encoder", 0, 1, 4)
    studio.sentence = "the cat sleeps"
    assert studio.query is None  # the word is not there
    studio.query = 2
    studio.room = "model"
    assert shown(studio)["model"] == ("the cat sleeps", "encoder.0.self_attention", 1, 2)
    studio.kind, studio.query = "decoder", 3
    assert shown(studio)["model"][1:] == ("decoder.0.self_attention", 1, 3)
    studio.room = "heads"
    assert shown(studio)["heads"] == ("the cat sleeps", "decoder", 0, 1, 3)


def test_what_a_cell_chooses_in_the_open_room_is_chosen_in_the_studio(studio: Studio) -> None:
    studio.rooms["heads"].explorer.layer = 0
    studio.rooms["heads"].explorer.query = 1
    assert (studio.layer, studio.query) == (0, 1)
    studio.rooms["heads"].sentence = "she runs"
    assert (studio.sentence, studio.trace.source_tokens[0]) == ("she runs", "she")
    studio.room = "model"
    studio.rooms["model"].box = "encoder.1.self_attention"
    studio.rooms["model"].head = None  # the mean of all
    assert (studio.kind, studio.layer, studio.head) == ("encoder", 1, 2)
    studio.rooms["model"].box = "encoder.1.feed_forward"  # no attention
    assert (studio.kind, studio.layer, studio.query) == ("encoder", 1, 1)
    studio.rooms["model"].box = "decoder.output"
    studio.rooms["model"].row = 0  # another word than one that attends
    assert (studio.kind, studio.layer, studio.query) == ("encoder", 1, 1)
    studio.room = "head"
    assert shown(studio)["head"] == ("she runs", "encoder", 1, 2, 1)


def test_a_room_is_found_as_it_was_left_unless_another_choice_is_carried_in(studio: Studio) -> None:
    model, network = studio.rooms["model"], "decoder.0.feed_forward"
    studio.room = "model"
    model.step = left = next(at for at, step in enumerate(model.steps) if step.box == network)
    for room in ("head", "model"):
        studio.room = room
    assert (model.box, model.step) == (network, left)
    studio.room, studio.head = "head", 0
    studio.room = "model"
    assert model.box == "decoder.1.cross_attention"
    assert model.step == len(model.steps) - 1  # all words are there


def test_what_comes_from_the_page_is_not_sent_back(studio: Studio) -> None:
    with messages(studio) as sent, messages(studio.rooms["heads"].explorer) as sent_inside:
        studio.set_state({"layer": 0, "head": 3, "query": 2})
        studio.set_state({"room": "head"})
    assert (studio.layer, studio.head, studio.query, studio.room) == (0, 3, 2, "head")
    assert sent == sent_inside == []
    studio.set_state({"query": 40})  # a room may have more words
    assert studio.query is None


def test_a_sentence_comes_to_the_page_with_its_query(studio: Studio) -> None:
    explorer = studio.rooms["heads"].explorer
    studio.query = 5
    seen: list[int | None] = []
    explorer.observe(lambda change: seen.append(change["new"]), names="query")
    with messages(explorer) as sent:
        studio.sentence = "she runs"  # three words are written, and there is no fifth
        studio.sentence = "the black cat does not sleep"
    assert ["data" in each for each in sent] == [True, True]
    assert studio.query is explorer.query is None


def test_the_rooms_of_each_family() -> None:
    language, masked = vt.studio(small_language_model(), "el gato"), vt.studio(small_masked_model(), "el [?]")
    for studio, kind in ((language, "decoder"), (masked, "encoder")):
        assert list(studio.rooms) == ["model", "heads", "head"]
        assert studio.kind == kind
        assert studio.engine["lab"] == "studio"
    language.sentence = "el gato negro"
    assert language.rooms["heads"].trace.target_tokens == ("<sos>", "el", "gato", "negro")
    for room in ("model", "head", "heads"):  # each reads the same words: nothing is written beyond them
        language.room = room
    assert language.rooms["model"].sentence == language.rooms["head"].text == "el gato negro"
    language.room = "model"
    assert len(language.rooms["model"].answer({"sentence": "el gato negro"})["target"]) == 4


def test_another_model_has_the_room_of_its_heads() -> None:
    studio = vt.studio(tiny("BertModel"), "the cat sleeps", tokenizer=word_piece(special=True))
    assert list(studio.rooms) == ["heads"]
    heads = studio.rooms["heads"]
    assert isinstance(heads, AttentionExplorer)
    studio.sentence = "the dog"
    assert heads.trace.source_tokens == studio.trace.source_tokens
    reply = studio.answer({"text": "the cat"})
    assert reply["trace"]["sourceTokens"] == list(studio.trace_of("the cat").source_tokens)
    studio.set_state({"sentence": "the cat", "drawn": "the cat"})
    assert heads.trace is studio.trace


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: vt.studio(5), "5 is no model; give vt.load_translator"),
    (lambda: vt.studio(vt.load_translator, "a"), "is no model; give vt.load_translator"),
    (lambda: vt.studio(vt.load_translator(), "the dragon"), "dragon"),
    (lambda: vt.studio(vt.load_translator(), room="cellar"), "the rooms are model, heads, head"),
    (lambda: vt.studio(vt.load_translator(), tokenizer=3), "leave tokenizer= out"),
    (lambda: vt.studio(vt.load_translator(), engine="cloud"), "engine='cloud'"),
    (lambda: vt.studio(tiny("BertModel")), "give one: vt.studio"),
    (lambda: vt.studio(tiny("BertModel"), "a", engine="page"), "leave engine= out"),
    (lambda: vt.tour(vt.studio(vt.load_translator())), "of a lab or a studio give the view inside"),
]


@pytest.mark.parametrize(("make", "said"), WRONG)
def test_what_does_not_suit_is_refused_in_one_line(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(UserError, match=said) as refused:
        make()
    assert "\n" not in str(refused.value)


def test_a_room_says_what_it_shares(studio: Studio) -> None:
    room = Room("Rows", studio.rooms["head"], {"sentence": "text", "query": "query", "head": "head"})
    assert room.chosen({}) == {"sentence": SENTENCE, "query": 3, "head": 2}
    assert room.door()["needed"] == ["sentence", "query", "head"]
    state = {"sentence": "x", "kind": "cross", "layer": 0, "head": 1, "query": None, "text_size": 1.0}
    assert room.changes(state) == {"text": "x", "head": 1}
    assert studio.alt_text().startswith("Its heads. ")
    figure = studio.figure()
    assert figure is not None
    assert figure.get_axes()


def test_the_page_carries_a_choice_as_python_does(studio: Studio) -> None:
    states = [
        {"sentence": SENTENCE, "kind": kind, "layer": layer, "head": 1, "query": query, "text_size": 1.0}
        for kind in ("encoder", "decoder", "cross")
        for layer in (0, 1, 9)
        for query in (None, 2)
    ]
    boxes: tuple[dict[str, Any], ...] = (
        {"box": "encoder.1.feed_forward"},
        {"box": "decoder.0.self_attention", "head": None},
        {"box": "decoder.output"},
    )
    held: list[dict[str, Any]] = [{"text": "a", "row": 4, "head": 3, **box} for box in boxes]
    doors = [vars(studio)["_rooms"][key].door() for key in ("model", "heads", "head")]
    answered = answers_in_node(
        dict.fromkeys(("changesFor", "chosenIn", "targetOf"), "widgets/studio/rooms.js"),
        """([doors, states, held]) => [
            doors.map((door) => states.map((state) => Object.fromEntries(changesFor(door, state)))),
            held.map((each) => chosenIn(doors[0], (path) => each[targetOf(path)[1]], states[0])),
        ]""",
        [doors, states, held],
    )
    rooms = [vars(studio)["_rooms"][key] for key in ("model", "heads", "head")]
    assert answered[0] == [[room.changes(state) for state in states] for room in rooms]
    for each, found in zip(held, answered[1], strict=True):
        room = replace(rooms[0], view=cast("Any", Held(each)))
        assert {name: value for name, value in found.items() if value is not None} == {
            name: value for name, value in room.chosen(states[0]).items() if value is not None
        }


class Held:
    """What has the traits of a room, and is no view."""

    def __init__(self, traits: dict[str, Any]) -> None:
        """Hold some values; all others are None."""
        vars(self).update(traits)

    def __getattr__(self, name: str) -> None:
        """Return what was not given."""
