"""Bad input at every door: one line that says how to mend it, and nothing is changed."""

from __future__ import annotations

import itertools
import mmap
import sys
import threading
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch

import viz_transformer as vt
from tests.support.fuzz import campaign
from tests.support.fuzz.campaign import Door, try_some
from tests.support.fuzz.doors import DOORS
from tests.support.fuzz.values import Hostile, HostileArray
from tests.support.hand_made_traces import make_trace
from tests.support.small_models import small_config
from viz_transformer.checkpoint import CHECKSUMS, CONFIG, Checkpoint
from viz_transformer.errors import FileError, UserError
from viz_transformer.exercises import exercise
from viz_transformer.model import Transformer
from viz_transformer.vocabulary import UnknownWordError, Vocabulary
from viz_transformer.widgets.base.requests import MOST_BYTES, check_reply, check_request


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_a_door_refuses_in_one_line(door: Door) -> None:
    n = {"saved traces": 4, "exercises": 4}.get(door.name, 12)  # the fifth of these takes a second or more
    count = try_some(door, 0, range(n))
    assert (count.inputs, count.failures) == (n, [])


def test_a_campaign_draws_the_same_input_again() -> None:
    door = DOORS[0]
    assert door.draw(Random("text/0/3"))[0] == door.draw(Random("text/0/3"))[0]


def test_a_campaign_names_the_input_that_takes_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def take(n_bytes: int) -> None:
        with mmap.mmap(-1, n_bytes) as taken:  # new memory, not what Python holds already
            for page in range(0, n_bytes, mmap.PAGESIZE):
                taken[page] = 1

    is_counted = sys.platform == "linux"
    monkeypatch.setattr(campaign, "MOST_BYTES", 50_000_000)
    for n_bytes, failures in ((1, []), (10**8, ["0/0 bytes: 0.1 GB"] if is_counted else [])):
        door = Door("bytes", lambda _, n=n_bytes: ("bytes", lambda: take(n)))
        assert try_some(door, 0, range(1)).failed[campaign.LARGE] == failures


def test_text_that_cannot_be_read_is_refused(translator: vt.Translator) -> None:
    for text in (3, None, [], ["a"], {}, np.zeros(2), b"the cat", 1.5):
        with pytest.raises(UserError, match="and text is expected; give it in quotation marks"):
            translator.translate(text)
    for text, message in (
        ("the \ud800 cat", "unknown English word '�'"),
        ("x" * 5_000, r"^unknown English word 'x{60}…'.{,65}$"),
        (" ".join(f"word{number}" for number in range(300)), r"and 295 more unknown words$"),
    ):
        with pytest.raises(UnknownWordError, match=message) as refused:
            translator.translate(text)
        assert len(refused.value.words) <= 5


_HOSTILE = Hostile(RecursionError(), "__repr__")
_HOSTILE_ANSWER = Hostile(StopIteration(), "every")


def test_a_setting_that_is_no_number_of_use_is_refused(translator: vt.Translator) -> None:
    """Found by 30,000 inputs: an int that no float holds, and a type whose repr fails."""
    for write, options, expected in (
        (translator.decode, {"length_penalty": 2**31}, "length_penalty=2147483648 must be a number from 0"),
        (translator.sample, {"temperature": 10**400}, r"temperature=10+\.\.\.0+ must be a number above 0"),
        (
            translator.sample,
            {"temperature": [_HOSTILE]},
            r"temperature=\[<Hostile instance at \w+>\] must",
        ),
        (translator.sample, {"top_p": _HOSTILE}, r"top_p=<Hostile instance at \w+> must be above 0"),
    ):
        with pytest.raises(UserError, match=expected):
            write("the cat sleeps", **options)
    assert translator.sample("the cat sleeps", temperature=10**30, seed=0).hypotheses


def test_a_path_that_no_file_can_have_is_refused() -> None:
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


