"""What the second lesson says in prose, held to the numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.analysis.cosine_similarity import cosines, nearest
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import pad
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.experiments.initial_loss import UntrainedModel
from viz_transformer.model.positional import sinusoidal_encoding

LESSON = Lesson("2")
D_MODEL = 512


@pytest.fixture(scope="module")
def untrained() -> UntrainedModel:
    return UntrainedModel(seed=0)


@pytest.fixture(scope="module")
def rows() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(35, D_MODEL, generator=generator) * D_MODEL**-0.5


def test_the_ids_are_as_told() -> None:
    vocabulary = vocabulary_of(SIX_PAIRS)
    assert len(vocabulary) == 35
    assert "have 35 tokens" in LESSON.prose
    assert vocabulary.tokens[:3] == ("<pad>", "<sos>", "<eos>")
    assert vocabulary.tokens.index("cat") == 8
    assert vocabulary.tokens.index("como") == 9
    assert "*cat* is 8 and *como* is 9" in LESSON.prose
    assert list(vocabulary.tokens[3:]) == sorted(vocabulary.tokens[3:])


def test_the_batch_is_six_by_five_with_five_cells_of_padding() -> None:
    vocabulary = vocabulary_of(SIX_PAIRS)
    source = pad([vocabulary.source_ids(" ".join(p.source)) for p in SIX_PAIRS], 0)
    assert source.shape == (6, 5)
    assert "six rows by five columns" in LESSON.prose
    assert (source == 0).sum() == 5


def near(translator: vt.Translator, word: str, n: int = 8) -> list[str]:
    """The tokens nearest to a word, the nearest first."""
    tokens = translator.vocabulary.tokens
    table = translator.model.source_embedding.weight.detach().numpy()
    return [tokens[each.index] for each in nearest(table, tokens.index(word), n)]


def test_of_the_words_to_choose_from_scared_is_most_like_tired(translator: vt.Translator) -> None:
    tokens = translator.vocabulary.tokens
    assert tokens.index("tired") == 667
    assert tokens.index("tienes") == 666
    assert "the id 667 in this vocabulary, *tienes* 666" in LESSON.prose
    vectors = translator.model.source_embedding.weight.detach().numpy()
    words = ["tired", "scared", "tienes", "cansado", "animal"]
    like = cosines(vectors[[tokens.index(word) for word in words]])[0]
    assert like[1] > 0.4 > 0.3 > like[2:].max()
    assert "scared" in near(translator, "tired")
    assert not {"tienes", "cansado", "animal"} & set(near(translator, "tired"))


@pytest.mark.usefixtures("folder_thrown_away")
def test_the_prediction_of_the_nearest_word_is_scored() -> None:
    names = LESSON.run("sentences", "look-up", "predict-nearest")
    names["shown"].guess = "scared"
    assert names["shown"].score == 1


def test_forms_of_a_verb_and_two_words_for_a_person_are_neighbours(translator: vt.Translator) -> None:
    assert set(near(translator, "eats", 2)) == {"eat", "ate"}
    assert near(translator, "maestra", 1) == ["profesora"]
    tokens = translator.vocabulary.tokens
    table = translator.model.source_embedding.weight.detach().numpy()
    pair = [tokens.index(word) for word in ("maestra", "profesora")]
    assert cosines(table[pair])[0, 1] > 0.8  # “their vectors point almost the same way”


def test_the_words_of_the_nearest_lab_are_known(translator: vt.Translator) -> None:
    (line,) = (each for each in LESSON["nearest-lab"].splitlines() if each.startswith("words = "))
    words = eval(line.removeprefix("words = "))
    assert set(words) <= set(translator.vocabulary.tokens)


def test_a_position_is_sixteen_times_as_long_as_a_word(rows: torch.Tensor) -> None:
    assert sinusoidal_encoding(8, D_MODEL).norm(dim=1).numpy() == pytest.approx(16)
    assert rows.norm(dim=1).mean().item() == pytest.approx(1, abs=0.01)
    assert "The position is sixteen times as long as the word." in LESSON.prose


def test_words_drown_unless_they_are_multiplied(rows: torch.Tensor) -> None:
    vocabulary = vocabulary_of(SIX_PAIRS)
    ids = vocabulary.encode("the cat is black the cat is black")
    quiet, loud = (
        cosines(rows[ids] * factor + sinusoidal_encoding(8, D_MODEL)) for factor in (1, D_MODEL**0.5)
    )
    for place in range(4):
        neighbour = place + 1
        assert quiet[place, neighbour] > 0.95 > 0.8 > quiet[place, place + 4]
        # “At 22.6 they stand out, …”
        others = np.delete(loud[place], [place, place + 4])
        assert loud[place, place + 4] > 0.9 > 0.5 > others.max()
    # “… the is a little more like the near cat than like the far one.”
    assert loud[0, 5] < loud[0, 1] < loud[0, 5] + 0.2


def test_multiplied_by_the_root_a_rows_numbers_are_about_one(rows: torch.Tensor) -> None:
    assert rows.std().item() == pytest.approx(0.044, abs=1e-3)
    assert (rows * D_MODEL**0.5).std().item() == pytest.approx(1, abs=0.02)


def test_the_start_is_absurd_or_reasonable_by_one_number(untrained: UntrainedModel) -> None:
    assert f"{untrained.n_parameters:,}" == "44,119,552"
    assert "44 million" in LESSON.prose
    large, small = untrained.start(1.0), untrained.start(D_MODEL**-0.5)
    assert large.loss == pytest.approx(292, rel=0.02)
    assert small.loss == pytest.approx(10.8, rel=0.03)
    assert large.echo == small.echo == 1
    assert large.loss > 10 * math.log(35) > small.loss > math.log(35)
    own = [start.logits[2, 2, untrained.read[2, 2]] for start in (large, small)]
    assert own[0] > 200
    assert 20 < own[0] / own[1] < 35
    assert "more than 20 times smaller" in LESSON.prose
    assert 20 < large.loss / small.loss < 35


def test_too_small_a_start_hears_no_word(untrained: UntrainedModel) -> None:
    assert "from a standard deviation of 0.02 upwards" in LESSON.prose
    assert all(untrained.start(std).echo == 1 for std in (0.02, 0.1, 2.0))
    assert "At 0.005 the loss is that of an even bet" in LESSON.prose
    start = untrained.start(0.005)
    assert start.loss == pytest.approx(math.log(35), abs=0.02)
    assert start.echo < 0.6


def test_every_draw_starts_alike() -> None:
    other = UntrainedModel(seed=1)
    assert other.start(1.0).loss == pytest.approx(292, rel=0.02)
    assert other.start(D_MODEL**-0.5).loss == pytest.approx(10.8, rel=0.1)


def test_the_place_that_is_drawn_is_the_one_that_is_told(untrained: UntrainedModel) -> None:
    tokens = untrained.vocabulary.tokens
    assert [tokens[i] for i in untrained.read[2, :3]] == ["<sos>", "el", "gato"]
    assert tokens[untrained.wanted[2, 2]] == "es"
    assert "sentence=2, place=2" in LESSON["predict-loss"]


def test_the_even_bet_is_told_right() -> None:
    assert round(math.log(35), 2) == 3.56
    assert vt.load_translator().config.vocab_size == 761
    assert "a vocabulary of 761 tokens" in LESSON.prose
    assert vt.load_translator().config.d_model == 64
    assert "has `d_model` = 64" in LESSON.prose


@pytest.mark.parametrize(
    ("cell", "secret"),
    [
        ("predict-padding", "five"),
        ("predict-nearest", "adjective"),
        ("predict-nearest", "too scared"),
        ("predict-likeness", "drowned"),
        ("predict-loss", "294"),
        ("predict-loss", "ignorant"),
    ],
)
def test_no_prediction_is_given_away_above_it(cell: str, secret: str) -> None:
    # What is said afterwards stands in the cell's code, where it is read before.
    assert secret not in LESSON.above(cell) + LESSON[cell]


@pytest.mark.usefixtures("folder_thrown_away")
def test_next_to_a_word_beats_the_same_word_far_away() -> None:
    names = LESSON.run("sentences", "lengths", "predict-likeness")
    names["shown"].guess = "the first “the” and “cat” beside it"
    assert names["shown"].score == 1


def test_the_start_can_be_drawn_after_xavier_and_nothing_else() -> None:
    with pytest.raises(vt.UserError, match="choose 'torch' or 'xavier'"):
        UntrainedModel(matrices="he")


def test_a_standard_deviation_is_above_zero(untrained: UntrainedModel) -> None:
    with pytest.raises(vt.UserError, match="must be above 0"):
        untrained.start(0)
