"""The studio in Python: its traits, what its rooms share, which rooms a model has, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
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
from viz_transformer.widgets.studio import Studio

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


def test_a_room_is_made_when_it_is_first_asked_for(studio: Studio) -> None:
    assert list(studio.doors) == ["heads"]
    with messages(studio) as sent:
        reply = studio.answer({"open": "off"})
    assert sorted(name for each in sent for name in each) == ["doors", "rooms"]
    assert reply == {"room": f"IPY_MODEL_{studio.rooms['off'].model_id}", "door": studio.doors["off"]}
    studio.sentence = "the cat sleeps"
    assert studio.rooms["writing"].sentence == "the cat sleeps"
    assert list(studio.doors) == ["heads", "off", "writing"]
    assert len(studio.rooms) == len(studio.signs) == 10


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


def test_the_room_of_heads_off_opens_with_all_heads_on_and_stays_as_it_was_left(studio: Studio) -> None:
    off = studio.rooms["off"]
    studio.room = "off"
    assert (off.layer, off.head, off.factors, off.query) == (1, 2, [], 3)
    off.factors = [{"kind": "cross", "layer": 1, "head": head, "factor": 0.5} for head in (0, 2)]
    changed = off.factors
    studio.room = "heads"
    studio.query = 4
    studio.room = "off"
    assert (off.factors, off.query) == (changed, 4)
    off.kind, off.layer, off.head = "encoder", 0, 3
    studio.room = "heads"
    explorer = studio.rooms["heads"].explorer
    assert (explorer.kind, explorer.layer, explorer.head, explorer.query) == ("encoder", 0, 3, 4)


def test_rooms_without_a_sentence_of_their_own_follow(studio: Studio) -> None:
    masks, positions = studio.rooms["masks"], studio.rooms["positions"]
    studio.room = "masks"
    assert (masks.kind, masks.query, masks.batch.queries[0][3]) == ("cross", 3, "perdió")
    masks.query, masks.key = 1, 2
    assert (studio.query, studio.key) == (1, 2)
    masks.painted, masks.lengths = [[0, 0, 0, False]], [3, 3]
    studio.sentence = "the cat sleeps"
    assert masks.words["source"][0] == ["the", "cat", "sleeps", "<eos>"]
    assert (masks.painted, masks.lengths[0], studio.key) == ([], 4, 2)
    masks.sentence, masks.query = 1, 0  # another sentence's word is none of the studio's
    assert studio.query == 1
    studio.room = "positions"
    assert (positions.words, positions.order) == (["the", "cat", "sleeps"], [0, 1, 2])
    assert len(positions.answer({"order": [2, 1, 0], "positions_on": True})["moved"]) == 3
    with pytest.raises(UserError, match="unknown English word 'zebra'"):
        studio.answer({"text": "the zebra eats", "room": "positions"})
    studio.room = "heads"
    assert (studio.rooms["heads"].explorer.query, studio.rooms["heads"].explorer.key) == (1, 2)


def test_a_key_does_not_outlive_its_words(studio: Studio) -> None:
    studio.query, studio.key = 1, 5
    studio.room = "model"  # it knows no keys
    studio.rooms["model"].row = 2
    assert (studio.query, studio.key) == (2, None)
    studio.key = 1
    studio.rooms["model"].sentence = "she runs"
    assert studio.key is None
    studio.room = "training"
    studio.query = 1
    studio.rooms["training"].kind = "encoder"
    assert (studio.kind, studio.query) == ("encoder", None)


#: By what a model does, the keys of the rooms that suit it.
ROOMS = {
    "translate": [
        *("model", "heads", "head", "off", "masks", "positions", "writing", "block", "vectors", "training")
    ],
    "continue": ["model", "heads", "head", "off", "masks", "writing", "vectors"],
    "fill": ["model", "heads", "head", "off", "masks", "vectors"],
}


def test_the_rooms_of_each_family(studio: Studio) -> None:
    language, masked = vt.studio(small_language_model(), "el gato"), vt.studio(small_masked_model(), "el [?]")
    assert list(studio.rooms) == ROOMS["translate"]
    for other, task, kind in ((language, "continue", "decoder"), (masked, "fill", "encoder")):
        assert list(other.rooms) == ROOMS[task]
        assert other.kind == kind
        assert other.engine["lab"] == "studio"
    language.sentence = "el gato negro"
    assert language.rooms["heads"].trace.target_tokens == ("<sos>", "el", "gato", "negro")
    for room in ROOMS["continue"]:  # all but the one that writes read the same words
        language.room = room
    assert language.rooms["model"].sentence == language.rooms["head"].text == "el gato negro"
    assert language.rooms["masks"].words["written"][0] == ["el", "gato", "negro", "<eos>"]
    language.room = "model"
    assert len(language.rooms["model"].answer({"sentence": "el gato negro"})["target"]) == 4
    bundled = vt.studio(vt.load_language_model(), "el gato")
    assert list(bundled.rooms) == [*ROOMS["continue"], "training"]  # it is the one that was recorded


def test_another_model_shows_its_heads_and_one_that_writes_heads_off() -> None:
    studio = vt.studio(tiny("BertModel"), "the cat sleeps", tokenizer=word_piece(special=True))
    heads = studio.rooms["heads"]
    assert isinstance(heads, AttentionExplorer)
    studio.sentence = "the dog"
    assert heads.trace.source_tokens == studio.trace.source_tokens
    [trace] = studio.answer({"text": "the cat", "room": "heads"})["traits"]["data"]["traces"]
    assert trace["sourceTokens"] == list(studio.trace_of("the cat").source_tokens)
    studio.set_state({"sentence": "the cat", "drawn": {"heads": "the cat"}})
    assert heads.trace is studio.trace
    writing = vt.studio(tiny("GPT2LMHeadModel"), "the cat", tokenizer=word_piece(special=True))
    writing.room = "off"
    assert writing.rooms["off"].sentence == "the cat"


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: vt.studio(5), "5 is no model; give vt.load_translator"),
    (lambda: vt.studio(vt.load_translator, "a"), "is no model; give vt.load_translator"),
    (lambda: vt.studio(vt.load_translator(), "the dragon"), "dragon"),
    (lambda: vt.studio(vt.load_translator(), room="cellar"), "the rooms are model, heads, head, off"),
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


def test_a_studio_shows_its_open_room_as_a_figure(studio: Studio) -> None:
    assert studio.alt_text().startswith("Its heads. ")
    figure = studio.figure()
    assert figure is not None
    assert figure.get_axes()


def test_the_page_carries_a_choice_as_python_does(studio: Studio) -> None:
    text = {"sentence": SENTENCE, "text_size": 1.0}
    states: list[dict[str, Any]] = [
        {**text, "kind": kind, "layer": layer, "head": 1, "query": query, "key": key}
        for kind in ("encoder", "decoder", "cross")
        for layer in (0, 1, 9)
        for query, key in ((None, None), (2, None), (2, 1))
    ]
    seen: list[dict[str, Any] | None] = [None, states[0], {**states[0], "query": 3}, {**states[0], "head": 0}]
    places: tuple[dict[str, Any], ...] = (
        {"box": "encoder.1.feed_forward"},
        {"box": "decoder.0.self_attention", "head": None},
        {"box": "decoder.output"},
        {"kind": "decoder", "side": "right", "sentence": 0, "query": 1, "key": 0},
        {"kind": "decoder", "side": "left", "sentence": 0, "query": 1},
    )
    usual = {"text": "a", "row": 4, "head": 3, "layer": 1, "box": "decoder.output"}
    held: list[dict[str, Any]] = [{**usual, **each} for each in places]
    keys = [
        key for key in studio.rooms if studio.rooms[key] and key != "heads"
    ]  # what is inside it, a page finds
    answered = answers_in_node(
        dict.fromkeys(("changesFor", "chosenIn", "targetOf"), "widgets/studio/rooms.ts"),
        """([doors, states, seen, held]) => doors.map((door) => [
            states.flatMap((state) => seen.map((each) => changesFor(door, state, each))),
            held.map((each) => chosenIn(door, (path) => each[targetOf(path)[1]], states[0])),
        ])""",
        [[studio.doors[key] for key in keys], states, seen, held],
    )
    for key, (changes, found) in zip(keys, answered, strict=True):
        room = vars(studio)["_opened"][key]
        assert changes == [room.changes(state, each) for state in states for each in seen], key
        for each, here in zip(held, found, strict=True):
            room.view = cast("Any", Held(each))
            assert here == room.chosen(states[0]), key


class Held:
    """What has the traits of a room, and is no view."""

    def __init__(self, traits: dict[str, Any]) -> None:
        """Hold some values; all others are None."""
        vars(self).update(traits)

    def __getattr__(self, name: str) -> None:
        """Return what was not given."""
