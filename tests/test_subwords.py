"""Pieces of words: what they cut, what they give back, and views of a model that reads them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import viz_transformer as vt
from tests.support.missing_packages import hide_here
from tests.support.texts import HOSTILE, TEXTS
from tests.support.training_runs import MODEL
from viz_transformer import vocabulary as vocabularies
from viz_transformer.analysis.words import query_words, word_axis
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.corpus.batches import batches
from viz_transformer.corpus.files import TextPair
from viz_transformer.errors import UserError
from viz_transformer.labs import (
    MaskTester,
    attention_stepper,
    beam_stepper,
    head_lab,
    mask_lab,
    position_lab,
)
from viz_transformer.training import make_model
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import SPECIAL_TOKENS, Subwords, Vocabulary
from viz_transformer.vocabulary.bpe import normalised
from viz_transformer.widgets.mask_lab.requests import mask_request
from viz_transformer.widgets.mask_lab.view import MaskLab


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.train(TEXTS, 500, ("English", "Spanish"))


@pytest.fixture(scope="module")
def translator(subwords: Subwords) -> Translator:
    config = replace(MODEL, vocab_size=len(subwords), d_ff=16, max_length=24)
    return Translator(make_model(config, 0).eval(), subwords)


def test_special_tokens_and_bytes_are_the_first_ids(subwords: Subwords) -> None:
    assert subwords.tokens[:3] == SPECIAL_TOKENS
    assert (subwords.pad_id, subwords.sos_id, subwords.eos_id) == (0, 1, 2)
    assert subwords.tokens[3 + 0xC3] == "<0xC3>"
    assert len(subwords) == len(subwords.tokens) == len(set(subwords.tokens)) == 500


def test_pieces_are_readable_and_end_where_a_word_does(subwords: Subwords) -> None:
    ids = subwords.source_ids("The 2 ways.")
    assert subwords.tokens_of(ids) == ("▁The", "▁", "<0x32>", "▁w", "ay", "s", ".", "<eos>")
    assert subwords.target_ids("El gato")[0] == subwords.sos_id
    assert subwords.target_ids("El gato")[-1] == subwords.eos_id
    assert subwords.ids_of(subwords.tokens_of(ids)) == ids
    for token in subwords.tokens[259:]:
        assert "▁" not in token[1:]
        signs = [char for char in token.removeprefix("▁") if not char.isalpha()]
        assert not signs or not any(map(str.isalpha, token)), token


def test_training_uses_the_whole_of_a_small_corpus() -> None:
    texts = ["low lower lowest", "new newer newest"] * 3
    few = Subwords.train(texts, 8_000)
    assert few.tokens_of(few.encode("lowest newer")) == ("▁lowest", "▁newer")
    assert few.decode(few.encode("newlow")) == "newlow"
    assert len(few) < 320


def test_the_same_texts_give_the_same_pieces(subwords: Subwords) -> None:
    again = Subwords.train(iter(TEXTS[::-1]), 500, ("English", "Spanish"))
    assert again.to_json() == subwords.to_json()
    assert again == subwords
    assert Subwords.train(TEXTS[:300], 500) != subwords
    assert Vocabulary(["a"], ["b"]) != subwords


def test_another_process_learns_the_same_pieces(subwords: Subwords, tmp_path: Path) -> None:
    """Neither hash seeds nor threads decide."""
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    code = (
        "import json; from pathlib import Path; from viz_transformer.vocabulary import Subwords\n"
        f"texts = json.loads(Path({str(tmp_path / 'texts.json')!r}).read_text())\n"
        "print(Subwords.train(texts, 500, ('English', 'Spanish')).to_json())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.rstrip("\n") == subwords.to_json(), done.stderr


def assert_round_trip(subwords: Subwords, text: str) -> None:
    ids = subwords.source_ids(text)
    assert min(ids[:-1]) >= 3, "a special token was forged"
    assert subwords.decode(ids) == normalised(text)
    assert subwords.decode([1, *ids, 0, 0]) == normalised(text)
    words = [number for number in subwords.word_numbers(ids) if number is not None]
    assert len(words) == len(ids) - 1
    assert words == sorted(words)
    assert set(words) == set(range(len(subwords.words_of(text))))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_text_comes_back_and_forges_nothing(subwords: Subwords, text: str) -> None:
    assert_round_trip(subwords, text)
    # Not even where training saw nothing else.
    assert_round_trip(Subwords.train([text] * 9), text)


@given(st.text(min_size=1).filter(normalised))
def test_any_text_comes_back(subwords: Subwords, text: str) -> None:
    assert_round_trip(subwords, text)


def test_what_becomes_of_text_before_it_is_cut() -> None:
    assert normalised(" The\t Cafe\u0301\u2028x\xa0y ") == "The Café x y"
    assert normalised("▁a") == "_a"
    assert normalised("\ud83d\udc08 \ud83d") == "🐈 \ufffd"


def test_broken_characters_are_shown_as_such(subwords: Subwords) -> None:
    assert subwords.decode(subwords.ids_of(["▁the", "<0xC3>"])) == "the\ufffd"
    assert subwords.decode([]) == ""


def test_pieces_know_their_words(subwords: Subwords) -> None:
    ids = [1, *subwords.ids_of(["▁c", "at", "<0xC3>", "▁the", "."]), 2]
    assert subwords.word_numbers(ids) == (None, 0, 0, 0, 1, 1, None)
    assert subwords.word_numbers(subwords.ids_of(["at", "▁the"])) == (0, 1)


@pytest.mark.parametrize("text", ["", " \n", "\u2028"])
def test_empty_text_is_refused(subwords: Subwords, text: str) -> None:
    for encode in (subwords.encode, subwords.source_ids, subwords.target_ids):
        with pytest.raises(UserError, match="holds no word; type a sentence"):
            encode(text)


def test_what_cannot_be_learned_from_is_refused() -> None:
    with pytest.raises(UserError, match="there is no text to learn pieces from"):
        Subwords.train(["", " "])
    for n_tokens in (299, 0, -1, 8000.0, True):
        with pytest.raises(UserError, match=r"n_tokens=.* is too small: 259 are special tokens"):
            Subwords.train(TEXTS, n_tokens)
    with pytest.raises(UserError, match="'dragon' is not a token"):
        Subwords.train(TEXTS, 300).ids_of(["dragon"])


def test_without_the_library_the_extra_is_named(subwords: Subwords, monkeypatch: pytest.MonkeyPatch) -> None:
    again = vocabularies.from_json(subwords.to_json())
    hide_here(monkeypatch, "tokenizers")
    for use in (lambda: again.encode("a"), lambda: Subwords.train(TEXTS)):
        with pytest.raises(UserError, match=re.escape("tokenizers is not installed, and this needs it: pip")):
            use()
    assert again.decode(subwords.encode("the cat")) == "the cat"  # that needs no library


@pytest.mark.parametrize("text", ["the cat", *HOSTILE], ids=ascii)
def test_json_brings_either_vocabulary_back(subwords: Subwords, text: str) -> None:
    trained = Subwords.train([*TEXTS, *[text] * 3], 400, ("A", "B"))
    again = vocabularies.from_json(trained.to_json())
    assert isinstance(again, Subwords)
    assert again == trained
    assert again.languages == ("A", "B")
    assert again.encode(text) == trained.encode(text)
    words = Vocabulary(["cat"], ["gato"])
    assert vocabularies.from_json(words.to_json()) == words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the vocabulary is not JSON"),
        ("[1]", "neither source_words nor merges"),
        ('{"source_words": 3}', "not what Vocabulary.to_json wrote"),
        ('{"merges": []}', "not what Subwords.to_json wrote"),
        ('{"merges": [], "format": "x"}', "another format: 'x'"),
    ],
)
def test_damaged_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        vocabularies.from_json(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"merges": ["a zz"]}, "'a' and 'zz' cannot be merged before both are pieces"),
        ({"merges": ["a b c"]}, "write it again"),
        ({"merges": [3]}, "write it again"),
        ({"characters": "a b"}, "no white space"),
        ({"characters": 3}, "write it again"),
        ({"languages": "x"}, "write it again"),
        ({"characters": "<eos>", "merges": ["< e", "<e o", "<eo s", "<eos >"]}, "special token"),
    ],
)
def test_json_that_does_not_fit_is_refused(subwords: Subwords, change: dict, message: str) -> None:
    text = json.dumps({**json.loads(subwords.to_json()), **change})
    with pytest.raises(UserError, match=message):
        vocabularies.from_json(text)


def test_a_checkpoint_brings_the_pieces_back(translator: Translator, tmp_path: Path) -> None:
    Checkpoint(translator.model, translator.vocabulary).save(tmp_path / "model")
    again = vt.load_translator(tmp_path / "model")
    assert again.vocabulary == translator.vocabulary
    assert again.translate("The cat sleeps.") == translator.translate("The cat sleeps.")


def test_a_translation_is_text_and_its_trace_knows_the_words(translator: Translator) -> None:
    translation = translator.translate("The dragon sleeps.")
    ids = translator.vocabulary.ids_of(translation.tokens)
    assert translation.text == translator.vocabulary.decode(ids)
    trace = translator.trace("The dragon sleeps.", target="El dragón duerme.")
    assert set(trace.source_words) == {0, 1, 2, None}
    assert trace.source_words[-1] is trace.target_words[0] is None
    assert trace.target_words.count(1) > 1
    words = word_axis(trace.source_tokens, trace.source_words)
    assert words.names == ("The", "dragon", "sleeps.", "<eos>")
    pieces = word_axis(trace.source_tokens, trace.source_words, merge_words=False)
    assert pieces.names == trace.source_tokens
    assert len(query_words(trace, "cross")) == len(trace.target_tokens)


def test_a_text_too_long_is_counted_in_pieces(translator: Translator) -> None:
    with pytest.raises(UserError, match="has 30 pieces of words, and this model reads at most 23"):
        translator.translate("the " * 30)


TEXT = "The dragon 🐈 sleeps."


def test_every_lab_works_with_pieces(translator: Translator) -> None:
    lab = vt.translation_lab(translator, TEXT)
    lab.sentence = "Any wörd at all"
    assert lab.trace.source_words[-2] == 3
    assert lab.translated == lab.translation.text
    assert lab.languages["source"] == "English"
    assert lab.engine == {}
    reply = lab.answer({"text": ""})
    assert "holds no word" in reply["problem"]
    assert reply["suggestions"] == []
    assert vt.explore(lab.trace, merge_words=True).trace is lab.trace
    heads = head_lab(translator, TEXT)
    heads.factors = [{"kind": "cross", "layer": 0, "head": 1, "factor": 0.0}]
    stepper = attention_stepper(translator, TEXT, kind="encoder")
    assert stepper.steps.key_tokens[-1] == "<eos>"
    assert beam_stepper(translator, TEXT, beam_width=2).search.hypotheses
    assert mask_lab(translator, [TEXT, "The cat."]).words["source"][1][-1] == "<eos>"


def test_the_leak_meter_puts_other_pieces_in(translator: Translator) -> None:
    vocabulary = translator.vocabulary
    sources = [vocabulary.tokens_of(vocabulary.source_ids(text)) for text in (TEXT, "The cat.")]
    targets = [vocabulary.tokens_of(vocabulary.target_ids(text)) for text in ("El 🐈", "Un.")]
    words = {
        "source": sources,
        "target": [tokens[:-1] for tokens in targets],
        "written": [tokens[1:] for tokens in targets],
    }
    lab = MaskLab(**words, answer=MaskTester(translator).answer)
    reply = lab.answer(mask_request(lab.words, lab.state, "leaks"))
    assert all(len(row) == reply["shape"][1] for row in reply["replacements"])
    assert not any(token.startswith("<") for row in reply["replacements"] for token in row)
    changes = np.frombuffer(reply["changes"], "<f4").reshape(reply["shape"])
    assert np.isfinite(changes).all()


def test_shuffled_words_keep_their_pieces_together(translator: Translator) -> None:
    lab = position_lab(translator, "The dragon sees 🐈")
    assert tuple(lab.words) == ("The", "dragon", "sees", "🐈")
    reply = lab.answer({"order": [3, 1, 0, 2], "positions_on": False})
    # Without positions no vector can tell where its word stands.
    np.testing.assert_allclose(reply["moved"], 0, atol=1e-5)
    on = lab.answer({"order": [3, 1, 0, 2], "positions_on": True})
    assert min(on["moved"]) > 1e-4
    assert (lab.data["language"], lab.data["language_tag"]) == ("Spanish", "es")


def test_batches_read_pieces(translator: Translator) -> None:
    pairs = [TextPair("The cat.", "El gato."), TextPair("A 🐈 runs fast", "Un 🐈 corre")]
    batch = next(batches(pairs, translator.vocabulary, 2, 0))
    assert {translator.vocabulary.decode(row) for row in batch.source.tolist()} == {
        pair.source for pair in pairs
    }
