"""A translator beside a grammar made by hand: each figure again from single passes, and the report."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from recipes import report
from recipes.judging import SampleCheck, check_samples, check_vocabulary, open_sentences
from tests.support.tiny_decoder import VOCABULARY, log_prob, tiny_model
from viz_transformer.analysis import entropy_nats, lowest_loss, next_words
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.cli import main
from viz_transformer.corpus import SentencePair
from viz_transformer.errors import UserError
from viz_transformer.recipes import grammar_eval
from viz_transformer.recipes.grammar_eval import evaluate_against_grammar
from viz_transformer.recipes.head_eval import head_losses
from viz_transformer.translator import Translator

#: Sentences of several lengths, with translations that begin alike, and one that is certain.
LANGUAGE = {
    "a": {("b",): 0.5, ("b", "a"): 0.3, ("a",): 0.2},
    "a b a": {("a", "b", "a"): 0.25, ("a", "b", "b"): 0.25, ("b",): 0.5},
    "b a": {("b", "b"): 1.0},
}


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator(tiny_model(5), VOCABULARY)


def test_losses_are_those_of_single_passes(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    total = n_tokens = 0.0
    for text, translations in LANGUAGE.items():
        for tokens, share in translations.items():
            ids = VOCABULARY.source_ids(text), VOCABULARY.ids_of(tokens)
            total -= share * log_prob(translator.model, *ids)
            n_tokens += share * (len(tokens) + 1)
    in_words = {text: {" ".join(one): p for one, p in told.items()} for text, told in LANGUAGE.items()}
    for batch_tokens in (1, 8_000):
        monkeypatch.setattr(grammar_eval, "_BATCH_TOKENS", batch_tokens)
        score = evaluate_against_grammar(translator, list(LANGUAGE), LANGUAGE.__getitem__)
        assert score.loss == pytest.approx(total / n_tokens, abs=1e-6)
        assert score.entropy == pytest.approx(lowest_loss(LANGUAGE.values()))
        assert score.kl == pytest.approx(score.loss - score.entropy)
        assert score.n == 3
        other = evaluate_against_grammar(translator, list(LANGUAGE), in_words.__getitem__)
        assert (other.kl, other.n_allowed, other.n_mode) == (score.kl, score.n_allowed, score.n_mode)


def test_the_divergence_is_the_mean_over_prefixes_by_their_probability(translator: Translator) -> None:
    score = evaluate_against_grammar(translator, ["a"], LANGUAGE.__getitem__)
    divergence = weight = 0.0
    points = []
    for node in next_words(LANGUAGE["a"]):
        for word in VOCABULARY.tokens:
            target = (*node.prefix, word)
            # The last but one is the probability of the word: the last is that of <eos> after it.
            told = math.exp(translator.log_probs("a", target)[-2])
            true = node.words.get(word, 0.0)
            if true:
                divergence += node.probability * true * math.log(true / told)
            if told >= 0.005:
                points.append((told, true, node.probability))
        weight += node.probability
    assert score.kl == pytest.approx(divergence / weight, abs=1e-5)
    found = zip(score.predicted, score.expected, score.weights, strict=True)
    np.testing.assert_allclose(sorted(found), sorted(points), atol=1e-5)


def test_hypotheses_are_counted_as_allowed_and_as_modes(translator: Translator) -> None:
    sentences = ["a", "b", "a b", "b b"]
    best = [translator.translate(text) for text in sentences]
    other = ("b",) * 9
    assert other not in {each.tokens for each in best}
    language = {
        "a": {best[0].tokens: 0.6, other: 0.4},
        "b": {best[1].tokens: 0.1 + 0.2, other: 0.3, ("a",) * 9: 0.4 - 0.1, ("b",) * 8: 0.1},
        "a b": {best[2].tokens: 0.4, other: 0.6},
        "b b": {other: 1.0},
    }
    score = evaluate_against_grammar(translator, sentences, language.__getitem__)
    assert (score.n_allowed, score.n_mode) == (3, 2)  # of equals, each is a mode
    assert (score.share_allowed, score.share_mode) == (0.75, 0.5)
    assert score.wrong == (("b b", best[3].text, " ".join(other)),)
    assert score.not_mode == (("a b", best[2].text, " ".join(other)),)


def test_texts_that_cannot_be_judged_are_refused(translator: Translator) -> None:
    for text, translations, message in (
        ("a", {("b",): 0.5}, "sum to 0.5"),
        ("a", {}, "0 translations"),
        ("a", {("c",): 1.0}, "'c' is not a token"),
        ("c", {("b",): 1.0}, "unknown English word 'c'"),
    ):
        with pytest.raises(UserError, match=message):
            evaluate_against_grammar(translator, [text], {text: translations}.__getitem__)
        with pytest.raises(UserError, match=message):
            check_samples(translator, text, {text: translations}.__getitem__, n=2)
    with pytest.raises(UserError, match="no sentence"):
        evaluate_against_grammar(translator, [], LANGUAGE.__getitem__)


def test_shares_are_compared_in_standard_errors(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(language: dict, **counts: int) -> SampleCheck:
        """Let the model write these words so often."""
        texts = [word for word, count in counts.items() for _ in range(count)]
        monkeypatch.setattr(Translator, "sample_texts", lambda *_, **__: texts)
        return check_samples(translator, "a", lambda _: language, n=len(texts))

    found = check({("b",): 0.4, ("a",): 0.5, ("b", "b"): 0.1}, a=55, b=40, c=5)
    assert found.shares == (("a", 0.5, 0.55), ("b", 0.4, 0.4), ("b b", 0.1, 0.0))
    assert found.n_allowed == 95
    assert found.largest == pytest.approx(0.1 / math.sqrt(0.1 * 0.9 / 100))
    assert found.p_value < 0.01
    # Of two translations the p-value is that of the binomial distribution.
    exact = 2 * sum(math.comb(25, k) for k in range(10)) / 2**25
    assert check({"a": 0.5, "b": 0.5}, a=16, b=9).p_value == pytest.approx(exact, abs=0.02)
    # A certain translation leaves no error.
    found = check({"a": 1.0}, a=10)
    assert (found.largest, found.p_value) == (0, 1)
    found = check({"a": 1.0}, a=9, b=1)
    assert found.largest == math.inf
    assert found.p_value < 0.001


def test_open_sentences_go_from_the_least_open_to_the_most() -> None:
    shares = {str(n): {"a": 0.5 + n / 20, "b": 0.5 - n / 20} for n in (3, 9, 0, 6)}
    shares["certain"] = {"a": 1.0}
    chosen = open_sentences(["0", *shares], shares.__getitem__, 3)
    assert [chosen[0], chosen[-1]] == ["9", "0"]
    entropies = [entropy_nats(shares[sentence]) for sentence in chosen]
    assert entropies == sorted(set(entropies))
    assert len(chosen) == 3
    assert open_sentences(list(shares), shares.__getitem__, 20) == ["9", "6", "3", "0"]
    assert open_sentences(["certain"], shares.__getitem__, 20) == []


def test_a_checkpoint_of_another_vocabulary_is_refused_in_one_line(
    translator: Translator, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [SentencePair(("a", "b"), ("b",), ()), SentencePair(("a",), ("está", "¿"), ())]
    check_vocabulary(translator, pairs[:1])
    with pytest.raises(UserError, match=r"lacks 2 words of the language .*'está', '¿'"):
        check_vocabulary(translator, pairs)
    folder = Checkpoint(translator.model, VOCABULARY).save(tmp_path / "former")
    assert main(["evaluate", str(folder)]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert "made with another vocabulary; train one with `python -m recipes en-es" in error
    assert error.count("\n") == 1


def test_the_report_holds_every_figure(
    translator: Translator,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(report, "_N_DRAWS", 50)
    certain, likeliest, other = "a", "a b", "b b a"
    targets = {text: translator.translate(text).tokens for text in (certain, likeliest, other)}
    pairs = [SentencePair(tuple(text.split()), ("b", "a"), ()) for text in targets]
    longer = {text: (*target, "b", "b") for text, target in targets.items()}
    language = {
        certain: {targets[certain]: 1.0},
        likeliest: {targets[likeliest]: 0.75, longer[likeliest]: 0.25},
        other: {targets[other]: 0.25, longer[other]: 0.75},
    }
    sets = {"first set": pairs, "second set": pairs[:1]}
    picture = tmp_path / "reliability.png"
    report.print_grammar_report(translator, sets, language.__getitem__, picture=str(picture))
    out = capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"wrote {picture}" in out
    assert re.search(r"first set: 3 sentences.*\n.* allows it +3 of 3  100.00%\n.* likeliest +2 of 3", out)
    assert re.search(r"second set: 1 sentences.*\n.* allows it +1 of 1  100.00%", out)
    assert f"allowed, not the likeliest: 1\n    {other}\n      wrote     {' '.join(targets[other])}" in out
    assert "50 translations drawn of each of 2 sentences" in out
    for text in (likeliest, other):
        assert re.search(rf"^ +\d+\.\d\d +\d\.\d{{4}} +\d+\.\d\d% +2  {text}$", out, re.M)
    heads = re.findall(r"^  (encoder|decoder|cross) +layer (\d) head (\d)  ([+-]\d\.\d{4})", out, re.M)
    losses = head_losses(translator, pairs)
    assert len(heads) == losses.n_heads == 6
    for kind, layer, head, rise in heads:
        assert float(rise) == pytest.approx(losses.rises[kind][int(layer), int(head)], abs=1e-4)
    assert f"switched off one at a time, {losses.n_needed} of 6" in out
