"""What the second lesson says in prose, held to the numbers."""

from __future__ import annotations

import pytest

import viz_transformer as vt
from tests.support.lessons import Lesson
from viz_transformer.analysis.cosine_similarity import cosines, nearest
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import pad
from viz_transformer.corpus.six_pairs import SIX_PAIRS

LESSON = Lesson("2")


def test_ids_and_batch_are_as_the_lesson_prints() -> None:
    vocabulary = vocabulary_of(SIX_PAIRS)
    assert len(vocabulary) == 35
    assert vocabulary.tokens[:3] == ("<pad>", "<sos>", "<eos>")
    assert list(vocabulary.tokens[3:]) == sorted(vocabulary.tokens[3:])
    assert [vocabulary.tokens.index(word) for word in ("cat", "como")] == [8, 9]
    assert not LESSON.lacks("have 35 tokens", "*cat* is 8 and *como* is 9")
    source = pad([vocabulary.source_ids(" ".join(p.source)) for p in SIX_PAIRS], 0)
    assert source.shape == (6, 5)
    assert "six rows by five columns" in LESSON["predict-padding"].replace('"\n    "', "")
    assert (source == 0).sum() == 5


def near(translator: vt.Translator, word: str, n: int = 8) -> list[str]:
    """The tokens nearest to a word, the nearest first."""
    tokens = translator.vocabulary.tokens
    table = translator.model.source_embedding.weight.detach().numpy()
    return [tokens[each.index] for each in nearest(table, tokens.index(word), n)]


@pytest.mark.usefixtures("folder_thrown_away")
def test_of_the_words_to_choose_from_scared_is_most_like_tired(translator: vt.Translator) -> None:
    tokens = translator.vocabulary.tokens
    assert [tokens.index(word) for word in ("tired", "tienes")] == [667, 666]
    assert "*tired* has the id 667 and *tienes* 666" in LESSON.prose
    vectors = translator.model.source_embedding.weight.detach().numpy()
    words = ["tired", "scared", "tienes", "cansado", "animal"]
    like = cosines(vectors[[tokens.index(word) for word in words]])[0]
    assert like[1] > 0.4 > 0.3 > like[2:].max()
    assert set(near(translator, "tired")) & set(words) == {"scared"}
    asked = LESSON.run("start", "look-up", "predict-nearest")["shown"]
    asked.guess = "scared"
    assert asked.score == 1


def test_the_neighbours_of_words_are_those_that_are_named(translator: vt.Translator) -> None:
    assert set(near(translator, "eats", 2)) == {"eat", "ate"}
    assert near(translator, "maestra", 1) == ["profesora"]
    assert near(translator, "fish", 1) == ["dormimos"]
    assert not LESSON.lacks("its nearest neighbours are *eat* and *ate*", "is *profesora*", cell="opening")
    assert LESSON.run("start")["shown"].token == "maestra"
