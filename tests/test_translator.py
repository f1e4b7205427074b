"""The bundled translator: what it translates, and that its traces are its own forward pass."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import viz_transformer as vt
from viz_transformer.config import ModelConfig
from viz_transformer.corpus import english_spanish, translation_tokens, translations
from viz_transformer.corpus.batches import as_text
from viz_transformer.errors import UserError
from viz_transformer.recipes.grammar_eval import evaluate_against_grammar
from viz_transformer.training import make_model
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import UnknownWordError, Vocabulary, join_tokens

DATA = Path(__file__).parents[1] / "data"
SENTENCE = "the animal did not cross the street because it was too tired"


def test_it_translates(translator: Translator) -> None:
    for english, spanish in (
        ("hello world", "¡hola, mundo!"),
        ("I love cheese", "amo queso"),
        ("the cat is black", "el gato es negro"),
        ("good morning", "¡buenos días!"),
        ("this is a book", "este es un libro"),
        ("what is your name", "¿cómo te llamas?"),
        ("The black cat sleeps.", "el gato negro duerme"),
        ("the teacher sleeps", "la maestra duerme"),
        ("the teacher lost her book", "la maestra perdió su libro"),
        ("my friend maria sleeps", "mi amiga María duerme"),
        ("we eat the fish", "comemos el pescado"),
        ("she knows the answer", "sabe la respuesta"),
        (f"The {SENTENCE[4:]}!", "el animal no cruzó la calle porque estaba demasiado cansado"),
        (f"{SENTENCE[:-5]}wide", "el animal no cruzó la calle porque era demasiado ancha"),
        (
            "the cow didn't cross the river because it was too wide",
            "la vaca no cruzó el río porque era demasiado ancho",
        ),
        ("the ticket from beijing to shanghai is cheap", "el billete de Pekín a Shanghái es barato"),
    ):
        translation = translator.translate(english)
        assert translation.text == join_tokens(translation.tokens) == spanish, english
        assert translation.score <= 0


def test_its_best_hypothesis_is_a_translation_on_unseen_combinations(translator: Translator) -> None:
    """The whole sets are `viz-transformer evaluate`; these are their first sentences."""
    corpus = english_spanish(n_train=0, n_held_out=100, n_of_a_kind=30)
    sentences = [as_text(pair.source) for pair in corpus.held_out]
    score = evaluate_against_grammar(translator, sentences, translation_tokens)
    assert score.share_allowed >= 0.98
    assert score.share_mode >= 0.95
    assert score.kl <= 0.01
    assert score.loss == pytest.approx(score.entropy + score.kl, abs=1e-5)
    reasons = [as_text(pair.source) for pair in corpus.held_out_reasons]
    assert evaluate_against_grammar(translator, reasons, translation_tokens).share_mode >= 0.99


def test_its_probabilities_follow_the_grammar_where_it_is_ambiguous(translator: Translator) -> None:
    """Greedy search walks the garden path that beam search avoids."""
    probabilities = translations("the teacher sleeps")
    for hypothesis in translator.decode("the teacher sleeps", beam_width=4).hypotheses:
        exact = probabilities[join_tokens(hypothesis.tokens)]
        assert np.exp(hypothesis.log_prob) == pytest.approx(exact, abs=0.05)
    assert translator.translate("the teacher sleeps", beam_width=1).text == "el profesor duerme"
    assert translator.translate("the teacher sleeps", beam_width=4).text == "la maestra duerme"


def test_a_trace_is_the_traced_forward_pass(translator: Translator) -> None:
    trace = translator.trace(SENTENCE)
    source = torch.tensor([translator.vocabulary.source_ids(SENTENCE)])
    target = torch.tensor([translator.vocabulary.target_ids(" ".join(trace.output_tokens[:-1]))])
    with torch.no_grad():
        output = translator._traced(source, target[:, :-1])
        logits = translator.model(source, target[:, :-1])
    for kind in ("encoder", "decoder", "cross"):
        fresh = getattr(output, f"{kind}_attention")
        for layer, weights in enumerate(fresh):
            np.testing.assert_allclose(trace.attention(kind)[layer], weights[0], atol=1e-6)
        np.testing.assert_allclose(trace.attention(kind).sum(-1), 1, atol=1e-5)
    torch.testing.assert_close(output.logits, logits, atol=1e-4, rtol=1e-4)
    # What the trace says is written next is what the model finds most probable.
    written = translator.vocabulary.tokens_of(logits[0].argmax(-1).tolist())
    assert written == trace.output_tokens
    assert trace.source_tokens == (*SENTENCE.split(), "<eos>")
    assert trace.target_tokens == ("<sos>", *trace.output_tokens[:-1])
    assert trace.source_positions.shape == (13, translator.config.d_model)


def test_a_change_of_the_model_is_a_change_of_its_traces() -> None:
    translator = vt.load_translator()
    before = translator.trace("the cat sleeps", target="el gato duerme").cross_attention
    with torch.no_grad():
        translator.model.source_embedding.weight.mul_(0.5)
    after = translator.trace("the cat sleeps", target="el gato duerme").cross_attention
    assert not np.allclose(before, after)


def test_without_one_head_his_is_not_heard(translator: Translator) -> None:
    """The README's example: one encoder head tells *teacher* whose book it is."""
    silent = vt.HeadChange("encoder", layer=1, head=1, factor=0)
    changed = vt.Interventions(heads=(silent,))
    assert translator.translate("the teacher lost his book").text == "el profesor perdió su libro"
    without = translator.translate("the teacher lost his book", interventions=changed)
    assert without.text == "la maestra perdió su libro"
    trace = translator.trace("the teacher lost her book")
    words, of_teacher = trace.source_tokens, trace.encoder_attention[1, 1, 1]  # layer 1, head 1, query 1
    assert (words[1], words[3]) == ("teacher", "her")
    assert of_teacher[3] == pytest.approx(0.92, abs=0.005)  # as the README's picture is described


