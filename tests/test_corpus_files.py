"""Sentence pairs from anybody's files: read or refused with the line named, and split without leaks."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_transformer.corpus.files import TextPair, read_pairs, read_table
from viz_transformer.corpus.split import refuse_leaks, split, too_long, without_leaks
from viz_transformer.errors import FileError, UserError
from viz_transformer.vocabulary import Vocabulary

PAIRS = [TextPair("A dog runs.", "Ein Hund läuft."), TextPair("Two cats.", "Zwei Katzen.")]
ENGLISH = b"A dog runs.\nTwo cats.\n"
GERMAN = "Ein Hund läuft.\nZwei Katzen.\n".encode()
TABLE = "A dog runs.\tEin Hund läuft.\tCC-BY 2.0 #1\nTwo cats.\tZwei Katzen.\n".encode()


def put(folder: Path, **contents: bytes) -> list[Path]:
    """Write files; `a_gz` is named a.gz."""
    paths = []
    for name, content in contents.items():
        path = folder / name.replace("_", ".")
        path.write_bytes(content)
        paths.append(path)
    return paths


def test_two_files_are_read_line_by_line_packed_or_not(tmp_path: Path) -> None:
    for english, german in (
        (ENGLISH, GERMAN),
        (ENGLISH.rstrip(), GERMAN),
        (b"\xef\xbb\xbf" + ENGLISH, GERMAN.replace(b"\n", b"\r\n")),
        (b"  A dog runs. \t\nTwo\x0bcats.\n", GERMAN),
    ):
        assert read_pairs(*put(tmp_path, en=english, de=german)) == PAIRS, english
        packed = put(tmp_path, en_gz=gzip.compress(english), de_gz=gzip.compress(german))
        assert read_pairs(*map(str, packed)) == PAIRS, english


def test_a_table_is_read_in_the_columns_that_are_asked_for(tmp_path: Path) -> None:
    for path in put(tmp_path, pairs_tsv=TABLE, pairs_tsv_gz=gzip.compress(TABLE)):
        assert read_table(path) == PAIRS
        assert read_table(path, (1, 0)) == [TextPair(pair.target, pair.source) for pair in PAIRS]
    tatoeba = put(tmp_path, tsv="\ufeff1276\tLet's go!\t77\tLos!\r\n".encode())
    assert read_table(*tatoeba, (1, 3)) == [TextPair("Let's go!", "Los!")]


@given(st.lists(st.text("ab \t\r\x0b\x0c\x1c\x85\u2028\u2029", max_size=6), min_size=1))
def test_no_character_but_the_line_feed_ends_a_line(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    lines = [f"x{sentence}y" for sentence in sentences]
    text = "\n".join(lines).encode()
    pairs = read_pairs(*put(folder, en=text, de=text))
    assert [pair.source.split() for pair in pairs] == [line.split() for line in lines]
    assert not any(set(pair.source) & set("\t\r\n\x0b\x0c\x1c\x85\u2028\u2029") for pair in pairs)
    table = "".join(f"{pair.source}\t{pair.target}\n" for pair in pairs)
    assert read_table(*put(folder, tsv=table.encode())) == pairs


def test_two_files_that_do_not_fit_are_refused_with_the_line(tmp_path: Path) -> None:
    for english, german, message in (
        (ENGLISH, b"Hund\n", r"'\S+en' has 2 lines and '\S+de' has 1 line; line by line"),
        (ENGLISH, GERMAN + b"\n", "has 2 lines and .* has 3 lines"),
        (ENGLISH, b"\nHund\n", r"line 1 of '\S+de' is empty, but not that of '\S+en'; fill in"),
        (b"a\n \t\nc\n\n", b"a\nb\nc\nd\n", r"line 2 of '\S+en' .*\(the first of 2 such lines\)"),
        (b"a\n\nc\n", b"a\n\r\nc\n", r"line 2 of '\S+en' and of '\S+de' is empty; fill in"),
        (ENGLISH, "Hund\nKätzchen\n".encode("latin-1"), r"line 2 is not UTF-8 \(byte 0xe4\); save"),
        ("Hund\n".encode("utf-16"), GERMAN, r"line 1 is not UTF-8 \(byte 0xff\); save the file"),
        ("Hund\n".encode("utf-16-le"), GERMAN, "line 1 holds a NUL character, as UTF-16 does"),
        (b"", GERMAN, r"'\S+en' is empty; give a file of sentences"),
        (gzip.compress(ENGLISH), GERMAN, r"'\S+en' is a gzip file; let its name end in .gz"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            read_pairs(*put(tmp_path, en=english, de=german))
        assert "\n" not in str(caught.value)


def test_a_table_that_does_not_fit_is_refused_with_the_line(tmp_path: Path) -> None:
    for table, message in (
        (b"a\tb\nc d\n", r"line 2 has 1 column, but columns 0 and 1 \(from 0\) are expected"),
        (b"a\tb\n\nc\td\n", "line 2 has 1 column"),
        (b"a\tb\nc\t \tx\n", r"line 2 of column 1 of '\S+' is empty, but not that of column 0"),
        (b"a\tb\n\t\n", r"line 2 of column 0 of .* and of column 1 of .* is empty; fill in"),
        (b"a\tb\nc\t\xff\n", "line 2 is not UTF-8"),
    ):
        with pytest.raises(UserError, match=message):
            read_table(*put(tmp_path, tsv=table))
    for columns in ((0, 0), (0, -1), (0,), (0, 1, 2), (0, True), ("0", 1), ("a",), ("a", "a"), "ab", (), 7):
        with pytest.raises(UserError, match="are not two columns"):
            read_table(*put(tmp_path, tsv=TABLE), columns)


TATOEBA = "".join(f"{1276 + i}\tI see {i} cats.\t{77 + i}\tVeo {i} gatos.\n" for i in range(12))
WITH_CODES = "".join(f"{line}\n".replace("\t", "\teng\t", 1) for line in TATOEBA.splitlines())
ANKI = "".join(f"I see {i} cats.\tVeo {i} gatos.\tCC-BY 2.0 #{i}\n" for i in range(12))
CATS = [TextPair(f"I see {i} cats.", f"Veo {i} gatos.") for i in range(12)]


def test_sentences_are_read_from_their_columns_or_the_columns_are_asked_for(tmp_path: Path) -> None:
    bare = TATOEBA.replace("1276", "en-1276").replace("\t77\t", "\tes-77\t")
    dated = "".join(f"2\N{EN DASH}{i}\tzwei bis {i}\n" for i in range(12))
    for table, columns in (
        (ANKI, None),
        (ANKI, (0, 1)),
        (TATOEBA, (1, 3)),
        (f"id\tEnglish\tnr\tSpanish\n{TATOEBA}", ("English", "Spanish")),
        (f"source \ttarget\tlicense\n{ANKI}", ("source", "target")),
        (f"Frase\tPhrase\tx\n{ANKI}", ("Frase", "Phrase")),
    ):
        assert read_table(*put(tmp_path, tsv=table.encode()), columns) == CATS, (table[:40], columns)
    # What the message says to type is what then reads the table.
    for table, columns, message in (
        (TATOEBA, None, r"column 0 of '\S+' \(from 0\) holds no sentences: line 1 has '1276'; .* 1,3$"),
        (bare, None, "column 0 .*line 1 has 'en-1276'.* --columns 1,3$"),
        (WITH_CODES, None, "column 0 .* --columns 2,4$"),
        (re.sub(r"(?m)^\d+\t", "", WITH_CODES), None, "column 0 .*line 1 has 'eng'.* 1,3$"),
        (f"id\ten\tindex\tes\n{TATOEBA}", None, r"line 1 of .*\(id, en, index, es\).*--columns en,es, or"),
        (f"id\ttext\tid\ttext\n{TATOEBA}", (1, 3), "line 1 .*names of columns .*--columns 1,3, or delete"),
        (f"Source text\tTarget_text\tx\n{ANKI}", (0, 1), "--columns Source text,Target_text, or delete"),
        (f"text\ttext\tx\n{ANKI}", ("text", "x"), r"2 columns of .* are named 'text' in line 1, which reads"),
        (ANKI, ("en", "es"), "no columns of .* are named 'en' in line 1, which reads I see 0 cats"),
        ("en\tes\n", ("en", "es"), "holds names of columns and nothing else"),
        (f"en\tes\n{ANKI}\tx\n", ("en", "es"), "line 14 of column 0 .* is empty"),
        (dated, None, r"column 0 .*; name the columns of the sentences, such as --columns 0,1$"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            read_table(*put(tmp_path, tsv=table.encode()), columns)
        assert "\n" not in str(caught.value), message
    assert len(read_table(*put(tmp_path, tsv=dated.encode()), (0, 1))) == 12, "numbers, when asked for"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    packed = gzip.compress(ENGLISH)
    english, plain, cut, bad = put(
        tmp_path, en=ENGLISH, plain_gz=ENGLISH, cut_gz=packed[:-9], bad_gz=packed[:12] + b"\xff" * 30
    )
    for path, message in (
        (plain, r"is not a gzip file; compress it, or drop .gz from its name"),
        (cut, r"truncated or damaged .*copy or compress it again"),
        (bad, r"truncated or damaged .*copy or compress it again"),
        (tmp_path / "x\ny", r"no file at .*x\\ny'; check the path"),
        (tmp_path, r"cannot read .*: Is a directory; give a file"),
    ):
        with pytest.raises(FileError, match=message):
            read_table(path)
        with pytest.raises(FileError, match=message):
            read_pairs(english, path)
    if os.geteuid():  # root may read every file
        english.chmod(0)
        with pytest.raises(FileError, match=r"cannot read .*ermission"):
            read_pairs(english, english)


NUMBERED = [TextPair(f"Sentence {number}", f"Satz {number}") for number in range(50)]


def normal(pair: TextPair) -> str:
    return " ".join(pair.source.casefold().split())


@given(
    st.lists(st.builds(TextPair, st.text("aAb ", min_size=1), st.text("xy", min_size=1))),
    st.integers(0, 3),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
def test_every_pair_lands_once_and_the_order_does_not_matter(
    pairs: list[TextPair], n_validation: int, n_test: int, rng: Random
) -> None:
    try:
        parts = split(pairs, n_validation, n_test)
    except UserError:
        assert len({normal(pair) for pair in pairs}) <= n_validation + n_test
        return
    assert sorted((pair.source, pair.target) for part in parts for pair in part) == sorted(
        (pair.source, pair.target) for pair in pairs
    )
    assert len(parts.validation) >= n_validation
    assert len(parts.test) >= n_test
    sources = [{normal(pair) for pair in part} for part in parts]
    assert sum(map(len, sources)) == len(set.union(*sources))
    rng.shuffle(pairs)
    assert split(pairs, n_validation, n_test) == parts
    refuse_leaks(parts.train, {"validation": parts.validation, "test": parts.test})


def test_a_sentence_stays_on_its_side_with_more_pairs_and_with_two_translations() -> None:
    few, many = split(NUMBERED[:20], 5, 5), split(NUMBERED, 5, 5)
    assert set(many.validation) & set(NUMBERED[:20]) <= set(few.validation)
    twice = [pair for each in NUMBERED for pair in (each, TextPair(each.source.upper() + " ", "x"))]
    assert [len(part) for part in split(twice, 5, 5)] == [88, 6, 6]
    for sizes in ((30, 20), (50, 0), (0, 60)):
        with pytest.raises(UserError, match="50 pairs with 50 different sentences are too few"):
            split(NUMBERED, *sizes)
    with pytest.raises(UserError, match="must be 0 or more"):
        split(NUMBERED, -1, 3)


def test_leaks_are_counted_refused_and_dropped() -> None:
    leaking = [TextPair(text, "x") for text in ("sentence  3", "SENTENCE 4", "new")]
    held_out = {"validation": leaking, "test": NUMBERED[5:6], "other": [TextPair("c", "d")]}
    with pytest.raises(
        UserError,
        match=r"^2 of 3 validation sentences and 1 of 1 test sentences are also in training, "
        "such as 'sentence  3'; drop them from training with --drop-leaks",
    ):
        refuse_leaks(NUMBERED, held_out)
    kept, n_dropped = without_leaks(NUMBERED, held_out)
    assert n_dropped == 3
    assert kept == [*NUMBERED[:3], *NUMBERED[6:]]
    refuse_leaks(kept, held_out)
    assert without_leaks(kept, held_out) == (kept, 0)


def test_pairs_over_the_limit_are_named_by_index_and_length() -> None:
    texts = ("a a a", "b"), ("a", "b b b"), ("a a", "b b"), ("a a", "b b b b")
    pairs = [TextPair(*each) for each in texts]
    vocabulary = Vocabulary(["a"], ["b"])
    # a a a <eos>, and <sos> b b b
    assert too_long(pairs, vocabulary, 3) == [(0, 4), (1, 4), (3, 5)]
    assert too_long(pairs, vocabulary, 5) == []
