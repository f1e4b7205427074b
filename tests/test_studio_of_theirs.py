"""The studio of Hugging Face's models: the rooms that suit each, and doors that carry what is chosen."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.attending_models import built, word_tokenizer
from viz_transformer.errors import UserError

TEXT = "when Mary went to the store"
WRITER = ["model", "heads", "head", "off", "positions", "writing", "vectors"]
ROOMS = {
    "Llama": WRITER,
    "GPT-2": WRITER,
    "BERT": ["model", "heads", "head", "positions", "vectors"],
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


def test_positions_are_the_model_s_table_or_its_angles() -> None:
    gpt2, bert, llama = (built(name)[0] for name in ("GPT-2", "BERT", "Llama"))
    for table, view in (
        (gpt2.transformer.wpe.weight, vt.position_clock(gpt2)),
        (bert.embeddings.position_embeddings.weight, vt.position_clock(bert, 2, position=5)),
    ):
        shown = np.frombuffer(view.data["table"], "<f4").reshape(-1, view.data["d_model"])
        np.testing.assert_array_equal(shown, table.detach()[: len(shown)])
        assert not view.data["sinusoidal"]
    llama.model.rotary_emb.inv_freq.copy_(50_000.0 ** (-torch.arange(3) / 3))
    view = vt.position_clock(llama)
    cos, sin = llama.model.rotary_emb(torch.zeros(1), torch.arange(512)[None])
    shown = np.frombuffer(view.data["table"], "<f4").reshape(512, -1)
    n_pairs = shown.shape[1] // 2
    np.testing.assert_allclose(shown[:, 1::2], cos[0, :, :n_pairs], atol=1e-3)
    np.testing.assert_allclose(shown[:, 0::2], sin[0, :, :n_pairs], atol=1e-3)
    assert view.data["base"] == pytest.approx(50_000, rel=1e-4)
    with pytest.raises(UserError, match="a Linear has neither rotary positions nor a learned table"):
        vt.position_clock(torch.nn.Linear(2, 2))