def test_a_search_whose_parts_do_not_fit_is_refused(translator: vt.Translator) -> None:
    search = translator.decode("the cat sleeps", beam_width=2)
    for change, message in (
        ({"path": (9,)}, "do not fit each other"),
        ({"ids": ("a",)}, r"DecodeTrace.hypotheses\[0\].ids\[0\] is 'a' \(str\), and a whole number"),
        ({"tokens": None}, "and a tuple is expected"),
        ({"log_prob": float("nan")}, "and a number is expected"),
    ):
        with pytest.raises(UserError, match=message):
            replace(search, hypotheses=(replace(search.hypotheses[0], **change),))


def test_weights_and_sizes_that_cannot_be_are_refused_before_a_model_is_built(tmp_path: Path) -> None:
    words = Vocabulary(["the", "cat"], ["el", "gato"])
    model = Transformer(small_config(vocab_size=len(words))).eval()
    with torch.no_grad():
        next(model.parameters()).view(-1)[0] = torch.inf
    folder = Checkpoint(model, words).save(tmp_path / "model")
    (folder / CHECKSUMS).unlink()  # as in a folder of an earlier version
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


def test_tensors_of_any_kind_are_arrays() -> None:
    half = torch.full((1, 1, 2, 2), 0.5)
    for weights in (half.clone().requires_grad_(), half.bfloat16(), half.tolist()):
        trace = vt.ForwardTrace(source_tokens=("a", "b"), encoder_attention=weights)
        assert trace.encoder_attention.dtype == np.float32
        assert trace.encoder_attention.tolist() == half.tolist()


def test_a_trace_of_other_values_than_weights_and_words_is_refused() -> None:
    for given, message in (
        ({"source_tokens": 3}, "must be a sequence of strings"),
        ({"encoder_attention": object()}, "an array of numbers is expected"),
        ({"encoder_attention": torch.zeros(1, 1, 2, 2, device="meta")}, "an array of numbers is expected"),
        ({"encoder_attention": np.broadcast_to(np.float32(1), (60_000, 60_000))}, "3,600,000,000 numbers"),
        ({"encoder_attention": [np.ma.masked_array([[[1.0]]], mask=True)]}, "a masked array"),
        ({"output_tokens": torch.ones(1).expand(10**9, 2)}, "output_tokens must be a sequence of strings"),
        ({"sinks": 5}, "sinks must be a sequence"),
        ({"heads": iter(int, 1)}, "does not number the heads"),
        # Named even where what was given cannot be shown.
        ({"encoder_layers": _HOSTILE}, "<Hostile instance at"),
        ({"source_words": [_HOSTILE]}, "<Hostile instance at"),
        ({"seconds_per_frame": _HOSTILE}, "<Hostile instance at"),
    ):
        shown = {} if "encoder_attention" in given else {"encoder_attention": np.ones((1, 1, 1, 1))}
        with pytest.raises(UserError, match=message):
            vt.ForwardTrace(**{"source_tokens": ["a"], **shown, **given})


