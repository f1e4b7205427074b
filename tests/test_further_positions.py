"""What *Going further* says about positions, held to the bundled translator and to the formulas."""

from __future__ import annotations

import numpy as np
import torch
from transformers.models.t5.modeling_t5 import T5Attention

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.model.masks import padding_mask
from viz_transformer.model.positional import sinusoidal_encoding

LESSON = Lesson("positions")
ONE_WAY = "the ticket from Beijing to Shanghai is cheap"
RETURN_WAY = "the ticket from Shanghai to Beijing is cheap"
ORDER = [0, 1, 2, 5, 4, 3, 6, 7, 8]


def test_the_two_tickets_get_different_translations(translator) -> None:
    words = [*ONE_WAY.split(), "<eos>"]
    assert [words[place] for place in ORDER] == [*RETURN_WAY.split(), "<eos>"]
    assert translator.translate(ONE_WAY).text == "el billete de Pekín a Shanghái es barato"
    assert translator.translate(RETURN_WAY).text == "el billete de Shanghái a Pekín es barato"
    # With positions Beijing moves by most of its length, and “to”, asked about, not “not at all”.
    before, after = translator.encode(ONE_WAY), translator.encode(RETURN_WAY)[ORDER]
    moved = np.linalg.norm(after - before, axis=-1) / np.linalg.norm(before, axis=-1)
    assert moved[words.index("Beijing")] > 0.7
    assert moved[words.index("to")] > 0.1
    # The learned table ends where the training ended: at 18 words and <eos>.
    assert vt.position_lab(translator, "the dog sees the cat").data["trained"] == 19
    assert "No training sentence was longer than 18 words" in LESSON.prose


@torch.no_grad()
def test_the_published_line_gives_each_sentence_one_row(translator) -> None:
    small, words = sinusoidal_encoding(64, 4), torch.zeros(3, 5, 4)
    published = words + small[: words.shape[0], None]
    assert torch.equal(published, small[:3, None].expand(3, 5, 4))
    source = torch.tensor([translator.vocabulary.source_ids(text) for text in (ONE_WAY, RETURN_WAY, ONE_WAY)])
    model, mask = translator.model, padding_mask(source, 0)
    embedded = model.source_embedding(source) * model.config.d_model**0.5
    by_sentence = sinusoidal_encoding(3, 64)[:, None]
    right, _ = model.encoder(embedded + sinusoidal_encoding(9, 64), mask)
    wrong, _ = model.encoder(embedded + by_sentence, mask)
    torch.testing.assert_close(right, model.encode(source), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(right[2], right[0], atol=1e-4, rtol=1e-4)
    assert ((wrong[2] - wrong[0]).norm(dim=-1) / wrong[0].norm(dim=-1)).max() > 0.5
    # “Inside a sentence there is no order.”
    swapped, _ = model.encoder(embedded[:, ORDER] + by_sentence, mask[..., ORDER])
    torch.testing.assert_close(swapped, wrong[:, ORDER], atol=1e-4, rtol=1e-4)


def test_a_sentence_that_begins_later_is_read_differently() -> None:
    found, later = {}, vt.load_translator()
    places = later.model.source_positions
    for start in (0, 1, 2, 10):
        places.table = sinusoidal_encoding(len(places.table), later.config.d_model, start)
        found[start] = later.translate(ONE_WAY).text
    assert found[0] == found[1] == "el billete de Pekín a Shanghái es barato"
    assert "Pekín" not in found[2]
    assert "Shanghái" in found[2]
    assert found[10] == "¿es barata"


def test_far_distances_share_a_number_in_t5() -> None:
    buckets = T5Attention._relative_position_bucket(torch.arange(8, 200), num_buckets=32, max_distance=128)
    shared = [d for d, bucket in zip(range(8, 200), buckets.tolist(), strict=True) if bucket == buckets[0]]
    last = [d for d, bucket in zip(range(8, 200), buckets.tolist(), strict=True) if bucket == buckets[-1]]
    assert (shared, last[0]) == ([8, 9, 10, 11], 91)
    assert not LESSON.lacks("distances 8 to 11 share one, and so do all of 91 and more")
