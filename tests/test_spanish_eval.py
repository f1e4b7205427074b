"""The Spanish models judged against a grammar: samples, gaps, heads, and the report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.support.spanish_models import TEXTS, small_language_model, small_masked_model
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.cli import main
from viz_transformer.corpus import Corpus, SentencePair
from viz_transformer.corpus.translations import GAP
from viz_transformer.errors import UserError
from viz_transformer.recipes import spanish_eval

SENTENCES = [tuple(text) for text in TEXTS]
PAIRS = tuple(SentencePair((), text, ()) for text in SENTENCES)


def gap_words(tokens: list[str]) -> dict[str, float]:
    """The shares of the words that fill the gap in the training sentences, the largest first."""
    gap = tokens.index(GAP)
    fits = [text for text in SENTENCES if [*text[:gap], GAP, *text[gap + 1 :]] == tokens]
    counts = Counter(text[gap] for text in fits)
    return {word: n / len(fits) for word, n in counts.most_common()}


@pytest.fixture(autouse=True)
def small_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grammar that writes the training sentences, in their shares."""
    monkeypatch.setattr(spanish_eval, "is_spanish", lambda tokens: tuple(tokens) in SENTENCES)
    monkeypatch.setattr(spanish_eval, "gap_words", gap_words)


def test_samples_are_counted_that_the_grammar_writes() -> None:
    model = small_language_model()
    found = spanish_eval.sample_language_model(model, 200)
    drawn = model.sample_texts(n=200, seed=0)
    assert found.refused == tuple(text for text in drawn if tuple(text.split()) not in SENTENCES)
    assert (found.n, found.n_accepted) == (200, 200 - len(found.refused))
    assert found.n_accepted > 180


def test_a_gap_s_words_are_compared_with_the_exact_ones() -> None:
    model = small_masked_model()
    score = spanish_eval.fill_gaps(model, PAIRS)
    assert (score.n, score.n_mode) == (len(PAIRS), len(PAIRS) - len(score.wrong))
    assert 0 < score.kl < 0.05 < score.entropy

    tokens = list(SENTENCES[0])
    tokens[Random(3).randrange(len(tokens))] = GAP
    one = spanish_eval.fill_gaps(model, PAIRS[:1], seed=3)
    exact, filled = gap_words(tokens), model.fill(" ".join(tokens))
    assert one.kl == pytest.approx(sum(p * np.log(p / filled[word]) for word, p in exact.items()))
    assert one.entropy == pytest.approx(-sum(p * np.log(p) for p in exact.values()))


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
    losses = spanish_eval.spanish_head_losses(model, PAIRS)
    (kind,) = losses.rises
    assert losses.rises[kind].shape == (2, 2)
    assert losses.n == len(PAIRS)
    if kind == "decoder":
        every = np.concatenate([model.log_probs(" ".join(text)) for text in SENTENCES])
        assert losses.loss == pytest.approx(-every.mean(), abs=1e-5)
    with pytest.raises(UserError, match="at least one pair"):
        spanish_eval.spanish_head_losses(model, [])

    corpus = Corpus((), PAIRS, n_of_a_kind=0, seed=0)
    monkeypatch.setattr("viz_transformer.corpus.english_spanish", lambda n_train: corpus)
    folder = Checkpoint(model.model, model.vocabulary).save(tmp_path / "model")
    assert main(["evaluate", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(first)
    assert "heads: switched off one at a time" in out
    assert out.count(" layer ") == 4