@pytest.mark.filterwarnings("ignore:.*(prototype|beta)")  # of nested and sparse tensors
def test_weights_that_cannot_be_read_are_refused_before_they_are_copied() -> None:
    eye, view, cache = np.eye(3)[None], np.broadcast_to, "blocks.{}.attn.hook_pattern"
    for given, message, options in (
        (view(1 / 3, (10**5, 10**5, 3, 3)), "90,000,000,000 numbers", {}),
        (view(1 / 3, (1, 30_000, 30_000)), "900,000,000 numbers, and at most 67,108,864", {}),
        (torch.full((1,), 1 / 3).expand(1, 30_000, 30_000), "900,000,000 numbers", {}),
        ([view(1 / 3, (1, 10**5, 3, 3))] * 10**5, "90,000,000,000 numbers", {}),
        ({"attentions": [view(1 / 3, (1, 10**5, 10**5, 3, 3))]}, "90,000,000,000 numbers", {}),
        ({cache.format(99_999_999): eye}, "holds no attention weights", {}),
        (eye + 0j, "complex numbers", {}),
        ([torch.tensor(eye + 0j).conj()], "complex numbers", {}),
        (eye.astype("M8[s]"), "an array of numbers is expected", {}),
        ([torch.tensor(eye, device="meta")], "an array of numbers is expected", {}),
        (torch.nested.nested_tensor([torch.eye(3)]), "cannot be read as attention weights", {}),
        ([torch.eye(3).to_sparse_csr()], "an array of numbers is expected", {}),
        ({"attentions": [[eye]]}, "cannot be read as attention weights", {}),
        ({"attentions": eye}, "cannot be read as attention weights", {}),
        *((HostileArray(ZeroDivisionError(), name), "attention weights", {}) for name in ("shape", "keys")),
        *(([HostileArray(ZeroDivisionError(), name)], "expected", {}) for name in ("shape", "every")),
        (eye, "batch_index='a'", {"batch_index": "a"}),
        (eye, "layers=<Hostile instance", {"layers": Hostile(ValueError(), "every")}),
        (eye, "words=", {"words": range(10**30)}),
        (eye, "words=", {"words": HostileArray(ValueError(), "every")}),
        (eye, "is not one that a trace holds", {"dtype": HostileArray(ValueError(), "every")}),
    ):
        with pytest.raises(UserError, match=message) as refused:
            vt.capture(given, target_tokens=["a", "b", "c"], **options)
        assert "\n" not in str(refused.value)
    # What numpy can show of any of these is taken as it is.
    for given in (
        torch.tensor(-1j * eye).conj().imag,
        eye[..., ::-1, ::-1],
        (x for x in [eye]),
        eye.astype(">f8"),
    ):
        trace = vt.capture(list(given), target_tokens=(word for word in "abc"))
        assert trace.decoder_attention.tolist() == [eye.tolist()]


def test_a_request_outside_the_schema_gets_one_answer() -> None:
    view = vt.explore(make_trace())
    for asked in (None, [], 3, "x", {"weights": 1}, {"head": "x" * 10**5}, {"head": [[]] * 9}):
        sent = []
        view.send = lambda content, buffers=(), sent=sent: sent.append(content)
        view._on_message(view, {"id": 7, "ask": asked}, [])
        assert [(each["id"], "but" in each["error"]) for each in sent] == [(7, True)], str(asked)[:50]


def test_each_request_of_a_view_fits_its_schema(translator: vt.Translator) -> None:
    for view in (vt.head_lab(translator), vt.beam_stepper(translator), vt.position_lab(translator)):
        for request in view.questions():
            check_request(request, view.requests())


def test_a_reply_has_a_largest_size() -> None:
    check_reply([bytes(9)])
    with pytest.raises(UserError, match="ask for less"):
        check_reply([bytes(MOST_BYTES), b"x"])


def _exits(*_: object) -> None:
    raise SystemExit


def test_any_answer_gets_a_sentence() -> None:
    answers = {
        "raises": _HOSTILE_ANSWER,
        "exits": _exits,
        "endless iterator": iter(int, 1),
        "meta": torch.zeros(3, device="meta"),
        "sparse": torch.eye(3).to_sparse(),
        "long": [[]] * 99_999,
    }
    for name, (what, answer) in itertools.product(
        ("1.1", "4.1", "8.2", "clinic.1", "9.3", "6.1"), answers.items()
    ):
        found = exercise(name).check(answer)
        assert (found.passed, bool(found.message), "\n" in found.message) == (False, True, False), (
            name,
            what,
        )


def test_a_list_far_too_long_is_refused_before_it_is_read() -> None:
    """A function that returned one used to be compared for half a minute, a second for each call."""
    told = str(exercise("6.4").check(lambda *_: [0] * 1_000_001))
    assert "This is a list of 1,000,001 items, far longer than any answer here." in told


def test_an_endless_answer_ends_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_transformer.exercises.sandbox.LIMIT_S", 0.1)

    def stubborn(*_: object) -> None:
        while True:
            with suppress(BaseException):
                while True:
                    pass

    before = threading.active_count()
    assert "did not come to an end" in exercise("8.2").check(stubborn).message
    assert threading.active_count() == before
    assert exercise("8.2").check(lambda *_: 1).answered  # the next check works
