"""What the lesson on order says in prose, held to the bundled translator and to the formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.analysis.positions import look_alikes, wavelength
from viz_transformer.model import Interventions
from viz_transformer.model.masks import padding_mask
from viz_transformer.model.positional import sinusoidal_encoding

LESSON = Lesson("6")
ONE_WAY = "the ticket from Beijing to Shanghai is cheap"
RETURN_WAY = "the ticket from Shanghai to Beijing is cheap"
ORDER = [0, 1, 2, 5, 4, 3, 6, 7, 8]
OFF = Interventions(positions=False)


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


def test_without_positions_both_sentences_get_the_same_translation(translator) -> None:
    dog, cat = "the dog sees the cat", "the cat sees the dog"
    assert translator.translate(dog).text != translator.translate(cat).text
    one, other = (translator.translate(text, interventions=OFF).text for text in (dog, cat))
    assert one == other
    # “The decoder's cross-attention adds these vectors up”: whatever it is given to write, it scores alike.
    target = "el perro ve el gato"
    one, other = (translator.log_probs(text, target, OFF) for text in (dog, cat))
    np.testing.assert_allclose(one, other, atol=1e-4)


def test_pair_9_is_the_first_that_never_comes_round() -> None:
    table = sinusoidal_encoding(64, 64).numpy()
    assert wavelength(9, 64) == pytest.approx(83.8, abs=0.05)
    assert wavelength(8, 64) == pytest.approx(62.8, abs=0.05)
    assert 63 in look_alikes(table, 0, 8)
    assert 22 in look_alikes(table, 7, 3)  # the clock begins at a pair that has dots
    for pair in range(32):
        # A hand that comes round sees some place again more than half a turn later.
        again = any(
            other - place > wavelength(pair, 64) / 2
            for place in range(64)
            for other in look_alikes(table, place, pair)
        )
        assert again == (pair < 9), pair
    # “No two rows are alike.”
    apart = np.linalg.norm(table[:, None] - table[None], axis=-1) + np.eye(64) * 9
    assert apart.min() > 0.5


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
