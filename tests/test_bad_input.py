"""What nobody should give, at every door: one line that says how to mend it, and nothing is changed."""

from __future__ import annotations

import threading
import zipfile
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import viz_transformer as vt
from tests.support.fuzz.campaign import Count, Door, try_one
from tests.support.fuzz.doors import DOORS
from tests.support.fuzz.values import Hostile
from tests.support.hand_made_traces import make_trace
from tests.support.small_models import small_config
from viz_transformer.checkpoint import CONFIG, Checkpoint
from viz_transformer.cli import main
from viz_transformer.corpus.files import read_table
from viz_transformer.errors import FileError, UserError
from viz_transformer.exercises import exercise
from viz_transformer.model import Transformer
from viz_transformer.vocabulary import UnknownWordError, Vocabulary
from viz_transformer.widgets.base.requests import MOST_BYTES, check_reply, check_request

_QUICK = [door for door in DOORS if door.name in ("text", "trace constructors", "corpora")]


@pytest.mark.parametrize("door", _QUICK, ids=lambda door: door.name)
@settings(max_examples=12)
@given(number=st.integers(0, 2**32))
def test_a_door_refuses_in_one_line(door: Door, number: int) -> None:
    count = Count()
    try_one(door, str(number), count)
    assert count.failures == []


@pytest.mark.parametrize("text", [3, None, [], ["a"], {}, np.zeros(2), b"the cat", 1.5])
def test_what_is_no_text_is_refused(translator: vt.Translator, text: object) -> None:
    with pytest.raises(UserError, match="and text is expected; give it in quotation marks"):
        translator.translate(text)


def test_an_endless_word_is_cut_in_the_message(translator: vt.Translator) -> None:
    with pytest.raises(UnknownWordError, match=r"^unknown English word 'x{60}…'") as refused:
        translator.translate("x" * 5_000)
    assert len(str(refused.value)) < 150
    with pytest.raises(UnknownWordError, match=r"and 295 more unknown words$") as refused:
        translator.translate(" ".join(f"word{number}" for number in range(300)))
    assert len(refused.value.words) == 5


_HOSTILE = Hostile(RecursionError(), "__repr__")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"length_penalty": 2**31}, r"length_penalty=2147483648 must be a number from 0 to 100"),
        ({"temperature": 10**400}, r"temperature=10+\.\.\.0+ must be a number above 0"),
        ({"temperature": [_HOSTILE]}, r"temperature=\[<Hostile instance at \w+>\] must be a number above 0"),
        ({"top_p": _HOSTILE}, r"top_p=<Hostile instance at \w+> must be above 0"),
    ],
)
def test_a_setting_that_is_no_number_of_use_is_refused(
    translator: vt.Translator, options: dict[str, object], expected: str
) -> None:
    """Found by 30,000 inputs: an int that no float holds, and a type whose repr fails."""
    write = translator.decode if "length_penalty" in options else translator.sample
    with pytest.raises(UserError, match=expected):
        write("the cat sleeps", **options)


@pytest.mark.parametrize(
    "options",
    [{"encoder_layers": _HOSTILE}, {"source_words": [_HOSTILE]}, {"seconds_per_frame": _HOSTILE}],
    ids=lambda options: next(iter(options)),
)
def test_a_trace_tells_what_it_was_given_even_where_that_cannot_be_shown(options: dict[str, object]) -> None:
    with pytest.raises(UserError, match="<Hostile instance at"):
        vt.ForwardTrace(source_tokens=["a"], encoder_attention=np.ones((1, 1, 1, 1)), **options)


def test_a_large_whole_number_is_a_temperature(translator: vt.Translator) -> None:
    assert translator.sample("the cat sleeps", temperature=10**30, seed=0).hypotheses


def test_half_a_character_is_no_word_and_no_path(translator: vt.Translator) -> None:
    with pytest.raises(UnknownWordError, match="unknown English word '�'"):
        translator.translate("the \ud800 cat")
    for path in ("\ud800", "a\0b", "x" * 5_000, 3):
        with pytest.raises(FileError, match="path"):
            vt.ForwardTrace.load(path)


def test_a_file_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("tokens.npy", "w") as file:
        for _ in range(40):
            file.write(bytes(2**20))
    with pytest.raises(FileError, match="it unpacks to 42 MB, more than"):
        vt.ForwardTrace.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": (9,)}, "do not fit each other"),
        ({"ids": ("a",)}, r"DecodeTrace.hypotheses\[0\].ids\[0\] is 'a' \(str\), and a whole number"),
        ({"tokens": None}, "and a tuple is expected"),
        ({"log_prob": float("nan")}, "and a number is expected"),
    ],
)
def test_a_search_is_whole_or_refused(translator: vt.Translator, change: dict, message: str) -> None:
    from dataclasses import replace

    search = translator.decode("the cat sleeps", beam_width=2)
    broken = replace(search.hypotheses[0], **change)
    with pytest.raises(UserError, match=message):
        replace(search, hypotheses=(broken,))


