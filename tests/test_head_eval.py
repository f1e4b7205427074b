"""Heads switched off one at a time, and named from many sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.tiny_decoder import VOCABULARY
from tests.support.training_runs import MODEL
from viz_transformer.analysis import label_heads_together
from viz_transformer.corpus import SentencePair
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.model import HeadChange, Interventions
from viz_transformer.recipes import head_eval
from viz_transformer.recipes.head_eval import NEEDED, HeadLosses, head_losses, label_translator_heads
from viz_transformer.training import make_model
from viz_transformer.translator import Translator

PAIRS = [
    SentencePair(tuple(source), tuple(target), ())
    for source, target in [("ab", "ba"), ("abba", "a"), ("bbbab", "abbbab"), ("a", "b"), ("baab", "baa")]
]


@pytest.fixture(scope="module")
def translator() -> Translator:
    config = replace(MODEL, vocab_size=len(VOCABULARY), n_heads=4, n_encoder_layers=2, n_decoder_layers=2)
    return Translator(make_model(config, 0).eval(), VOCABULARY)


def test_the_losses_are_those_of_single_sentences(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_eval, "_BATCH_TOKENS", 15)  # several batches
    found = head_losses(translator, PAIRS)

    def loss(interventions: Interventions | None = None) -> float:
        log_probs = [
            translator.log_probs(" ".join(pair.source), list(pair.target), interventions) for pair in PAIRS
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


def test_labels_are_those_of_all_sentences_together(translator: Translator) -> None:
    found = label_translator_heads(translator, PAIRS)
    traces = [translator.trace(" ".join(pair.source), list(pair.target)) for pair in PAIRS]
    assert found == {kind: label_heads_together(traces, kind) for kind in ("encoder", "decoder", "cross")}
    n_rows = sum(len(pair.target) + 1 for pair in PAIRS)
    assert n_rows in {label.n_rows for layer in found["cross"] for label in layer if label}


def test_texts_are_read_like_words_and_no_sentence_is_refused(translator: Translator) -> None:
    texts = [TextPair(" ".join(pair.source), " ".join(pair.target)) for pair in PAIRS[:2]]
    assert head_losses(translator, texts).loss == head_losses(translator, PAIRS[:2]).loss
    assert label_translator_heads(translator, texts) == label_translator_heads(translator, PAIRS[:2])
    for function in (head_losses, label_translator_heads):
        with pytest.raises(UserError, match="no sentence pairs"):
            function(translator, [])