def test_decode_returns_the_search(translator: Translator) -> None:
    decoded = translator.decode("the black cat sleeps", beam_width=3)
    assert decoded.source_tokens == ("the", "black", "cat", "sleeps", "<eos>")
    assert decoded.hypotheses[0].tokens == ("el", "gato", "negro", "duerme")
    assert len(decoded.hypotheses) == 3
    assert decoded.steps[0].candidates[0].token == "el"


def test_an_unknown_word_is_named(translator: Translator) -> None:
    with pytest.raises(UnknownWordError, match=r"'dragon' \(did you mean .*'dog'"):
        translator.translate("the dragon sleeps")
    with pytest.raises(UnknownWordError, match="unknown Spanish word 'dragón'"):
        translator.trace("the cat sleeps", target="el dragón")
    with pytest.raises(UserError, match=r"'the cat sleeps' is English \('the' and 'cat'\), and Spanish is"):
        translator.trace("the cat sleeps", target="the cat sleeps")
    with pytest.raises(UserError, match="are two sentences, and one is expected"):
        translator.translate("the cat sleeps. the dog runs.")


def test_empty_and_endless_text_are_refused(translator: Translator) -> None:
    for call in (translator.translate, translator.trace, translator.decode):
        with pytest.raises(UserError, match="holds no word"):
            call(" . ")
        with pytest.raises(UserError, match=r"has 64 words, and this model reads at most 63"):
            call("cat " * 64)


def test_the_longest_sentence_is_read_whole(translator: Translator) -> None:
    trace = translator.trace("cat " * 63, target="gato")
    assert len(trace.source_tokens) == 64


def test_threads_are_put_back(translator: Translator) -> None:
    torch.set_num_threads(2)
    try:
        translator.translate("the cat sleeps")
        assert torch.get_num_threads() == 2
        with pytest.raises(UserError):
            translator.translate("the cat sleeps", beam_width=0)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


def test_hostile_words_are_words() -> None:
    words = ["</script><script>x", "<b>", "\u202eabc"]
    vocabulary = Vocabulary(words, words)
    config = ModelConfig(
        vocab_size=len(vocabulary), d_model=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1,
        d_ff=8, max_length=12,
    )  # fmt: skip
    translator = Translator(make_model(config, 0).eval(), vocabulary)
    for word in words:
        assert translator.trace(word).source_tokens == (word, "<eos>")


def test_a_given_translation_is_traced_as_text_or_tokens(translator: Translator) -> None:
    one = translator.trace("the cat sleeps", target="El GATO duerme")
    other = translator.trace("the cat sleeps", target=["el", "gato", "duerme"])
    assert one.output_tokens == other.output_tokens == ("el", "gato", "duerme", "<eos>")
    np.testing.assert_array_equal(one.cross_attention, other.cross_attention)
    empty = translator.trace("the cat sleeps", target=())
    assert (empty.target_tokens, empty.output_tokens) == (("<sos>",), ("<eos>",))
    with pytest.raises(UserError, match="'gatito' is not a token"):
        translator.trace("the cat sleeps", target=["el", "gatito"])
    with pytest.raises(UserError, match="the translation has 64 words"):
        translator.trace("the cat sleeps", target="gato " * 64)


def test_the_bundled_files_are_those_that_the_notes_describe() -> None:
    digest = hashlib.sha256((DATA / "en-es" / "model.safetensors").read_bytes()).hexdigest()
    made_by = json.loads((DATA / "en-es" / "made_by.json").read_text())
    assert made_by["sha256"]["model.safetensors"] == digest
    assert digest in (DATA / "README.md").read_text()
