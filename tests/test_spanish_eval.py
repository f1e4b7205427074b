"""The Spanish models judged against a grammar, and what the bundled one learned from sentences said twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viz_transformer as vt
from recipes import judging
from recipes.judging import (
    label_spanish_heads,
    sample_language_model,
    spanish_head_losses,
)
from tests.support.spanish_models import TEXTS, small_language_model, small_masked_model
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.cli import main
from viz_transformer.corpus import Corpus, SentencePair, english_spanish
from viz_transformer.corpus.repetition import QUESTION, repeat, repeat_some, without_repetition
from viz_transformer.corpus.translations import GAP
from viz_transformer.errors import UserError
from viz_transformer.language_model import LanguageModel, load_language_model

SENTENCES = [tuple(text) for text in TEXTS]
PAIRS = tuple(SentencePair((), text, ()) for text in SENTENCES)


def gap_words(tokens: list[str]) -> dict[str, float]:
    """The shares of the words that fill the gap in the training sentences, the largest first."""
    gap = tokens.index(GAP)
    fits = [text for text in SENTENCES if [*text[:gap], GAP, *text[gap + 1 :]] == tokens]
    counts = Counter(text[gap] for text in fits)
    return {word: n / len(fits) for word, n in counts.most_common()}


@pytest.fixture
def small_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grammar that writes the training sentences, in their shares."""
    monkeypatch.setattr(judging, "is_spanish", lambda tokens: tuple(tokens) in SENTENCES)
    monkeypatch.setattr(judging, "gap_words", gap_words)


@pytest.mark.usefixtures("small_grammar")
def test_samples_are_counted_that_the_grammar_writes_and_gaps_compared_with_its_words() -> None:
    writer, model = small_language_model(), small_masked_model()
    found, drawn = judging.sample_language_model(writer, 200), writer.sample_texts(n=200, seed=0)
    assert found.refused == tuple(text for text in drawn if tuple(text.split()) not in SENTENCES)
    assert (found.n, found.n_accepted) == (200, 200 - len(found.refused))
    assert found.n_accepted > 180

    score = judging.fill_gaps(model, PAIRS)
    assert (score.n, score.n_mode) == (len(PAIRS), len(PAIRS) - len(score.wrong))
    assert 0 < score.kl < 0.05 < score.entropy
    tokens = list(SENTENCES[0])
    tokens[Random(3).randrange(len(tokens))] = GAP
    one = judging.fill_gaps(model, PAIRS[:1], seed=3)
    exact, filled = gap_words(tokens), model.fill(" ".join(tokens))
    assert one.kl == pytest.approx(sum(p * np.log(p / filled[word]) for word, p in exact.items()))
    assert one.entropy == pytest.approx(-sum(p * np.log(p) for p in exact.values()))


