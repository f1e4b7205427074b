"""Traces: what they refuse, that they come back from disk equal, without torch, and their summaries."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.support.hand_made_traces import attention, hostile_trace, make_trace
from tests.support.missing_packages import printed_without_torch
from tests.support.refusals import assert_refused
from viz_transformer.capturing import assemble, capture
from viz_transformer.errors import FileError
from viz_transformer.trace import ForwardTrace, TrainingTrace, running_text
from viz_transformer.trace.arrays import hand_over

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


def test_captured_weights_are_not_copied_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    monkeypatch.setattr(assemble, "hand_over", lambda array: made.append(hand_over(array)) or made[-1])
    captured = capture([torch.full((1, 2, 3, 3), 1 / 3)], source_tokens=SOURCE)
    assert captured.encoder_attention is made[0]


def test_queries_of_a_decoder_are_labelled_with_the_token_they_predict() -> None:
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


def test_what_does_not_fit_is_refused() -> None:
    cases = [
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
    ]
    rows = [(lambda changes=changes: trace(**changes), said) for changes, said in cases]
    assert_refused([*rows, (lambda: trace().attention("crosss"), "unknown attention kind 'crosss'")])


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


def test_words_go_to_disk_and_back_also_where_torch_cannot_be_imported(tmp_path: Path) -> None:
    first = trace(source_words=[0, 0, None], source_tokens=list(SOURCE))
    path = first.save(tmp_path / "no_ending")  # it is taken as it is
    assert [each.name for each in tmp_path.iterdir()] == ["no_ending"]
    again = ForwardTrace.load(path)
    assert first.source_tokens == again.source_tokens == SOURCE
    assert first.source_words == again.source_words == (0, 0, None)
    assert again.target_words is None
    shape = printed_without_torch(f"trace.ForwardTrace.load({str(path)!r}).cross_attention.shape")
    assert shape == "(2, 3, 2, 3)"


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot write .*nowhere.*choose a folder that exists"):
        trace().save(tmp_path / "nowhere" / "x.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="cannot write"):
        trace().save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_file_that_is_no_trace_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with pytest.raises(FileError, match="no trace at"):
        ForwardTrace.load(path)
    half = trace().save(path).read_bytes()[:-50]
    for content in (b"", b"hello", b"PK\x03\x04broken", half):
        path.write_bytes(content)
        for kind in (ForwardTrace, TrainingTrace):
            with pytest.raises(FileError, match=r"x\.npz.*damaged"):
                kind.load(path)
    np.savez(path, weights=CROSS)
    with pytest.raises(FileError, match="not a trace"):
        ForwardTrace.load(path)


def test_pieces_are_read_as_a_text_and_words_stay_as_they_are() -> None:
    cases = {
        "el gato <eos>": "el gato <eos>",
        "▁Ein ▁Lie ge . <eos>": "Ein Liege. <eos>",
        "The Ġcat s <0xC3>": "The cats<0xC3>",
        "▁ z oo": "zoo",
        "¿ dónde está el gato ? <eos>": "¿dónde está el gato? <eos>",
        "¡ hola , mundo !": "¡hola, mundo!",
        "": "",
    }
    assert {tokens: running_text(tokens.split()) for tokens in cases} == cases


def pictures(page: str) -> list[np.ndarray]:
    """The thumbnails of a table, each [row, column, colour] from 0 to 1."""
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    return [matplotlib.image.imread(io.BytesIO(base64.b64decode(each)))[..., :3] for each in found]


def test_the_summary_is_three_lines_with_the_model_the_shapes_and_the_tokens() -> None:
    assert repr(make_trace()).splitlines() == [
        "ForwardTrace: encoder–decoder, 2 layers of 4 heads",
        "attention [layer, head, query, key]: "
        "encoder 2 × 4 × 5 × 5, decoder 2 × 4 × 5 × 5, cross 2 × 4 × 5 × 5",
        "tokens: source (5) the black cat sleeps <eos> · target (5) <sos> el gato negro duerme",
    ]
    weights = attention(3, 2, 2, 2, causal=True)
    decoder = {"decoder_attention": weights, "target_positions": np.zeros((2, 6))}
    first_lines = {
        "no attention": ForwardTrace(),
        "encoder-only, 1 layer of 1 head": ForwardTrace(source_tokens=["a"], encoder_attention=[[[[1.0]]]]),
        "decoder-only, 3 layers of 2 heads, d_model 6": ForwardTrace(target_tokens=("a", "b"), **decoder),
    }
    for first, summarised in first_lines.items():
        lines = repr(summarised).splitlines()
        assert (lines[0], len(lines)) == (f"ForwardTrace: {first}", 3)


def test_many_or_hostile_tokens_stay_in_their_line_and_in_the_table() -> None:
    words = tuple(f"word{i}" for i in range(200))
    long = ForwardTrace(source_tokens=words, encoder_attention=attention(1, 1, 200, 200))
    assert repr(long).splitlines()[2].startswith("tokens: source (200) word0 word1 ")
    assert repr(long).endswith(" …")
    for summarised in (long, hostile_trace()):
        lines = repr(summarised).splitlines()
        assert len(lines) == 3
        assert max(map(len, lines)) < 250
        page = summarised._repr_html_()
        assert "<script" not in page
        assert "\u202e" not in page + repr(summarised)
        page.encode()


def test_a_thumbnail_is_the_mean_over_all_heads_darkest_where_most_weight_lies() -> None:
    summarised = make_trace()
    for kind, picture in zip(summarised.kinds, pictures(summarised._repr_html_()), strict=True):
        mean = summarised.attention(kind).mean(axis=(0, 1))
        assert picture.shape == (*mean.shape, 3)
        light = picture.sum(axis=-1)
        np.testing.assert_array_equal(light.ravel().argsort()[0], mean.argmax())
        assert (light[mean == 0] == light.max()).all()


def test_the_thumbnail_of_a_long_text_is_small_and_keeps_the_maxima() -> None:
    weights = np.zeros((1, 1, 300, 300), dtype=np.float32)
    weights[..., 299] = 1
    page = ForwardTrace(source_tokens=("t",) * 300, encoder_attention=weights)._repr_html_()
    (picture,) = pictures(page)
    assert picture.shape == (48, 48, 3)
    assert (picture[:, :-1] == picture[0, 0]).all()
    assert picture[0, 0].min() > 0.95
    assert (picture[:, -1] < 0.5).all()
    assert len(page) < 3000
