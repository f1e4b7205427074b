"""The studio of Hugging Face's models: the rooms that suit each, and doors that carry what is chosen."""

from __future__ import annotations

import pytest

import viz_transformer as vt
from tests.support.attending_models import built, word_tokenizer

TEXT = "when Mary went to the store"
WRITER = ["model", "heads", "head", "off", "writing", "vectors"]
ROOMS = {
    "Llama": WRITER,
    "GPT-2": WRITER,
    "BERT": ["model", "heads", "head", "vectors"],
    "Marian": WRITER[1:],
}


@pytest.mark.parametrize("name", ROOMS)
def test_rooms_suit_the_model_and_doors_carry_the_choice(name: str) -> None:
    tokenizer = word_tokenizer(ends=name == "Marian")
    view = vt.studio(built(name)[0], TEXT, tokenizer=tokenizer)
    assert list(view.rooms) == ROOMS[name]
    view.layer, view.head, view.query = 0, 2, 1
    for room in view.rooms:
        view.room = room
        shown = view.rooms[room]
        if room in ("heads", "head"):
            assert (shown.kind, shown.layer, shown.head, shown.query) == (view.kind, 0, 2, 1)
        if room == "model":
            assert (shown.box, shown.head) == (f"{view.kind}.0.self_attention", 2)
    view.sentence = "the cat sleeps"
    assert view.rooms["heads"].kind == view.kind
    view.room = "head"
    assert view.rooms["head"].text == "the cat sleeps"
    view.rooms["head"].layer = 1
    assert view.layer == 1
