"""Traces: what they refuse, and that they come back from disk equal, without torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.support.missing_packages import printed_without_torch
from viz_transformer.errors import FileError, UserError
from viz_transformer.trace import ForwardTrace, TrainingTrace, running_text
from viz_transformer.trace.arrays import hand_over
from viz_transformer.tracing import assemble, capture

SOURCE = ("the", "cat", "<eos>")
TARGET = ("<sos>", "el")
CROSS = np.full((2, 3, 2, 3), 1 / 3)


def trace(**changes: object) -> ForwardTrace:
    values = {"source_tokens": SOURCE, "target_tokens": TARGET, "cross_attention": CROSS}
    return ForwardTrace(**{**values, **changes})


def test_a_trace_is_a_read_only_copy_in_float32() -> None:
    weights = CROSS.copy()
    held = trace(cross_attention=weights).cross_attention
    weights[:] = 0
    assert held.dtype == np.float32
    assert held[0, 0, 0, 0] == np.float32(1 / 3)
    with pytest.raises(ValueError, match="read-only"):
        held[0, 0, 0, 0] = 1


def test_memory_of_another_library_is_copied_unless_it_is_handed_over() -> None:
    """A capture's weights lie in torch's memory: a second copy of them would cost a fifth of its time."""
    lent = torch.full(CROSS.shape, 1 / 3)
    read_only = lent.numpy()
    read_only.setflags(write=False)
    held = trace(cross_attention=read_only).cross_attention
    lent[:] = 0
    assert held[0, 0, 0, 0] == np.float32(1 / 3)

    handed = hand_over(torch.full(CROSS.shape, 1 / 3).numpy())
    assert trace(cross_attention=handed).cross_attention is handed
    assert replace(trace(cross_attention=handed), target_tokens=("<sos>", "la")).cross_attention is handed


def test_what_is_captured_is_not_copied_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(assemble, "hand_over", lambda array: made.append(hand_over(array)) or made[-1])
    captured = capture([torch.full((1, 2, 3, 3), 1 / 3)], source_tokens=SOURCE)
    assert captured.encoder_attention is made[0]


def test_lists_of_words_become_tuples() -> None:
    assert trace(source_tokens=list(SOURCE)).source_tokens == SOURCE


def test_queries_of_a_decoder_are_named_by_what_they_write() -> None:
    written = trace(output_tokens=("el", "gato"))
    assert written.query_tokens("cross") == ("el", "gato")
    assert written.query_tokens("decoder") == ("el", "gato")
    assert written.key_tokens("decoder") == TARGET
    assert written.key_tokens("cross") == SOURCE
    assert trace().query_tokens("cross") == TARGET


def test_an_encoder_only_trace_needs_no_target() -> None:
    only = ForwardTrace(source_tokens=SOURCE, encoder_attention=np.zeros((1, 1, 3, 3)))
    assert only.kinds == ("encoder",)
    assert only.attention("cross") is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cross_attention": CROSS[0]}, r"shape \[3, 2, 3\].*\[layer, head, target=2, source=3\]"),
        ({"cross_attention": CROSS.swapaxes(2, 3)}, r"shape \[2, 3, 3, 2\]"),
        ({"cross_attention": CROSS[:0]}, "no axis empty"),
        ({"cross_attention": np.full_like(CROSS, np.nan)}, "NaN"),
        ({"encoder_attention": CROSS}, "encoder_attention has shape"),
        ({"source_positions": np.zeros((2, 4))}, r"source_positions.*\[source=3, d_model\]"),
        ({"source_tokens": "the"}, "sequence of strings"),
        ({"source_tokens": (1, 2, 3)}, "sequence of strings"),
        ({"output_tokens": ("el",)}, "1 tokens for 2 target_tokens"),
        ({"source_words": (0, 1)}, r"source_words=\(0, 1\).*each of the 3 tokens"),
        ({"target_words": (0, -1)}, "target_words.*number of its word"),
        ({"target_words": (0, 1.5)}, "target_words.*number of its word"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        trace(**changes)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UserError, match="unknown attention kind 'crosss'"):
        trace().attention("crosss")


def test_word_numbers_go_to_disk_and_back(tmp_path: Path) -> None:
    first = trace(source_words=[0, 0, None])
    again = ForwardTrace.load(first.save(tmp_path / "x.npz"))
    assert first.source_words == again.source_words == (0, 0, None)
    assert again.target_words is None


tokens = st.text(max_size=6)  # lone surrogates, NULs and U+2028 included


@given(
    words=st.lists(st.one_of(tokens, st.just("</script>\x00")), min_size=1, max_size=4),
    data=st.data(),
)
def test_saved_and_loaded_it_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], data: st.DataObject
) -> None:
    n = len(words)
    weights = data.draw(arrays(np.float32, (2, 1, n, n), elements=st.floats(0, 1, width=32)))
    positions = np.arange(n * 4, dtype=np.float32).reshape(n, 4)
    first = ForwardTrace(source_tokens=words, encoder_attention=weights, source_positions=positions)
    again = ForwardTrace.load(first.save(tmp_path_factory.mktemp("trace") / "x.npz"))
    assert again.source_tokens == tuple(words)
    assert again.output_tokens is None
    assert again.cross_attention is None
    np.testing.assert_array_equal(again.encoder_attention, weights)
    np.testing.assert_array_equal(again.source_positions, positions)


def test_it_replays_where_torch_cannot_be_imported(tmp_path: Path) -> None:
    path = trace().save(tmp_path / "x.npz")
    assert (
        printed_without_torch(f"trace.ForwardTrace.load({str(path)!r}).cross_attention.shape")
        == "(2, 3, 2, 3)"
    )


def test_the_path_is_taken_as_it_is(tmp_path: Path) -> None:
    assert trace().save(tmp_path / "no_ending").name == "no_ending"
    assert [path.name for path in tmp_path.iterdir()] == ["no_ending"]


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot write .*nowhere.*choose a folder that exists"):
        trace().save(tmp_path / "nowhere" / "x.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="cannot write"):
        trace().save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04broken"])
@pytest.mark.parametrize("kind", [ForwardTrace, TrainingTrace])
def test_a_damaged_file_is_named(tmp_path: Path, kind: type, content: bytes) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"x\.npz.*damaged"):
        kind.load(path)


def test_half_a_file_is_named(tmp_path: Path) -> None:
    path = trace().save(tmp_path / "x.npz")
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(FileError, match="damaged"):
        ForwardTrace.load(path)


def test_another_npz_is_not_taken_for_a_trace(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", weights=CROSS)
    with pytest.raises(FileError, match="not a trace"):
        ForwardTrace.load(tmp_path / "x.npz")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no trace at"):
        ForwardTrace.load(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("el gato <eos>", "el gato <eos>"),
        ("▁Ein ▁Lie ge . <eos>", "Ein Liege. <eos>"),
        ("The Ġcat s <0xC3>", "The cats<0xC3>"),
        ("▁ z oo", "zoo"),
        ("¿ dónde está el gato ? <eos>", "¿dónde está el gato? <eos>"),
        ("¡ hola , mundo !", "¡hola, mundo!"),
        ("", ""),
    ],
)
def test_pieces_are_read_as_a_text_and_words_stay_as_they_are(tokens: str, text: str) -> None:
    assert running_text(tokens.split()) == text
