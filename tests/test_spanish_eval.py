"""The Spanish models judged against a grammar: samples, gaps, heads, and the report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.support.spanish_models import TEXTS, small_language_model, small_masked_model
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.cli import main
from viz_transformer.corpus import Corpus, SentencePair
from viz_transformer.errors import UserError
from viz_transformer.recipes import spanish_eval

SENTENCES = [tuple(text) for text in TEXTS]
GAP = "[?]"


def gap_words(tokens: tuple[str, ...]) -> dict[str, float]:
    """The shares of the words that fill the gap in the training sentences."""
    gap = tokens.index(GAP)
    fits = [text for text in SENTENCES if (*text[:gap], GAP, *text[gap + 1 :]) == tuple(tokens)]
    return {word: n / len(fits) for word, n in Counter(text[gap] for text in fits).items()}


def test_samples_are_counted_that_the_grammar_writes() -> None:
    model = small_language_model()
    score = spanish_eval.judge_samples(model, lambda tokens: tuple(tokens) in SENTENCES, n=200)
    assert score.n == 200
    drawn = model.sample_texts(n=200, seed=0)
    assert score.wrong == tuple(text for text in drawn if tuple(text.split()) not in SENTENCES)
    assert score.share == 1 - len(score.wrong) / 200 > 0.9
    assert spanish_eval.judge_samples(model, lambda tokens: False, n=20).share == 0
    with pytest.raises(UserError, match="n=0 must be"):
        spanish_eval.judge_samples(model, lambda tokens: True, n=0)


def test_a_gap_s_words_are_compared_with_the_exact_ones() -> None:
    model = small_masked_model()
    scores = spanish_eval.judge_gaps(model, SENTENCES, gap_words, GAP)
    assert len(scores) == len(SENTENCES)
    for score in scores:
        exact, found = gap_words(tuple(score.text.split())), model.fill(score.text)
        expected = sum(share * np.log(share / found[word]) for word, share in exact.items())
        assert score.kl == pytest.approx(expected)
        assert score.found == max(found, key=found.__getitem__)
        assert exact[score.likeliest] == max(exact.values())
    assert np.mean([score.kl for score in scores]) < 0.05


@pytest.mark.parametrize("make", [small_language_model, small_masked_model])
def test_heads_are_measured_on_the_model_s_own_loss(make) -> None:
    model = make()
    losses = spanish_eval.spanish_head_losses(model, SENTENCES)
    (kind,) = losses.rises
    assert losses.rises[kind].shape == (2, 2)
    assert losses.n == len(SENTENCES)
    if kind == "decoder":
        every = np.concatenate([model.log_probs(" ".join(text)) for text in SENTENCES])
        assert losses.loss == pytest.approx(-every.mean(), abs=1e-5)
    labels = spanish_eval.label_spanish_heads(model, SENTENCES)
    assert [len(layer) for layer in labels] == [2, 2]
    with pytest.raises(UserError, match="at least one text"):
        spanish_eval.spanish_head_losses(model, [])


@pytest.mark.parametrize(
    ("make", "first"),
    [(small_language_model, "samples: "), (small_masked_model, "gaps: in ")],
)
def test_evaluate_prints_a_report_of_either_model(
    make, first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = tuple(SentencePair((), text, ()) for text in SENTENCES)
    corpus = Corpus((), pairs, *[()] * (len(Corpus.__dataclass_fields__) - 2))
    monkeypatch.setattr("viz_transformer.corpus.english_spanish", lambda n_train: corpus)
    monkeypatch.setattr("viz_transformer.corpus.gap_words", gap_words)
    monkeypatch.setattr("viz_transformer.corpus.is_spanish", lambda tokens: tuple(tokens) in SENTENCES)
    model = make()
    folder = Checkpoint(model.model, model.vocabulary).save(tmp_path / "model")
    assert main(["evaluate", str(folder), "--number", "8"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(first)
    assert "of 8" in out.splitlines()[0]
    assert "heads: switched off alone" in out
    assert out.count(" layer ") == 4
