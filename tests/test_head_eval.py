"""Heads over many sentences: switched off one at a time, named, and held to gold links."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recipes.judging import label_translator_heads
from tests.support.tiny_decoder import VOCABULARY
from tests.support.training_runs import MODEL
from viz_transformer.analysis import alignment_error_rate, label_heads_together, weights_between
from viz_transformer.cli import main
from viz_transformer.corpus import SentencePair, english_spanish
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.links import GoldLinks, read_links
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.recipes import align_english_spanish, evaluation
from viz_transformer.recipes.alignment_eval import evaluate_alignment, word_level
from viz_transformer.recipes.head_eval import NEEDED, HeadLosses, head_losses
from viz_transformer.training import make_model
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import Subwords

PAIRS = [
    SentencePair(tuple(source), tuple(target), ())
    for source, target in [("ab", "ba"), ("abba", "a"), ("bbbab", "abbbab"), ("a", "b"), ("baab", "baa")]
]


@pytest.fixture(scope="module")
def small() -> Translator:
    config = replace(MODEL, vocab_size=len(VOCABULARY), n_heads=4, n_encoder_layers=2, n_decoder_layers=2)
    return Translator(make_model(config, 0).eval(), VOCABULARY)


def test_the_losses_are_those_of_single_sentences(small: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_BATCH_TOKENS", 15)  # several batches
    found = head_losses(small, PAIRS)

    def loss(interventions: Interventions | None = None) -> float:
        log_probs = [
            small.log_probs(" ".join(pair.source), list(pair.target), interventions) for pair in PAIRS
        ]
        return -float(np.concatenate(log_probs).mean())

    assert found.loss == pytest.approx(loss(), abs=1e-5)
    for kind, layer, head in [("encoder", 1, 3), ("decoder", 0, 3), ("cross", 1, 2)]:
        without = Interventions(heads=[HeadChange(kind, layer, head, factor=0)])
        assert found.rises[kind][layer, head] == pytest.approx(loss(without) - found.loss, abs=1e-5)
    assert {kind: rises.shape for kind, rises in found.rises.items()} == dict.fromkeys(
        ("encoder", "decoder", "cross"), (2, 4)
    )
    assert (found.n, found.n_heads) == (5, 24)


def test_a_head_is_needed_if_the_loss_rises_without_it() -> None:
    rises = {"encoder": np.array([[-1.0, NEEDED]]), "cross": np.array([[0.02], [0.5]])}
    losses = HeadLosses(0.1, rises, 1)
    assert (losses.n_heads, losses.n_needed) == (4, 2)


def test_labels_are_those_of_all_sentences_together(small: Translator) -> None:
    found = label_translator_heads(small, PAIRS)
    traces = [small.trace(" ".join(pair.source), list(pair.target)) for pair in PAIRS]
    assert found == {kind: label_heads_together(traces, kind) for kind in ("encoder", "decoder", "cross")}
    n_rows = sum(len(pair.target) + 1 for pair in PAIRS)
    assert n_rows in {label.n_rows for layer in found["cross"] for label in layer if label}


def test_texts_are_read_like_words_and_no_sentence_is_refused(small: Translator) -> None:
    texts = [TextPair(" ".join(pair.source), " ".join(pair.target)) for pair in PAIRS[:2]]
    assert head_losses(small, texts).loss == head_losses(small, PAIRS[:2]).loss
    assert label_translator_heads(small, texts) == label_translator_heads(small, PAIRS[:2])
    for function in (head_losses, label_translator_heads):
        with pytest.raises(UserError, match="no sentence pairs"):
            function(small, [])


ENGLISH, SPANISH = "the black cat sleeps", "el gato negro duerme"


def test_a_line_holds_the_links_of_a_sentence_source_word_first(tmp_path: Path) -> None:
    path = tmp_path / "links"
    path.write_text("0-0 1-2 2p1\n\n3-1\n", encoding="utf-8")
    assert read_links(path) == [
        GoldLinks(frozenset({(0, 0), (2, 1)}), frozenset({(1, 2)})),
        GoldLinks(frozenset()),
        GoldLinks(frozenset({(1, 3)})),
    ]
    for part in ("0", "0-", "a-b", "0--1", "-1-0", "0,1", "0P1"):
        path.write_text(f"0-0\n0-0 {part}\n", encoding="utf-8")
        with pytest.raises(UserError, match=f"line 2 holds '{part}'"):
            read_links(path)


def test_the_bundled_translator_is_held_to_the_grammars_own_links(translator: Translator) -> None:
    """The rate of the best head, once more by hand from the weights alone."""
    found = align_english_spanish(translator, n=12)
    assert found.n == 12
    assert found.error_rates.shape == (2, 4)
    layer, head = found.best
    links, gold = [], []
    for pair in english_spanish(n_train=0, n_held_out=12).held_out:
        trace = translator.trace(" ".join(pair.source), " ".join(pair.target))
        most = trace.cross_attention[layer, head][:-1].argmax(axis=-1)  # the last query writes <eos>
        links.append({(t, int(s)) for t, s in enumerate(most) if s < len(pair.source)})
        gold.append(set(pair.links))
    assert found.error_rates[layer, head] == pytest.approx(alignment_error_rate(links, gold))
    assert found.error_rates[layer, head] < 0.2
    assert found.error_rates.max() > 0.5


@pytest.fixture(scope="module")
def pieces() -> Translator:
    vocabulary = Subwords.train([ENGLISH, SPANISH] * 3, 300, ("en", "es"))
    config = replace(MODEL, vocab_size=len(vocabulary), n_decoder_layers=2, d_ff=16, max_length=64)
    return Translator(make_model(config, 0).eval(), vocabulary)


def test_pieces_are_put_together_to_words(pieces: Translator) -> None:
    trace = pieces.trace(ENGLISH, SPANISH)
    assert len(trace.source_tokens) > 5
    words = word_level(trace)
    assert words.source_tokens == (*ENGLISH.split(), "<eos>")
    assert words.output_tokens == (*SPANISH.split(), "<eos>")
    np.testing.assert_allclose(words.cross_attention.sum(-1), 1, atol=1e-5)
    # What goes to a word goes to its pieces together, on the mean over the pieces that look.
    keys = [place for place, word in enumerate(trace.source_words) if word == 2]
    queries = [place for place, word in enumerate(trace.target_words[1:]) if word == 1]
    of_pieces = trace.cross_attention[:, :, queries][..., keys].sum(-1).mean(-1)
    np.testing.assert_allclose(weights_between(words, "cross", "gato", "cat"), of_pieces, atol=1e-6)


def test_links_are_checked_against_their_sentences(pieces: Translator) -> None:
    pair = TextPair(ENGLISH, SPANISH)
    good = GoldLinks(frozenset({(0, 0), (1, 2), (2, 1), (3, 3)}))
    assert evaluate_alignment(pieces, [pair], [good]).error_rates.shape == (2, 2)
    for pairs, links, message in (
        ([pair], [good, good], "1 sentence pairs and links for 2"),
        ([pair], [GoldLinks(frozenset({(9, 0)}))], "lies outside"),
        ([], [], "at least one trace"),
    ):
        with pytest.raises(UserError, match=message):
            evaluate_alignment(pieces, pairs, links)


def test_the_command_prints_the_rate_of_every_head(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"source": ENGLISH, "target": SPANISH, "links": "0-0 1-2 2-1 3-3"}
    for name, text in texts.items():
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    command = ["evaluate", *(f"--{name}={tmp_path / name}" for name in texts)]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert "alignment error rate over 1 sentences, cross-attention, best in layer 1" in told
    assert "  layer 0: " in told
    (tmp_path / "links").write_text("0-0\n1-1\n", encoding="utf-8")
    assert main(command) == 2
    assert "give one line of links for each pair" in capsys.readouterr().err
