"""Pieces of words: how they are cut, that text comes back, and views of a model that reads them."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import viz_transformer as vt
from tests.support.missing_packages import hide_here
from tests.support.texts import HOSTILE, TEXTS
from tests.support.training_runs import MODEL
from viz_transformer.analysis.words import query_words, word_axis
from viz_transformer.checkpoint import Checkpoint
from viz_transformer.corpus import vocabulary_of
from viz_transformer.corpus.batches import Batch, batches
from viz_transformer.corpus.files import TextPair
from viz_transformer.corpus.six_pairs import SIX_PAIRS
from viz_transformer.errors import UserError
from viz_transformer.training import make_model
from viz_transformer.translator import Translator
from viz_transformer.vocabulary import SPECIAL_TOKENS, Subwords, from_json
from viz_transformer.vocabulary.bpe import normalised
from viz_transformer.widgets.mask_lab.requests import mask_request
from viz_transformer.widgets.mask_lab.view import MaskLab

PAIRS = [TextPair(one, other) for one, other in zip(TEXTS[::2], TEXTS[1::2], strict=True)]


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return Subwords.train(TEXTS, 500, ("English", "Spanish"))


@pytest.fixture(scope="module")
def translator(subwords: Subwords) -> Translator:
    config = replace(MODEL, vocab_size=len(subwords), d_ff=16, max_length=24)
    return Translator(make_model(config, 0).eval(), subwords)


def test_pieces_are_readable_and_end_where_a_word_does(subwords: Subwords) -> None:
    ids = subwords.source_ids("The 2 ways.")
    assert subwords.tokens_of(ids) == ("▁The", "▁", "<0x32>", "▁w", "ay", "s", ".", "<eos>")
    assert subwords.ids_of(subwords.tokens_of(ids)) == ids
    assert subwords.tokens[:3] == SPECIAL_TOKENS
    assert (subwords.pad_id, subwords.sos_id, subwords.eos_id) == (0, 1, 2)
    assert subwords.tokens[3 + 0xC3] == "<0xC3>"
    assert len(subwords) == len(set(subwords.tokens)) == 500
    target = subwords.target_ids("El gato")
    assert (target[0], target[-1]) == (subwords.sos_id, subwords.eos_id)
    for token in subwords.tokens[259:]:
        assert "▁" not in token[1:]
        letters = {char.isalpha() for char in token.removeprefix("▁")}
        assert len(letters) < 2, token
    ids = [1, *subwords.ids_of(["▁c", "at", "<0xC3>", "▁the", "."]), 2]
    assert subwords.word_numbers(ids) == (None, 0, 0, 0, 1, 1, None)
    assert subwords.word_numbers(subwords.ids_of(["at", "▁the"])) == (0, 1)


def test_the_same_texts_give_the_same_pieces_in_another_process_too(
    subwords: Subwords, tmp_path: Path
) -> None:
    few = Subwords.train(["low lower lowest", "new newer newest"] * 3, 8_000)  # the whole of a small corpus
    assert few.tokens_of(few.encode("lowest newer")) == ("▁lowest", "▁newer")
    assert len(few) < 320
    again = Subwords.train(iter(TEXTS[::-1]), 500, ("English", "Spanish"))
    assert again.to_json() == subwords.to_json()
    assert again == subwords != Subwords.train(TEXTS[:300], 500)
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
    assert subwords.decode(ids) == subwords.decode([1, *ids, 0, 0]) == normalised(text)
    words = [number for number in subwords.word_numbers(ids) if number is not None]
    assert len(words) == len(ids) - 1
    assert words == sorted(words)
    assert set(words) == set(range(len(subwords.words_of(text))))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_text_comes_back_and_forges_nothing(subwords: Subwords, text: str) -> None:
    assert_round_trip(subwords, text)
    # Not even where training saw nothing else, or where the pieces come from a file.
    assert_round_trip(Subwords.train([text] * 9), text)
    trained = Subwords.train([*TEXTS, *[text] * 3], 400, ("A", "B"))
    again = from_json(trained.to_json())
    assert isinstance(again, Subwords)
    assert again == trained
    assert again.languages == ("A", "B")
    assert again.encode(text) == trained.encode(text)


@given(st.text(min_size=1).filter(normalised))
@example(" The\t Cafe\u0301\u2028x\xa0y ▁a \ud83d\udc08 \ud83d")
def test_any_text_comes_back(subwords: Subwords, text: str) -> None:
    assert_round_trip(subwords, text)
    assert normalised(" The\t Cafe\u0301\u2028x\xa0y ▁a \ud83d\udc08 \ud83d") == "The Café x y _a 🐈 \ufffd"
    assert subwords.decode(subwords.ids_of(["▁the", "<0xC3>"])) == "the\ufffd"
    assert subwords.decode([]) == ""


def test_texts_that_cannot_be_split_or_learned_from_are_refused(
    subwords: Subwords, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("", " \n", "\u2028"):
        for encode in (subwords.encode, subwords.source_ids, subwords.target_ids):
            with pytest.raises(UserError, match="holds no word; type a sentence"):
                encode(text)
    with pytest.raises(UserError, match="there is no text to learn pieces from"):
        Subwords.train(["", " "])
    for n_tokens in (299, 0, -1, 8000.0, True):
        with pytest.raises(UserError, match=r"n_tokens=.* is too small: 259 are special tokens"):
            Subwords.train(TEXTS, n_tokens)
    with pytest.raises(UserError, match="'dragon' is not a token"):
        subwords.ids_of(["dragon"])
    ids, again = subwords.encode("the cat"), from_json(subwords.to_json())
    hide_here(monkeypatch, "tokenizers")
    for use in (lambda: again.encode("a"), lambda: Subwords.train(TEXTS)):
        with pytest.raises(UserError, match=re.escape("tokenizers is not installed, and this needs it: pip")):
            use()
    assert again.decode(ids) == "the cat"  # that needs no library


def test_json_that_is_damaged_or_does_not_fit_is_refused(subwords: Subwords) -> None:
    own = json.loads(subwords.to_json())
    for text, message in (
        ("", "the vocabulary is not JSON.*write it again"),
        ("[1]", "neither source_words nor merges"),
        ("{}", "write it again"),
        ('{"languages": ["a", "b"], "source_words": 3}', "not what Vocabulary.to_json wrote.*write it again"),
        ('{"merges": []}', "not what Subwords.to_json wrote"),
        ('{"merges": [], "format": "x"}', "another format: 'x'"),
        ({"merges": ["a zz"]}, "'a' and 'zz' cannot be merged before both are pieces"),
        ({"merges": ["a b c"]}, "write it again"),
        ({"merges": [3]}, "write it again"),
        ({"characters": "a b"}, "no white space"),
        ({"characters": 3}, "write it again"),
        ({"languages": "x"}, "write it again"),
        ({"characters": "<eos>", "merges": ["< e", "<e o", "<eo s", "<eos >"]}, "special token"),
    ):
        with pytest.raises(UserError, match=message):
            from_json(text if isinstance(text, str) else json.dumps({**own, **text}))


# A model that reads pieces


def test_a_translation_is_text_and_its_trace_groups_subwords(translator: Translator, tmp_path: Path) -> None:
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
    Checkpoint(translator.model, translator.vocabulary).save(tmp_path / "model")
    again = vt.load_translator(tmp_path / "model")
    assert again.vocabulary == translator.vocabulary
    assert again.translate("The dragon sleeps.") == translation
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
    heads = vt.head_lab(translator, TEXT)
    heads.factors = [{"kind": "cross", "layer": 0, "head": 1, "factor": 0.0}]
    stepper = vt.attention_stepper(translator, TEXT, kind="encoder")
    assert stepper.steps.key_tokens[-1] == "<eos>"
    assert vt.beam_stepper(translator, TEXT, beam_width=2).search.hypotheses
    # The leak meter puts other pieces in.
    assert vt.mask_lab(translator, [TEXT, "The cat."]).words["source"][1][-1] == "<eos>"
    words = translator.vocabulary
    targets = [words.tokens_of(words.target_ids(text)) for text in ("El 🐈", "Un.")]
    masks = MaskLab(
        source=[words.tokens_of(words.source_ids(text)) for text in (TEXT, "The cat.")],
        target=[tokens[:-1] for tokens in targets],
        written=[tokens[1:] for tokens in targets],
        answer=vt.MaskTester(translator).answer,
    )
    reply = masks.answer(mask_request(masks.words, masks.state, "leaks"))
    assert all(len(row) == reply["shape"][1] for row in reply["replacements"])
    assert not any(token.startswith("<") for row in reply["replacements"] for token in row)
    assert np.isfinite(np.frombuffer(reply["changes"], "<f4").reshape(reply["shape"])).all()
    # Shuffled words keep their pieces together; without positions no vector can tell where its word stands.
    order = vt.position_lab(translator, "The dragon sees 🐈")
    assert tuple(order.words) == ("The", "dragon", "sees", "🐈")
    off, on = (order.answer({"order": [3, 1, 0, 2], "positions_on": on}) for on in (False, True))
    np.testing.assert_allclose(off["moved"], 0, atol=1e-5)
    assert min(on["moved"]) > 1e-4
    assert (order.data["language"], order.data["language_tag"]) == ("Spanish", "es")


# Pieces left out at random (BPE-dropout)


def some(subwords: Subwords, n: int, start: int = 0, p: float = 0.1) -> list[Batch]:
    return list(itertools.islice(batches(PAIRS, subwords, 8, seed=3, piece_dropout=p, start=start), n))


@given(text=st.text(min_size=1).filter(normalised), p=st.floats(0, 0.99), seed=st.integers())
def test_however_a_text_is_cut_it_comes_back(subwords: Subwords, text: str, p: float, seed: int) -> None:
    loose = subwords.with_dropout(p, Random(seed))
    assert subwords.decode(loose.encode(text)) == normalised(text)


def test_without_dropout_the_pieces_are_the_usual_ones(subwords: Subwords) -> None:
    usual, loose = subwords.with_dropout(0.0, Random(0)), subwords.with_dropout(0.9, Random(0))
    before = subwords.encode(TEXTS[0])
    assert loose == subwords
    assert len(loose.encode(TEXTS[0])) > len(before)
    assert subwords.encode(TEXTS[0]) == before  # the vocabulary itself goes on as before
    assert not [text for text in (*TEXTS, *HOSTILE) if usual.encode(text) != subwords.encode(text)]


def test_each_merge_is_left_out_with_the_probability_asked_for() -> None:
    """Two merges, a with b, then ab with c: the first is made with 1 - p, the second likewise."""
    two = Subwords(["a", "b", "c"], [("a", "b"), ("ab", "c")])
    loose = two.with_dropout(0.25, Random(0))
    cuts = [" ".join(two.tokens[index] for index in loose.encode("abc")) for _ in range(4000)]
    assert set(cuts) == {"▁ abc", "▁ ab c", "▁ a b c"}
    assert cuts.count("▁ a b c") / 4000 == pytest.approx(0.25, abs=0.03)
    assert cuts.count("▁ abc") / 4000 == pytest.approx(0.75 * 0.75, abs=0.03)


def test_batches_are_drawn_anew_each_epoch_and_a_training_may_go_on_at_any(subwords: Subwords) -> None:
    n_epoch = -(-len(PAIRS) // 8)
    drawn = some(subwords, 3 * n_epoch)
    for start, again in ((0, some(subwords, 90)), (70, some(subwords, 20, start=70))):
        for first, second in zip(drawn[start:], again, strict=False):
            np.testing.assert_array_equal(first.source, second.source)
            np.testing.assert_array_equal(first.target, second.target)
    cuts = set()
    for epoch in range(3):
        rows = [row for one in drawn[epoch * n_epoch :][:n_epoch] for row in one.source]
        said = sorted(subwords.decode(row) for row in rows)
        assert said == sorted(subwords.decode(subwords.encode(pair.source)) for pair in PAIRS)
        cuts |= {tuple(row[row != subwords.pad_id]) for row in rows if subwords.decode(row) == TEXTS[0]}
    assert len(cuts) > 1


def test_smaller_pieces_make_smaller_batches_not_longer_ones(subwords: Subwords) -> None:
    """A batch holds as many tokens as it may, and little of it is padding."""
    shares, n_pairs = {}, {}
    for p in (0.0, 0.2):
        stream = batches(PAIRS, subwords, 8, seed=3, batch_tokens=400, piece_dropout=p)
        drawn = list(itertools.islice(stream, 40))
        sides = [array for one in drawn for array in (one.source, one.target)]
        assert max(side.size for side in sides) <= 400
        n_real = sum(int((side != subwords.pad_id).sum()) for side in sides)
        shares[p] = n_real / sum(side.size for side in sides)
        n_pairs[p] = sum(len(one.source) for one in drawn)
    assert n_pairs[0.2] < n_pairs[0.0]
    assert shares[0.2] > 0.9 * shares[0.0]
    with pytest.raises(UserError, match="needs pieces of words"):
        next(batches(SIX_PAIRS, vocabulary_of(SIX_PAIRS), 6, 0, piece_dropout=0.1))