def test_weights_and_sizes_that_cannot_be_are_refused_before_a_model_is_built(tmp_path: Path) -> None:
    words = Vocabulary(["the", "cat"], ["el", "gato"])
    model = Transformer(small_config(vocab_size=len(words))).eval()
    with torch.no_grad():
        next(model.parameters()).view(-1)[0] = torch.inf
    folder = Checkpoint(model, words).save(tmp_path / "model")
    with pytest.raises(FileError, match="holds NaN, infinity or a number beyond"):
        vt.load_translator(folder)
    # The first has other weights than the file holds; the second is a size that no model has.
    for size, message in ((10**4, "holds"), (10**12, "is too large")):
        good = (folder / CONFIG).read_text()
        (folder / CONFIG).write_text(model.config.to_json().replace('"d_ff": ', f'"d_ff": {size}'))
        with pytest.raises(UserError, match=message):
            vt.load_translator(folder)
        (folder / CONFIG).write_text(good)
    (folder / CONFIG).write_text("[" * 100_000)
    with pytest.raises(UserError, match="the configuration is not JSON"):
        vt.load_translator(folder)


@pytest.mark.parametrize(
    "weights",
    [
        torch.full((1, 1, 2, 2), 0.5, requires_grad=True),
        torch.full((1, 1, 2, 2), 0.5, dtype=torch.bfloat16),
        [[[[0.5, 0.5], [0.5, 0.5]]]],
    ],
    ids=["gradient", "bfloat16", "lists"],
)
def test_tensors_of_any_kind_are_arrays(weights: object) -> None:
    trace = vt.ForwardTrace(source_tokens=("a", "b"), encoder_attention=weights)
    assert trace.encoder_attention.dtype == np.float32
    assert trace.encoder_attention.tolist() == [[[[0.5, 0.5], [0.5, 0.5]]]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"source_tokens": 3}, "must be a sequence of strings"),
        ({"encoder_attention": object()}, "an array of numbers is expected"),
        ({"encoder_attention": torch.zeros(1, 1, 2, 2, device="meta")}, "an array of numbers is expected"),
        ({"encoder_attention": np.broadcast_to(np.float32(1), (60_000, 60_000))}, "3,600,000,000 numbers"),
        ({"sinks": 5}, "sinks must be a sequence"),
        ({"heads": iter(int, 1)}, "does not number the heads"),
    ],
)
def test_what_is_no_trace_is_refused(given: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        vt.ForwardTrace(**{"source_tokens": ("a", "b"), **given})


def test_columns_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "table.tsv").write_text("the cat\tel gato\n")
    for columns in (5, None, {}, [[], []]):
        with pytest.raises(UserError, match="are not two columns"):
            read_table(tmp_path / "table.tsv", columns)


@pytest.mark.parametrize(
    "asked", [None, [], 3, "x", {"weights": 1}, {"head": "x" * 10**5}, {"head": [[]] * 9}]
)
def test_a_request_outside_the_schema_gets_one_answer(asked: object) -> None:
    view, sent = vt.explore(make_trace()), []
    view.send = lambda content, buffers=(): sent.append(content)
    view._on_message(view, {"id": 7, "ask": asked}, [])
    assert [(each["id"], "but" in each["error"]) for each in sent] == [(7, True)]


def test_what_a_view_asks_fits_its_own_schema(translator: vt.Translator) -> None:
    for view in (vt.head_lab(translator), vt.beam_stepper(translator), vt.position_lab(translator)):
        for request in view.questions():
            check_request(request, view.requests())


def test_a_reply_has_a_largest_size() -> None:
    check_reply([bytes(9)])
    with pytest.raises(UserError, match="ask for less"):
        check_reply([bytes(MOST_BYTES), b"x"])


def test_a_campaign_draws_the_same_input_again() -> None:
    door = DOORS[0]
    assert door.draw(Random("text/0/3"))[0] == door.draw(Random("text/0/3"))[0]


class _Hostile:
    """An answer whose every method raises."""

    def _raise(self, *_: object) -> None:
        raise StopIteration

    __eq__ = __str__ = __repr__ = __len__ = __iter__ = __array__ = __call__ = _raise  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


def _exits(*_: object) -> None:
    raise SystemExit


@pytest.mark.parametrize("name", ["1.1", "4.1", "7.2", "clinic.1", "8.3", "6.1"])
@pytest.mark.parametrize(
    "answer",
    [
        _Hostile(),
        _exits,
        iter(int, 1),
        torch.zeros(3, device="meta"),
        torch.eye(3).to_sparse(),
        [[]] * 99_999,
    ],
    ids=["raises", "exits", "endless iterator", "meta", "sparse", "long"],
)
def test_any_answer_gets_a_sentence(name: str, answer: object) -> None:
    found = exercise(name).check(answer)
    assert not found.passed
    assert found.message
    assert "\n" not in found.message


def test_a_list_far_too_long_is_refused_before_it_is_read() -> None:
    """A function that returned one used to be compared for half a minute, a second for each call."""
    told = str(exercise("6.5").check(lambda *_: [0] * 1_000_001))
    assert "This is a list of 1,000,001 items, far longer than any answer here." in told


def test_an_endless_answer_ends_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_transformer.exercises.sandbox.LIMIT_S", 0.1)

    def stubborn(*_: object) -> None:
        while True:
            with suppress(BaseException):
                while True:
                    pass

    before = threading.active_count()
    assert "did not come to an end" in exercise("7.2").check(stubborn).message
    assert threading.active_count() == before
    assert exercise("7.2").check(lambda *_: 1).answered  # the next check works


@pytest.mark.parametrize(
    "arguments",
    [
        ["translate", "\ud800"],
        ["translate", "the cat", "--html", "\ud800.html"],
        ["html", "a\0b"],
        ["nonsense"],
    ],
    ids=["text", "page", "notebook", "command"],
)
def test_a_command_ends_with_2_and_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = ended.code
    said = capsys.readouterr().err
    assert code == 2
    assert "Traceback" not in said
    assert said.startswith("usage:") or said.count("\n") == 1
