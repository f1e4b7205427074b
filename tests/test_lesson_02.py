"""What the second lesson says in prose, held to the numbers."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig, GPT2Config, T5Config

import viz_transformer as vt
from tests.support.lessons import Lesson, table_under
from viz_transformer.analysis.cosine_similarity import cosines, nearest
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import pad
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.exercises import exercise

LESSON = Lesson("2")
D_MODEL = 512


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
    assert "six rows by five columns" in LESSON["predict-padding"].replace('"\n    "', "")
    assert (source[0] == 0).sum() < 5  # the row that is printed does not tell
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
    assert "*tired* has the id 667 and *tienes* 666" in LESSON.prose
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
    assert cosines(table[pair])[0, 1] > 0.9  # “their vectors point almost the same way”


def test_the_neighbours_of_fish_make_little_sense(translator: vt.Translator) -> None:
    assert near(translator, "fish", 1) == ["dormimos"]
    assert "look at *fish*" in LESSON["nearest"]


def test_the_nearest_lab_does_not_open_on_the_word_that_was_asked_about() -> None:
    (line,) = (each for each in LESSON["nearest-lab"].splitlines() if each.startswith("words = "))
    assert eval(line.removeprefix("words = "))[0] != "tired"


def test_the_words_of_the_nearest_lab_are_known(translator: vt.Translator) -> None:
    (line,) = (each for each in LESSON["nearest-lab"].splitlines() if each.startswith("words = "))
    words = eval(line.removeprefix("words = "))
    assert set(words) <= set(translator.vocabulary.tokens)


@pytest.mark.parametrize(
    ("cell", "secret"),
    [
        ("predict-padding", "five columns"),
        ("predict-padding", "four words"),
        ("predict-nearest", "adjective"),
        ("predict-nearest", "too scared"),
        ("predict-nearest", "used alike"),
    ],
)
def test_no_prediction_is_given_away_on_its_screen(cell: str, secret: str) -> None:
    assert secret not in LESSON.on_screen_with(cell)
    assert secret in LESSON[cell].partition("afterwards=")[2].replace('"\n    "', "")


def test_the_vocabularies_of_real_models_are_those_of_their_published_configurations() -> None:
    rows = table_under(LESSON["real"], "## In a real model")
    ours = vt.load_translator().config
    gpt2, bert, t5 = GPT2Config(), BertConfig(), T5Config()
    assert {name: (row[0], row[2]) for name, row in rows.items()} == {
        "this translator": (f"{ours.vocab_size}", f"{ours.d_model}"),
        "GPT-2, small (sections 2.2, 2.3)": (f"{gpt2.vocab_size:,}", f"{gpt2.n_embd}"),
        "BERT, base": (f"{bert.vocab_size:,}", f"{bert.hidden_size}"),
        "T5, small": (f"{t5.vocab_size:,}", f"{t5.d_model}"),
    }
    for tokens, _, d_model, parameters in rows.values():
        assert f"{int(tokens.replace(',', '')) * int(d_model):,}" == parameters
    assert gpt2.vocab_size == 256 + 50_000 + 1


def test_the_cosine_is_written_and_not_called() -> None:
    answer = exercise("2.3").check(lambda a, b: torch.cosine_similarity(a, b, dim=0))
    assert not answer.passed
    assert "Write the formula yourself" in answer.message


def test_the_tour_shows_what_it_says(translator: vt.Translator) -> None:
    assert set(near(translator, "tired", 3)) == {"hungry", "scared", "sick"}
    assert set(near(translator, "negro", 3)) == {"negra", "negras", "negros"}
    told = " ".join(step["caption"] for step in vt.lesson_tour(2).steps)
    for word in ("hungry", "scared", "sick", "negra", "negras", "negros", "profesora", "spiders"):
        assert f"“{word}”" in told