@pytest.mark.usefixtures("small_grammar")
@pytest.mark.parametrize(
    ("make", "first"),
    [
        (small_language_model, "1,000 texts drawn: the grammar allows "),
        (small_masked_model, "8 held-out sentences with one gap"),
    ],
)
def test_heads_are_measured_on_the_model_s_own_loss_and_evaluate_reports_them(
    make, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = make()
    losses = judging.spanish_head_losses(model, PAIRS)
    (kind,) = losses.rises
    assert losses.rises[kind].shape == (2, 2)
    assert losses.n == len(PAIRS)
    if kind == "decoder":
        every = np.concatenate([model.log_probs(" ".join(text)) for text in SENTENCES])
        assert losses.loss == pytest.approx(-every.mean(), abs=1e-5)
    with pytest.raises(UserError, match="at least one pair"):
        judging.spanish_head_losses(model, [])

    corpus = Corpus((), PAIRS, n_of_a_kind=0, seed=0)
    monkeypatch.setattr("recipes.report.english_spanish", lambda n_train: corpus)
    folder = Checkpoint(model.model, model.vocabulary).save(tmp_path / "model")
    assert main(["evaluate", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(first)
    assert "heads: switched off one at a time" in out
    assert out.count(" layer ") == 4


WORDS = st.lists(st.sampled_from(["la", "vaca", "duerme", "¿", "cómo", "?"]), min_size=1, max_size=8)


@given(WORDS)
def test_a_sentence_said_twice_is_recognised(sentence: list[str]) -> None:
    assert without_repetition(repeat(sentence)) == tuple(sentence)


def test_a_share_of_the_sentences_is_said_twice_the_same_ones_for_a_seed() -> None:
    sentences = [("duerme", str(number)) for number in range(1000)]
    texts = repeat_some(sentences, 0.3, seed=1)
    assert [without_repetition(text) for text in texts] == sentences
    assert sum(map(len, texts)) == pytest.approx(2 * 1000 + 5 * 300, abs=5 * 45)
    assert texts == repeat_some(sentences, 0.3, seed=1) != repeat_some(sentences, 0.3, seed=2)
    for text in ("la vaca duerme", "¿ cómo ?", "la vaca ¿ cómo ? la", "la vaca ¿ cómo ? la gata", ""):
        assert without_repetition(text.split()) == tuple(text.split())  # any other text is left as it is


# docs/models.md gives the figures of the bundled model.


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return load_language_model()


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return english_spanish(n_train=0, n_held_out=200, n_of_a_kind=50)


def test_the_language_model_repeats_a_sentence_word_for_word(model: LanguageModel) -> None:
    found = sample_language_model(model, 100)
    assert found.n_accepted > 90  # docs/models.md: 95.1% of 1,000
    assert 25 < found.n_twice < 50  # 366 of 951
    for text in ("la reina cansada duerme", "el gato negro come pescado"):
        assert model.complete(f"{text} ¿cómo?", beam_width=1).text == f"{text} ¿cómo? {text}"


def test_its_heads_are_named_by_what_they_do_in_many_sentences(model: LanguageModel, corpus: Corpus) -> None:
    """0.81 on the word before; 0.82 and 0.72 on the word after an earlier copy."""
    once, twice = (label_spanish_heads(model, corpus.held_out[:60], twice=twice) for twice in (False, True))
    assert once[0][3].name == "previous token"
    assert once[0][3].evidence > 0.75
    named = {head: label.name for head, label in enumerate(twice[1]) if label}
    assert named == {1: "induction", 2: "induction", 3: "rests on one token"}
    assert twice[1][1].evidence > 0.75 > twice[1][2].evidence > 0.65


def test_heads_are_needed_as_docs_models_states(model: LanguageModel, corpus: Corpus) -> None:
    """The induction head where there is something to copy, elsewhere the one that reads the noun."""
    once, twice = (spanish_head_losses(model, corpus.held_out, twice=each) for each in (False, True))
    assert twice.rises["decoder"][1, 1] > 0.5 > 0.05 > once.rises["decoder"][1, 1]
    assert twice.loss < 0.6 * once.loss
    assert once.rises["decoder"][1, 3] == once.rises["decoder"].max() > 0.3


def test_heads_of_the_first_layer_bring_the_induction_head_the_word_before(
    model: LanguageModel, corpus: Corpus
) -> None:
    """0.97 of its weight on the word to copy; 0.93 without head 0.3, 0.79 without 0.1 too."""

    def copies(*off: int) -> float:
        changes = vt.Interventions(heads=[vt.HeadChange("decoder", 0, one, factor=0) for one in off])
        found = []
        for pair in corpus.held_out[:40]:
            weights = model.trace(repeat(pair.target), changes).decoder_attention[1, 1]
            again = len(pair.target) + len(QUESTION) + 1  # the row that reads the second copy's first word
            found += [weights[again + step, step + 2] for step in range(len(pair.target) - 1)]
        return float(np.mean(found))

    assert copies() > 0.95 > copies(3) > 0.9 > 0.85 > copies(1, 3)


def test_a_head_looks_at_the_noun_that_decides_the_ending(model: LanguageModel, corpus: Corpus) -> None:
    """*la vaca no cruzó la calle porque estaba demasiado* → *cansada*: 0.59."""
    weights = []
    for pair in corpus.held_out_reasons:
        words = pair.target
        about_animal = pair.source[-1] in {"tired", "sick", "hungry", "scared"}
        noun = words.index("no" if about_animal else "porque") - 1
        attention = model.trace(words).decoder_attention
        weights.append(attention[:, :, words.index("demasiado") + 1, noun + 1])  # after <sos>
    mean = np.mean(weights, axis=0)  # [layer, head]
    assert mean[1, 3] == mean.max() > 0.5
